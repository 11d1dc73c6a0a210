/* A checkpoint that does not fit the run is refused, and the run keeps its state. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "run.h"
#include "../../errors.h"
#include "tests.h"

/* Loads into `r` its own checkpoint after one change: the metadata string or tensor named `key`
 * is replaced, or left out where `value` is NULL or `t` is ADZ_NONE. The load must fail with
 * `code`. */
static void assert_refused_with(
    run *r, const char *key, const char *value, adz_tensor *t, adz_status code, const char *says)
{
    adz_scope *scope = adz_scope_open();
    assert_int_equal(save_run(r, temporary_path("before")), ADZ_OK);
    adz_safetensors *good = adz_safetensors_load(temporary_path("before"), NULL);
    adz_safetensors *bad = adz_safetensors_new();
    for (size_t i = 0; i < adz_safetensors_metadata_count(good); ++i) {
        const char *k = adz_safetensors_metadata_key_at(good, i);
        if (strcmp(k, key) != 0 || t != NULL) {
            adz_safetensors_set_metadata(bad, k, adz_safetensors_get_metadata(good, k));
        } else if (value != NULL) {
            adz_safetensors_set_metadata(bad, k, value);
        }
    }
    for (size_t i = 0; i < adz_safetensors_count(good); ++i) {
        const char *name = adz_safetensors_name_at(good, i);
        bool chosen = strcmp(name, key) == 0 && t != NULL;
        if (!chosen || t != ADZ_NONE) {
            adz_safetensors_add(bad, name, chosen ? t : adz_safetensors_at(good, i));
        }
    }
    assert_int_equal(adz_safetensors_save(bad, temporary_path("bad")), ADZ_OK);
    train(r, r->step + 2);
    assert_int_equal(save_run(r, temporary_path("kept")), ADZ_OK);
    adz_checkpoint c = parts_of(r);
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("bad")), code);
    if (strstr(adz_error_message(), says) == NULL) {
        fail_msg("%s, wanted \"%s\"", adz_error_message(), says);
    }
    assert_non_null(strstr(adz_error_message(), "/bad: "));
    adz_error_clear();
    assert_int_equal(adz_checkpoint_restore(&c, bad), code);
    assert_non_null(strstr(adz_error_message(), "the collection: "));
    adz_error_clear();
    assert_int_equal(save_run(r, temporary_path("after")), ADZ_OK);
    assert_true(files_equal(temporary_path("kept"), temporary_path("after")));
    adz_safetensors_free(&good);
    adz_safetensors_free(&bad);
    adz_scope_close(scope);
}

/* A change to a checkpoint's file, and how the load of that file is refused. */
typedef struct change {
    const char *key, *value;
    adz_tensor *tensor;
    adz_status code;
    const char *says;
} change;

static void assert_all_refused(run *r, const change *bad, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        assert_refused_with(r, bad[i].key, bad[i].value, bad[i].tensor, bad[i].code, bad[i].says);
    }
}

static void metadata_that_does_not_fit_changes_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    run r = start(1);
    train(&r, 4);
    const change bad[] = {
        { "adze_checkpoint", NULL, NULL, ADZ_ERR_FORMAT, "it is no checkpoint; weights alone" },
        { "adze_checkpoint", "3", NULL, ADZ_ERR_FORMAT, "of a later version" },
        { "adze_checkpoint", "1", NULL, ADZ_ERR_UNSUPPORTED,
            "counts batches of an order that an earlier version drew" },
        { "step", "-1", NULL, ADZ_ERR_FORMAT, "its step is no number" },
        { "epoch", "99999999999999999999", NULL, ADZ_ERR_FORMAT, "its epoch is no number" },
        { "optimizer", "{", NULL, ADZ_ERR_FORMAT, "its optimizer is not what" },
        { "optimizer", "{\"name\":3}", NULL, ADZ_ERR_FORMAT, "its optimizer is not what" },
        { "optimizer", "{\"name\":\"Adam\"}", NULL, ADZ_ERR_STATE,
            "the file's optimizer is a Adam, this one a SGD" },
        { "optimizer", "{\"name\":\"SGD\",\"param_groups\":[]}", NULL, ADZ_ERR_STATE, "0 groups" },
        { "optimizer", NULL, NULL, ADZ_ERR_STATE, "no optimizer" },
        { "scheduler.1", "LambdaLR", NULL, ADZ_ERR_STATE, "a LambdaLR in the file, here a StepLR" },
    };
    assert_all_refused(&r, bad, sizeof bad / sizeof *bad);
    finish(&r);
    adz_scope_close(scope);
    temporary_files(true);
}

