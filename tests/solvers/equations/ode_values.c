/* Solutions of differential equations agree with closed forms, as the order of the method says. */
#include "solvers/equations/solvers.h"

static adz_tensor *bell(adz_tensor *t, adz_tensor *y, void *user) /* y = 1 / (1 + t^2) */
{
    (void)user;
    return adz_mul_number(adz_mul(t, adz_square(y)), -2);
}

static adz_tensor *until(double end, int64_t n)
{
    return adz_linspace(0, end, n, ADZ_F64);
}

static double error_of(const adz_ode_options *o)
{
    adz_tensor *y = adz_odeint(bell, NULL, adz_ones(ADZ_SHAPE(1), ADZ_F64), until(2, 2), o, NULL);
    assert_non_null(y);
    return fabs(adz_tensor_at(y, (int64_t[]){ 1, 0 }) - 0.2);
}

static void methods_have_their_order(void **state)
{
    (void)state;
    const double order[] = { 5, 4, 4 };
    adz_ode_options o = ADZ_ODE_OPTIONS;
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RODAS4; ++m) {
        o.method = (adz_ode_method)m;
        o.steps = 40;
        const double coarse = error_of(&o);
        o.steps = 80;
        assert_true(fabs(log2(coarse / error_of(&o)) - order[m]) < 0.4);
    }
}

/* Most of the times lie between the ends of steps. */
static void error_control_keeps_the_tolerance(void **state)
{
    (void)state;
    adz_tensor *times = until(4, 41), *y0 = adz_ones(ADZ_SHAPE(1), ADZ_F64);
    adz_tensor *exact = adz_reciprocal(adz_add_number(adz_square(adz_unsqueeze(times, 1)), 1));
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    for (o.method = ADZ_ODE_DORMAND_PRINCE; o.method <= ADZ_ODE_RODAS4; o.method += 2) {
        for (int k = 5; k <= 9; k += 2) {
            o.rtol = o.atol = pow(10, -k);
            adz_tensor *y = adz_odeint(bell, NULL, y0, times, &o, &report);
            assert_true(apart(y, exact) < 10 * o.rtol);
            assert_true(report.time == 4 && report.steps > 10);
            assert_true(report.steps < (o.method == ADZ_ODE_RODAS4 ? 400 : 80));
        }
    }
    adz_tensor *single =
        adz_odeint(bell, NULL, adz_ones(ADZ_SHAPE(1), ADZ_F32), adz_to(times, ADZ_F32), NULL, NULL);
    assert_true(adz_tensor_dtype(single) == ADZ_F32);
    assert_true(apart(adz_to(single, ADZ_F64), exact) < 1e-5);
}

static adz_tensor *stiff(adz_tensor *t, adz_tensor *y, void *user) /* y goes to cos(t) at once */
{
    (void)user;
    return adz_mul_number(adz_sub(y, adz_cos(t)), -1e6);
}

static void stiff_equations_take_few_steps(void **state)
{
    (void)state;
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    adz_tensor *y0 = adz_zeros(ADZ_SHAPE(2, 1), ADZ_F64), *y[2];
    o.method = ADZ_ODE_RODAS4;
    for (int rows = 0; rows < 2; ++rows) {
        o.rows = rows;
        y[rows] = adz_odeint(stiff, NULL, y0, until(3, 4), &o, &report);
        assert_true(report.steps < 200);
        adz_tensor *rest = adz_narrow(y[rows], 0, 1, 3);
        adz_tensor *exact = adz_cos(adz_narrow(until(3, 4), 0, 1, 3));
        assert_true(apart(rest, adz_reshape(exact, ADZ_SHAPE(3, 1, 1))) < 1e-5);
    }
    assert_true(apart(y[0], y[1]) < 1e-12);
    o.method = ADZ_ODE_DORMAND_PRINCE;
    o.max_steps = 500;
    assert_null(adz_odeint(stiff, NULL, y0, until(3, 4), &o, &report));
    expect_error(ADZ_ERR_NUMERIC, "use ADZ_ODE_RODAS4 if the equation is stiff");
    assert_true(report.steps + report.rejected == 500 && report.time > 0 && report.time < 3);
}

static adz_tensor *circle(adz_tensor *t, adz_tensor *y, void *user) /* an oscillator, y = (q, p) */
{
    (void)t;
    return adz_matmul(y, user);
}

/* The classical method multiplies the energy by 1 - h^6 / 72 + h^8 / 576 in each step, and by
 * nothing else: its error is of order 6 in h over a time, whatever the number of steps. */
static void energy_changes_as_the_order_says(void **state)
{
    (void)state;
    const double turn[] = { 0, -1, 1, 0 }, from[] = { 1, 0.5 }, h = 0.1;
    adz_tensor *matrix = adz_tensor_from(turn, ADZ_SHAPE(2, 2), ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = ADZ_ODE_RK4;
    o.steps = 10000;
    adz_tensor *y0 = adz_tensor_from(from, ADZ_SHAPE(2), ADZ_F64), *y = NULL;
    ADZ_NO_GRAD
    {
        y = adz_odeint(circle, matrix, y0, until(h * 10000, 2), &o, NULL);
    }
    const double *end = adz_tensor_data_f64(y);
    const double energy = (end[2] * end[2] + end[3] * end[3]) / 1.25;
    const double factor = pow(1 - pow(h, 6) / 72 + pow(h, 8) / 576, 10000);
    assert_true(fabs(energy / factor - 1) < 1e-9 && factor < 1 - 1e-5);
}

static int falls(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* y = (height, velocity); the argument is gravity */
    adz_tensor *parts[] = { adz_narrow(in[1], 0, 1, 1), adz_neg(in[2]) };
    out[0] = adz_cat(parts, 2, 0);
    return out[0] != NULL;
}

static int ground(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_narrow(in[1], 0, 0, 1);
    return out[0] != NULL;
}

static void events_are_found(void **state)
{
    (void)state;
    const adz_tensor_function f = { falls, NULL }, g = { ground, NULL };
    const double from[] = { 20, 0 }, exact = sqrt(2 * 20 / 9.81);
    adz_tensor *gravity = adz_full(ADZ_SHAPE(1), 9.81, ADZ_F64), *found[2];
    adz_tensor *y0 = adz_tensor_from(from, ADZ_SHAPE(2), ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    for (o.method = ADZ_ODE_DORMAND_PRINCE; o.method <= ADZ_ODE_RODAS4; o.method += 2) {
        const double ends[] = { exact + 1e-9, 100 };
        for (int i = 0; i < 2; ++i) {
            assert_int_equal(
                adz_odeint_event(&f, y0, until(ends[i], 2), &gravity, 1, &g, &o, found, NULL),
                ADZ_OK);
            assert_true(fabs(adz_item(found[0]) - exact) < 1e-9);
            assert_true(fabs(adz_tensor_at(found[1], (int64_t[]){ 1 }) + 9.81 * exact) < 1e-7);
        }
    }
    adz_tensor *before = found[0];
    assert_int_equal(
        adz_odeint_event(&f, y0, until(exact - 1e-9, 2), &gravity, 1, &g, NULL, found, NULL),
        ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "there is no event before the last time");
    assert_ptr_equal(found[0], before);
}

const struct CMUnitTest ode_values[N_ODE_VALUES] = {
    cmocka_unit_test_setup_teardown(methods_have_their_order, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(error_control_keeps_the_tolerance, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(stiff_equations_take_few_steps, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(energy_changes_as_the_order_says, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(events_are_found, solvers_open, solvers_close),
};
