/* Events of solutions by fixed steps. */
#include "solvers/equations/solvers.h"
#include "temporary.h"

enum { METHODS = 3 };
static const adz_ode_method methods[METHODS] = { ADZ_ODE_RK4, ADZ_ODE_DORMAND_PRINCE,
    ADZ_ODE_RODAS4 };

static adz_ode_options options_of(adz_ode_method method, int64_t steps)
{
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = method;
    o.steps = steps;
    return o;
}

/* ---- problems -------------------------------------------------------------------------------- */

/* y = (height, velocity); the argument is the pull. */
static int falls(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_cat((adz_tensor *[]){ adz_narrow(in[1], 0, 1, 1), adz_neg(in[2]) }, 2, 0);
    return out[0] != NULL;
}

/* y = (angle, speed); the argument is the pull. */
static int pendulum(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *pull = adz_mul(adz_sin(adz_narrow(in[1], 0, 0, 1)), in[2]);
    out[0] = adz_cat((adz_tensor *[]){ adz_narrow(in[1], 0, 1, 1), adz_neg(pull) }, 2, 0);
    return out[0] != NULL;
}

/* sin and cos, if y begins at (0, 1). The argument is the squared frequency. */
static int oscillator(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *pull = adz_mul(adz_narrow(in[1], 0, 0, 1), in[2]);
    out[0] = adz_cat((adz_tensor *[]){ adz_narrow(in[1], 0, 1, 1), adz_neg(pull) }, 2, 0);
    return out[0] != NULL;
}

/* The first element is a level. */
static int above(adz_tensor *const *in, size_t n, adz_tensor **out, void *level)
{
    (void)n;
    out[0] = adz_add_number(adz_select(in[1], 0, 0), -*(const double *)level);
    return out[0] != NULL;
}

static int64_t first = 0, second = 1;

typedef int body(adz_tensor *const *, size_t, adz_tensor **, void *);

/* y0, times and the argument, which want gradients. */
static void given(adz_tensor **in, double a, double b, double from, double to, double argument)
{
    in[0] = adz_requires_grad_(pair(a, b, ADZ_F64), true);
    in[1] = adz_requires_grad_(pair(from, to, ADZ_F64), true);
    in[2] = adz_requires_grad_(adz_full(ADZ_SHAPE(1), argument, ADZ_F64), true);
}

/* The first hit of the first element. */
static adz_status first_hit(
    body *f, adz_tensor *const *in, const adz_ode_options *o, adz_tensor **found)
{
    const adz_tensor_function function = { f, NULL }, event = { element_is_0, &first };
    return adz_odeint_event(&function, in[0], in[1], in + 2, 1, &event, o, found, NULL);
}

static bool holds(adz_tensor *t, const double *right, int64_t n, double bound)
{
    bool good = adz_tensor_rank(t) == 1 && adz_tensor_size(t, 0) == n;
    for (int64_t i = 0; i < n && good; ++i) {
        good = fabs(adz_tensor_at(t, &i) - right[i]) <= bound;
    }
    return good;
}

/* ---- values and gradients -------------------------------------------------------------------- */

/* From h with a velocity v: v + sqrt(v^2 + 2 g h) over g. All methods are exact here. At each
 * bounce half of the speed is lost, and the solution goes on from an event. */
static void a_ball_bounces(void **state)
{
    (void)state;
    const double right[] = { 1, 2, 2.5, 2.75 };
    for (int m = 0; m < 2 * METHODS; ++m) {
        const adz_dtype dtype = m % 2 == 0 ? ADZ_F64 : ADZ_F32;
        const adz_ode_options o = options_of(methods[m / 2], 7);
        double y[] = { 10, 0 }, t = 0;
        for (int i = 0; i < 4; ++i) {
            adz_tensor *found[2], *in[] = { pair(y[0], y[1], dtype), pair(t, t + 2.1, dtype),
                adz_full(ADZ_SHAPE(1), 10, dtype) };
            assert_int_equal(first_hit(falls, in, &o, found), ADZ_OK);
            t = adz_item(found[0]);
            y[0] = adz_tensor_at(found[1], (int64_t[]){ 0 });
            y[1] = -0.5 * adz_tensor_at(found[1], (int64_t[]){ 1 });
            assert_true(fabs(t - right[i] * sqrt(2)) < (dtype == ADZ_F64 ? 1e-12 : 1e-5));
        }
    }
}

