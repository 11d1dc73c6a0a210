/* Solutions backwards in time: times that decrease. */
#include "solvers/equations/solvers.h"

/* A driven pendulum, y = (q, p), whose argument is the strength of gravity; with the time's sign
 * changed if `user` is not NULL. */
static int pendulum(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    adz_tensor *q = adz_narrow(in[1], 0, 0, 1), *p = adz_narrow(in[1], 0, 1, 1);
    adz_tensor *t = user != NULL ? adz_neg(in[0]) : in[0];
    adz_tensor *pull = adz_neg(adz_mul(in[2], adz_sin(q)));
    adz_tensor *parts[] = { p, adz_add(pull, adz_mul_number(adz_sin(t), 0.1)) };
    out[0] = adz_cat(parts, 2, 0);
    out[0] = out[0] != NULL && user != NULL ? adz_neg(out[0]) : out[0];
    return out[0] != NULL;
}

static int solution(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    const adz_tensor_function f = { pendulum, NULL };
    (void)n;
    out[0] = adz_odeint_many(&f, in[0], in[1], in + 2, 1, options, NULL);
    return out[0] != NULL;
}

static adz_tensor *wanting(const double *values, int64_t n)
{
    return adz_requires_grad_(adz_tensor_from(values, ADZ_SHAPE(n), ADZ_F64), true);
}

/* y0, times and the argument. */
static void given(adz_tensor **in)
{
    in[0] = wanting((double[]){ 1, 0.3 }, 2);
    in[1] = wanting((double[]){ 1.2, 0.5, -0.1 }, 3);
    in[2] = wanting((double[]){ 2 }, 1);
}

static adz_ode_options options_of(adz_ode_method method)
{
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = method;
    o.rtol = o.atol = 1e-10;
    return o;
}

/* The states and gradients of a function with the time's sign changed are the same, bit for bit. */
static void a_mirrored_function_agrees(void **state)
{
    (void)state;
    for (int m = 0; m < 2 * ADAPTIVE; ++m) {
        const adz_tensor_function f = { pendulum, NULL }, mirrored = { pendulum, &m };
        adz_ode_options o = options_of(adaptive[m / 2]);
        adz_ode_report report;
        adz_tensor *in[3], *y[2], *d[2][3];
        given(in);
        o.graph_bytes = m % 2 == 0 ? 0 : 16 << 20;
        y[0] = adz_odeint_many(&f, in[0], in[1], in + 2, 1, &o, &report);
        assert_non_null(y[0]);
        assert_true(report.time == -0.1);
        y[1] = adz_odeint_many(&mirrored, in[0], adz_neg(in[1]), in + 2, 1, &o, &report);
        assert_non_null(y[1]);
        assert_true(report.time == 0.1);
        assert_true(adz_equal(y[0], y[1]));
        for (int i = 0; i < 2; ++i) {
            adz_tensor *loss = adz_sum(adz_sin(y[i]), ADZ_ALL_DIMS, ADZ_DROPDIM);
            assert_int_equal(adz_autograd_grad(&loss, NULL, 1, in, 3, NULL, d[i]), ADZ_OK);
        }
        for (int i = 0; i < 3; ++i) {
            assert_true(adz_equal(d[0][i], d[1][i]));
        }
    }
}

static void solutions_have_derivatives(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in);
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RODAS4; ++m) {
        adz_ode_options o = options_of((adz_ode_method)m);
        o.steps = 2;
        expect_derivatives(solution, &o, in, 3);
    }
    adz_ode_options o = options_of(ADZ_ODE_DORMAND_PRINCE);
    expect_derivatives(solution, &o, in, 3);
}

/* A way back leads to where it began. */
static void a_way_back_leads_home(void **state)
{
    (void)state;
    for (int m = 0; m <= ADAPTIVE; ++m) {
        adz_ode_options o = options_of(m < ADAPTIVE ? adaptive[m] : ADZ_ODE_RK4);
        adz_tensor *in[3], *there, *back;
        given(in);
        o.steps = m < ADAPTIVE ? 0 : 1000;
        assert_int_equal(solution(in, 3, &there, &o), 1);
        adz_tensor *again[] = { adz_select(there, 0, 2), adz_flip(in[1], ADZ_DIMS(0)), in[2] };
        assert_int_equal(solution(again, 3, &back, &o), 1);
        assert_true(apart(adz_select(back, 0, 2), in[0]) < 1e-6);
        assert_true(apart(adz_select(back, 0, 1), adz_select(there, 0, 1)) < 1e-6);
    }
}

