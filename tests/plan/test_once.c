/* Work on weights alone, which a plan with packed weights does once (src/plan/once.c).
 *
 * Each function is called by a plan and in the ordinary way, run by run with other inputs, and both
 * results have the same bits.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/alloc.h"
#include "base/threads/parallel.h"
#include "errors.h"
#include "plan/plan.h"

enum { ROWS = 4, WIDTH = 6, STEPS = 5, RUNS = 4 };

/* A module with one weight, and what functions of it read. */
typedef struct work {
    adz_module *module;
    adz_tensor *weight; /* [WIDTH, WIDTH], a parameter of the module, or NULL */
    adz_tensor *x;
    adz_plan_function function;
} work;

static work begin(adz_plan_function function)
{
    adz_manual_seed(1);
    work w = { .module = adz_linear_new(WIDTH, WIDTH, NULL), .function = function };
    adz_scope *scope = adz_scope_open();
    w.weight = adz_module_parameters(w.module).items[0];
    w.x = adz_keep(adz_randn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32));
    adz_scope_close(scope);
    return w;
}

static void end(work *w)
{
    adz_release(&w->x);
    adz_module_release(&w->module);
}

static adz_plan *plan_of(work *w, bool packed)
{
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = w->module;
    options.pack_weights = packed;
    const bool enabled = adz_set_grad_enabled(false);
    adz_plan *plan = adz_plan_new(w->function, w, &options);
    adz_set_grad_enabled(enabled);
    assert_non_null(plan);
    return plan;
}

static adz_plan_info info_of(const adz_plan *plan)
{
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    return info;
}

/* Runs the plan, and compares its result with that of the function itself. What the function draws
 * or writes is put back in between. */
static void run_and_compare(adz_plan *plan, work *w, int run)
{
    ADZ_NO_GRAD
    {
        adz_copy_(w->x, adz_randn(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32));
        adz_tensor *weight = adz_clone(w->weight);
        adz_manual_seed(100 + (uint64_t)run);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        adz_tensor *found = adz_clone(adz_plan_output(plan));
        adz_tensor *after = adz_clone(w->weight);
        if (!adz_equal(weight, after)) {
            adz_copy_(w->weight, weight);
        }
        adz_manual_seed(100 + (uint64_t)run);
        adz_tensor *expected = w->function(w);
        assert_true(adz_equal(expected, found));
        assert_true(adz_equal(w->weight, after));
    }
}

/* Compares RUNS runs. Returns how many launches fewer than without packed weights a run has. */
static int launches_saved(adz_plan_function function, size_t *bytes)
{
    work w = begin(function);
    adz_plan *plain = plan_of(&w, false), *plan = plan_of(&w, true);
    for (int i = 0; i < RUNS; ++i) {
        adz_scope *scope = adz_scope_open();
        run_and_compare(plan, &w, i);
        run_and_compare(plain, &w, i);
        adz_scope_close(scope);
    }
    assert_true(info_of(plan).captured);
    const size_t all = info_of(plain).launches, left = info_of(plan).launches;
    *bytes = info_of(plan).packed_bytes;
    adz_plan_free(&plain);
    adz_plan_free(&plan);
    end(&w);
    return (int)(all - left);
}

static adz_tensor *swapped(adz_tensor *weight)
{
    adz_tensor *parts[] = { adz_narrow(weight, 0, 4, 2), adz_narrow(weight, 0, 0, 4) };
    return adz_cat(parts, 2, 0);
}

/* Two copies join parts of the weight in another order. */
static adz_tensor *multiply_by_parts(void *user)
{
    work *w = user;
    return adz_mul(adz_linear(w->x, swapped(w->weight), ADZ_NONE), w->x);
}

static void parts_of_a_weight_are_joined_once(void **state)
{
    (void)state;
    size_t bytes;
    assert_int_equal(launches_saved(multiply_by_parts, &bytes), 2);
    assert_int_equal(bytes, WIDTH * WIDTH * sizeof(float));
}

