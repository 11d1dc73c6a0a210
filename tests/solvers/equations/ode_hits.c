/* All hits of several events, and solutions that end at one of them. The numbers are those of
 * scipy 1.17's solve_ivp, by DOP853 and Radau with tolerances of 1e-12 and less. */
#include "solvers/equations/solvers.h"
#include "temporary.h"

/* ---- problems -------------------------------------------------------------------------------- */

/* A damped pendulum, y = (angle, speed); the argument is the damping. */
static int pendulum(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *angle = adz_narrow(in[1], 0, 0, 1), *speed = adz_narrow(in[1], 0, 1, 1);
    adz_tensor *pull = adz_mul_number(adz_sin(angle), -9.81);
    out[0] = adz_cat((adz_tensor *[]){ speed, adz_sub(pull, adz_mul(in[2], speed)) }, 2, 0);
    return out[0] != NULL;
}

static int64_t angle = 0, speed = 1;

/* The angle is 0, a turn to the left, and the level is crossed. */
static const adz_ode_event events[] = {
    { { element_is_0, &angle }, 0, 0 },
    { { element_is_0, &speed }, -1, 0 },
    { { rising_level, NULL }, 0, 0 },
};

static adz_ode_options options_of(adz_ode_method method, double tolerance)
{
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = method;
    o.rtol = o.atol = tolerance;
    return o;
}

/* y0, times and the damping, which want gradients. */
static void given(adz_tensor **in, double a, double b, const double *times, int64_t n)
{
    in[0] = adz_requires_grad_(pair(a, b, ADZ_F64), true);
    in[1] = adz_requires_grad_(adz_tensor_from(times, ADZ_SHAPE(n), ADZ_F64), true);
    in[2] = adz_requires_grad_(adz_full(ADZ_SHAPE(1), 0.2, ADZ_F64), true);
}

static adz_status swing(adz_tensor *const *in, const adz_ode_event *list, size_t n,
    const adz_ode_options *o, adz_tensor **found, int *ended)
{
    const adz_tensor_function f = { pendulum, NULL };
    return adz_odeint_events(&f, in[0], in[1], in + 2, 1, list, n, o, found, ended, NULL);
}

/* Whether a vector has these elements up to `bound`. */
static bool holds(adz_tensor *t, const double *right, int64_t n, double bound)
{
    bool good = adz_tensor_rank(t) == 1 && adz_tensor_size(t, 0) == n;
    for (int64_t i = 0; i < n && good; ++i) {
        good = fabs(adz_tensor_at(t, &i) - right[i]) <= bound;
    }
    return good;
}

/* Differential formulas are less exact. */
static double bound_of(adz_ode_method method)
{
    return method == ADZ_ODE_BDF ? 2e-6 : 2e-8;
}

/* ---- values ---------------------------------------------------------------------------------- */

static void all_hits_are_found(void **state)
{
    (void)state;
    const double zeros[] = { 0.7415731146869187, 1.9682066904710431, 3.1319562944823294,
        4.255306744780661 };
    const double turns[] = { 0.05598104659522347, 2.537338303331372, 4.791340888110024 };
    const double levels[] = { 0.6278666737515977, 2.138052258167929, 2.925214324178202,
        4.578446854259991, 4.984127072482518 };
    for (int m = 0; m < ADAPTIVE; ++m) {
        const double bound = bound_of(adaptive[m]);
        adz_ode_options o = options_of(adaptive[m], 1e-10);
        adz_tensor *in[3], *found[7];
        int ended = 7;
        given(in, 2, 0.5, (double[]){ 0, 1, 2.5, 5 }, 4);
        assert_int_equal(swing(in, events, 3, &o, found, &ended), ADZ_OK);
        assert_int_equal(ended, -1);
        assert_true(holds(found[1], zeros, 4, bound) && holds(found[3], turns, 3, bound) &&
                    holds(found[5], levels, 5, bound));
        assert_true(
            fabs(adz_tensor_at(found[2], (int64_t[]){ 1, 1 }) - 4.477173786363407) < 30 * bound);
        assert_true(
            fabs(adz_tensor_at(found[4], (int64_t[]){ 1, 0 }) - 1.490354099162352) < 30 * bound);
        /* Events that do not end the solution do not change it. */
        const adz_tensor_function f = { pendulum, NULL };
        adz_tensor *y = adz_odeint_many(&f, in[0], in[1], in + 2, 1, &o, NULL);
        assert_true(adz_equal(found[0], y));
    }
}