static void tensors_that_do_not_fit_change_nothing(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    run r = start(1);
    train(&r, 4);
    adz_tensor *three = adz_zeros(ADZ_SHAPE(3), ADZ_F32);
    const change bad[] = {
        { "model.1.bias", NULL, three, ADZ_ERR_STATE, "1.bias ([3] given, [8] here)" },
        { "model.1.bias", NULL, ADZ_NONE, ADZ_ERR_STATE, "1 missing" },
        { "model.1.bias", NULL, adz_zeros(ADZ_SHAPE(8), ADZ_F64), ADZ_ERR_STATE,
            "1.bias (float64 given, float32 here)" },
        { "state.0.momentum_buffer", NULL, three, ADZ_ERR_STATE, "does not have the shape" },
        { "scheduler.0", NULL, three, ADZ_ERR_STATE, "scheduler.0 is float32[3] in the file" },
        { "scheduler.0", NULL, adz_zeros(ADZ_SHAPE(3, 1), ADZ_F64), ADZ_ERR_STATE,
            "scheduler.0 is float64[3, 1] in the file, and should be float64[3]" },
        { "scheduler.0", NULL, adz_zeros(ADZ_SHAPE(4), ADZ_F64), ADZ_ERR_STATE,
            "scheduler.0 is float64[4] in the file, and should be float64[3]" },
        { "generator.1", NULL, three, ADZ_ERR_STATE, "generator.1 is float32[3] in the file" },
        { "generator.1", NULL, ADZ_NONE, ADZ_ERR_STATE, "the file has no generator.1" },
        { "loader", NULL, adz_full(ADZ_SHAPE(6), 0, ADZ_I64), ADZ_ERR_STATE,
            "loader is int64[6] in the file, and should be int64[4]" },
        { "loader", NULL, adz_full(ADZ_SHAPE(4), ROWS + 1, ADZ_I64), ADZ_ERR_ARGUMENT,
            "that of a loader over 38 rows, this one has 37" },
        { "loader", NULL,
            adz_tensor_from((int64_t[]){ 1, 2, ROWS + 1, ROWS }, ADZ_SHAPE(4), ADZ_I64),
            ADZ_ERR_ARGUMENT, "38 rows consumed of an epoch that has 37" },
        { "scheduler.0", NULL, adz_full(ADZ_SHAPE(3), -1, ADZ_F64), ADZ_ERR_FORMAT,
            "is no state of a" },
    };
    assert_all_refused(&r, bad, sizeof bad / sizeof *bad);
    finish(&r);
    adz_scope_close(scope);
    temporary_files(true);
}

/* The layout before loaders counted rows: everything but the loader's position is still read. */
static void earlier_checkpoints_load_without_the_loader(void **state)
{
    (void)state;
    run r = start(1), other = start(2);
    train(&r, 11);
    assert_int_equal(save_run(&r, temporary_path("new")), ADZ_OK);
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_load(temporary_path("new"), NULL);
    adz_safetensors_set_metadata(file, "adze_checkpoint", "1");
    assert_int_equal(adz_safetensors_save(file, temporary_path("old")), ADZ_OK);
    adz_safetensors_free(&file);
    assert_int_equal(load_run(&other, temporary_path("old")), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "load it with loader = NULL, which restores all other parts");
    adz_checkpoint c = parts_of(&other);
    c.loader = NULL;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("old")), ADZ_OK);
    assert_int_equal(c.step, 11);
    assert_true(adz_equal(adz_module_get_parameter(r.model, "1.weight"),
        adz_module_get_parameter(other.model, "1.weight")));
    adz_scope_close(scope);
    finish(&r);
    finish(&other);
    temporary_files(true);
}

static void bad_parts_are_refused(void **state)
{
    (void)state;
    run r = start(1);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    adz_checkpoint c = parts_of(&r);
    c.step = -1;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("x")), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    c.schedulers = NULL;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("x")), ADZ_ERR_NULL);
    /* The error is still recorded, so the load fails with it. */
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("kept")), ADZ_ERR_NULL);
    adz_error_clear();
    finish(&r);
    temporary_files(true);
}

