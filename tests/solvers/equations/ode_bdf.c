/* ADZ_ODE_BDF: orders, dense output, gradients, events, rows, both dtypes, scale. */
#include "solvers/equations/solvers.h"
#include "temporary.h"

/* A driven pendulum, y = (q, p), whose argument is the strength of gravity. */
static int pendulum(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *q = adz_narrow(in[1], 0, 0, 1), *p = adz_narrow(in[1], 0, 1, 1);
    adz_tensor *pull = adz_neg(adz_mul(in[2], adz_sin(q)));
    adz_tensor *parts[] = { p, adz_add(pull, adz_mul_number(adz_cos(in[0]), 0.1)) };
    out[0] = adz_cat(parts, 2, 0);
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
    in[1] = wanting((double[]){ 0.1, 0.5, 1.2 }, 3);
    in[2] = wanting((double[]){ 2 }, 1);
}

static adz_ode_options exact(adz_ode_method method)
{
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = method;
    o.rtol = o.atol = 1e-11;
    return o;
}

static adz_tensor *solution(adz_tensor *const *in, const adz_ode_options *o)
{
    const adz_tensor_function f = { pendulum, NULL };
    return adz_odeint_many(&f, in[0], in[1], in + 2, 1, o, NULL);
}

static adz_tensor *event_of(adz_tensor *const *in, const adz_ode_options *o);

/* The first `orders` gradients: of a loss of the solution or of its event, and of the squares of
 * the gradient before. */
static void derivatives(adz_tensor *(*f)(adz_tensor *const *, const adz_ode_options *),
    const adz_ode_options *o, int orders, adz_tensor **in, adz_tensor **found)
{
    adz_backward_options b = ADZ_BACKWARD_OPTIONS;
    adz_tensor *y = f(in, o), *parts[3];
    assert_non_null(y);
    adz_tensor *loss = adz_sum(adz_sin(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    for (int i = 0; i < orders; ++i) {
        b.create_graph = i + 1 < orders;
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, in, 3, &b, parts), ADZ_OK);
        found[i] = adz_cat(parts, 3, 0);
        loss = adz_sum(adz_square(found[i]), ADZ_ALL_DIMS, ADZ_DROPDIM);
    }
}

/* The derivatives are those of Dormand and Prince's method, which are checked by differences. */
static void compare(
    adz_tensor *(*f)(adz_tensor *const *, const adz_ode_options *), int orders, adz_tensor **in)
{
    const adz_ode_options other = exact(ADZ_ODE_DORMAND_PRINCE);
    adz_ode_options o = exact(ADZ_ODE_BDF);
    adz_tensor *right[3], *found[3];
    derivatives(f, &other, orders, in, right);
    derivatives(f, &o, orders, in, found);
    for (int i = 0; i < orders; ++i) {
        assert_true(apart(found[i], right[i]) < 1e-5 * adz_item(adz_max(adz_abs(right[i]))));
    }
    for (o.checkpoints = 1; o.checkpoints < 1000; o.checkpoints *= 7) {
        derivatives(f, &o, 1, in, found);
        assert_true(apart(found[0], right[0]) < 1e-7);
    }
}

static void gradients_are_those_of_the_solution(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in);
    compare(solution, 3, in);
}

static int crossing(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub_number(adz_narrow(in[1], 0, 0, 1), 0.2);
    return out[0] != NULL;
}

static adz_tensor *event_of(adz_tensor *const *in, const adz_ode_options *o)
{
    const adz_tensor_function f = { pendulum, NULL }, g = { crossing, NULL };
    adz_tensor *found[2];
    assert_int_equal(adz_odeint_event(&f, in[0], in[1], in + 2, 1, &g, o, found, NULL), ADZ_OK);
    return adz_cat((adz_tensor *[]){ adz_reshape(found[0], ADZ_SHAPE(1)), found[1] }, 2, 0);
}

static void events_have_gradients(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in);
    in[1] = wanting((double[]){ 0.1, 3 }, 2);
    compare(event_of, 2, in);
}

static adz_tensor *bell(adz_tensor *t, adz_tensor *y, void *user) /* y = 1 / (1 + t^2) */
{
    (void)user;
    return adz_mul_number(adz_mul(t, adz_square(y)), -2);
}

/* Most of the times lie between the ends of steps. */
static void the_tolerance_is_kept(void **state)
{
    (void)state;
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        adz_tensor *times = adz_linspace(0, 4, 41, (adz_dtype)dtype);
        adz_tensor *y0 = adz_ones(ADZ_SHAPE(1), (adz_dtype)dtype);
        adz_tensor *right = adz_reciprocal(adz_add_number(adz_square(adz_unsqueeze(times, 1)), 1));
        adz_ode_options o = ADZ_ODE_OPTIONS;
        adz_ode_report report;
        o.method = ADZ_ODE_BDF;
        for (int k = 3; k <= (dtype == ADZ_F64 ? 11 : 5); k += 2) {
            o.rtol = o.atol = pow(10, -k);
            adz_tensor *y = adz_odeint(bell, NULL, y0, times, &o, &report);
            assert_non_null(y);
            assert_true(apart(y, right) < 10 * o.rtol);
            assert_true(report.time == 4 && report.steps < 20 * pow(10, k / 8.0));
            assert_true(report.jacobians < 10);
        }
    }
}

