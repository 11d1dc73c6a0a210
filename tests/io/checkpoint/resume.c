/* Runs that are killed continue from their checkpoint with the same bits. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <errno.h>
#include <signal.h>
#include <sys/wait.h>

#include "run.h"
#include "../../errors.h"
#include "tests.h"

/* Runs in a child process: trains, saves after `saved` steps and trains until it is killed. */
static void train_until_killed(int64_t saved, int ready)
{
    run r = start(1);
    train(&r, saved);
    if (save_run(&r, temporary_path("run")) != ADZ_OK) {
        _exit(1);
    }
    train(&r, saved + 3);
    (void)!write(ready, "x", 1);
    for (;;) {
        train(&r, r.step + 1);
    }
}

static void goes_on_after_kill(void **state)
{
    (void)state;
    enum { STEPS = 40 }; /* An epoch has 8 batches, so a save after 8 or 16 steps ends an epoch. */
    static const int64_t saved[] = { 0, 1, 7, 8, 9, 16, 29, 40 };
    for (size_t i = 0; i < sizeof saved / sizeof *saved; ++i) {
        int ready[2];
        char byte;
        assert_int_equal(pipe(ready), 0);
        pid_t child = fork();
        if (child == 0) {
            train_until_killed(saved[i], ready[1]);
        }
        close(ready[1]);
        assert_int_equal(read(ready[0], &byte, 1), 1);
        close(ready[0]);
        kill(child, SIGKILL);
        waitpid(child, NULL, 0);

        run whole = start(1);
        train(&whole, STEPS);
        adz_generator_state drawn = adz_generator_get_state(NULL);
        run rest = start(999); /* different weights and generators */
        train(&rest, 3);
        assert_int_equal(load_run(&rest, temporary_path("run")), ADZ_OK);
        assert_int_equal(rest.step, saved[i]);
        train(&rest, STEPS);
        adz_generator_state redrawn = adz_generator_get_state(NULL);
        assert_memory_equal(&drawn, &redrawn, sizeof drawn);
        assert_true(same_runs(&whole, &rest));
        train(&rest, STEPS + 1);
        assert_false(same_runs(&whole, &rest));
        finish(&whole);
        finish(&rest);
        temporary_files(true);
    }
}

static void parts_may_be_left_out(void **state)
{
    (void)state;
    run r = start(1), other = start(2);
    train(&r, 5);
    assert_int_equal(save_run(&r, temporary_path("run")), ADZ_OK);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = other.model;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("run")), ADZ_OK);
    assert_int_equal(c.step, 5);
    assert_true(adz_equal(adz_module_get_parameter(r.model, "1.weight"),
        adz_module_get_parameter(other.model, "1.weight")));
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("model")), ADZ_OK);
    c.optimizer = other.sgd;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("model")), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE,
        "model: adz_checkpoint_load: the file has no optimizer; it was saved without one");
    c = (adz_checkpoint)ADZ_CHECKPOINT;
    c.loader = other.loader;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("model")), ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, "the file has no loader");
    finish(&r);
    finish(&other);
    temporary_files(true);
}

static void layout_is_as_documented(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 3);
    assert_int_equal(save_run(&r, temporary_path("run")), ADZ_OK);
    adz_safetensors *file = adz_safetensors_load(temporary_path("run"), NULL);
    static const char *const names[] = { "model.0.mean", "model.0.std", "model.1.weight",
        "model.1.bias", "model.5.weight", "model.5.bias", "state.0.momentum_buffer",
        "state.3.momentum_buffer", "scheduler.0", "scheduler.1", "generator.0", "generator.2",
        "loader" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        assert_true(adz_safetensors_has(file, names[i]));
    }
    assert_int_equal(adz_safetensors_count(file), 6 + 4 + 2 + 3 + 1);
    assert_string_equal(adz_safetensors_get_metadata(file, "step"), "3");
    const char *json = adz_safetensors_get_metadata(file, "optimizer");
    assert_non_null(strstr(json, "{\"name\":\"SGD\",\"param_groups\":[{\"lr\":0.01"));
    assert_non_null(strstr(json, "\"momentum\":0.9"));
    assert_non_null(strstr(json, "\"params\":[0,1,2,3]"));
    adz_safetensors_free(&file);
    finish(&r);
    temporary_files(true);
}

