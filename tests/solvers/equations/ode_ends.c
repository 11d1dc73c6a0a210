/* Differential equations at special points: first steps, ends of the ranges of numbers, tolerances,
 * and replays that must fail. */
#include <float.h>
#include <string.h>

#include "solvers/equations/solvers.h"

const adz_ode_method adaptive[ADAPTIVE] = { ADZ_ODE_DORMAND_PRINCE, ADZ_ODE_RODAS4, ADZ_ODE_BDF };

/* ---- steps ----------------------------------------------------------------------------------- */

static adz_tensor *constant(adz_tensor *t, adz_tensor *y, void *slope)
{
    (void)t;
    return adz_full_like(y, slope != NULL ? *(double *)slope : 1);
}

/* The first step is one that the time can resolve, even if no more than a few floats lie between
 * the times. */
static void steps_begin_late(void **state)
{
    (void)state;
    const double spans[] = { 10, 0x1p-10, 0x1p-13, 0x1p-14 };
    for (int i = 0; i < 4 * ADAPTIVE; ++i) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        o.method = adaptive[i % ADAPTIVE];
        adz_tensor *times = pair(1000, 1000 + spans[i / ADAPTIVE], ADZ_F32);
        for (int given = 0; given < 2; ++given) {
            o.first_step = given * 1e-9;
            adz_tensor *y =
                adz_odeint(constant, NULL, adz_zeros(ADZ_SHAPE(1), ADZ_F32), times, &o, NULL);
            assert_non_null(y);
            const double end = adz_tensor_at(y, (int64_t[]){ 1, 0 });
            assert_true(fabs(end / spans[i / ADAPTIVE] - 1) < 1e-3);
        }
    }
}

static adz_tensor *decays(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    return adz_mul_number(y, -1000);
}

/* A first step that is far too short or too long costs steps. */
static void first_steps_are_chosen(void **state)
{
    (void)state;
    const int64_t most[ADAPTIVE] = { 37, 66, 128 };
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        adz_ode_report report;
        o.method = adaptive[m];
        adz_tensor *y0 = adz_ones(ADZ_SHAPE(1), ADZ_F64);
        assert_non_null(adz_odeint(decays, NULL, y0, pair(0, 0.01, ADZ_F64), &o, &report));
        assert_true(report.rejected <= 1 && report.steps <= most[m]);
    }
}

static adz_tensor *pulse(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)user; /* of the integral 1, around 5 */
    adz_tensor *x = adz_mul_number(adz_sub_number(t, 5), 50);
    return adz_mul(
        adz_ones_like(y), adz_mul_number(adz_exp(adz_neg(adz_square(x))), 50 / sqrt(acos(-1))));
}

static void max_step_is_kept(void **state)
{
    (void)state;
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        adz_ode_report report;
        o.method = adaptive[m];
        adz_tensor *y0 = adz_zeros(ADZ_SHAPE(1), ADZ_F64), *times = pair(0, 10, ADZ_F64), *y;
        o.max_step = 0.03;
        y = adz_odeint(pulse, NULL, y0, times, &o, &report);
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 1, 0 }) - 1) < 1e-5);
        assert_true(report.steps >= 334);
        o.max_step = 1.25; /* divides the time exactly, and the last step may not be longer */
        o.first_step = 1.25;
        adz_odeint(constant, NULL, y0, times, &o, &report);
        assert_int_equal(report.steps, 8);
        o.max_step = 1.245; /* 8 such steps end 0.04 before 10 */
        adz_odeint(constant, NULL, y0, times, &o, &report);
        assert_int_equal(report.steps, 9);
        o.max_step = 0; /* no tiny step remains at the end */
        o.first_step = 9.95;
        adz_odeint(constant, NULL, y0, times, &o, &report);
        assert_int_equal(report.steps, 1);
    }
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.max_step = 1e-9;
    assert_null(adz_odeint(
        constant, NULL, adz_zeros(ADZ_SHAPE(1), ADZ_F32), pair(1000, 1010, ADZ_F32), &o, NULL));
    expect_error(ADZ_ERR_NUMERIC, "max_step is too short for the time");
}