/* Each row has its own rate, 1 to 1e6, and goes to cos(t). */
static adz_tensor *stiff(adz_tensor *t, adz_tensor *y, void *rates)
{
    return adz_mul(adz_sub(adz_cos(t), y), rates);
}

static void rows_are_solved_together(void **state)
{
    (void)state;
    for (int dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        adz_tensor *rates =
            adz_reshape(adz_logspace(0, 6, 8, 10, (adz_dtype)dtype), ADZ_SHAPE(4, 2));
        adz_tensor *y0 = adz_zeros(ADZ_SHAPE(4, 2), (adz_dtype)dtype), *y[2];
        adz_ode_options o = ADZ_ODE_OPTIONS;
        adz_ode_report report;
        o.method = ADZ_ODE_BDF;
        o.rtol = dtype == ADZ_F32 ? 1e-4 : 1e-6;
        o.atol = 0.1 * o.rtol;
        for (int rows = 0; rows < 2; ++rows) {
            o.rows = rows;
            y[rows] =
                adz_odeint(stiff, rates, y0, adz_linspace(0, 3, 4, (adz_dtype)dtype), &o, &report);
            assert_non_null(y[rows]);
            assert_true(report.steps < 600 && report.jacobians < 20);
        }
        assert_true(apart(y[0], y[1]) < o.rtol);
        const double end = adz_tensor_at(y[1], (int64_t[]){ 3, 0, 0 });
        assert_true(fabs(end - (cos(3) + sin(3) - exp(-3)) / 2) < 5 * o.rtol);
        assert_true(fabs(adz_tensor_at(y[1], (int64_t[]){ 3, 3, 1 }) - cos(3)) < 5 * o.rtol);
    }
}

static int robertson(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user; /* the argument is the logarithms of the rates */
    adz_tensor *k = adz_exp(in[2]), *r[3];
    adz_tensor *a = adz_narrow(in[1], 0, 0, 1), *b = adz_narrow(in[1], 0, 1, 1);
    r[0] = adz_mul(adz_narrow(k, 0, 0, 1), a);
    r[1] = adz_mul(adz_narrow(k, 0, 1, 1), adz_square(b));
    r[2] = adz_mul(adz_narrow(k, 0, 2, 1), adz_mul(b, adz_narrow(in[1], 0, 2, 1)));
    adz_tensor *parts[] = { adz_sub(r[2], r[0]), adz_sub(adz_sub(r[0], r[2]), r[1]), r[1] };
    out[0] = adz_cat(parts, 3, 0);
    return out[0] != NULL;
}

/* The gradients of a stiff solution by the state and by the rates are those of RODAS. */
static void stiff_gradients_agree(void **state)
{
    (void)state;
    const adz_tensor_function f = { robertson, NULL };
    adz_tensor *in[2] = { wanting((double[]){ 1, 0, 0 }, 3),
        wanting((double[]){ log(0.04), log(3e7), log(1e4) }, 3) };
    adz_tensor *times = adz_tensor_from((double[]){ 0, 40, 4000 }, ADZ_SHAPE(3), ADZ_F64);
    adz_tensor *scale = adz_tensor_from((double[]){ 1, 1e4, 1 }, ADZ_SHAPE(3), ADZ_F64), *all[2];
    for (int i = 0; i < 2; ++i) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        adz_tensor *parts[2];
        o.method = i == 0 ? ADZ_ODE_RODAS4 : ADZ_ODE_BDF;
        o.rtol = 1e-9;
        o.atol = 1e-13;
        adz_tensor *y = adz_odeint_many(&f, in[0], times, in + 1, 1, &o, NULL);
        assert_non_null(y);
        adz_tensor *loss = adz_sum(adz_mul(y, scale), ADZ_ALL_DIMS, ADZ_DROPDIM);
        assert_int_equal(adz_autograd_grad(&loss, NULL, 1, in, 2, NULL, parts), ADZ_OK);
        all[i] = adz_cat(parts, 2, 0);
    }
    assert_true(apart(all[0], all[1]) < 1e-6 * adz_item(adz_max(adz_abs(all[0]))));
}

static adz_tensor *linear(adz_tensor *t, adz_tensor *y, void *matrix)
{
    (void)t;
    return adz_matmul(y, matrix);
}