static void hits_are_found_backwards(void **state)
{
    (void)state;
    for (int m = 0; m < ADAPTIVE; ++m) {
        const double bound = bound_of(adaptive[m]);
        adz_ode_options o = options_of(adaptive[m], 1e-10);
        adz_tensor *in[3], *found[7];
        given(in, 0.3, 0.5, (double[]){ 0, -1.5 }, 2);
        assert_int_equal(swing(in, events, 3, &o, found, NULL), ADZ_OK);
        assert_true(
            holds(found[1], (double[]){ -0.33864175628266197, -1.3511340708902588 }, 2, bound) &&
            holds(found[3], (double[]){ -0.8552280478918435 }, 1, bound));
        assert_true(holds(found[5], NULL, 0, bound) && adz_tensor_size(found[6], 0) == 0 &&
                    adz_tensor_size(found[6], 1) == 2);
    }
}

/* The states up to the end are those of a solution without events, and no time after it has one. */
static void a_hit_may_end_the_solution(void **state)
{
    (void)state;
    for (int m = 0; m < 2 * ADAPTIVE; ++m) {
        const double bound = bound_of(adaptive[m / 2]), ends = 1.9682066904710431;
        adz_ode_options o = options_of(adaptive[m / 2], 1e-10);
        adz_ode_event list[] = { events[0], events[1], events[2] };
        adz_ode_report report;
        adz_tensor *in[3], *found[7];
        int ended;
        list[0].terminal = 2;
        list[2].terminal = 2 + m % 2; /* at 2.138, too late, and later */
        given(in, 2, 0.5, (double[]){ 0, 0.5, 1.9, 2, 5 }, 5);
        const adz_tensor_function f = { pendulum, NULL };
        assert_int_equal(
            adz_odeint_events(&f, in[0], in[1], in + 2, 1, list, 3, &o, found, &ended, &report),
            ADZ_OK);
        assert_int_equal(ended, 0);
        assert_true(fabs(report.time - ends) <= bound);
        assert_true(holds(found[1], (double[]){ 0.7415731146869187, ends }, 2, bound) &&
                    holds(found[3], (double[]){ 0.05598104659522347 }, 1, bound) &&
                    holds(found[5], (double[]){ 0.6278666737515977 }, 1, bound));
        assert_int_equal(adz_tensor_size(found[0], 0), 3);
        adz_tensor *y = adz_odeint_many(&f, in[0], in[1], in + 2, 1, &o, NULL);
        assert_true(apart(found[0], adz_narrow(y, 0, 0, 3)) < 100 * bound);
        assert_true(fabs(adz_tensor_at(found[2], (int64_t[]){ 1, 0 })) < 1e-12);
    }
}

static int robertson(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *y[3];
    for (int i = 0; i < 3; ++i) {
        y[i] = adz_narrow(in[1], 0, i, 1);
    }
    adz_tensor *a = adz_mul_number(y[0], 0.04), *b = adz_mul_number(adz_mul(y[1], y[2]), 1e4);
    adz_tensor *c = adz_mul_number(adz_square(y[1]), 3e7);
    out[0] = adz_cat((adz_tensor *[]){ adz_sub(b, a), adz_sub(adz_sub(a, b), c), c }, 3, 0);
    return out[0] != NULL;
}

typedef struct level {
    int64_t position;
    double value;
} level;

static int above(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const level *l = user;
    (void)n;
    out[0] = adz_add_number(adz_narrow(in[1], 0, l->position, 1), -l->value);
    return out[0] != NULL;
}