static adz_tensor *counts(adz_tensor *t, adz_tensor *y, void *calls)
{
    ++*(int64_t *)calls;
    return adz_sub(
        adz_cos(t), adz_mul(y, adz_tensor_from((double[]){ 1, 3 }, ADZ_SHAPE(2), ADZ_F64)));
}

static void reports_count(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_requires_grad_(pair(1, 2, ADZ_F64), true), *times = pair(0, 2, ADZ_F64);
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_BDF; ++m) {
        for (int steps = 0; steps < (m == ADZ_ODE_BDF ? 1 : 2); ++steps) {
            adz_ode_options o = ADZ_ODE_OPTIONS;
            adz_ode_report report;
            int64_t calls = 0;
            o.method = (adz_ode_method)m;
            o.steps = steps * 50;
            ADZ_NO_GRAD
            {
                adz_odeint(counts, &calls, y0, times, &o, &report);
            }
            assert_int_equal(report.evaluations, calls);
            const bool stiff = m == ADZ_ODE_RODAS4;
            const bool rarely = m == ADZ_ODE_BDF && report.jacobians >= 1 && report.jacobians < 5;
            assert_true(rarely || report.jacobians == (stiff ? report.steps + report.rejected : 0));
            assert_true(steps == 0 || m != ADZ_ODE_RK4 || calls == 200);
        }
    }
}

/* ---- tolerances and scale -------------------------------------------------------------------- */

