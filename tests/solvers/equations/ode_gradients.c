/* Gradients of solutions: by states, times, arguments and captured leaves; events; checkpoints;
 * plans; threads. */
#include "solvers/equations/solvers.h"

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
    const double y0[] = { 1, 0.3 }, times[] = { 0.1, 0.5, 1.2 }, strength[] = { 2 };
    in[0] = wanting(y0, 2);
    in[1] = wanting(times, 3);
    in[2] = wanting(strength, 1);
}

static void solutions_have_derivatives(void **state)
{
    (void)state;
    adz_tensor *in[3];
    given(in);
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RODAS4; ++m) {
        adz_ode_options o = ADZ_ODE_OPTIONS;
        o.method = (adz_ode_method)m;
        o.steps = 2;
        o.checkpoints = 2;
        expect_derivatives(solution, &o, in, 3);
    }
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.rtol = o.atol = 1e-10;
    expect_derivatives(solution, &o, in, 3);
}

static int solution_at(adz_tensor *const *in, size_t n, adz_tensor **out, void *times)
{
    const adz_tensor_function f = { pendulum, NULL };
    adz_ode_options o = ADZ_ODE_OPTIONS;
    (void)n;
    o.rtol = o.atol = 1e-10;
    out[0] = adz_odeint_many(&f, in[0], times, in + 1, 1, &o, NULL);
    return out[0] != NULL;
}

/* Some steps have several times, which are numbers. */
static void states_within_steps_have_derivatives(void **state)
{
    (void)state;
    adz_tensor *in[3], *times = adz_linspace(0.1, 0.3, 20, ADZ_F64);
    given(in);
    expect_derivatives(solution_at, times, (adz_tensor *[]){ in[0], in[2] }, 2);
}

/* ---- layouts and sizes ----------------------------------------------------------------------- */

/* The slopes are contiguous, or columns of a matrix. */
static adz_tensor *slopes(adz_tensor *t, adz_tensor *y, void *is_view)
{
    adz_tensor *f = adz_mul_number(adz_mul(t, adz_square(y)), -2);
    adz_tensor *pair[] = { adz_unsqueeze(f, 1), adz_unsqueeze(y, 1) };
    return is_view != NULL ? adz_select(adz_cat(pair, 2, 1), 1, 0) : f;
}

/* The states at many times, and the gradient of the sum of their squares by the first one. */
static adz_tensor *all_of(adz_dtype dtype, void *is_view)
{
    adz_tensor *y0 = adz_requires_grad_(adz_ones(ADZ_SHAPE(9000), dtype), true), *dy0;
    adz_tensor *y = adz_odeint(slopes, is_view, y0, adz_linspace(0, 0.5, 12, dtype), NULL, NULL);
    adz_tensor *loss = adz_sum(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &y0, 1, NULL, &dy0), ADZ_OK);
    return adz_cat((adz_tensor *[]){ adz_detach(y), adz_unsqueeze(dy0, 0) }, 2, 0);
}

static void layouts_and_threads_change_no_bit(void **state)
{
    (void)state;
    char view;
    for (adz_dtype dtype = ADZ_F32; dtype <= ADZ_F64; ++dtype) {
        adz_set_num_threads(1);
        adz_tensor *all = all_of(dtype, NULL);
        assert_true(adz_equal(all, all_of(dtype, &view)));
        adz_tensor *first = adz_narrow(all, 1, 0, 1);
        assert_true(adz_equal(all, adz_contiguous(adz_expand(first, ADZ_SHAPE(13, 9000)))));
        adz_set_num_threads(3);
        assert_true(adz_equal(all, all_of(dtype, NULL)));
        adz_set_num_threads(0);
    }
}

static int crossing(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_sub_number(adz_narrow(in[1], 0, 0, 1), 0.2);
    return out[0] != NULL;
}

static int event_of(adz_tensor *const *in, size_t n, adz_tensor **out, void *options)
{
    const adz_tensor_function f = { pendulum, NULL }, g = { crossing, NULL };
    (void)n;
    return adz_odeint_event(&f, in[0], in[1], in + 2, 1, &g, options, out, NULL) == ADZ_OK ? 2 : 0;
}