/* An errno that another call left behind does not disturb a load. A recorded error of adze that
 * nobody has taken makes the load fail before the file is opened. */
static void what_was_before_a_load(void **state)
{
    (void)state;
    run r = start(1);
    assert_int_equal(save_run(&r, temporary_path("run")), ADZ_OK);
    errno = ERANGE;
    assert_int_equal(load_run(&r, temporary_path("run")), ADZ_OK);
    adz_module *linear = adz_linear_new(2, 2, NULL);
    assert_null(adz_relu(NULL));
    assert_int_equal(load_run(&r, temporary_path("none")), ADZ_ERR_NULL);
    assert_int_equal(adz_module_load(linear, temporary_path("none"), true), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "relu: x is NULL");
    adz_module_release(&linear);
    finish(&r);
    temporary_files(true);
}

/* A program that was compiled when the struct had no `parallel` passes a shorter struct. What
 * follows it in the program's memory is neither read nor written. */
static void a_shorter_struct_is_loaded(void **state)
{
    (void)state;
    run r = start(1);
    train(&r, 9);
    adz_checkpoint c = parts_of(&r);
    c.size = offsetof(adz_checkpoint, parallel);
    c.parallel = (adz_data_parallel *)(void *)&r;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("run")), ADZ_OK);
    c.epoch = c.step = 0;
    assert_int_equal(adz_checkpoint_load(&c, temporary_path("run")), ADZ_OK);
    assert_int_equal(c.epoch, r.epoch);
    assert_int_equal(c.step, 9);
    assert_ptr_equal(c.parallel, &r);
    finish(&r);
    temporary_files(true);
}

/* A load changes the weights in place, so a graph recorded before it must not run backward. */
static void a_load_is_a_write(void **state)
{
    (void)state;
    adz_module *model = adz_linear_new(3, 2, NULL);
    adz_checkpoint c = ADZ_CHECKPOINT;
    c.model = model;
    assert_int_equal(adz_checkpoint_save(&c, temporary_path("run")), ADZ_OK);
    for (int weights_alone = 0; weights_alone < 2; ++weights_alone) {
        adz_tensor *w = adz_module_get_parameter(model, "weight");
        adz_tensor *loss = adz_sum(adz_mul(w, w), ADZ_ALL_DIMS, false);
        if (weights_alone) {
            assert_int_equal(adz_module_save(model, temporary_path("weights")), ADZ_OK);
            assert_int_equal(adz_module_load(model, temporary_path("weights"), true), ADZ_OK);
        } else {
            assert_int_equal(adz_checkpoint_load(&c, temporary_path("run")), ADZ_OK);
        }
        assert_int_equal(adz_backward(loss), ADZ_ERR_VERSION);
        const char *writer = weights_alone ? "load_state_dict" : "adz_checkpoint_load";
        if (strstr(adz_error_message(), writer) == NULL) {
            fail_msg("%s", adz_error_message());
        }
        adz_error_clear();
    }
    adz_module_release(&model);
    temporary_files(true);
}

int resume_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(goes_on_after_kill),
        cmocka_unit_test(parts_may_be_left_out),
        cmocka_unit_test(layout_is_as_documented),
        cmocka_unit_test(what_was_before_a_load),
        cmocka_unit_test(a_shorter_struct_is_loaded),
        cmocka_unit_test(a_load_is_a_write),
    };
    return cmocka_run_group_tests_name("checkpoint: resume", tests, temporary_begin, temporary_end);
}
