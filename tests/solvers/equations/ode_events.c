/* Events of differential equations, and solutions that go on from an event. */
#include <float.h>
#include <string.h>

#include "solvers/equations/solvers.h"

static int falls(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* y = (height, velocity) */
    adz_tensor *pull = adz_full(ADZ_SHAPE(1), -10, adz_tensor_dtype(in[1]));
    out[0] = adz_cat((adz_tensor *[]){ adz_narrow(in[1], 0, 1, 1), pull }, 2, 0);
    return out[0] != NULL;
}

static int swings(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *back = adz_neg(adz_narrow(in[1], 0, 0, 1));
    out[0] = adz_cat((adz_tensor *[]){ adz_narrow(in[1], 0, 1, 1), back }, 2, 0);
    return out[0] != NULL;
}

static int first_element(adz_tensor *const *in, size_t n, adz_tensor **out, void *scale)
{
    (void)n;
    out[0] = adz_select(in[1], 0, 0);
    out[0] = scale != NULL ? adz_mul_number(out[0], *(double *)scale) : out[0];
    return out[0] != NULL;
}

/* Goes on from the event of the solution before, `times` times. */
static void go_on(int (*f)(adz_tensor *const *, size_t, adz_tensor **, void *), double loss,
    adz_dtype dtype, const adz_ode_options *o, double *scale, double *y, double *events, int times)
{
    const adz_tensor_function function = { f, NULL }, event = { first_element, scale };
    double t = 0;
    for (int i = 0; i < times; ++i) {
        adz_tensor *found[2];
        assert_int_equal(adz_odeint_event(&function, pair(y[0], y[1], dtype), pair(t, 50, dtype),
                             NULL, 0, &event, o, found, NULL),
            ADZ_OK);
        events[i] = t = adz_item(found[0]);
        y[0] = adz_tensor_at(found[1], (int64_t[]){ 0 });
        y[1] = adz_tensor_at(found[1], (int64_t[]){ 1 }) * loss;
    }
}

/* From 10 with half of the speed lost at each bounce: sqrt(2) (1, 2, 2.5, 2.75). The height at an
 * event is 0 up to rounding, on either side. Neither the sign nor the scale of the event matters.
 */
static void a_ball_bounces(void **state)
{
    (void)state;
    const double right[] = { 1, 2, 2.5, 2.75, 2.875, 2.9375 };
    for (int k = 0; k < 24; ++k) {
        const adz_dtype dtype = k % 2 == 0 ? ADZ_F64 : ADZ_F32;
        double y[] = { 10, 0 }, found[6], scale = k % 4 < 2 ? 1 : -1;
        adz_ode_options o = ADZ_ODE_OPTIONS;
        scale *= k / 8 == 0 ? 1 : k / 8 == 1 ? 0x1p-90 : 0x1p90;
        o.method = adaptive[k % ADAPTIVE];
        o.event_direction = k / 4 % 2 == 0 ? 0 : scale > 0 ? -1 : 1;
        go_on(falls, -0.5, dtype, &o, &scale, y, found, 6);
        /* The Runge-Kutta methods are exact here. */
        const double bound = dtype == ADZ_F64 && o.method != ADZ_ODE_BDF ? 1e-12 : 1e-5;
        for (int i = 0; i < 6; ++i) {
            assert_true(fabs(found[i] - right[i] * sqrt(2)) < bound);
        }
    }
}

/* An oscillator from (0, 1) passes 0 at multiples of pi, and no passage is found twice. */
static void directions_choose_events(void **state)
{
    (void)state;
    for (int direction = -1; direction <= 1; ++direction) {
        for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
            double y[] = { 0, 1 }, found[4];
            adz_ode_options o = ADZ_ODE_OPTIONS;
            o.event_direction = direction;
            go_on(swings, 1, (adz_dtype)dtype, &o, NULL, y, found, 4);
            for (int i = 0; i < 4; ++i) {
                const int turn = direction == 0 ? i + 1 : 2 * i + (direction < 0 ? 1 : 2);
                assert_true(fabs(found[i] / (turn * acos(-1)) - 1) < 1e-4);
            }
        }
    }
}

/* A ball that begins just above the floor, but not at the floor up to rounding, hits it. */
static void a_begin_near_an_event_counts(void **state)
{
    (void)state;
    double y[] = { 1e-9, -1 }, found[1];
    go_on(falls, 1, ADZ_F64, NULL, NULL, y, found, 1);
    assert_true(fabs(found[0] / 1e-9 - 1) < 1e-6);
}

static int root_of_height(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sqrt(adz_select(in[1], 0, 0));
    return out[0] != NULL;
}

static void events_that_are_nan_are_refused(void **state)
{
    (void)state;
    const adz_tensor_function f = { falls, NULL }, g = { root_of_height, NULL };
    adz_tensor *found[2];
    for (int below = 0; below < 2; ++below) {
        assert_int_equal(adz_odeint_event(&f, pair(below ? -1 : 10, 0, ADZ_F64),
                             pair(0, 50, ADZ_F64), NULL, 0, &g, NULL, found, NULL),
            ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, below ? "the event's function is NaN at t = 0;"
                                            : "the event's function is NaN at t = ");
    }
}

static int height_by_speed(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* height - |velocity| / 10, whose derivative by a velocity of 0 is NaN */
    adz_tensor *speed = adz_sqrt(adz_square(adz_select(in[1], 0, 1)));
    out[0] = adz_sub(adz_select(in[1], 0, 0), adz_mul_number(speed, 0.1));
    return out[0] != NULL;
}

/* The sign of the value counts if the derivatives are not finite, also in a long first step. */
static void a_begin_without_a_slope_has_a_sign(void **state)
{
    (void)state;
    const adz_tensor_function f = { falls, NULL }, g = { height_by_speed, NULL };
    adz_tensor *found[2];
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.first_step = 5; /* 10 - 5 t^2 = t */
    assert_int_equal(adz_odeint_event(&f, pair(10, 0, ADZ_F64), pair(0, 50, ADZ_F64), NULL, 0, &g,
                         &o, found, NULL),
        ADZ_OK);
    assert_true(fabs(adz_item(found[0]) - (sqrt(201) - 1) / 10) < 1e-9);
}

static int flat(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sign(adz_select(in[1], 0, 0));
    return out[0] != NULL;
}

static void events_without_a_rate_are_refused(void **state)
{
    (void)state;
    const adz_tensor_function f = { falls, NULL }, g = { flat, NULL };
    adz_tensor *found[2];
    assert_int_equal(adz_odeint_event(&f, pair(10, 0, ADZ_F64), pair(0, 50, ADZ_F64), NULL, 0, &g,
                         NULL, found, NULL),
        ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "changes with time at a rate of 0");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest ode_events[N_ODE_EVENTS] = {
    TEST(a_ball_bounces),
    TEST(directions_choose_events),
    TEST(a_begin_near_an_event_counts),
    TEST(events_that_are_nan_are_refused),
    TEST(a_begin_without_a_slope_has_a_sign),
    TEST(events_without_a_rate_are_refused),
};
