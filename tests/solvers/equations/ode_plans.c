/* Fixed steps in plans: the bits of ordinary calls, and launches whose number does not depend on
 * the number of steps. */
#include "solvers/equations/solvers.h"

/* A compiler that cannot clear padding leaves plans without loops (src/plan/compare.c). */
#ifdef ADZI_CLEARS_PADDING
enum { FOLDS = true };
#else
enum { FOLDS = false };
#endif

enum { ROWS = 2, WIDTH = 3 };

typedef struct solved {
    adz_tensor *w, *y0, *times;
    adz_ode_options o;
    bool trains, by_times;
} solved;

static adz_tensor *slope(adz_tensor *t, adz_tensor *y, void *user)
{
    const solved *s = user;
    return adz_mul(adz_tanh(adz_matmul(y, s->w)), adz_cos(adz_mul_number(t, 3)));
}

/* The states, or the gradients of a loss of them. */
static adz_tensor *solve(void *user)
{
    solved *s = user;
    const bool before = adz_set_grad_enabled(s->trains);
    adz_tensor *y = adz_odeint(slope, s, s->y0, s->times, &s->o, NULL), *found[3];
    adz_set_grad_enabled(before);
    if (!s->trains || y == NULL) {
        return y;
    }
    adz_tensor *leaves[3] = { s->w, s->y0, s->times };
    adz_tensor *loss = adz_sum(adz_mul(adz_square(y), y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    const size_t n = s->by_times ? 3 : 2;
    if (adz_autograd_grad(&loss, NULL, 1, leaves, n, NULL, found) != ADZ_OK) {
        return NULL;
    }
    for (size_t i = 0; i < n; ++i) {
        found[i] = adz_flatten(found[i], 0, -1);
    }
    return adz_cat(found, n, 0);
}

static solved solved_new(adz_ode_method method, adz_dtype dtype, int64_t n_times, int64_t steps)
{
    solved s = { .o = ADZ_ODE_OPTIONS };
    s.o.method = method;
    s.o.steps = steps;
    s.w = adz_requires_grad_(adz_randn(ADZ_SHAPE(WIDTH, WIDTH), dtype), true);
    s.y0 = adz_requires_grad_(adz_randn(ADZ_SHAPE(ROWS, WIDTH), dtype), true);
    s.times = adz_cumsum(adz_add_number(adz_rand(ADZ_SHAPE(n_times), dtype), 0.1), 0);
    return s;
}

/* The launches of a plan, whose third run has the bits of a call with other contents. */
static size_t launches_of(solved *s)
{
    adz_plan_info info;
    adz_plan *plan = adz_plan_new(solve, s, NULL);
    assert_true(plan != NULL && adz_plan_run(plan) == ADZ_OK && adz_plan_run(plan) == ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_copy_(s->w, adz_randn_like(s->w));
        adz_copy_(s->y0, adz_randn_like(s->y0));
        adz_copy_(s->times, adz_mul_number(s->times, 0.75));
    }
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 1);
    assert_true(adz_equal(adz_plan_output(plan), solve(s)));
    adz_plan_free(&plan);
    return info.launches;
}

static void plans_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    adz_manual_seed(3);
    for (int mode = 0; mode < 32; ++mode) {
        solved s = solved_new(mode & 1 ? ADZ_ODE_RK4 : ADZ_ODE_DORMAND_PRINCE,
            mode & 2 ? ADZ_F64 : ADZ_F32, mode & 4 ? 2 : 5, mode & 8 ? 1 : 9);
        s.trains = mode & 16;
        launches_of(&s);
        if (s.trains) { /* the ways without scans */
            s.o.graph_bytes = mode & 8 ? 0 : 4096;
            launches_of(&s);
            s.times = adz_requires_grad_(s.times, true);
            s.by_times = true;
            launches_of(&s);
        }
    }
}

static void launches_do_not_depend_on_the_number_of_steps(void **state)
{
    (void)state;
    adz_manual_seed(4);
    for (int mode = 0; mode < 8; ++mode) {
        size_t launches[3];
        for (int i = 0; i < 3; ++i) {
            solved s = solved_new(mode & 1 ? ADZ_ODE_RK4 : ADZ_ODE_DORMAND_PRINCE, ADZ_F32,
                mode & 2 ? 2 : 8,
                i == 0  ? 10
                : FOLDS ? 40 * i
                        : 10);
            s.trains = mode & 4;
            launches[i] = launches_of(&s);
        }
        assert_int_equal(launches[0], launches[1]);
        assert_int_equal(launches[0], launches[2]);
    }
}

/* Replays look at the times and at the states, as calls do. */
static void replays_are_checked(void **state)
{
    (void)state;
    adz_manual_seed(5);
    solved s = solved_new(ADZ_ODE_RK4, ADZ_F64, 3, 4);
    adz_plan *plan = adz_plan_new(solve, &s, NULL);
    assert_true(adz_plan_run(plan) == ADZ_OK && adz_plan_run(plan) == ADZ_OK);
    const double wrong[] = { 0, 2, 1 }, right[] = { 0, 1, 2 };
    adz_tensor_write(s.times, wrong, sizeof wrong);
    assert_true(adz_plan_run(plan) != ADZ_OK);
    expect_error(ADZ_ERR_ARGUMENT, "times");
    adz_tensor_write(s.times, right, sizeof right);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    ADZ_NO_GRAD
    {
        adz_fill_(s.y0, NAN);
    }
    assert_true(adz_plan_run(plan) != ADZ_OK);
    expect_error(ADZ_ERR_NUMERIC, "adz_odeint");
    adz_plan_free(&plan);
}

const struct CMUnitTest ode_plans[N_ODE_PLANS] = {
    cmocka_unit_test_setup_teardown(
        plans_have_the_bits_of_ordinary_calls, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        launches_do_not_depend_on_the_number_of_steps, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(replays_are_checked, solvers_open, solvers_close),
};
