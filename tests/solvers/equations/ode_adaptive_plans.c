/* Steps with error control in plans: the bits of ordinary calls, for steps that differ from run to
 * run. */
#include "adze/loops.h"
#include "solvers/equations/solvers.h"

/* A compiler that cannot clear padding leaves plans without loops over the times
 * (src/plan/compare.c). */
#ifdef ADZI_CLEARS_PADDING
enum { FOLDS = true };
#else
enum { FOLDS = false };
#endif

enum { ROWS = 2, WIDTH = 3 };

typedef struct solved {
    adz_tensor *w, *y0, *times;
    adz_ode_options o;
    adz_ode_report report;
} solved;

/* Linear, with a rate that depends on the time. */
static adz_tensor *slope(adz_tensor *t, adz_tensor *y, void *user)
{
    const solved *s = user;
    adz_tensor *pull = adz_add(adz_matmul(y, s->w), adz_cos(adz_mul_number(t, 7)));
    return adz_sub(adz_tanh(pull), y);
}

static adz_tensor *solve(void *user)
{
    solved *s = user;
    return adz_odeint(slope, s, s->y0, s->times, &s->o, &s->report);
}

static solved solved_new(adz_ode_method method, adz_dtype dtype, int64_t n_times)
{
    solved s = { .o = ADZ_ODE_OPTIONS };
    s.o.method = method;
    s.o.rtol = dtype == ADZ_F64 ? 1e-7 : 1e-4;
    s.o.atol = s.o.rtol * 1e-2;
    s.w = adz_randn(ADZ_SHAPE(WIDTH, WIDTH), dtype);
    s.y0 = adz_randn(ADZ_SHAPE(ROWS, WIDTH), dtype);
    s.times = adz_cumsum(adz_add_number(adz_rand(ADZ_SHAPE(n_times), dtype), 0.5), 0);
    return s;
}

/* Other contents, for which other steps are taken. */
static void refill(solved *s, double times)
{
    ADZ_NO_GRAD
    {
        adz_copy_(s->w, adz_mul_number(adz_randn_like(s->w), 3));
        adz_copy_(s->y0, adz_randn_like(s->y0));
        adz_copy_(s->times, adz_mul_number(s->times, times));
    }
}

/* Compares replays with ordinary calls; the second one has times that go the other way. Returns the
 * launches of the plan. */