/* Sensitivities beside the states are those of reverse mode. */
static int without_times(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    adz_tensor *all[] = { in[0], adz_linspace(1, -2, 7, ADZ_F64), in[1] };
    return solution(all, n + 1, out, options);
}

static void forward_derivatives_agree(void **state)
{
    (void)state;
    const adz_tensor_function f = { without_times, NULL };
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_ode_options o = options_of(adaptive[m]);
        adz_functional_options mode = ADZ_FUNCTIONAL_OPTIONS;
        const adz_tensor_function g = { f.call, &o };
        adz_tensor *in[3], *ahead[2], *back[2];
        given(in);
        in[1] = in[2];
        mode.mode = ADZ_JACOBIAN_FORWARD;
        assert_int_equal(adz_jacobian_many(&g, in, 2, 1, &mode, ahead), ADZ_OK);
        mode.mode = ADZ_JACOBIAN_REVERSE;
        assert_int_equal(adz_jacobian_many(&g, in, 2, 1, &mode, back), ADZ_OK);
        assert_true(apart(ahead[0], back[0]) < 1e-8 && apart(ahead[1], back[1]) < 1e-8);
    }
}

/* ---- events ---------------------------------------------------------------------------------- */

static int crossing(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* also depends on the time */
    adz_tensor *shift = adz_mul_number(in[0], 0.2);
    out[0] = adz_sub(adz_narrow(in[1], 0, 0, 1), adz_add_number(shift, 1.1));
    return out[0] != NULL;
}

static int event_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    const adz_tensor_function f = { pendulum, NULL }, g = { crossing, NULL };
    (void)n;
    return adz_odeint_event(&f, in[0], in[1], in + 2, 1, &g, options, out, NULL) == ADZ_OK ? 2 : 0;
}

static void events_have_derivatives(void **state)
{
    (void)state;
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_tensor *in[3], *found[2];
        adz_ode_options o = options_of(adaptive[m]);
        given(in);
        in[1] = wanting((double[]){ 1.2, -3 }, 2);
        assert_int_equal(event_of(in, 3, found, &o), 2);
        const double t = adz_item(found[0]), q = adz_tensor_at(found[1], (int64_t[]){ 0 });
        assert_true(t < 1.2 && t > -3 && fabs(q - 1.1 - 0.2 * t) < 1e-12);
        if (adaptive[m] == ADZ_ODE_DORMAND_PRINCE) {
            expect_derivatives(event_of, &o, in, 3);
        }
        o.event_direction = 1; /* the way that the solution goes */
        const bool rises = event_of(in, 3, found, &o) == 2 && adz_item(found[0]) == t;
        adz_error_clear();
        o.event_direction = -1;
        const bool falls = event_of(in, 3, found, &o) == 2 && adz_item(found[0]) == t;
        adz_error_clear();
        assert_true(rises && !falls);
        o.event_direction = 0;
        in[1] = wanting((double[]){ 1.2, 1.19 }, 2);
        assert_int_equal(event_of(in, 3, found, &o), 0);
        expect_error(ADZ_ERR_NUMERIC, "the solution is at t = 1.19");
    }
}

static void ways_that_turn_are_refused(void **state)
{
    (void)state;
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_tensor *in[3], *y;
    for (int fixed = 0; fixed < 2; ++fixed) {
        given(in);
        o.steps = fixed;
        in[1] = adz_tensor_from((double[]){ 1, 0, 0.5 }, ADZ_SHAPE(3), ADZ_F64);
        assert_int_equal(solution(in, 3, &y, &o), 0);
        expect_error(ADZ_ERR_ARGUMENT,
            "times[2] is 0.5, after 0; times must be finite, and all increase or all decrease");
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest ode_backwards[N_ODE_BACKWARDS] = {
    TEST(a_mirrored_function_agrees),
    TEST(solutions_have_derivatives),
    TEST(a_way_back_leads_home),
    TEST(forward_derivatives_agree),
    TEST(events_have_derivatives),
    TEST(ways_that_turn_are_refused),
};