/* The event comes at 1.15; in the second round the solution ends shortly after it. */
static void events_have_derivatives(void **state)
{
    (void)state;
    adz_tensor *in[3], *found[2];
    adz_ode_options o = ADZ_ODE_OPTIONS;
    given(in);
    o.rtol = o.atol = 1e-10;
    double end = 3;
    for (int round = 0; round < 2; ++round) {
        const double times[] = { 0.1, end };
        in[1] = wanting(times, 2);
        expect_derivatives(event_of, &o, in, 3);
        assert_int_equal(event_of(in, 3, found, &o), 2);
        end = adz_item(found[0]) + 1e-4;
    }
}

/* ---- captured leaves ------------------------------------------------------------------------- */

static adz_tensor *learned(adz_tensor *t, adz_tensor *y, void *net)
{
    (void)t;
    return adz_module_forward(net, y);
}

static adz_module *network(void)
{
    adz_module *net =
        ADZ_SEQUENTIAL(adz_linear_new(2, 20, NULL), adz_tanh_new(), adz_linear_new(20, 2, NULL));
    assert_int_equal(adz_module_to(net, ADZ_F64), ADZ_OK);
    return net;
}

/* The gradient of a loss of the whole solution by the first weight. */
static adz_tensor *pull_learned(adz_module *net, const adz_ode_options *o, double *loss)
{
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(50, 2), ADZ_F64), *times = adz_linspace(0, 2, 9, ADZ_F64);
    adz_tensor *y = adz_odeint(learned, net, y0, times, o, NULL), *gradient;
    adz_tensor *sum = adz_mean(adz_square(y), ADZ_ALL_DIMS, ADZ_DROPDIM);
    adz_tensor *weight = adz_module_get_parameter(net, "0.weight");
    assert_int_equal(adz_autograd_grad(&sum, NULL, 1, &weight, 1, NULL, &gradient), ADZ_OK);
    *loss = adz_item(sum);
    return gradient;
}

static void captured_parameters_get_gradients(void **state)
{
    (void)state;
    adz_module *net = network();
    double *element = adz_tensor_data_f64(adz_module_get_parameter(net, "0.weight")), loss[3];
    const double before = *element;
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.rtol = o.atol = 1e-10;
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RK4; ++m) {
        o.method = (adz_ode_method)m;
        adz_tensor *gradient = pull_learned(net, &o, &loss[0]);
        for (int k = 0; k < 2; ++k) {
            *element = before + (k == 0 ? 1e-4 : -1e-4);
            pull_learned(net, &o, &loss[1 + k]);
        }
        *element = before;
        const double analytic = adz_tensor_data_f64(gradient)[0];
        assert_true(fabs((loss[1] - loss[2]) / 2e-4 - analytic) < 1e-6 * fabs(analytic));
    }
    adz_module_release(&net);
}

/* Neither the number of kept states nor that of threads changes a bit. */
static void checkpoints_and_threads_change_no_bit(void **state)
{
    (void)state;
    adz_module *net = network();
    adz_ode_options o = ADZ_ODE_OPTIONS;
    double loss;
    o.graph_bytes = 0;
    for (int fixed = 0; fixed < 2; ++fixed) {
        o.steps = fixed * 3;
        o.checkpoints = 256;
        adz_tensor *gradient = pull_learned(net, &o, &loss);
        for (int i = 0; i < 3; ++i) {
            o.checkpoints = 1 + 2 * i;
            adz_set_num_threads(1 + i % 2);
            assert_true(adz_equal(gradient, pull_learned(net, &o, &loss)));
        }
    }
    adz_set_num_threads(0);
    adz_module_release(&net);
}

static adz_tensor *early(adz_tensor *t, adz_tensor *y, void *scale)
{
    return adz_item(t) < 0.5 ? adz_mul(y, scale) : adz_neg(y);
}