/* exp(w), and a second launch that reads what the first one has made. The reading launch has x. */
static adz_tensor *add_to_functions(void *user)
{
    work *w = user;
    adz_tensor *rows = adz_narrow(adz_sigmoid(adz_exp(w->weight)), 0, 0, ROWS);
    return adz_add(rows, w->x);
}

static void launches_may_follow_from_one_another(void **state)
{
    (void)state;
    size_t bytes;
    assert_int_equal(launches_saved(add_to_functions, &bytes), 2);
    assert_true(bytes >= WIDTH * WIDTH * sizeof(float));
}

/* The copy of the weight is changed by a launch that has x, so no run may begin without it. */
static adz_tensor *change_a_copy(void *user)
{
    work *w = user;
    adz_tensor *rows = adz_clone(adz_narrow(w->weight, 0, 0, ROWS));
    adz_add_(rows, w->x);
    return adz_mul_number(rows, 2);
}

/* x is multiplied by the copy before weights alone change it. */
static adz_tensor *read_before_the_last_write(void *user)
{
    work *w = user;
    adz_tensor *rows = adz_clone(adz_narrow(w->weight, 0, 0, ROWS));
    adz_tensor *before = adz_mul(rows, w->x);
    adz_neg_(rows);
    return adz_add(before, adz_mul(rows, w->x));
}

/* The copies of the weight are those of the weight that the run has changed. */
static adz_tensor *change_the_weight(void *user)
{
    work *w = user;
    adz_tensor *y = adz_linear(w->x, swapped(w->weight), ADZ_NONE);
    adz_mul_number_(w->weight, 0.5);
    return y;
}

/* The mask is another one in every run. */
static adz_tensor *drop_weights(void *user)
{
    work *w = user;
    return adz_linear(w->x, adz_dropout(w->weight, 0.5, true, NULL), ADZ_NONE);
}

/* No weight is read. */
static adz_tensor *add_zeros(void *user)
{
    work *w = user;
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(ROWS, WIDTH), ADZ_F32);
    return adz_add(adz_mul_number(zeros, 2), w->x);
}

/* A body joins parts of the weight, and the other one does not. */
static adz_status join(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    work *w = user;
    results[0] = adz_linear(inputs[0], swapped(w->weight), ADZ_NONE);
    return adz_error_code();
}

static adz_status leave(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_neg(inputs[0]);
    return adz_error_code();
}

static adz_tensor *choose(void *user)
{
    work *w = user;
    adz_tensor *predicate = adz_gt_number(adz_sum(w->x, ADZ_ALL_DIMS, ADZ_DROPDIM), 0), *y = NULL;
    adz_branch(predicate, join, leave, w, &w->x, 1, 1, &y);
    return y;
}

/* A step of a scan that joins parts of a weight that does not change. */
static adz_status step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    work *w = user;
    results[0] = adz_tanh(adz_linear(inputs[0], swapped(w->weight), ADZ_NONE));
    results[1] = adz_mul(results[0], inputs[1]);
    return adz_error_code();
}

static adz_tensor *repeat(void *user)
{
    work *w = user;
    adz_tensor *steps = adz_expand(adz_ones(ADZ_SHAPE(1), ADZ_F32), ADZ_SHAPE(9)), *y[2] = { 0 };
    adz_scan(step, w, &w->x, 1, &steps, 1, 1, NULL, y);
    return y[0];
}

/* A compiler that cannot clear padding leaves plans without loops (src/plan/compare.c). */
#ifdef ADZI_CLEARS_PADDING
enum { FOLDS = true };
#else
enum { FOLDS = false };
#endif

