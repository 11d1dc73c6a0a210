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

/* The log is older than the loop, and the call has made it. */
static adz_status loops_with_a_log(adz_tensor **results, void *user)
{
    traces *t = user;
    t->log = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_F64);
    const adz_status status = loops(results, user);
    results[1] = status == ADZ_OK ? adz_mul_number(t->log, 1) : NULL;
    return status;
}

static void what_does_not_count_must_not_be_seen(void **state)
{
    (void)state;
    is_refused(
        loops, counts, true, "add changes a tensor or a generator that the step has not made");
    is_refused(loops_with_a_log, counts, true, "add changes a tensor or a generator");
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

/* ---- updates behind a loop ------------------------------------------------------------------- */

typedef struct training {
    traces t;
    adz_module *layer;
    adz_optimizer *optimizer;
} training;

/* A loop without a gradient, whose result a layer learns from. */
static adz_tensor *learns(void *user)
{
    training *n = user;
    adz_tensor *start[2] = { n->t.x, adz_scalar(0, ADZ_F64) }, *found[2];
    if (adz_while(goes_on, counts, &n->t, start, 2, 9, found, NULL, NULL) != ADZ_OK) {
        return NULL;
    }
    adz_tensor *y = adz_module_forward(n->layer, adz_tanh(adz_module_forward(n->layer, found[0])));
    adz_tensor *loss = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(n->optimizer) != ADZ_OK) {
        return NULL;
    }
    adz_optimizer_zero_grad(n->optimizer);
    return loss;
}

static void a_plan_updates_weights_behind_a_loop(void **state)
{
    (void)state;
    double wanted[5];
    for (int planned = 0; planned < 2; ++planned) {
        training n = { .t = traces_new(counts, false), .layer = adz_linear_new(4, 4, NULL) };
        adz_module_to(n.layer, ADZ_F64);
        n.optimizer = adz_adam_new(adz_module_parameters(n.layer), 0.1, NULL);
        adz_plan *plan = planned ? adz_plan_new(learns, &n, NULL) : NULL;
        for (int i = 0; i < 5; ++i) {
            adz_tensor *loss = planned ? adz_plan_output(plan) : learns(&n);
            wanted[i] = planned ? wanted[i] : adz_item(loss);
            assert_true(adz_item(loss) == wanted[i]);
            assert_true(!planned || adz_plan_run(plan) == ADZ_OK);
        }
        adz_plan_info info;
        assert_true(!planned || adz_plan_get_info(plan, &info, sizeof info) == ADZ_OK);
        assert_true(!planned || info.captured);
        adz_plan_free(&plan);
        adz_optimizer_release(&n.optimizer);
        adz_module_release(&n.layer);
        adz_module_release(&n.t.norm);
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

/* Each step writes the end of a tensor that is shorter than that of the step before. */
enum { STEPS = 12 };

static adz_status takes_less_memory(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    traces *t = user;
    const int64_t left = STEPS - t->calls++;
    adz_tensor *end = adz_narrow(adz_empty(ADZ_SHAPE(16 * left), ADZ_F64), 0, 16 * (left - 1), 16);
    adz_tensor *kept = adz_to(adz_cos(inputs[0]), ADZ_F32); /* lies behind larger tensors */
    if (end == NULL || adz_copy_(end, adz_tanh(inputs[0])) == NULL) {
        return adz_error_code();
    }
    results[0] = adz_add(adz_mul_number(end, 0.5), inputs[1]);
    results[1] = adz_mul(adz_sin(end), adz_to(kept, ADZ_F64));
    return results[1] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *scan_of_shorter_tensors(void *user)
{
    traces *t = user;
    adz_tensor *found[2], *start = adz_flatten(t->x, 0, -1);
    t->calls = 0;
    const bool before = adz_set_grad_enabled(false);
    const adz_status status = adz_scan(takes_less_memory, t, &start, 1, &t->log, 1, 1, NULL, found);
    adz_set_grad_enabled(before);
    return status == ADZ_OK ? adz_add(found[1], found[0]) : NULL;
}

static void tensors_of_a_step_may_get_shorter(void **state)
{
    (void)state;
    traces t = traces_new(counts, false);
    t.log = adz_randn(ADZ_SHAPE(STEPS, 16), ADZ_F64);
    adz_plan *plan = adz_plan_new(scan_of_shorter_tensors, &t, NULL);
    assert_non_null(plan);
    for (int i = 0; i < 4; ++i) {
        adz_copy_(t.log, adz_randn_like(t.log));
        adz_copy_(t.x, adz_randn_like(t.x));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(same_bits(adz_plan_output(plan), scan_of_shorter_tensors(&t)));
    }
    adz_plan_free(&plan);
    adz_module_release(&t.norm);
}

const struct CMUnitTest loops_effects[N_LOOPS_EFFECTS] = {
    TEST(calls_that_make_a_plan_leave_the_traces_of_ordinary_calls),
    TEST(what_does_not_count_must_not_be_seen),
    TEST(a_plan_refuses_bodies_of_adz_while_that_differ),
    TEST(a_plan_updates_weights_behind_a_loop),
    TEST(results_keep_the_values_of_their_steps),
    TEST(tensors_of_a_step_may_get_shorter),
};