static size_t check_plan(solved *s)
{
    adz_plan_info info;
    adz_plan *plan = adz_plan_new(solve, s, NULL);
    if (plan == NULL || adz_plan_run(plan) != ADZ_OK || adz_plan_run(plan) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    const adz_ode_report captured = s->report;
    assert_true(adz_equal(adz_plan_output(plan), solve(s)));
    assert_true(captured.steps == s->report.steps && captured.rejected == s->report.rejected);
    assert_true(captured.time == s->report.time && captured.steps > 1);
    for (int i = 0; i < 2; ++i) {
        refill(s, i == 0 ? 1.75 : -1);
        if (adz_plan_run(plan) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
        assert_true(adz_equal(adz_plan_output(plan), solve(s)));
    }
    adz_plan_get_info(plan, &info, sizeof info);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    return info.launches;
}

static void plans_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    adz_manual_seed(13);
    for (int mode = 0; mode < 8; ++mode) {
        solved s = solved_new(mode & 1 ? ADZ_ODE_RODAS4 : ADZ_ODE_DORMAND_PRINCE,
            mode & 2 ? ADZ_F64 : ADZ_F32, mode & 4 ? 2 : 6);
        check_plan(&s);
    }
}

/* Options of the controller. A first step that is too long makes steps that are tried again. */
static void options_have_the_bits_of_ordinary_calls(void **state)
{
    (void)state;
    const double atols[] = { 1e-7, 1e-5, 1e-3 };
    adz_manual_seed(14);
    for (int mode = 0; mode < 4; ++mode) {
        solved s = solved_new(ADZ_ODE_DORMAND_PRINCE, ADZ_F64, mode & 1 ? 2 : 4);
        s.o.first_step = mode < 2 ? 1.5 : 0;
        s.o.max_step = mode >= 2 ? 0.0625 : 0;
        s.o.rows = true;
        s.o.atols = atols;
        s.o.n_atols = 3;
        check_plan(&s);
        assert_true(mode >= 2 || s.report.rejected > 0);
    }
}

/* A state for which squares of errors overflow, and one without elements. */
static void states_at_the_ends_of_the_range(void **state)
{
    (void)state;
    adz_manual_seed(15);
    solved s = solved_new(ADZ_ODE_DORMAND_PRINCE, ADZ_F64, 3);
    s.o.atol = 1e-250;
    ADZ_NO_GRAD
    {
        adz_zero_(s.y0);
    }
    check_plan(&s);
    s = solved_new(ADZ_ODE_DORMAND_PRINCE, ADZ_F64, 3);
    s.y0 = adz_zeros(ADZ_SHAPE(0, WIDTH), ADZ_F64);
    adz_plan *plan = adz_plan_new(solve, &s, NULL);
    for (int i = 0; i < 3; ++i) {
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
    }
    adz_plan_free(&plan);
}

/* A plan has one loop over the steps, and one over the times if there are several. */
static void launches_do_not_depend_on_the_steps(void **state)
{
    (void)state;
    size_t launches[4];
    for (int i = 0; i < 4; ++i) {
        adz_manual_seed(16);
        solved s = solved_new(ADZ_ODE_DORMAND_PRINCE, ADZ_F64, i < 2 ? 2 : 10 * i);
        s.o.rtol = i % 2 == 0 ? 1e-3 : 1e-8;
        launches[i] = check_plan(&s);
    }
    assert_int_equal(launches[0], launches[1]);
    assert_true(!FOLDS || launches[2] == launches[3]);
}

/* y' = y^2 blows up at the time 1 / y0. */
static adz_tensor *square(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    return adz_square(y);
}

static adz_tensor *solve_square(void *user)
{
    solved *s = user;
    return adz_odeint(square, NULL, s->y0, s->times, &s->o, &s->report);
}

/* A replay fails with the error of an ordinary call, and the next one is as it should be. */
static void expect_same_error(solved *s, adz_plan *plan, double y0, const char *text)
{
    char message[512];
    const double good = 0.25;
    adz_tensor_write(s->y0, &y0, sizeof y0);
    assert_null(solve_square(s));
    snprintf(message, sizeof message, "%s", adz_error_message());
    assert_non_null(strstr(message, text));
    adz_error_clear();
    assert_true(adz_plan_run(plan) != ADZ_OK);
    assert_string_equal(adz_error_message(), message);
    adz_error_clear();
    adz_tensor_write(s->y0, &good, sizeof good);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_true(adz_equal(adz_plan_output(plan), solve_square(s)));
}

static void replays_fail_as_calls_do(void **state)
{
    (void)state;
    const double times[] = { 0, 1, 2 }, wrong[] = { 0, 2, 1 };
    for (int mode = 0; mode < 2; ++mode) {
        solved s = { .o = ADZ_ODE_OPTIONS };
        s.y0 = adz_full(ADZ_SHAPE(1), 0.25, ADZ_F64);
        s.times = adz_tensor_from(times, ADZ_SHAPE(3), ADZ_F64);
        s.o.max_steps = mode == 0 ? 100000 : 40;
        adz_plan *plan = adz_plan_new(solve_square, &s, NULL);
        assert_true(adz_plan_run(plan) == ADZ_OK && adz_plan_run(plan) == ADZ_OK);
        expect_same_error(&s, plan, 0.75, mode == 0 ? "too short" : "max_steps");
        expect_same_error(&s, plan, NAN, "the state is not finite");
        expect_same_error(&s, plan, 1e200, "the function is not finite");
        adz_tensor_write(s.times, wrong, sizeof wrong);
        assert_true(adz_plan_run(plan) != ADZ_OK);
        expect_error(ADZ_ERR_ARGUMENT, "times[2]");
        adz_plan_free(&plan);
    }
}

/* A state without elements has an error of the solver, and no other one. */
static void states_without_elements_fail(void **state)
{
    (void)state;
    solved s = solved_new(ADZ_ODE_DORMAND_PRINCE, ADZ_F64, 3);
    s.y0 = adz_zeros(ADZ_SHAPE(0, WIDTH), ADZ_F64);
    s.o.max_steps = 1;
    assert_null(solve(&s));
    expect_error(ADZ_ERR_NUMERIC, "max_steps were not enough");
    assert_null(adz_plan_new(solve, &s, NULL));
    expect_error(ADZ_ERR_NUMERIC, "max_steps were not enough");
}

static adz_tensor *is_large(adz_tensor *const *in, void *user)
{
    (void)user;
    return adz_gt_number(adz_amax(adz_abs(in[0]), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.01);
}

static adz_status solve_once(adz_tensor **results, adz_tensor *const *in, void *user)
{
    solved *s = user;
    adz_tensor *y = adz_odeint(slope, s, in[0], s->times, &s->o, &s->report);
    results[0] = y != NULL ? adz_mul_number(adz_select(y, 0, -1), 0.25) : NULL;
    return results[0] != NULL ? ADZ_OK : ADZ_ERR_STATE;
}

static adz_tensor *solve_often(void *user)
{
    solved *s = user;
    adz_tensor *last;
    return adz_while(is_large, solve_once, s, &s->y0, 1, 20, &last, NULL, NULL) == ADZ_OK ? last
                                                                                          : NULL;
}

/* The body of a loop, which is called once without being computed. */
static void bodies_of_loops_solve_equations(void **state)
{
    (void)state;
    adz_manual_seed(17);
    const bool before = adz_set_grad_enabled(true);
    for (int mode = 0; mode < 4; ++mode) {
        adz_set_grad_enabled(
            mode == 1 || mode == 2); /* then a call of the function tells that none is wanted */
        solved s = solved_new(
            mode & 1 ? ADZ_ODE_RODAS4 : ADZ_ODE_DORMAND_PRINCE, ADZ_F64, mode & 2 ? 2 : 4);
        adz_plan *plan = adz_plan_new(solve_often, &s, NULL);
        for (int i = 0; i < 3; ++i) {
            if (plan == NULL || adz_plan_run(plan) != ADZ_OK) {
                fail_msg("%s", adz_error_message());
            }
            assert_true(adz_equal(adz_plan_output(plan), solve_often(&s)));
            refill(&s, i == 1 ? -1 : 1);
        }
        adz_plan_free(&plan);
    }
    adz_set_grad_enabled(before);
}

/* With a gradient by the times, and by the method that chooses on the host, a plan refuses. */
static void what_a_plan_refuses(void **state)
{
    (void)state;
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    for (int i = 0; i < 2; ++i) {
        solved s = solved_new(i == 1 ? ADZ_ODE_BDF : ADZ_ODE_DORMAND_PRINCE, ADZ_F64, 3);
        if (i == 0) {
            adz_requires_grad_(s.times, true);
        }
        adz_plan *plan = adz_plan_new(solve, &s, &o);
        assert_true(adz_plan_run(plan) != ADZ_OK);
        expect_error(ADZ_ERR_STATE, i == 1 ? "ADZ_ODE_BDF" : "no gradient in a plan");
        adz_plan_free(&plan);
        if (i == 0) {
            const bool before = adz_set_grad_enabled(false);
            check_plan(&s);
            adz_set_grad_enabled(before);
        }
    }
}

/* A loop has at most 65535 steps. */
static void more_times_are_refused_by_name(void **state)
{
    (void)state;
    solved s = solved_new(ADZ_ODE_DORMAND_PRINCE, ADZ_F64, 2);
    s.times = adz_linspace(0, 1, 65537, ADZ_F64);
    assert_null(adz_plan_new(solve, &s, NULL));
    expect_error(
        ADZ_ERR_ARGUMENT, "adz_odeint: 65537 times; a plan and a file have a loop over them");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)

const struct CMUnitTest ode_adaptive_plans[N_ODE_ADAPTIVE_PLANS] = {
    TEST(plans_have_the_bits_of_ordinary_calls),
    TEST(options_have_the_bits_of_ordinary_calls),
    TEST(states_at_the_ends_of_the_range),
    TEST(launches_do_not_depend_on_the_steps),
    TEST(replays_fail_as_calls_do),
    TEST(states_without_elements_fail),
    TEST(bodies_of_loops_solve_equations),
    TEST(what_a_plan_refuses),
    TEST(more_times_are_refused_by_name),
};