static void a_fall_has_derivatives(void **state)
{
    (void)state;
    const double h = 3, v = 1, g = 10, root = sqrt(v * v + 2 * g * h), t = (v + root) / g;
    for (int m = 0; m < METHODS; ++m) {
        const adz_ode_options o = options_of(methods[m], 5);
        adz_tensor *in[3], *found[2], *slopes[3];
        given(in, h, v, 0.5, 2.5, g);
        assert_int_equal(first_hit(falls, in, &o, found), ADZ_OK);
        assert_true(fabs(adz_item(found[0]) - 0.5 - t) < 1e-12);
        assert_int_equal(adz_autograd_grad(found, NULL, 1, in, 3, NULL, slopes), ADZ_OK);
        assert_true(holds(slopes[0], (double[]){ 1 / root, t / root }, 2, 1e-11));
        assert_true(holds(slopes[1], (double[]){ 1, 0 }, 2, 1e-11));
        assert_true(holds(slopes[2], (double[]){ -t * t / (2 * root) }, 1, 1e-11));
    }
}

/* The complete elliptic integrals of a modulus, by means of Gauss. */
static void elliptic(double k, double *first_kind, double *second_kind)
{
    double a = 1, b = sqrt(1 - k * k), sum = k * k / 2, power = 1;
    for (int i = 0; i < 8; ++i) {
        const double c = (a - b) / 2, next = (a + b) / 2;
        b = sqrt(a * b);
        a = next;
        sum += power * c * c;
        power *= 2;
    }
    *first_kind = acos(-1) / (2 * a);
    *second_kind = *first_kind * (1 - sum);
}

/* A hit whose time and its derivative by y0[0] are known. */
typedef struct known {
    body *f;
    double y0, argument, level, time, slope;
} known;

/* A pendulum released at an angle passes 0. */
static known passage_of_pendulum(void)
{
    known p = { .f = pendulum, .y0 = 1.5, .argument = 4 };
    const double k = sin(p.y0 / 2), root = sqrt(p.argument);
    double first_kind, second_kind;
    elliptic(k, &first_kind, &second_kind);
    p.time = first_kind / root;
    p.slope = (second_kind / (k * (1 - k * k)) - first_kind / k) * cos(p.y0 / 2) / (2 * root);
    return p;
}

/* a cos t is 1/2. */
static known level_of_oscillator(void)
{
    known p = { .f = oscillator, .y0 = 1.3, .argument = 1, .level = 0.5 };
    const double part = p.level / p.y0;
    p.time = acos(part);
    p.slope = part / (p.y0 * sqrt(1 - part * part));
    return p;
}

/* The errors of the time and the slope. The hit lies in the step after n others, at the same part
 * of it for each n. The times may go backwards. */
static void errors_of(const known *p, adz_ode_method method, int64_t n, bool back, double *errors)
{
    const double sign = back ? -1 : 1, length = p->time / ((double)n + 0.3);
    const adz_tensor_function f = { p->f, NULL }, g = { above, (double[]){ p->level } };
    const adz_ode_options o = options_of(method, n + 2);
    adz_tensor *in[3], *found[2], *slopes[3];
    given(in, p->y0, 0, 0, sign * length * (double)(n + 2), p->argument);
    assert_int_equal(adz_odeint_event(&f, in[0], in[1], in + 2, 1, &g, &o, found, NULL), ADZ_OK);
    assert_int_equal(adz_autograd_grad(found, NULL, 1, in, 3, NULL, slopes), ADZ_OK);
    errors[0] = fabs(sign * adz_item(found[0]) - p->time);
    errors[1] = fabs(sign * adz_tensor_at(slopes[0], (int64_t[]){ 0 }) - p->slope);
    assert_true(fabs(adz_tensor_at(found[1], (int64_t[]){ 0 }) - p->level) < 1e-13);
}

/* With a quarter of the steps the errors are 4^order times as large. Those of derivatives have one
 * order less where a dense output is differentiated, but not by ADZ_ODE_RK4. */
