/* Runs that are copied into memory and restored from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "run.h"
#include "../../errors.h"
#include "tests.h"

/* The bytes that a snapshot would have as a file. */
static bool is_file(adz_safetensors *snapshot, const char *path)
{
    assert_int_equal(adz_safetensors_save(snapshot, temporary_path("snapshot")), ADZ_OK);
    return files_equal(temporary_path("snapshot"), path);
}

/* A snapshot has the bytes of a checkpoint's file, also after more steps, and brings the run back,
 * which then goes on with its bits. */
static void a_run_goes_back(void **state)
{
    (void)state;
    run r = start(5);
    train(&r, 12);
    assert_int_equal(save_run(&r, temporary_path("then")), ADZ_OK);
    adz_checkpoint c = parts_of(&r);
    adz_safetensors *snapshot = adz_checkpoint_snapshot(&c);
    assert_non_null(snapshot);
    train(&r, 30);
    assert_int_equal(save_run(&r, temporary_path("later")), ADZ_OK);
    assert_true(is_file(snapshot, temporary_path("then")));
    assert_int_equal(adz_checkpoint_restore(&c, snapshot), ADZ_OK);
    r.epoch = c.epoch;
    r.step = c.step;
    assert_int_equal(r.step, 12);
    assert_int_equal(save_run(&r, temporary_path("back")), ADZ_OK);
    assert_true(files_equal(temporary_path("then"), temporary_path("back")));
    train(&r, 30);
    assert_int_equal(save_run(&r, temporary_path("again")), ADZ_OK);
    assert_true(files_equal(temporary_path("later"), temporary_path("again")));
    adz_safetensors_free(&snapshot);
    finish(&r);
}

/* A snapshot of an optimizer alone has its state. A tensor that is not contiguous is refused before
 * anything changes. */
static void collections_of_a_program(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *w = adz_requires_grad_(adz_rand(ADZ_SHAPE(2, 3), ADZ_F32), true);
    adz_sgd_options o = ADZ_SGD_OPTIONS;
    o.momentum = 0.9;
    adz_optimizer *sgd = adz_sgd_new(adz_tensor_list_of(&w, 1), 0.1, &o);
    adz_backward(adz_sum(w, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_optimizer_step(sgd);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.optimizer = sgd;
    adz_safetensors *good = adz_checkpoint_snapshot(&c), *bad = adz_safetensors_new();
    const char *name = "state.0.momentum_buffer";
    assert_int_equal(adz_safetensors_count(good), 1);
    assert_false(adz_tensor_requires_grad(adz_safetensors_get(good, name)));
    for (size_t i = 0; i < adz_safetensors_metadata_count(good); ++i) {
        const char *key = adz_safetensors_metadata_key_at(good, i);
        adz_safetensors_set_metadata(bad, key, adz_safetensors_get_metadata(good, key));
    }
    adz_safetensors_add(bad, name, adz_transpose(adz_zeros(ADZ_SHAPE(3, 2), ADZ_F32), 0, 1));
    assert_int_equal(adz_checkpoint_restore(&c, bad), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "state.0.momentum_buffer is not contiguous");
    adz_safetensors *after = adz_checkpoint_snapshot(&c);
    assert_int_equal(adz_safetensors_save(after, temporary_path("after")), ADZ_OK);
    assert_true(is_file(good, temporary_path("after")));
    adz_safetensors_free(&good);
    adz_safetensors_free(&bad);
    adz_safetensors_free(&after);
    adz_optimizer_release(&sgd);
    adz_scope_close(scope);
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    adz_checkpoint c = ADZ_CHECKPOINT;
    assert_null(adz_checkpoint_snapshot(NULL));
    expect_error(ADZ_ERR_NULL, "adz_checkpoint_snapshot: checkpoint is NULL");
    assert_int_equal(adz_checkpoint_restore(&c, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "adz_checkpoint_restore: collection is NULL");
    c.epoch = -1;
    assert_null(adz_checkpoint_snapshot(&c));
    expect_error(ADZ_ERR_ARGUMENT, "adz_checkpoint_snapshot: epoch is -1");
    adz_safetensors *none = adz_safetensors_new();
    assert_int_equal(adz_checkpoint_restore(&c, none), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "it is no checkpoint");
    assert_int_equal(c.epoch, -1);
    adz_safetensors_free(&none);
}

typedef struct rewound {
    run r;
    adz_safetensors *snapshot;
} rewound;

static adz_status take_again(void *user)
{
    adz_checkpoint c = parts_of(&((rewound *)user)->r);
    adz_safetensors *taken = adz_checkpoint_snapshot(&c);
    adz_status status = taken != NULL ? ADZ_OK : adz_error_code();
    adz_safetensors_free(&taken);
    return status;
}

static adz_status restore_again(void *user)
{
    rewound *w = user;
    adz_checkpoint c = parts_of(&w->r);
    return adz_checkpoint_restore(&c, w->snapshot);
}

static bool is_as_it_was(void *user)
{
    return save_run(&((rewound *)user)->r, temporary_path("now")) == ADZ_OK &&
           files_equal(temporary_path("now"), temporary_path("was"));
}

/* Whatever allocation of a snapshot or a restore is refused, the run stays as it is. */
static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    rewound w = { .r = start(2) };
    train(&w.r, 5);
    adz_checkpoint c = parts_of(&w.r);
    w.snapshot = adz_checkpoint_snapshot(&c);
    train(&w.r, 9);
    assert_int_equal(save_run(&w.r, temporary_path("was")), ADZ_OK);
    int taking = refuse_each(take_again, is_as_it_was, &w);
    int restoring = refuse_each(restore_again, is_as_it_was, &w);
    assert_true(taking >= 40 && restoring >= 40);
    adz_safetensors_free(&w.snapshot);
    finish(&w.r);
}

int memory_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_run_goes_back),
        cmocka_unit_test(collections_of_a_program),
        cmocka_unit_test(bad_calls_are_refused),
        cmocka_unit_test(refused_memory_changes_nothing),
    };
    return cmocka_run_group_tests_name("checkpoint: memory", tests, temporary_begin, temporary_end);
}