static void a_stiff_reaction_reaches_levels(void **state)
{
    (void)state;
    const adz_tensor_function f = { robertson, NULL };
    level levels[] = { { 2, 0.1 }, { 2, 0.3 }, { 1, 2e-5 } };
    const adz_ode_event list[] = { { { above, &levels[0] }, 0, 0 }, { { above, &levels[1] }, 1, 1 },
        { { above, &levels[2] }, 0, 0 } };
    for (int m = 0; m < 2; ++m) {
        adz_ode_options o = options_of(m == 0 ? ADZ_ODE_BDF : ADZ_ODE_RODAS4, 1e-9);
        adz_tensor *found[7], *y0 = adz_tensor_from((double[]){ 1, 0, 0 }, ADZ_SHAPE(3), ADZ_F64);
        int ended;
        o.atol = 1e-13;
        assert_int_equal(adz_odeint_events(&f, y0, pair(0, 1e4, ADZ_F64), NULL, 0, list, 3, &o,
                             found, &ended, NULL),
            ADZ_OK);
        assert_int_equal(ended, 1);
        assert_true(
            holds(found[1], (double[]){ 4.378643269423035 }, 1, 1e-4) &&
            holds(found[3], (double[]){ 46.69258903077028 }, 1, 1e-3) &&
            holds(found[5], (double[]){ 5.615365191599427e-04, 5.656176395550415 }, 2, 2e-4));
        assert_true(
            fabs(adz_tensor_at(found[4], (int64_t[]){ 0, 1 }) - 8.594577565649872e-06) < 1e-10);
    }
}

/* An oscillator from (0, 1) passes 0 and turns by turns; both functions of one event are hit at the
 * same times, in the order of the events, and the end takes all of them. */
static int swings(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *back = adz_neg(adz_narrow(in[1], 0, 0, 1));
    out[0] = adz_cat((adz_tensor *[]){ adz_narrow(in[1], 0, 1, 1), back }, 2, 0);
    return out[0] != NULL;
}

static void hits_at_one_time_all_count(void **state)
{
    (void)state;
    const adz_tensor_function f = { swings, NULL };
    const adz_ode_event list[] = { { { element_is_0, &angle }, 0, 3 },
        { { element_is_0, &angle }, 0, 0 }, { { element_is_0, &angle }, -1, 0 } };
    const double pi = acos(-1), all[] = { pi, 2 * pi, 3 * pi };
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        adz_tensor *found[7];
        const double bound = dtype == ADZ_F64 ? 1e-4 : 1e-3;
        assert_int_equal(
            adz_odeint_events(&f, pair(0, 1, (adz_dtype)dtype), pair(0, 50, (adz_dtype)dtype), NULL,
                0, list, 3, NULL, found, NULL, NULL),
            ADZ_OK);
        assert_true(holds(found[1], all, 3, bound) && holds(found[3], all, 3, bound) &&
                    holds(found[5], (double[]){ pi, 3 * pi }, 2, bound));
    }
}

/* ---- derivatives ----------------------------------------------------------------------------- */

static int found_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    adz_ode_event list[] = { events[0], events[1], events[2] };
    (void)n;
    list[2].terminal = 2;
    return swing(in, list, 3, options, out, NULL) == ADZ_OK ? 7 : 0;
}

static void hits_have_derivatives(void **state)
{
    (void)state;
    for (int back = 0; back < 2; ++back) {
        adz_tensor *in[3];
        adz_ode_options o = options_of(ADZ_ODE_DORMAND_PRINCE, 1e-10);
        given(in, 0.3, back ? 2 : -2, (double[]){ 0.2, back ? 0.1 : 0.4, back ? -2 : 2 }, 3);
        o.checkpoints = 3;
        adz_tensor *found[7];
        assert_int_equal(found_of(in, 3, found, &o), 7);
        for (int event = 0; event < 2 + back; ++event) { /* forwards the third has no hit */
            assert_true(adz_tensor_size(found[1 + 2 * event], 0) > 0);
        }
        expect_derivatives(found_of, &o, in, 3);
    }
}

/* The derivatives of another method are those of Dormand and Prince's up to its errors. */
static void methods_agree_on_derivatives(void **state)
{
    (void)state;
    adz_tensor *gradients[ADAPTIVE][3];
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_tensor *in[3], *found[7], *loss = adz_zeros(ADZ_SHAPE_SCALAR, ADZ_F64);
        adz_ode_options o = options_of(adaptive[m], 1e-10);
        given(in, 2, 0.5, (double[]){ 0, 1, 2.5, 5 }, 4);
        assert_int_equal(swing(in, events, 3, &o, found, NULL), ADZ_OK);
        for (int i = 0; i < 7; ++i) {
            loss = adz_add(loss, adz_sum(adz_sin(found[i]), ADZ_ALL_DIMS, ADZ_DROPDIM));
        }
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, in, 3, NULL, gradients[m]), ADZ_OK);
        for (int i = 0; i < 3; ++i) {
            assert_true(apart(gradients[m][i], gradients[0][i]) <
                        1e-3 * (1 + adz_item(adz_max(adz_abs(gradients[0][i])))));
        }
    }
}