static void scale_changes_nothing(void **state)
{
    (void)state;
    const double a[] = { -1, -3, 2, -2000 };
    adz_tensor *matrix = adz_tensor_from(a, ADZ_SHAPE(2, 2), ADZ_F64), *first = NULL;
    for (int k = 0; k <= 960; k += 240) {
        for (int sign = -1; sign <= 1; sign += 2) {
            adz_ode_options o = ADZ_ODE_OPTIONS;
            o.method = ADZ_ODE_BDF;
            o.atol = ldexp(0x1p-20, sign * k);
            adz_tensor *y0 = adz_mul_number(
                adz_tensor_from((double[]){ 1, 0.5 }, ADZ_SHAPE(2), ADZ_F64), ldexp(1, sign * k));
            adz_tensor *y =
                adz_odeint(linear, matrix, y0, adz_linspace(0, 2, 5, ADZ_F64), &o, NULL);
            assert_non_null(y);
            first = first == NULL ? y : first;
            assert_true(adz_equal(y, adz_mul_number(first, ldexp(1, sign * k))));
        }
    }
}

static adz_tensor *square(adz_tensor *t, adz_tensor *y, void *user) /* y = 1 / (1 - t) */
{
    (void)t;
    (void)user;
    return adz_square(y);
}

static void what_cannot_be_done_is_refused(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64), *times = adz_linspace(0, 5, 3, ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    o.method = ADZ_ODE_BDF;
    assert_null(adz_odeint(square, NULL, y0, times, &o, &report));
    expect_error(ADZ_ERR_NUMERIC, "the step has become too short at t = ");
    assert_true(fabs(report.time - 1) < 1e-3);
    o.max_steps = 20;
    assert_null(adz_odeint(square, NULL, y0, times, &o, &report));
    expect_error(ADZ_ERR_NUMERIC, "raise max_steps or the tolerances");
    assert_int_equal(report.steps + report.rejected, 20);
    o.steps = 5;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "steps is 5, but ADZ_ODE_BDF chooses its steps");
    o.method = (adz_ode_method)4;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "method is 4");
}

/* ---- refused memory -------------------------------------------------------------------------- */

typedef struct request {
    adz_tensor *rate;
    adz_ode_method method;
    bool graph, event;
} request;

static int approaches(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = stiff(in[0], in[1], in[2]);
    return out[0] != NULL;
}

static int half(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub_number(adz_select(in[1], 0, 0), 0.2);
    return out[0] != NULL;
}

static adz_tensor *loss_of(const request *r)
{
    const adz_tensor_function f = { approaches, NULL }, g = { half, NULL };
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.method = r->method;
    o.rtol = o.atol = 0.3;
    o.checkpoints = 2;
    o.graph_bytes = 0;
    adz_tensor *y0 = adz_zeros(ADZ_SHAPE(2), ADZ_F64), *rate = r->rate, *found[2];
    adz_tensor *times = adz_linspace(0, 0.5, r->event ? 2 : 3, ADZ_F64);
    if (y0 == NULL || times == NULL) {
        return NULL;
    }
    if (r->event) {
        return adz_odeint_event(&f, y0, times, &rate, 1, &g, &o, found, NULL) == ADZ_OK ? found[0]
                                                                                        : NULL;
    }
    adz_tensor *y = adz_odeint_many(&f, y0, times, &rate, 1, &o, NULL);
    return y != NULL ? adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
}

static adz_status solve_and_pull(void *user)
{
    const request *r = user;
    adz_scope *scope = adz_scope_open();
    adz_backward_options b = ADZ_BACKWARD_OPTIONS;
    adz_tensor *loss = loss_of(r), *leaves[] = { r->rate }, *dx = NULL;
    adz_status status = loss != NULL ? ADZ_OK : adz_error_code();
    b.create_graph = r->graph;
    if (status == ADZ_OK) {
        status = adz_autograd_grad(&loss, NULL, 1, leaves, 1, &b, &dx);
        assert_true(status != ADZ_OK || !(adz_tensor_at(dx, (int64_t[]){ 0 }) == 0));
    }
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_tensor *rate = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 1, ADZ_F64), true);
    request requests[] = { { rate, ADZ_ODE_BDF, false, false }, { rate, ADZ_ODE_BDF, true, false },
        { rate, ADZ_ODE_BDF, false, true }, { rate, ADZ_ODE_DORMAND_PRINCE, true, false },
        { rate, ADZ_ODE_DORMAND_PRINCE, false, true } };
    for (size_t i = 0; i < sizeof requests / sizeof *requests; ++i) {
        assert_true(refuse_each(solve_and_pull, NULL, &requests[i]) >= 10);
    }
    assert_true(adz_is_grad_enabled());
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, solvers_open, solvers_close)
const struct CMUnitTest ode_bdf[N_ODE_BDF] = {
    TEST(gradients_are_those_of_the_solution),
    TEST(events_have_gradients),
    TEST(the_tolerance_is_kept),
    TEST(rows_are_solved_together),
    TEST(stiff_gradients_agree),
    TEST(scale_changes_nothing),
    TEST(what_cannot_be_done_is_refused),
    TEST(refused_memory_harms_nothing),
};