/* The error names the part that the file lacks, and the load has changed nothing by then. */
static void each_part_is_missed_alone(void **state)
{
    (void)state;
    run r = start(1);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = r.model;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("model")), ADZ_OK);
    for (int part = 0; part < 4; ++part) {
        static const char *const missing[] = { "optimizer", "scheduler.0", "generator.0",
            "loader" };
        adz_checkpoint all = parts_of(&r), one = ADZ_CHECKPOINT;
        one.optimizer = part == 0 ? all.optimizer : NULL;
        one.schedulers = all.schedulers;
        one.n_schedulers = part == 1 ? 2 : 0;
        one.generators = all.generators;
        one.n_generators = part == 2 ? 3 : 0;
        one.loader = part == 3 ? all.loader : NULL;
        adz_generator_state before = adz_generator_get_state(NULL);
        assert_int_equal(adz_checkpoint_load(&one, temporary_path("model")), ADZ_ERR_STATE);
        assert_non_null(strstr(adz_error_message(), missing[part]));
        assert_non_null(strstr(adz_error_message(), "it was saved without one"));
        adz_error_clear();
        adz_generator_state after = adz_generator_get_state(NULL);
        assert_memory_equal(&before, &after, sizeof before);
    }
    finish(&r);
    temporary_files(true);
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    run r = start(1);
    adz_checkpoint c = ADZ_CHECKPOINT;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("x")), ADZ_OK);
    expect_null(
        adz_checkpoint_save(NULL, "x") == ADZ_ERR_NULL, "adz_checkpoint_save", "checkpoint");
    expect_null(adz_checkpoint_save(&c, NULL) == ADZ_ERR_NULL, "adz_checkpoint_save", "path");
    expect_null(adz_checkpoint_load(NULL, temporary_path("x")) == ADZ_ERR_NULL,
        "adz_checkpoint_load", "checkpoint");
    expect_null(adz_checkpoint_load(&c, NULL) == ADZ_ERR_NULL, "adz_checkpoint_load", "path");
    c.n_schedulers = 1;
    expect_null(adz_checkpoint_load(&c, temporary_path("x")) == ADZ_ERR_NULL, "adz_checkpoint_load",
        "schedulers");
    expect_null(adz_checkpoint_save(&c, temporary_path("x")) == ADZ_ERR_NULL, "adz_checkpoint_save",
        "schedulers");
    adz_scheduler *none[2] = { r.schedulers[0], NULL };
    c.schedulers = none;
    c.n_schedulers = 2;
    expect_null(adz_checkpoint_load(&c, temporary_path("x")) == ADZ_ERR_NULL, "adz_checkpoint_load",
        "a scheduler");
    expect_null(adz_checkpoint_save(&c, temporary_path("x")) == ADZ_ERR_NULL, "adz_checkpoint_save",
        "a scheduler");
    c.n_schedulers = 0;
    c.n_generators = 2;
    expect_null(adz_checkpoint_load(&c, temporary_path("x")) == ADZ_ERR_NULL, "adz_checkpoint_load",
        "generators");
    expect_null(adz_checkpoint_save(&c, temporary_path("x")) == ADZ_ERR_NULL, "adz_checkpoint_save",
        "generators");

    adz_safetensors *file = adz_module_to_safetensors(r.model, NULL);
    expect_null(
        adz_module_to_safetensors(NULL, NULL) == NULL, "adz_module_to_safetensors", "module");
    expect_null(adz_module_save(NULL, "x") == ADZ_ERR_NULL, "adz_module_save", "module");
    expect_null(adz_module_save(r.model, NULL) == ADZ_ERR_NULL, "adz_module_save", "path");
    expect_null(adz_module_load(NULL, "x", true) == ADZ_ERR_NULL, "adz_module_load", "module");
    expect_null(adz_module_load(r.model, NULL, true) == ADZ_ERR_NULL, "adz_module_load", "path");
    expect_null(adz_module_load_safetensors(NULL, file, true) == ADZ_ERR_NULL,
        "adz_module_load_safetensors", "module");
    expect_null(adz_module_load_safetensors(r.model, NULL, true) == ADZ_ERR_NULL,
        "adz_module_load_safetensors", "file");
    adz_safetensors_free(&file);
    finish(&r);
    temporary_files(true);
}

int mismatch_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metadata_that_does_not_fit_changes_nothing),
        cmocka_unit_test(tensors_that_do_not_fit_change_nothing),
        cmocka_unit_test(earlier_checkpoints_load_without_the_loader),
        cmocka_unit_test(bad_parts_are_refused),
        cmocka_unit_test(each_part_is_missed_alone),
        cmocka_unit_test(what_is_null_is_named),
    };
    return cmocka_run_group_tests_name(
        "checkpoint: mismatch", tests, temporary_begin, temporary_end);
}
