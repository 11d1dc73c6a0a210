/* Bodies that change what they have not made: tensors, statistics, generators, carries, results. */
#include "solvers/loops/loops.h"

typedef struct traces {
    adz_tensor *x, *w, *most, *log; /* `log` counts the calls of a body */
    adz_module *norm;
    int calls;
    adz_loop_body body;
} traces;

static adz_tensor *goes_on(adz_tensor *const *carries, void *user)
{
    const traces *t = user;
    return adz_lt(carries[1], t->most);
}

/* Ends a body: its first carry is y. */
static adz_status next(adz_tensor **results, adz_tensor *const *inputs, adz_tensor *y)
{
    results[0] = y;
    results[1] = adz_add_number(inputs[1], 1);
    return y != NULL && results[1] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status counts(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const traces *t = user;
    const bool before = adz_set_grad_enabled(false);
    adz_add_number_(t->log, 1);
    adz_set_grad_enabled(before);
    return next(results, inputs, adz_mul(adz_sin(inputs[0]), t->w));
}

static adz_status draws(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const traces *t = user;
    return next(results, inputs, adz_mul(adz_dropout(inputs[0], 0.5, true, NULL), t->w));
}

static adz_status normalises(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const traces *t = user;
    return next(results, inputs, adz_mul(adz_module_forward(t->norm, inputs[0]), t->w));
}

static adz_status multiplies_in_place(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    return next(results, inputs, adz_mul_number_(inputs[0], 2));
}

static adz_status uses_a_count(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    traces *t = user;
    return next(results, inputs, adz_mul_number(inputs[0], ++t->calls));
}

static adz_status turns(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    return next(results, inputs, adz_transpose(inputs[0], 0, 1));
}

/* The last carry, and numbers that a generator draws behind the loop. */
static adz_status loops(adz_tensor **results, void *user)
{
    traces *t = user;
    adz_tensor *start[2] = { t->x, adz_scalar(0, ADZ_F64) }, *found[2];
    t->calls = 0;
    if (adz_while(goes_on, t->body, t, start, 2, 9, found, NULL, NULL) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = adz_mul_number(found[0], 1);
    results[1] = adz_rand(ADZ_SHAPE(3), ADZ_F64);
    return results[0] != NULL && results[1] != NULL ? ADZ_OK : adz_error_code();
}

/* The body, or one that leaves no traces. */
static adz_status branches(adz_tensor **results, void *user)
{
    traces *t = user;
    adz_tensor *in[2] = { t->x, t->most }, *found[2];
    const bool before = adz_set_grad_enabled(adz_tensor_requires_grad(t->w));
    const adz_status status =
        adz_branch(adz_gt_number(t->most, 2), t->body, turns, t, in, 2, 2, found);
    adz_set_grad_enabled(before);
    results[0] = status == ADZ_OK ? adz_mul_number(found[0], 1) : NULL;
    results[1] = adz_rand(ADZ_SHAPE(3), ADZ_F64);
    return results[0] != NULL && results[1] != NULL ? ADZ_OK : adz_error_code();
}

static traces traces_new(adz_loop_body body, bool trains)
{
    adz_manual_seed(3);
    traces t = { .x = adz_randn(ADZ_SHAPE(4, 4), ADZ_F64),
        .w = adz_scalar(0.75, ADZ_F64),
        .most = adz_scalar(3, ADZ_F64),
        .log = adz_scalar(0, ADZ_F64),
        .norm = adz_batch_norm1d_new(4, NULL),
        .body = body };
    adz_module_to(t.norm, ADZ_F64);
    adz_module_requires_grad_(t.norm, false);
    adz_requires_grad_(t.w, trains);
    return t;
}

/* Compares the first runs of a plan with ordinary calls of a function that begins equally. */
static void run_as_ordinary_calls(adz_plan_results_function function, adz_loop_body body)
{
    static const double most[] = { 3, 3, 5, 0, 20, 2 };
    enum { RUNS = sizeof most / sizeof *most, KEPT = 4 };
    adz_tensor *kept[2][RUNS][KEPT], *found[2];
    for (int planned = 0; planned < 2; ++planned) {
        traces t = traces_new(body, false);
        adz_plan *plan = NULL;
        for (int i = 0; i < RUNS; ++i) {
            adz_fill_(t.most, most[i]);
            if (!planned) {
                assert_int_equal(function(found, &t), ADZ_OK);
            } else if (i == 0) {
                plan = adz_plan_new_many(function, &t, 2, NULL);
                assert_non_null(plan);
            } else {
                assert_int_equal(adz_plan_run(plan), ADZ_OK);
            }
            for (size_t k = 0; k < 2; ++k) {
                kept[planned][i][k] = adz_clone(planned ? adz_plan_result_at(plan, k) : found[k]);
            }
            kept[planned][i][2] = adz_clone(t.log);
            kept[planned][i][3] = adz_clone(adz_module_get_buffer(t.norm, "running_mean"));
            for (size_t k = 0; k < KEPT && planned; ++k) {
                assert_true(same_bits(kept[0][i][k], kept[1][i][k]));
            }
        }
        adz_plan_free(&plan);
        adz_module_release(&t.norm);
    }
}

static void calls_that_make_a_plan_leave_the_traces_of_ordinary_calls(void **state)
{
    (void)state;
    const adz_loop_body bodies[] = { counts, draws, normalises, turns };
    for (size_t i = 0; i < sizeof bodies / sizeof *bodies; ++i) {
        run_as_ordinary_calls(loops, bodies[i]);
        run_as_ordinary_calls(branches, bodies[i]);
    }
}

static void is_refused(
    adz_plan_results_function function, adz_loop_body body, bool trains, const char *text)
{
    traces t = traces_new(body, trains);
    assert_null(adz_plan_new_many(function, &t, 2, NULL));
    expect_error(ADZ_ERR_STATE, text);
    assert_true(adz_item(t.most) == 3);
    adz_module_release(&t.norm);
}

static void what_does_not_count_must_not_be_seen(void **state)
{
    (void)state;
    is_refused(
        loops, counts, true, "add changes a tensor or a generator that the step has not made");
    is_refused(loops, draws, true, "dropout changes a tensor or a generator");
    is_refused(loops, normalises, true, "batch_norm changes a tensor or a generator");
    is_refused(
        branches, counts, true, "add changes a tensor or a generator that the body has not made");
    is_refused(branches, draws, true, "dropout changes a tensor or a generator");
}

static void a_plan_refuses_bodies_of_adz_while_that_differ(void **state)
{
    (void)state;
    is_refused(loops, multiplies_in_place, false, "the body changes carry 0 in place");
    if (FOLDS) {
        is_refused(loops, uses_a_count, false, "mul computes something else in each call");
    }
}

/* ---- results --------------------------------------------------------------------------------- */

static adz_status gives_its_carry(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = results[1] = adz_add_(inputs[0], inputs[1]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void results_keep_the_values_of_their_steps(void **state)
{
    (void)state;
    for (int enabled = 0; enabled < 2; ++enabled) {
        adz_tensor *start = adz_zeros(ADZ_SHAPE(2), ADZ_F64), *found[2];
        adz_tensor *xs = adz_ones(ADZ_SHAPE(3, 2), ADZ_F64);
        const bool before = adz_set_grad_enabled(enabled);
        const adz_status status =
            adz_scan(gives_its_carry, NULL, &start, 1, &xs, 1, 1, NULL, found);
        adz_set_grad_enabled(before);
        assert_int_equal(status, enabled ? ADZ_ERR_STATE : ADZ_OK);
        if (enabled) {
            expect_error(ADZ_ERR_STATE, "result 0 of a step was changed in place by a later step");
        } else {
            assert_true(adz_tensor_at(found[1], (int64_t[]){ 0, 0 }) == 1);
            assert_true(adz_tensor_at(found[1], (int64_t[]){ 2, 1 }) == 3);
        }
    }
}

const struct CMUnitTest loops_effects[N_LOOPS_EFFECTS] = {
    TEST(calls_that_make_a_plan_leave_the_traces_of_ordinary_calls),
    TEST(what_does_not_count_must_not_be_seen),
    TEST(a_plan_refuses_bodies_of_adz_while_that_differ),
    TEST(results_keep_the_values_of_their_steps),
};
