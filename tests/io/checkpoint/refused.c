/* Saving and loading when memory is refused or the disk is full. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <cmocka.h>

#include <jansson.h>
#include <signal.h>
#include <sys/resource.h>

#include "run.h"
#include "tied.h"
#include "tests.h"

static adz_status save_again(void *user)
{
    return save_run(user, temporary_path("kept"));
}

static adz_status load_again(void *user)
{
    return load_run(user, temporary_path("kept"));
}

static bool run_is_as_it_was(void *user)
{
    return save_run(user, temporary_path("now")) == ADZ_OK &&
           files_equal(temporary_path("now"), temporary_path("was"));
}

static adz_status save_weights(void *user)
{
    adz_module_save_options o = ADZ_MODULE_SAVE_OPTIONS;
    o.dedup = true;
    return adz_module_save_with(user, temporary_path("weights"), &o);
}

static adz_status load_weights(void *user)
{
    return adz_module_load(user, temporary_path("weights"), true);
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 11);
    assert_int_equal(save_run(&r, temporary_path("copy")), ADZ_OK);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    train(&r, 13);
    int saving = refuse_each(save_again, kept_is_intact, &r);
    assert_true(saving >= 50);
    train(&r, 15);
    assert_int_equal(save_run(&r, temporary_path("was")), ADZ_OK);
    int loading = refuse_each(load_again, run_is_as_it_was, &r);
    assert_true(loading >= 60);
    assert_int_equal(r.step, 13);
    finish(&r);
    adz_module *model = tied();
    assert_int_equal(save_weights(model), ADZ_OK);
    int writing = refuse_each(save_weights, NULL, model);
    int reading = refuse_each(load_weights, NULL, model);
    assert_true(writing >= 15 && reading >= 25);
    print_message("refused: %d saving, %d loading, %d writing weights, %d reading them\n", saving,
        loading, writing, reading);
    adz_module_release(&model);
    temporary_files(true);
}

/* ---- the memory of the library for JSON ------------------------------------------------------ */

/* The number of the request for memory that fails, counted from now; 0 for none. All later requests
 * fail as well, unless jansson_recovers is set. */
static int jansson_fails_in;
static bool jansson_recovers, jansson_refused;

static void *refusing_malloc(size_t size)
{
    bool fails = jansson_fails_in > 0 && --jansson_fails_in == 0;
    jansson_refused = jansson_refused || fails;
    if (fails && !jansson_recovers) {
        jansson_fails_in = 1;
    }
    return fails ? NULL : malloc(size);
}

/* Saves the run as "new" or loads "kept" into it, and returns true on success. A failure must
 * change nothing. After a load that succeeds, the run must be able to train and save. */
static bool is_whole(run *r, bool loads)
{
    adz_status status =
        loads ? load_run(r, temporary_path("kept")) : save_run(r, temporary_path("new"));
    jansson_fails_in = 0;
    assert_int_equal(adz_error_code(), status);
    adz_error_clear();
    if (loads && status == ADZ_OK) {
        assert_int_equal(r->step, 11);
        train(r, r->step + 2);
        assert_int_equal(save_run(r, temporary_path("was")), ADZ_OK);
        return true;
    }
    assert_true(run_is_as_it_was(r));
    size_t size = 0;
    unsigned char *bytes = read_file(temporary_path("new"), &size);
    assert_true((bytes != NULL) == (!loads && status == ADZ_OK));
    assert_true(bytes == NULL || files_equal(temporary_path("new"), temporary_path("was")));
    free(bytes);
    remove(temporary_path("new"));
    return status == ADZ_OK;
}

/* Whichever request of jansson for memory fails, saving and loading fail as a whole or succeed. */
static void refused_json_harms_nothing(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 11);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    train(&r, 13);
    assert_int_equal(save_run(&r, temporary_path("was")), ADZ_OK);
    json_malloc_t old_malloc;
    json_free_t old_free;
    json_get_alloc_funcs(&old_malloc, &old_free);
    json_set_alloc_funcs(refusing_malloc, free);
    int failures = 0;
    for (int way = 0; way < 4; ++way) {
        bool reached = true;
        for (int n = 1; reached; n += 1 + n / 10) {
            int64_t tensors = adzi_live_tensors(), bytes = adzi_live_bytes();
            jansson_recovers = way % 2 != 0;
            jansson_refused = false;
            jansson_fails_in = n;
            failures += is_whole(&r, way / 2 != 0) ? 0 : 1;
            reached = jansson_refused;
            if (adzi_live_tensors() != tensors || adzi_live_bytes() != bytes) {
                fail_msg("request %d, way %d: something stayed alive", n, way);
            }
        }
    }
    json_set_alloc_funcs(old_malloc, old_free);
    print_message("refused to jansson: %d\n", failures);
    assert_true(failures >= 100);
    finish(&r);
    temporary_files(true);
}

static void full_disk_leaves_the_old_checkpoint(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 4);
    assert_int_equal(save_run(&r, temporary_path("kept")), ADZ_OK);
    assert_int_equal(save_run(&r, temporary_path("copy")), ADZ_OK);
    train(&r, 6);
    struct rlimit old, limit;
    getrlimit(RLIMIT_FSIZE, &old);
    limit = old;
    limit.rlim_cur = 1000;
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &limit);
    adz_status status = save_run(&r, temporary_path("kept"));
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(status, ADZ_ERR_IO);
    adz_error_clear();
    assert_true(kept_is_intact(NULL));
    finish(&r);
    temporary_files(true);
}

int refused_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(refused_memory_harms_nothing),
        cmocka_unit_test(refused_json_harms_nothing),
        cmocka_unit_test(full_disk_leaves_the_old_checkpoint),
    };
    return cmocka_run_group_tests_name(
        "checkpoint: refused", tests, temporary_begin, temporary_end);
}
