/* While loops and branches in plans: other numbers of steps, and other bodies, in each run. */
#include "solvers/loops/loops.h"

/* Newton's method for Kepler's equation E - e sin(E) = m, until no element is far from it. */
typedef struct orbit {
    adz_tensor *m, *e;
    int64_t most;
    bool differentiates;
} orbit;

static adz_tensor *residual(adz_tensor *anomaly, const orbit *o)
{
    return adz_sub(adz_sub(anomaly, adz_mul(o->e, adz_sin(anomaly))), o->m);
}

static adz_tensor *is_far(adz_tensor *const *carries, void *user)
{
    return adz_any(
        adz_gt_number(adz_abs(residual(carries[0], user)), 1e-13), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_status newton(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const orbit *o = user;
    adz_tensor *slope = adz_add_number(adz_neg(adz_mul(o->e, adz_cos(inputs[0]))), 1);
    results[0] = adz_sub(inputs[0], adz_div(residual(inputs[0], o), slope));
    results[1] = inputs[0];
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

/* The anomaly, the carry before it, the steps, whether the condition has ended them, and with
 * gradients those by m and e. */
static adz_status solve(adz_tensor **results, void *user)
{
    orbit *given = user, copy = *given, *o = &copy;
    adz_tensor *in[2] = { o->m, o->e };
    o->m = adz_add_number(o->m, 0.125); /* the loop reads it in each step */
    adz_tensor *start[2] = { o->m, adz_zeros_like(o->m) };
    if (o->m == NULL || adz_while(is_far, newton, o, start, 2, o->most, results, &results[2],
                            &results[3]) != ADZ_OK) {
        return adz_error_code();
    }
    adz_tensor *sum =
        o->differentiates ? adz_sum(adz_square(results[0]), ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    return sum != NULL ? adz_autograd_grad(&sum, NULL, 1, in, 2, NULL, results + 4) : ADZ_OK;
}

static void draw(orbit *o, double e)
{
    const bool before = adz_set_grad_enabled(false);
    adz_copy_(o->m, adz_mul_number(adz_rand_like(o->m), 6));
    adz_fill_(o->e, e);
    adz_set_grad_enabled(before);
}

/* Compares n results of a plan with those of ordinary calls, for orbits that need more steps, and
 * fewer, than those with which the plan was made. */
static void solves_as_ordinary_calls(orbit *o, double first, size_t n, double tolerance)
{
    const double all[] = { 0.7, 0, 0.9, 0.1, 0.97 };
    adz_tensor *wanted[6];
    adz_manual_seed(1);
    draw(o, first);
    adz_plan *plan = adz_plan_new_many(solve, o, n, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        draw(o, o->differentiates && all[i] == 0 ? 0.01 : all[i]); /* a gradient needs a step */
        assert_int_equal(solve(wanted, o), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        adz_plan_info info;
        adz_plan_get_info(plan, &info, sizeof info);
        assert_true(info.captured);
        for (size_t k = 0; k < n; ++k) {
            adz_tensor *found = adz_plan_result_at(plan, k);
            assert_true(k < 4 ? same_bits(found, wanted[k])
                              : adz_allclose(found, wanted[k], tolerance, tolerance, false));
        }
    }
    adz_plan_free(&plan);
}

static void a_plan_runs_as_many_steps_as_it_needs(void **state)
{
    (void)state;
    for (int64_t most = 0; most < 60; most = most * 3 + 2) {
        for (int begin = 0; begin < 2; ++begin) {
            orbit o = { adz_ones(ADZ_SHAPE(5), ADZ_F64), adz_ones(ADZ_SHAPE(5), ADZ_F64), most,
                false };
            solves_as_ordinary_calls(&o, begin ? 0.5 : 0, 4, 0);
        }
    }
}

static void a_plan_differentiates_while_loops(void **state)
{
    (void)state;
    orbit o = { adz_ones(ADZ_SHAPE(5), ADZ_F64), adz_ones(ADZ_SHAPE(5), ADZ_F64), 25, true };
    adz_requires_grad_(o.m, true);
    adz_requires_grad_(o.e, true);
    solves_as_ordinary_calls(&o, 0.5, 6, 1e-12);
}

/* The gradient of the sum of squares of the carries, which no step changes. */
static adz_status differentiate_no_steps(adz_tensor **results, void *user)
{
    orbit *o = user;
    adz_tensor *twice = adz_mul_number(o->m, 2), *start[2] = { twice, o->m }, *found[2];
    if (adz_while(is_far, newton, o, start, 2, 0, found, &results[1], &results[2]) != ADZ_OK) {
        return adz_error_code();
    }
    adz_tensor *both = adz_add(adz_square(found[0]), found[1]);
    adz_tensor *sum = adz_sum(both, ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_autograd_grad(&sum, NULL, 1, &o->m, 1, NULL, results);
}

static void a_bound_of_no_steps_has_a_gradient_in_a_plan(void **state)
{
    (void)state;
    adz_tensor *wanted[3];
    orbit o = { adz_ones(ADZ_SHAPE(5), ADZ_F64), adz_ones(ADZ_SHAPE(5), ADZ_F64), 0, true };
    adz_requires_grad_(o.m, true);
    adz_plan *plan = adz_plan_new_many(differentiate_no_steps, &o, 3, NULL);
    assert_non_null(plan);
    for (int i = 0; i < 4; ++i) {
        draw(&o, i % 2 ? 0.5 : 0); /* with 0, the first carry of this loop is no solution either */
        assert_int_equal(differentiate_no_steps(wanted, &o), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        for (size_t k = 0; k < 3; ++k) {
            assert_true(same_bits(adz_plan_result_at(plan, k), wanted[k]));
        }
    }
    adz_plan_free(&plan);
}

/* ---- swaps, and loops in loops --------------------------------------------------------------- */

static adz_tensor *below(adz_tensor *const *carries, void *most)
{
    return adz_lt(carries[2], most);
}

static adz_status swaps(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = inputs[1];
    results[1] = adz_narrow(inputs[0], 0, 0, 2);
    results[2] = adz_add_number(inputs[2], 1);
    return results[2] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status swapped(adz_tensor **results, void *most)
{
    adz_tensor *start[3] = { adz_arange(1, 3, 1, ADZ_F64), adz_arange(5, 7, 1, ADZ_F64),
        adz_scalar(0, ADZ_F64) };
    return adz_while(below, swaps, most, start, 3, 100, results, NULL, NULL);
}

static void carries_may_be_exchanged(void **state)
{
    (void)state;
    adz_tensor *most = adz_scalar(3, ADZ_F64), *wanted[3];
    adz_plan *plan = adz_plan_new_many(swapped, most, 3, NULL);
    for (int n = 0; n < 6; ++n) {
        adz_fill_(most, n);
        assert_int_equal(swapped(wanted, most), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        for (size_t k = 0; k < 3; ++k) {
            assert_true(same_bits(adz_plan_result_at(plan, k), wanted[k]));
        }
    }
    adz_plan_free(&plan);
}

/* ---- branches -------------------------------------------------------------------------------- */

typedef struct choice {
    adz_tensor *x, *w, *log; /* `log` counts the calls of each body */
} choice;

static adz_status count_call(const choice *c, int body)
{
    const bool before = adz_set_grad_enabled(false);
    adz_tensor *counted = adz_add_number_(adz_select(c->log, 0, body), 1);
    adz_set_grad_enabled(before);
    return counted != NULL ? ADZ_OK : adz_error_code();
}

static adz_status above(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const choice *c = user;
    results[0] = adz_mul(adz_log(inputs[0]), c->w);
    return results[0] != NULL ? count_call(c, 0) : adz_error_code();
}

static adz_status under(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    results[0] = adz_square(inputs[0]);
    return results[0] != NULL ? count_call(user, 1) : adz_error_code();
}

/* In each step of a scan, one of two bodies. */
static adz_status chooses(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    const choice *c = user;
    if (adz_branch(adz_gt_number(inputs[1], 0), above, under, user, &inputs[1], 1, 1, results) !=
        ADZ_OK) {
        return adz_error_code();
    }
    results[1] = results[0];
    results[0] = adz_add(inputs[0], adz_mul_number(results[0], 0.5));
    return c != NULL && results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *scan_of_branches(void *user)
{
    choice *c = user;
    adz_tensor *start = adz_scalar(0, ADZ_F64), *found[2];
    return adz_scan(chooses, c, &start, 1, &c->x, 1, 1, NULL, found) == ADZ_OK
               ? adz_add(adz_sum(found[1], ADZ_ALL_DIMS, ADZ_DROPDIM), found[0])
               : NULL;
}

static void a_plan_computes_the_body_that_is_chosen(void **state)
{
    (void)state;
    adz_manual_seed(8);
    choice c = { adz_randn(ADZ_SHAPE(20), ADZ_F64), adz_scalar(3, ADZ_F64),
        adz_zeros(ADZ_SHAPE(2), ADZ_F64) };
    adz_plan *plan = adz_plan_new(scan_of_branches, &c, NULL);
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    for (int i = 0; i < 4; ++i) {
        adz_copy_(c.x, adz_randn_like(c.x));
        adz_fill_(c.log, 0);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        const double above_zero =
            adz_item(adz_sum(adz_to(adz_gt_number(c.x, 0), ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(adz_tensor_at(c.log, (int64_t[]){ 0 }) == above_zero);
        assert_true(adz_tensor_at(c.log, (int64_t[]){ 1 }) == 20 - above_zero);
        const double found = adz_item(adz_plan_output(plan));
        assert_true(found == adz_item(scan_of_branches(&c)));
    }
    adz_plan_free(&plan);
}

/* The first step copies a strided carry before it adds up, so it differs within the branch. */
static adz_status adds_up(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_cumsum(adz_sin(adz_cumsum(inputs[0], 0)), 1);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status adds_down(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_neg(adz_cumsum(inputs[0], 0));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status strided_step(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    return adz_branch(adz_gt_number(inputs[1], 0), adds_up, adds_down, user, inputs, 1, 1, results);
}

static adz_tensor *scan_of_strided(void *user)
{
    choice *c = user;
    adz_tensor *start = adz_transpose(c->w, 0, 1), *found;
    return adz_scan(strided_step, c, &start, 1, &c->x, 1, 0, NULL, &found) == ADZ_OK ? found : NULL;
}

static void steps_that_begin_in_a_branch_are_folded_as_a_whole(void **state)
{
    (void)state;
    adz_manual_seed(8);
    choice c = { adz_randn(ADZ_SHAPE(30), ADZ_F64), adz_randn(ADZ_SHAPE(3, 4), ADZ_F64), NULL };
    adz_plan *plan = adz_plan_new(scan_of_strided, &c, NULL);
    adz_plan_info info;
    assert_non_null(plan);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && (!FOLDS || info.launches < 60));
    for (int i = 0; i < 4; ++i) {
        adz_copy_(c.x, adz_randn_like(c.x));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(same_bits(adz_plan_output(plan), scan_of_strided(&c)));
    }
    adz_plan_free(&plan);
}

/* A loop in a body that does not run when the plan is made. */
static adz_status loops_on(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    adz_tensor *start[3] = { inputs[0], inputs[0], adz_scalar(0, ADZ_F64) }, *found[3];
    const choice *c = user;
    if (adz_while(below, swaps, c->log, start, 3, INT64_MAX, found, NULL, NULL) != ADZ_OK) {
        return adz_error_code();
    }
    results[0] = adz_add(found[0], found[2]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *branch_of_loops(void *user)
{
    const choice *c = user;
    adz_tensor *in = c->x, *found;
    return adz_branch(c->w, loops_on, loops_on, user, &in, 1, 1, &found) == ADZ_OK ? found : NULL;
}

static void bodies_that_do_not_run_are_not_computed(void **state)
{
    (void)state;
    choice c = { adz_ones(ADZ_SHAPE(2), ADZ_F64), adz_scalar(0, ADZ_F64), adz_scalar(4, ADZ_F64) };
    adz_plan *plan = adz_plan_new(branch_of_loops, &c, NULL);
    assert_non_null(plan);
    for (int i = 0; i < 6; ++i) {
        adz_fill_(c.w, i % 2);
        adz_fill_(c.log, i);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_true(same_bits(adz_plan_output(plan), branch_of_loops(&c)));
    }
    adz_plan_free(&plan);
}

static adz_status other_shape(adz_tensor **results, adz_tensor *const *inputs, void *user)
{
    (void)user;
    results[0] = adz_unsqueeze(inputs[0], 0);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_tensor *uneven(void *user)
{
    const choice *c = user;
    adz_tensor *in = c->x, *found;
    return adz_branch(c->w, under, other_shape, user, &in, 1, 1, &found) == ADZ_OK ? found : NULL;
}

static void a_plan_refuses_bodies_of_different_shapes(void **state)
{
    (void)state;
    choice c = { adz_ones(ADZ_SHAPE(20), ADZ_F64), adz_scalar(3, ADZ_F64),
        adz_zeros(ADZ_SHAPE(2), ADZ_F64) };
    assert_null(adz_plan_new(uneven, &c, NULL));
    expect_error(
        ADZ_ERR_SHAPE, "result 0 is float64[20] if the predicate is true, and else float64[1, 20]");
}

const struct CMUnitTest loops_conditions[N_LOOPS_CONDITIONS] = {
    TEST(a_plan_runs_as_many_steps_as_it_needs),
    TEST(a_plan_differentiates_while_loops),
    TEST(a_bound_of_no_steps_has_a_gradient_in_a_plan),
    TEST(carries_may_be_exchanged),
    TEST(a_plan_computes_the_body_that_is_chosen),
    TEST(steps_that_begin_in_a_branch_are_folded_as_a_whole),
    TEST(bodies_that_do_not_run_are_not_computed),
    TEST(a_plan_refuses_bodies_of_different_shapes),
};
