/* Gradients of solutions with error control in plans: the bits of ordinary calls, for numbers of
 * steps that differ from run to run. */
#include <string.h>

#include "solvers/equations/solvers.h"

enum { MOST_TIMES = 40 };

/* A neural equation: dy/dt = W2 tanh(y W1 + b t) a, whose weights are leaves that the function
 * captures, and whose argument is a[1]. */
typedef struct {
    adz_tensor *w1, *w2, *b, *a, *y0, *times;
    adz_ode_options o;
    adz_dtype dtype;
    double scale; /* of the loss, and so of all upstream gradients */
} neural;

static int slope(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const neural *p = user;
    (void)n;
    adz_tensor *h = adz_add(adz_matmul(in[1], p->w1), adz_mul(p->b, in[0]));
    out[0] = adz_mul(adz_matmul(adz_tanh(h), p->w2), in[2]);
    return out[0] != NULL;
}

static adz_tensor *wanting(adz_tensor *t, adz_dtype dtype)
{
    return adz_requires_grad_(adz_detach(adz_to(t, dtype)), true);
}

static neural neural_of(adz_dtype dtype)
{
    neural p = { .o = ADZ_ODE_OPTIONS, .dtype = dtype, .scale = 1 };
    p.w1 = wanting(adz_randn(ADZ_SHAPE(3, 8), ADZ_F64), dtype);
    p.w2 = wanting(adz_mul_number(adz_randn(ADZ_SHAPE(8, 3), ADZ_F64), 0.5), dtype);
    p.b = wanting(adz_randn(ADZ_SHAPE(8), ADZ_F64), dtype);
    p.a = wanting(adz_ones(ADZ_SHAPE(1), ADZ_F64), dtype);
    p.y0 = wanting(adz_randn(ADZ_SHAPE(4, 3), ADZ_F64), dtype);
    p.times = adz_to(adz_linspace(0, 1, 2, ADZ_F64), dtype);
    p.o.rtol = 1e-5;
    p.o.max_steps = 200;
    return p;
}

/* The gradients by all leaves, behind the last state. */
static adz_tensor *gradients_of(void *user)
{
    neural *p = user;
    const adz_tensor_function f = { slope, p };
    adz_tensor *y = adz_odeint_many(&f, p->y0, p->times, &p->a, 1, &p->o, NULL);
    adz_tensor *loss = adz_mul_number(adz_sum(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM), p->scale);
    adz_tensor *leaves[] = { p->w1, p->w2, p->b, p->a, p->y0 }, *g[6];
    if (loss == NULL || adz_autograd_grad(&loss, NULL, 1, leaves, 5, NULL, g) != ADZ_OK) {
        return NULL;
    }
    g[5] = y;
    for (int i = 0; i < 6; ++i) {
        g[i] = adz_reshape(adz_detach(g[i]), ADZ_SHAPE(-1));
    }
    return adz_cat(g, 6, 0);
}

/* Sets times from 0.25 to `to`. All but the first one and the last one crowd in the middle. */
static void set(adz_tensor *t, double to)
{
    const int64_t n = adz_tensor_size(t, 0);
    double times[MOST_TIMES] = { 0.25 };
    for (int64_t i = 1; i + 1 < n; ++i) {
        times[i] = 0.25 + (to - 0.25) * (0.4 + 0.3 * (double)i / (double)n);
    }
    times[n - 1] = to;
    adz_copy_(t, adz_to(adz_tensor_from(times, ADZ_SHAPE(n), ADZ_F64), adz_tensor_dtype(t)));
}

/* NaN has no bits of its own: which of two operands a sum passes on depends on the processor. */
static void expect_bits(adz_tensor *a, adz_tensor *b)
{
    const size_t bytes = (size_t)adz_tensor_numel(a) * (adz_tensor_dtype(a) == ADZ_F64 ? 8 : 4);
    adz_tensor *zero = adz_zeros_like(a), *a_is_nan = adz_isnan(a);
    assert_true(adz_equal(a_is_nan, adz_isnan(b)));
    a = adz_where(a_is_nan, zero, a);
    b = adz_where(a_is_nan, zero, b);
    assert_memory_equal(adz_tensor_data_constant(a), adz_tensor_data_constant(b), bytes);
}

/* Replays a plan of the gradients for ends of which each needs another number of steps. */
static void check_plan(neural *p)
{
    static const double ends[] = { 1, 0.3, 3, -2, 8 };
    adz_plan *plan = adz_plan_new(gradients_of, p, NULL);
    for (int run = 0; run < 5; ++run) {
        set(p->times, ends[run]);
        adz_copy_(adz_detach(p->y0), adz_to(adz_randn(ADZ_SHAPE(4, 3), ADZ_F64), p->dtype));
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        expect_bits(adz_plan_output(plan), gradients_of(p));
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured);
    adz_plan_free(&plan);
}

/* Without kept graphs, with those of all solutions, and with those of the shorter ones. */
static void plans_have_the_bits_of_ordinary_gradients(void **state)
{
    static const int64_t bytes[] = { 0, 1 << 24, 1 << 17 };
    (void)state;
    for (int i = 0; i < 6; ++i) {
        neural p = neural_of(i < 3 ? ADZ_F64 : ADZ_F32);
        p.o.graph_bytes = bytes[i % 3];
        check_plan(&p);
    }
}

/* Many times within a step, one at its end, and times in the last step, whose last slope is used
 * by them alone. */