static void hits_have_the_order_of_the_method(void **state)
{
    (void)state;
    const known all[] = { passage_of_pendulum(), level_of_oscillator() };
    const double order[METHODS][2] = { { 3.8, 3.8 }, { 4.8, 3.8 }, { 3.8, 2.8 } };
    for (int m = 0; m < 4 * METHODS; ++m) {
        double few[2], many[2];
        errors_of(&all[m % 2], methods[m / 4], 12, m / 2 % 2 == 1, few);
        errors_of(&all[m % 2], methods[m / 4], 50, m / 2 % 2 == 1, many);
        for (int i = 0; i < 2; ++i) {
            assert_true(log(few[i] / many[i]) / log(50.3 / 12.3) > order[m / 4][i]);
        }
    }
}

/* ---- several events -------------------------------------------------------------------------- */

static adz_status hits_of(adz_tensor *const *in, const adz_ode_event *list, size_t n,
    const adz_ode_options *o, adz_tensor **found, int *ended, adz_ode_report *report)
{
    const adz_tensor_function f = { oscillator, NULL };
    return adz_odeint_events(&f, in[0], in[1], in + 2, 1, list, n, o, found, ended, report);
}

/* sin t from 0 to 10, forwards and backwards: it falls through 0 at pi and 3 pi forwards, and turns
 * at odd multiples of pi / 2. 0 itself is no hit. Events that end nothing do not change the states.
 */
static void directions_choose_hits(void **state)
{
    (void)state;
    const double pi = acos(-1);
    const adz_ode_event list[] = { { { element_is_0, &first }, 0, 0 },
        { { element_is_0, &first }, 1, 0 }, { { element_is_0, &first }, -1, 0 },
        { { element_is_0, &second }, -1, 0 } };
    for (int m = 0; m < 2 * METHODS; ++m) {
        const double s = m % 2 == 0 ? 1 : -1;
        const adz_ode_options o = options_of(methods[m / 2], 40);
        const double way[] = { 0, s * 3, s * 10 }, zeros[] = { s * pi, s * 2 * pi, s * 3 * pi };
        const double odd[] = { s * pi, s * 3 * pi }, turns[] = { s * pi / 2, s * 5 * pi / 2 };
        adz_tensor *in[] = { pair(0, 1, ADZ_F64), adz_tensor_from(way, ADZ_SHAPE(3), ADZ_F64),
            adz_ones(ADZ_SHAPE(1), ADZ_F64) };
        adz_tensor *found[9];
        adz_ode_report report;
        int ended;
        assert_int_equal(hits_of(in, list, 4, &o, found, &ended, &report), ADZ_OK);
        /* Forwards sin falls at pi; backwards it rises there, on the way. */
        assert_true(holds(found[1], zeros, 3, 1e-3) &&
                    holds(found[3 + (s > 0 ? 2 : 0)], odd, 2, 1e-3) &&
                    holds(found[5 - (s > 0 ? 2 : 0)], zeros + 1, 1, 1e-3));
        assert_true(holds(found[7], turns, 2, 1e-3));
        assert_true(ended == -1 && report.time == s * 10 && report.steps == 80);
        const adz_tensor_function f = { oscillator, NULL };
        assert_true(adz_equal(found[0], adz_odeint_many(&f, in[0], in[1], in + 2, 1, &o, NULL)));
    }
}

/* The solution ends at the second zero, in the last step of the third of five spans. */
static void a_hit_may_end_the_solution(void **state)
{
    (void)state;
    const double pi = acos(-1);
    const adz_ode_event list[] = { { { element_is_0, &second }, 0, 0 },
        { { element_is_0, &first }, 0, 2 } };
    for (int m = 0; m < 2 * METHODS; ++m) {
        const double s = m % 2 == 0 ? 1 : -1;
        const adz_ode_options o = options_of(methods[m / 2], 20);
        const double way[] = { 0, s * 2, s * 4, s * 6.3, s * 8, s * 10 };
        adz_tensor *in[3];
        given(in, 0, 1, 0, 1, 1);
        in[1] = adz_requires_grad_(adz_tensor_from(way, ADZ_SHAPE(6), ADZ_F64), true);
        adz_tensor *found[5];
        adz_ode_report report;
        int ended;
        assert_int_equal(hits_of(in, list, 2, &o, found, &ended, &report), ADZ_OK);
        assert_true(ended == 1 && fabs(report.time - s * 2 * pi) < 1e-4 && report.steps == 60);
        assert_true(holds(found[1], (double[]){ s * pi / 2, s * 3 * pi / 2 }, 2, 1e-4) &&
                    holds(found[3], (double[]){ s * pi, s * 2 * pi }, 2, 1e-4));
        const adz_tensor_function f = { oscillator, NULL };
        adz_tensor *whole = adz_odeint_many(&f, in[0], in[1], in + 2, 1, &o, NULL);
        whole = adz_narrow(whole, 0, 0, 3);
        assert_true(adz_equal(found[0], whole));
        adz_tensor *slopes[2][3], *upstream = adz_randn(ADZ_SHAPE(3, 2), ADZ_F64);
        assert_int_equal(adz_autograd_grad(found, &upstream, 1, in, 3, NULL, slopes[0]), ADZ_OK);
        assert_int_equal(adz_autograd_grad(&whole, &upstream, 1, in, 3, NULL, slopes[1]), ADZ_OK);
        for (int i = 0; i < 3; ++i) {
            assert_true(apart(slopes[0][i], slopes[1][i]) < 1e-12);
        }
    }
}