/* Only some of the results are differentiated, and an event without a hit has a gradient of 0. */
static void parts_have_derivatives(void **state)
{
    (void)state;
    adz_ode_options o = options_of(ADZ_ODE_DORMAND_PRINCE, 1e-8);
    adz_tensor *in[3], *found[7], *whole[3], *part[3];
    const adz_ode_event list[] = { events[0], events[1],
        { { above, &(level){ 0, 9 } }, 0, 0 } }; /* never */
    given(in, 2, 0.5, (double[]){ 0, 1, 2 }, 3);
    assert_int_equal(swing(in, list, 3, &o, found, NULL), ADZ_OK);
    assert_int_equal(adz_tensor_size(found[5], 0), 0);
    adz_tensor *second = adz_select(found[1], 0, 1);
    adz_tensor *none = adz_add(
        adz_sum(found[5], ADZ_ALL_DIMS, ADZ_DROPDIM), adz_sum(found[6], ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_tensor *both = adz_add(second, none);
    adz_backward_options retain = ADZ_BACKWARD_OPTIONS;
    retain.retain_graph = true;
    assert_int_equal(adz_autograd_grad(&second, NULL, 1, in, 3, &retain, part), ADZ_OK);
    assert_int_equal(adz_autograd_grad(&both, NULL, 1, in, 3, &retain, whole), ADZ_OK);
    for (int i = 0; i < 3; ++i) {
        assert_true(adz_equal(whole[i], part[i]) && adz_item(adz_max(adz_abs(part[i]))) > 0);
    }
}

/* Thresholds that only the function of an event uses, each at some times only. */
typedef struct thresholds {
    adz_tensor *first, *later;
} thresholds;

static int over_threshold(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const thresholds *u = user;
    (void)n;
    adz_tensor *at = adz_item(in[0]) < 3 ? u->first : u->later;
    out[0] = adz_sub(adz_select(in[1], 0, 0), at);
    return out[0] != NULL;
}

/* sin t falls through 1/2, and after the change at 3 through -0.3. */
static void captured_tensors_have_derivatives(void **state)
{
    (void)state;
    const adz_tensor_function f = { swings, NULL };
    thresholds u = { adz_requires_grad_(adz_scalar(0.5, ADZ_F64), true),
        adz_requires_grad_(adz_scalar(-0.3, ADZ_F64), true) };
    const adz_ode_event event = { { over_threshold, &u }, -1, 0 };
    const double pi = acos(-1), at[] = { pi - asin(0.5), pi + asin(0.3) };
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_ode_options o = options_of(adaptive[m], 1e-9);
        adz_tensor *found[3], *gradients[2], *leaves[] = { u.first, u.later };
        o.max_step = 0.1;
        assert_int_equal(adz_odeint_events(&f, pair(0, 1, ADZ_F64), pair(0, 5, ADZ_F64), NULL, 0,
                             &event, 1, &o, found, NULL, NULL),
            ADZ_OK);
        assert_true(holds(found[1], at, 2, 1e-5));
        assert_int_equal(adz_autograd_grad(&found[1], (adz_tensor *[]){ pair(1, 1, ADZ_F64) }, 1,
                             leaves, 2, NULL, gradients),
            ADZ_OK);
        for (int i = 0; i < 2; ++i) {
            assert_true(fabs(adz_item(gradients[i]) * cos(at[i]) - 1) < 1e-4);
        }
    }
}

/* ---- what is refused ------------------------------------------------------------------------- */

static int two_numbers(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = in[1];
    return 1;
}

static int late_nan(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sqrt(adz_sub(adz_scalar(1, ADZ_F64), in[0]));
    return out[0] != NULL;
}

typedef struct refusal {
    adz_ode_event second;
    adz_status code;
    const char *text;
} refusal;

static void events_are_refused(void **state)
{
    (void)state;
    const refusal all[] = {
        { { { NULL, NULL }, 0, 0 }, ADZ_ERR_NULL, "events[1] has no function" },
        { { { element_is_0, &angle }, 2, 0 }, ADZ_ERR_ARGUMENT, "events[1] has direction 2" },
        { { { element_is_0, &angle }, 0, -1 }, ADZ_ERR_ARGUMENT, "terminal -1" },
        { { { two_numbers, NULL }, 0, 0 }, ADZ_ERR_SHAPE, "the event gave float64[2]" },
        { { { late_nan, NULL }, 0, 0 }, ADZ_ERR_NUMERIC, "the function of event 1 is NaN at t = " },
    };
    adz_ode_options o = options_of(ADZ_ODE_DORMAND_PRINCE, 1e-6);
    adz_tensor *in[3], *found[5] = { NULL };
    int ended = 7;
    given(in, 2, 0.5, (double[]){ 0, 5 }, 2);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        const adz_ode_event list[] = { events[0], all[i].second };
        assert_int_equal(swing(in, list, 2, &o, found, &ended), all[i].code);
        expect_error(all[i].code, all[i].text);
    }
    for (size_t n = 0; n <= ADZ_ODE_EVENTS + 1; n += ADZ_ODE_EVENTS + 1) {
        assert_int_equal(swing(in, events, n, &o, found, &ended), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "events; 1 to 16 are possible");
    }
    assert_int_equal(swing(in, NULL, 1, &o, found, &ended), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "events");
    o.event_direction = 1;
    assert_int_equal(swing(in, events, 3, &o, found, &ended), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "set the direction of each event");
    assert_true(found[0] == NULL && ended == 7);
}