static void what_may_differ_from_run_to_run_is_done_in_each(void **state)
{
    (void)state;
    const adz_plan_function functions[] = { change_a_copy, read_before_the_last_write,
        change_the_weight, drop_weights, add_zeros, choose, repeat };
    const size_t n = sizeof functions / sizeof *functions - (FOLDS ? 0 : 1);
    for (size_t i = 0; i < n; ++i) {
        size_t bytes;
        assert_int_equal(launches_saved(functions[i], &bytes), 0);
        assert_int_equal(bytes, 0);
    }
}

static void a_plan_notices_that_a_weight_was_written(void **state)
{
    (void)state;
    work w = begin(multiply_by_parts);
    adz_plan *plan = plan_of(&w, true);
    for (int i = 0; i < 2 * RUNS; ++i) {
        adz_scope *scope = adz_scope_open();
        if (i % RUNS == 0) {
            ADZ_NO_GRAD
            {
                adz_mul_number_(w.weight, 1.5);
            }
        }
        run_and_compare(plan, &w, i);
        adz_scope_close(scope);
    }
    assert_true(info_of(plan).captured);
    assert_true(info_of(plan).packed_bytes > 0);
    adz_plan_free(&plan);
    end(&w);
}

/* A recurrent layer packs its matrix for the steps. */
static adz_tensor *recur(void *user)
{
    work *w = user;
    adz_tensor *sequence = adz_expand(w->x, ADZ_SHAPE(STEPS, ROWS, WIDTH));
    return adz_module_forward(w->module, sequence);
}

static void recurrent_layers_pack_their_matrix_once(void **state)
{
    (void)state;
    adz_module *layers[] = { adz_lstm_new(WIDTH, 20, NULL), adz_gru_new(WIDTH, 20, NULL) };
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        work w = begin(recur);
        adz_module_release(&w.module);
        w.module = layers[i];
        w.weight = adz_module_parameters(w.module).items[1]; /* of h */
        adz_plan *plain = plan_of(&w, false), *plan = plan_of(&w, true);
        for (int run = 0; run < RUNS; ++run) {
            adz_scope *scope = adz_scope_open();
            run_and_compare(plan, &w, run);
            run_and_compare(plain, &w, run);
            adz_scope_close(scope);
        }
        assert_int_equal(info_of(plain).launches - info_of(plan).launches, 1);
        adz_plan_free(&plain);
        adz_plan_free(&plan);
        end(&w);
    }
}

static void refused_memory(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    work w = begin(multiply_by_parts);
    const bool enabled = adz_set_grad_enabled(false);
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.module = w.module;
    options.pack_weights = true;
    assert_int_equal(adz_module_parameters(w.module).count, 2); /* the module keeps the list */
    const int64_t live = adzi_live_bytes();
    bool failed = true;
    for (int64_t k = 1; failed; ++k) {
        adzi_alloc_fail_at(k);
        adz_plan *plan = adz_plan_new(w.function, &w, &options);
        adz_status status = plan != NULL ? adz_plan_run(plan) : adz_error_code();
        failed = adzi_alloc_failed();
        adzi_alloc_fail_at(0);
        assert_true(status == ADZ_ERR_MEMORY || (status == ADZ_OK && plan != NULL));
        adz_error_clear();
        for (int i = 0; plan != NULL && i < 3; ++i) {
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
        }
        assert_true(plan == NULL || info_of(plan).packed_bytes == WIDTH * WIDTH * sizeof(float));
        adz_plan_free(&plan);
        assert_int_equal(adzi_live_bytes(), live);
        assert_true(failed || k > 20);
    }
    adz_set_grad_enabled(enabled);
    end(&w);
    adz_scope_close(scope);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(parts_of_a_weight_are_joined_once),
        cmocka_unit_test(launches_may_follow_from_one_another),
        cmocka_unit_test(what_may_differ_from_run_to_run_is_done_in_each),
        cmocka_unit_test(a_plan_notices_that_a_weight_was_written),
        cmocka_unit_test(recurrent_layers_pack_their_matrix_once),
        cmocka_unit_test(refused_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