/* 3/10 - t */
static int rest(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_neg(adz_add_number(in[0], -0.3));
    return out[0] != NULL;
}

/* The end is that of a step, which is one of the times, although -0.9 + (0.3 - -0.9) is not 0.3. */
static void a_time_may_be_that_of_the_end(void **state)
{
    (void)state;
    const adz_ode_event event = { { rest, NULL }, 0, 1 };
    for (int m = 0; m < METHODS; ++m) {
        const adz_ode_options o = options_of(methods[m], 1);
        const double way[] = { -0.9, 0.3, 2 };
        adz_tensor *in[3], *found[3];
        given(in, 0, 1, 0, 1, 1);
        in[1] = adz_tensor_from(way, ADZ_SHAPE(3), ADZ_F64);
        assert_int_equal(hits_of(in, &event, 1, &o, found, NULL, NULL), ADZ_OK);
        assert_true(holds(found[1], way + 1, 1, 0) && adz_tensor_size(found[0], 0) == 2);
        assert_true(apart(adz_select(found[0], 0, 1), adz_select(found[2], 0, 0)) < 1e-15);
    }
}

static int all_hits(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    const adz_ode_event list[] = { { { element_is_0, &second }, 0, 0 },
        { { rising_level, NULL }, 0, 2 } };
    (void)n;
    return hits_of(in, list, 2, options, out, NULL, NULL) == ADZ_OK ? 5 : 0;
}

/* By the state, the times and the argument, to second order. Methods with a dense output are tested
 * with error control. */
static void hits_have_derivatives(void **state)
{
    (void)state;
    for (int m = 0; m < 2; ++m) {
        adz_ode_options o = options_of(ADZ_ODE_RK4, 2);
        adz_tensor *in[3], *found[5];
        const double s = m % 2 == 0 ? 1 : -1, way[] = { 0.1, s, s * 3, s * 4 };
        given(in, 0.1, s, 0, 1, 1.2);
        in[1] = adz_requires_grad_(adz_tensor_from(way, ADZ_SHAPE(4), ADZ_F64), true);
        o.checkpoints = 3;
        assert_int_equal(all_hits(in, 3, found, &o), 5);
        assert_true(adz_tensor_size(found[1], 0) == 1 && adz_tensor_size(found[0], 0) == 2);
        assert_int_equal(adz_tensor_size(found[3], 0), 2);
        expect_derivatives(all_hits, &o, in, 3);
    }
}

/* ---- what is not found ----------------------------------------------------------------------- */

static void an_event_may_not_happen(void **state)
{
    (void)state;
    const adz_ode_event list[] = { { { element_is_0, &first }, 1, 1 } };
    for (int m = 0; m < METHODS; ++m) {
        const adz_ode_options o = options_of(methods[m], 8);
        adz_tensor *in[3], *found[3] = { NULL };
        adz_ode_report report;
        int ended;
        given(in, 0, 1, 0, 5, 1);
        adz_ode_options rising = o;
        rising.event_direction = 1;
        assert_int_equal(first_hit(oscillator, in, &rising, found), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC,
            "there is no event before the last time; the solution is at t = 4.375, after 8 steps");
        assert_null(found[0]);
        assert_int_equal(hits_of(in, list, 1, &o, found, &ended, &report), ADZ_OK);
        assert_true(ended == -1 && adz_tensor_size(found[1], 0) == 0 && report.time == 5);
        adz_tensor *loss = adz_sum(found[0], ADZ_ALL_DIMS, ADZ_DROPDIM), *slope;
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, in, 1, NULL, &slope), ADZ_OK);
    }
}