static void times_within_steps_have_the_bits_of_ordinary_gradients(void **state)
{
    static const int64_t bytes[] = { 0, 1 << 24, 1 << 17 };
    (void)state;
    for (int i = 0; i < 3; ++i) {
        neural p = neural_of(i == 2 ? ADZ_F32 : ADZ_F64);
        p.o.graph_bytes = bytes[i];
        p.times = adz_to(adz_linspace(0, 1, i == 1 ? 3 : MOST_TIMES, ADZ_F64), p.dtype);
        check_plan(&p);
        p.o.max_step = 0.5; /* ends of steps at times */
        check_plan(&p);
    }
}

/* Upstream gradients at both ends of the range, beyond it, and NaN. */
static void gradients_of_any_size_have_the_bits_of_ordinary_gradients(void **state)
{
    static const double scales[] = { 1e307, 1e-300, 5e-324, INFINITY, NAN };
    (void)state;
    for (int i = 0; i < 10; ++i) {
        neural p = neural_of(ADZ_F64);
        p.o.graph_bytes = i < 5 ? 0 : 1 << 24;
        p.scale = scales[i % 5];
        p.times = adz_linspace(0, 1, i % 2 == 0 ? 2 : 7, ADZ_F64);
        check_plan(&p);
    }
}

/* ADZ_ODE_RODAS4, whose graph no call keeps. */
static void stiff_plans_have_the_bits_of_ordinary_gradients(void **state)
{
    (void)state;
    neural p = neural_of(ADZ_F64);
    p.o.method = ADZ_ODE_RODAS4;
    p.o.rows = true;
    check_plan(&p);
    p.times = adz_linspace(0, 1, 5, ADZ_F64);
    check_plan(&p);
}

/* Without gradients by the state and the argument, which the function does not use either. */
static int slope_alone(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const neural *p = user;
    (void)n;
    out[0] = adz_matmul(adz_tanh(adz_matmul(in[1], p->w1)), p->w2);
    return out[0] != NULL;
}

static adz_tensor *gradient_of_weights(void *user)
{
    neural *p = user;
    const adz_tensor_function f = { slope_alone, p };
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.allow_unused = true;
    adz_tensor *y = adz_odeint_many(&f, adz_detach(p->y0), p->times, &p->a, 1, &p->o, NULL);
    adz_tensor *leaves[] = { p->w2, p->a }, *g[2];
    adz_tensor *loss = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    if (loss == NULL || adz_autograd_grad(&loss, NULL, 1, leaves, 2, &o, g) != ADZ_OK) {
        return NULL;
    }
    assert_true(g[1] == ADZ_NONE);
    return g[0];
}

static void arguments_that_are_not_used_have_no_gradient(void **state)
{
    (void)state;
    neural p = neural_of(ADZ_F64);
    adz_plan *plan = adz_plan_new(gradient_of_weights, &p, NULL);
    for (int run = 0; run < 3; ++run) {
        set(p.times, 1 + run);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        expect_bits(adz_plan_output(plan), gradient_of_weights(&p));
    }
    adz_plan_free(&plan);
}

/* A replay of more steps than max_steps fails, and the next one is right again. */
static void more_steps_than_there_is_room_for_are_refused(void **state)
{
    (void)state;
    neural p = neural_of(ADZ_F64);
    p.o.max_steps = 12;
    set(p.times, 0.5);
    adz_plan *plan = adz_plan_new(gradients_of, &p, NULL);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    set(p.times, 30);
    assert_int_equal(adz_plan_run(plan), ADZ_ERR_NUMERIC);
    expect_error(ADZ_ERR_NUMERIC, "max_steps were not enough");
    set(p.times, 0.6);
    assert_int_equal(adz_plan_run(plan), ADZ_OK);
    expect_bits(adz_plan_output(plan), gradients_of(&p));
    adz_plan_free(&plan);
}

static void expect_refused(neural *p, adz_tensor *(*function)(void *), const char *text)
{
    adz_plan *plan = adz_plan_new(function, p, NULL);
    assert_true(plan == NULL || adz_plan_run(plan) == ADZ_ERR_STATE);
    expect_error(ADZ_ERR_STATE, text);
    adz_plan_free(&plan);
}

static adz_tensor *second_derivatives(void *user)
{
    neural *p = user;
    const adz_tensor_function f = { slope, p };
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    adz_tensor *y = adz_odeint_many(&f, p->y0, p->times, &p->a, 1, &p->o, NULL), *g;
    o.create_graph = true;
    y = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    return y != NULL && adz_autograd_grad(&y, NULL, 1, &p->w1, 1, &o, &g) == ADZ_OK ? g : NULL;
}

static void gradients_that_plans_lack_are_refused(void **state)
{
    (void)state;
    neural p = neural_of(ADZ_F64);
    expect_refused(&p, second_derivatives, "no derivatives of second order or forwards in a plan");
    p.o.max_steps = 1 << 27;
    expect_refused(&p, gradients_of, "at most 22369621 steps are possible: lower max_steps");
    p = neural_of(ADZ_F64);
    p.times = wanting(adz_linspace(0, 1, 2, ADZ_F64), ADZ_F64);
    expect_refused(&p, gradients_of, "no gradient in a plan by its times");
}

const struct CMUnitTest ode_adaptive_gradients[N_ODE_ADAPTIVE_GRADIENTS] = {
    cmocka_unit_test_setup_teardown(
        plans_have_the_bits_of_ordinary_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        times_within_steps_have_the_bits_of_ordinary_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        gradients_of_any_size_have_the_bits_of_ordinary_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        stiff_plans_have_the_bits_of_ordinary_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        arguments_that_are_not_used_have_no_gradient, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        more_steps_than_there_is_room_for_are_refused, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        gradients_that_plans_lack_are_refused, solvers_open, solvers_close),
};