static void too_many_hits_are_refused(void **state)
{
    (void)state;
    for (int m = 0; m < ADAPTIVE; ++m) {
        adz_ode_options o = options_of(adaptive[m], 1e-6);
        adz_tensor *in[3], *found[7] = { NULL };
        given(in, 2, 0.5, (double[]){ 0, 5 }, 2);
        for (o.max_hits = 11; o.max_hits <= 12; ++o.max_hits) {
            const adz_status status = swing(in, events, 3, &o, found, NULL);
            assert_int_equal(status, o.max_hits == 12 ? ADZ_OK : ADZ_ERR_NUMERIC);
            if (status != ADZ_OK) {
                expect_error(ADZ_ERR_NUMERIC, "after max_hits, 11, hits of all events");
                assert_null(found[0]);
            }
        }
        o.max_hits = 0;
        assert_int_equal(swing(in, events, 3, &o, found, NULL), ADZ_ERR_ARGUMENT);
        expect_error(ADZ_ERR_ARGUMENT, "max_hits is 0");
    }
}

static adz_status solve_and_differentiate(void *user)
{
    adz_tensor *const *in = user;
    adz_ode_options o = options_of(ADZ_ODE_DORMAND_PRINCE, 1e-3);
    adz_scope *scope = adz_scope_open();
    adz_tensor *found[7], *gradients[3];
    adz_status status = swing(in, events, 3, &o, found, NULL);
    if (status == ADZ_OK) {
        adz_tensor *loss = adz_sum(found[1], ADZ_ALL_DIMS, ADZ_DROPDIM);
        status = loss != NULL ? adz_autograd_grad(&loss, NULL, 1, in, 3, NULL, gradients)
                              : adz_error_code();
    }
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in, 0.3, -2, (double[]){ 0, 0.7 }, 2);
    assert_true(refuse_each(solve_and_differentiate, NULL, in) >= 10);
    assert_true(adz_is_grad_enabled());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest ode_hits[N_ODE_HITS] = {
    TEST(all_hits_are_found),
    TEST(hits_are_found_backwards),
    TEST(a_hit_may_end_the_solution),
    TEST(a_stiff_reaction_reaches_levels),
    TEST(hits_at_one_time_all_count),
    TEST(hits_have_derivatives),
    TEST(methods_agree_on_derivatives),
    TEST(parts_have_derivatives),
    TEST(captured_tensors_have_derivatives),
    TEST(events_are_refused),
    TEST(too_many_hits_are_refused),
    TEST(refused_memory_harms_nothing),
};