/* y = exp(scale t) up to 1/2, where the function changes. Only `scale` wants a gradient. */
static void leaves_of_some_times_have_gradients(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64), *times = adz_linspace(0, 1, 3, ADZ_F64);
    for (int m = 0; m < 8; ++m) {
        adz_tensor *scale = adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F64), true);
        adz_ode_options o = ADZ_ODE_OPTIONS;
        o.method = (adz_ode_method)(m / 2);
        o.steps = o.method == ADZ_ODE_RK4 ? 200 : 0;
        o.graph_bytes = m % 2 == 0 ? 0 : o.graph_bytes;
        adz_tensor *y = adz_odeint(early, scale, y0, times, &o, NULL);
        assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        const double right = 3 * 0.5 * (exp(0.5) + 1);
        assert_true(fabs(adz_item(adz_tensor_grad(scale)) / right - 1) < 2e-3);
    }
}

typedef struct turncoat {
    adz_tensor *leaf;
    bool uses;
} turncoat;

static adz_tensor *turns(adz_tensor *t, adz_tensor *y, void *user)
{
    const turncoat *u = user;
    (void)t;
    return u->uses ? adz_mul(y, u->leaf) : adz_neg(y);
}

/* A function that uses a tensor in the backward that it did not use in the call. */
static void functions_that_change_are_refused(void **state)
{
    (void)state;
    turncoat u = { adz_requires_grad_(adz_ones(ADZ_SHAPE(1), ADZ_F64), true), false };
    adz_tensor *y0 = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F64), true);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.graph_bytes = 0;
    adz_tensor *y = adz_odeint(turns, &u, y0, adz_linspace(0, 1, 3, ADZ_F64), &o, NULL);
    u.uses = true;
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "uses a tensor of [1]");
    assert_true(adz_tensor_grad(u.leaf) == NULL && adz_tensor_grad(y0) == NULL);
}

/* ---- plans ----------------------------------------------------------------------------------- */

typedef struct {
    adz_tensor *in[3];
    adz_ode_options o;
} captured;

static adz_tensor *gradient_of_solution(void *user)
{
    captured *c = user;
    adz_tensor *y, *gradients[3];
    return solution(c->in, 3, &y, &c->o) == 1 &&
                   adz_autograd_grad(&y, (adz_tensor *[]){ adz_cos(adz_detach(y)) }, 1, c->in, 3,
                       NULL, gradients) == ADZ_OK
               ? adz_cat(gradients, 3, 0)
               : NULL;
}

static void plans_replay_fixed_steps(void **state)
{
    (void)state;
    captured c = { .o = ADZ_ODE_OPTIONS };
    given(c.in);
    c.o.steps = 3;
    c.o.checkpoints = 4;
    for (int m = ADZ_ODE_DORMAND_PRINCE; m <= ADZ_ODE_RODAS4; ++m) {
        c.o.method = (adz_ode_method)m;
        adz_plan *plan = adz_plan_new(gradient_of_solution, &c, NULL);
        for (int run = 0; run < 3; ++run) {
            const double times[] = { 0.2, 0.3 + 0.1 * run, 1.5 + 0.1 * run };
            adz_copy_(adz_detach(c.in[0]), adz_randn(ADZ_SHAPE(2), ADZ_F64));
            adz_copy_(adz_detach(c.in[1]), adz_tensor_from(times, ADZ_SHAPE(3), ADZ_F64));
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_true(adz_equal(adz_plan_output(plan), gradient_of_solution(&c)));
        }
        adz_plan_info info;
        assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
        assert_true(info.captured);
        adz_plan_free(&plan);
    }
    c.o = (adz_ode_options)ADZ_ODE_OPTIONS;
    adz_plan *plan = adz_plan_new(gradient_of_solution, &c, NULL);
    assert_true(plan == NULL || adz_plan_run(plan) == ADZ_ERR_STATE);
    expect_error(
        ADZ_ERR_STATE, "adz_odeint_many: a solution with error control has no gradient in a plan");
    adz_plan_free(&plan);
}

const struct CMUnitTest ode_gradients[N_ODE_GRADIENTS] = {
    cmocka_unit_test_setup_teardown(solutions_have_derivatives, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        states_within_steps_have_derivatives, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(layouts_and_threads_change_no_bit, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(events_have_derivatives, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(captured_parameters_get_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        checkpoints_and_threads_change_no_bit, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        leaves_of_some_times_have_gradients, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(functions_that_change_are_refused, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(plans_replay_fixed_steps, solvers_open, solvers_close),
};