static void absolute_tolerances_are_of_elements(void **state)
{
    (void)state;
    int64_t calls = 0;
    adz_tensor *y0 = pair(1, 2, ADZ_F64), *times = pair(0, 2, ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report all, one;
    o.atol = 1e-3;
    o.rtol = 1e-10;
    adz_tensor *y = adz_odeint(counts, &calls, y0, times, &o, &all);
    o.atols = (double[]){ 1e-3, 1e-3 };
    o.n_atols = 2;
    o.atol = 1e-9;
    assert_true(adz_equal(y, adz_odeint(counts, &calls, y0, times, &o, &one)));
    o.atols = (double[]){ 1e-3, 1e-9 };
    adz_odeint(counts, &calls, y0, times, &o, &one);
    assert_true(one.steps > all.steps);
    const int64_t second = one.steps;
    o.atols = (double[]){ 1e-9, 1e-3 };
    adz_odeint(counts, &calls, y0, times, &o, &one);
    assert_true(one.steps > all.steps && one.steps != second);
    o.rows = true;
    adz_tensor *rows = adz_repeat(adz_unsqueeze(y0, 0), ADZ_SHAPE(3, 1));
    y = adz_odeint(counts, &calls, rows, times, &o, &all);
    assert_int_equal(all.steps, one.steps);
    assert_true(adz_tensor_size(y, 1) == 3);
}

static void tolerances_are_checked(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_zeros(ADZ_SHAPE(2, 2), ADZ_F32), *times = pair(0, 1, ADZ_F32);
    const struct {
        double rtol, max_step, atols[4];
        size_t n_atols;
        bool rows;
        int direction;
        const char *message;
    } cases[] = {
        { 1e-7, 0, { 0 }, 0, false, 0, "rtol is 1e-07, below the rounding error of float32" },
        { 1e-6, 0, { 1, 1, 1, 1 }, 2, false, 0, "n_atols is 2; atols must have 4 elements" },
        { 1e-6, 0, { 1, 1, 1, 1 }, 4, true, 0, "n_atols is 4; atols must have 2 elements" },
        { 1e-6, 0, { 1, 1, 0, 1 }, 4, false, 0, "atols[2] is 0; it must be above 0" },
        { 1e-6, 0, { 1, INFINITY, 1, 1 }, 4, false, 0, "atols[1] is inf" },
        { 1e-6, -1, { 0 }, 0, false, 0, "max_step is -1, but must be 0 or more; 0 sets no limit" },
        { 1e-6, NAN, { 0 }, 0, false, 0, "max_step is nan" },
        { 1e-6, 0, { 0 }, 0, false, 2, "event_direction is 2" },
        { 1e-6, 0, { 0 }, 0, false, -2, "event_direction is -2" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        o.rtol = cases[i].rtol;
        o.max_step = cases[i].max_step;
        o.rows = cases[i].rows;
        o.event_direction = cases[i].direction;
        o.atols = cases[i].n_atols > 0 ? cases[i].atols : NULL;
        o.n_atols = cases[i].n_atols;
        assert_null(adz_odeint(constant, NULL, y0, times, &o, NULL));
        expect_error(ADZ_ERR_ARGUMENT, cases[i].message);
    }
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.rtol = FLT_EPSILON;
    assert_non_null(adz_odeint(constant, NULL, y0, times, &o, NULL));
    o.rtol = 2e-16;
    assert_null(adz_odeint(constant, NULL, adz_to(y0, ADZ_F64), pair(0, 1, ADZ_F64), &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "below the rounding error of float64");
    o.method = ADZ_ODE_RK4; /* which has no error control */
    assert_non_null(adz_odeint(constant, NULL, y0, times, &o, NULL));
}

static adz_tensor *linear(adz_tensor *t, adz_tensor *y, void *matrix)
{
    (void)t;
    return adz_matmul(y, matrix);
}

static adz_tensor *scaled_solution(int k, adz_dtype dtype, adz_ode_method method, int64_t *steps)
{
    const double a[] = { -1, -3, 2, -20 };
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    o.method = method;
    o.atol = ldexp(0x1p-20, k);
    o.rtol = 0x1p-18;
    adz_tensor *matrix = adz_to(adz_tensor_from(a, ADZ_SHAPE(2, 2), ADZ_F64), dtype);
    adz_tensor *y = adz_odeint(linear, matrix, adz_mul_number(pair(1, 0.5, dtype), ldexp(1, k)),
        adz_linspace(0, 2, 5, dtype), &o, &report);
    assert_non_null(y);
    *steps = report.steps;
    return y;
}

/* A factor of a power of two on a linear equation and its tolerance changes no digit. */
static void scale_changes_nothing(void **state)
{
    (void)state;
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RODAS4; m += 2) {
        for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
            const int most = dtype == ADZ_F32 ? 96 : 960;
            int64_t steps, others;
            adz_tensor *y = scaled_solution(0, (adz_dtype)dtype, (adz_ode_method)m, &steps);
            for (int k = -most; k <= most; k += most / 4) {
                adz_tensor *z = scaled_solution(k, (adz_dtype)dtype, (adz_ode_method)m, &others);
                assert_true(adz_equal(adz_mul_number(y, ldexp(1, k)), z));
                assert_int_equal(steps, others);
            }
        }
    }
}

/* The square of a slope as a part of its tolerance overflows. */
static void tiny_tolerances_are_usable(void **state)
{
    (void)state;
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.atol = 1e-300;
    o.max_steps = 1000;
    for (int m = 0; m < 2 * ADAPTIVE; ++m) {
        double slope = m % 2 == 0 ? 1 : 1e-150;
        o.method = adaptive[m / 2];
        adz_tensor *y = adz_odeint(
            constant, &slope, adz_zeros(ADZ_SHAPE(3), ADZ_F64), pair(0, 2, ADZ_F64), &o, NULL);
        assert_true(fabs(adz_tensor_at(y, (int64_t[]){ 1, 2 }) / (2 * slope) - 1) < 1e-6);
    }
}

static void infinities_are_refused(void **state)
{
    (void)state;
    adz_tensor *times = pair(0, 10, ADZ_F32);
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_tensor *y0 = adz_zeros(ADZ_SHAPE(1), ADZ_F32);
        adz_ode_options o = ADZ_ODE_OPTIONS;
        double slope = 1e38;
        o.method = adaptive[m];
        assert_null(adz_odeint(constant, &slope, y0, times, &o, NULL));
        expect_error(ADZ_ERR_NUMERIC, "the step has become too short at t = 3.4");
        slope = NAN;
        assert_null(adz_odeint(constant, &slope, y0, times, &o, NULL));
        expect_error(ADZ_ERR_NUMERIC, "the function is not finite at t = 0");
        adz_fill_(y0, INFINITY);
        assert_null(adz_odeint(constant, NULL, y0, times, &o, NULL));
        expect_error(ADZ_ERR_NUMERIC, "the state is not finite at t = 0");
    }
}