static int squares(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_mul(adz_square(adz_square(in[1])), adz_sign(in[1]));
    return out[0] != NULL;
}

/* An infinite state is beyond the level, but the solution has not passed it. */
static void solutions_that_blow_up_are_refused(void **state)
{
    (void)state;
    const adz_tensor_function f = { squares, NULL }, g = { above, (double[]){ 1e300 } };
    for (int m = 0; m < 2; ++m) {
        const adz_ode_options o = options_of(methods[m], 10);
        adz_tensor *found[2];
        for (int begins = 0; begins < 2; ++begins) {
            assert_int_equal(adz_odeint_event(&f, pair(begins ? INFINITY : 1, 1, ADZ_F64),
                                 pair(0, 10, ADZ_F64), NULL, 0, &g, &o, found, NULL),
                ADZ_ERR_NUMERIC);
            expect_error(ADZ_ERR_NUMERIC,
                begins ? "is not finite after 0 steps: it blows up" : " steps: it blows up");
        }
    }
}

static adz_tensor *passage(void *user)
{
    adz_tensor *const *in = user, *found[2];
    const adz_ode_options o = options_of(ADZ_ODE_RK4, 5);
    return first_hit(falls, in, &o, found) == ADZ_OK ? found[0] : NULL;
}

static void plans_refuse_events(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in, 3, 0, 0, 2, 10);
    adz_plan *plan = adz_plan_new(passage, in, NULL);
    assert_true(plan == NULL || adz_plan_run(plan) != ADZ_OK);
    expect_error(ADZ_ERR_STATE, "it reads on the host whether the event's sign has changed");
    adz_plan_free(&plan);
}

static int watched(adz_tensor *const *in, size_t n, adz_tensor **out, void *recorded)
{
    *(bool *)recorded |= adz_is_grad_enabled();
    return falls(in, n, out, NULL);
}

/* Without gradients a step is not recorded, so a function needs no derivative. */
static void functions_are_not_recorded_without_need(void **state)
{
    (void)state;
    bool recorded = false;
    const adz_tensor_function f = { watched, &recorded }, g = { element_is_0, &first };
    const adz_ode_options o = options_of(ADZ_ODE_RK4, 5);
    adz_tensor *in[3], *found[2];
    given(in, 3, 0, 0, 2, 10);
    const bool before = adz_set_grad_enabled(false);
    const adz_status status = adz_odeint_event(&f, in[0], in[1], in + 2, 1, &g, &o, found, NULL);
    adz_set_grad_enabled(before);
    assert_true(status == ADZ_OK && fabs(adz_item(found[0]) - sqrt(0.6)) < 1e-14 && !recorded);
}

static adz_status solve(void *user)
{
    adz_tensor *const *in = user, *found[3];
    const adz_ode_options o = options_of(ADZ_ODE_RK4, 1);
    const adz_ode_event event = { { rest, NULL }, 0, 1 };
    adz_scope *scope = adz_scope_open();
    const adz_status status = hits_of(in, &event, 1, &o, found, NULL, NULL);
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in, 0, 1, 0, 1, 1);
    assert_int_equal(solve(in), ADZ_OK);
    assert_true(refuse_each(solve, NULL, in) >= 10);
    assert_true(adz_is_grad_enabled());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest ode_fixed_events[N_ODE_FIXED_EVENTS] = {
    TEST(a_ball_bounces),
    TEST(a_fall_has_derivatives),
    TEST(hits_have_the_order_of_the_method),
    TEST(directions_choose_hits),
    TEST(a_hit_may_end_the_solution),
    TEST(a_time_may_be_that_of_the_end),
    TEST(hits_have_derivatives),
    TEST(an_event_may_not_happen),
    TEST(solutions_that_blow_up_are_refused),
    TEST(plans_refuse_events),
    TEST(functions_are_not_recorded_without_need),
    TEST(refused_memory_harms_nothing),
};