/* A state without elements needs no steps of its own. */
static void nothing_is_solved(void **state)
{
    (void)state;
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        o.method = adaptive[m];
        adz_tensor *y = adz_odeint(
            constant, NULL, adz_zeros(ADZ_SHAPE(0), ADZ_F64), pair(0, 2, ADZ_F64), &o, NULL);
        assert_non_null(y);
        assert_int_equal(adz_tensor_size(y, 1), 0);
    }
}

/* ---- replays --------------------------------------------------------------------------------- */

typedef struct captured {
    adz_tensor *y0, *times;
    adz_ode_options o;
} captured;

static adz_tensor *square(adz_tensor *t, adz_tensor *y, void *user) /* y = 1 / (1 / y0 - t) */
{
    (void)t;
    (void)user;
    return adz_square(y);
}

static adz_tensor *solution(void *user)
{
    captured *c = user;
    return adz_odeint(square, NULL, c->y0, c->times, &c->o, NULL);
}

static void set_times(captured *c, double a, double b, double d)
{
    adz_copy_(c->times, adz_tensor_from((double[]){ a, b, d }, ADZ_SHAPE(3), ADZ_F64));
}

/* A replay reports what a call reports, and the one after it is sound again. */
static void replays_check_times_and_states(void **state)
{
    (void)state;
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        captured c = { adz_full(ADZ_SHAPE(2), 1, (adz_dtype)dtype),
            adz_zeros(ADZ_SHAPE(3), (adz_dtype)dtype), ADZ_ODE_OPTIONS };
        c.o.method = ADZ_ODE_RK4;
        c.o.steps = 8;
        set_times(&c, 0, 0.25, 0.5);
        adz_plan *plan = adz_plan_new(solution, &c, NULL);
        assert_non_null(plan);
        const double wrong[][3] = { { 0, 0.5, 0.25 }, { 0, 0, 0.5 }, { 0, 0.25, INFINITY },
            { NAN, 0.25, 0.5 }, { 0, 1, 300 } };
        for (int i = 0; i < 12; ++i) {
            if (i % 2 == 1) {
                const bool last = i / 2 >= 4;
                const double *w = wrong[last ? 4 : i / 2];
                set_times(&c, w[0], w[1], w[2]);
                const adz_status status = last ? ADZ_ERR_NUMERIC : ADZ_ERR_ARGUMENT;
                assert_int_equal(adz_plan_run(plan), status);
                expect_error(status, last ? "is not finite after 16 steps" : "times[");
                continue;
            }
            set_times(&c, 0, 0.25, 0.5 + i / 64.0);
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_true(adz_equal(adz_plan_output(plan), solution(&c)));
        }
        adz_plan_info info;
        assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
        assert_true(info.captured);
        adz_plan_free(&plan);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest ode_ends[N_ODE_ENDS] = {
    TEST(steps_begin_late),
    TEST(first_steps_are_chosen),
    TEST(max_step_is_kept),
    TEST(reports_count),
    TEST(absolute_tolerances_are_of_elements),
    TEST(tolerances_are_checked),
    TEST(scale_changes_nothing),
    TEST(tiny_tolerances_are_usable),
    TEST(infinities_are_refused),
    TEST(nothing_is_solved),
    TEST(replays_check_times_and_states),
};
