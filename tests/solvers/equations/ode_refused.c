/* Differential equations that must be refused, with messages that name what is wrong. */
#include "solvers/equations/solvers.h"
#include "base/error.h"
#include "temporary.h"

static adz_tensor *silent(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)y;
    (void)user;
    return NULL;
}

static adz_tensor *shrinks(adz_tensor *t, adz_tensor *y, void *calls)
{
    (void)t;
    return ++*(int *)calls > 1 ? adz_narrow(y, 0, 0, 1) : adz_neg(y);
}

static adz_tensor *whole(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)user;
    return adz_to(y, ADZ_I64);
}

static adz_tensor *square(adz_tensor *t, adz_tensor *y, void *user) /* y = 1 / (1 - t) */
{
    (void)t;
    (void)user;
    return adz_square(y);
}

static void functions_are_checked(void **state)
{
    (void)state;
    int calls = 0;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64), *times = adz_linspace(0, 1, 3, ADZ_F64);
    expect_null(adz_odeint(NULL, NULL, y0, times, NULL, NULL) == NULL, "adz_odeint", "function");
    assert_null(adz_odeint(silent, NULL, y0, times, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "adz_odeint: the function gave nothing for a state of [3]");
    assert_null(adz_odeint(shrinks, &calls, y0, times, NULL, NULL));
    expect_error(ADZ_ERR_SHAPE, "the function gave float64[1] for a state of float64[3]");
    assert_null(adz_odeint(whole, NULL, y0, times, NULL, NULL));
    expect_error(ADZ_ERR_DTYPE, "the function gave int64[3] for a state of float64[3]");
    assert_null(adz_odeint(square, NULL, adz_to(y0, ADZ_I64), times, NULL, NULL));
    expect_error(ADZ_ERR_DTYPE, "y0 is int64[3]");
}

static void times_and_options_are_checked(void **state)
{
    (void)state;
    const double same[] = { 0, 1, 1 };
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64), *times = adz_linspace(0, 0.5, 3, ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    for (int fixed = 0; fixed < 2; ++fixed) {
        o.steps = fixed;
        assert_null(
            adz_odeint(square, NULL, y0, adz_tensor_from(same, ADZ_SHAPE(3), ADZ_F64), &o, NULL));
        expect_error(ADZ_ERR_ARGUMENT,
            "times[2] is 1, after 1; times must be finite, and all increase or all decrease");
    }
    assert_null(adz_odeint(square, NULL, y0, adz_ones(ADZ_SHAPE(1), ADZ_F64), NULL, NULL));
    expect_error(ADZ_ERR_SHAPE, "times are [1]; they must be a vector of 2 or more times");
    assert_null(adz_odeint(square, NULL, y0, adz_to(times, ADZ_F32), NULL, NULL));
    expect_error(ADZ_ERR_DTYPE, "times are float32, and y0 is float64");
    o = (adz_ode_options)ADZ_ODE_OPTIONS;
    o.rtol = o.atol = 0;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(
        ADZ_ERR_ARGUMENT, "rtol is 0, but must be finite and above 0; without an allowed error");
    o = (adz_ode_options)ADZ_ODE_OPTIONS;
    o.steps = 50001;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "50001 steps in each of 2 spans between times are more than");
    o = (adz_ode_options)ADZ_ODE_OPTIONS;
    o.rows = true;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(ADZ_ERR_SHAPE, "y0 is [3]");
    o = (adz_ode_options)ADZ_ODE_OPTIONS;
    o.graph_bytes = -1;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "graph_bytes is -1");
    o.graph_bytes = 0;
    o.checkpoints = 0;
    assert_null(adz_odeint(square, NULL, y0, times, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "checkpoints is 0, but must be 1 or more");
}

static void solutions_that_blow_up_are_refused(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64), *times = adz_linspace(0, 5, 3, ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    adz_ode_report report;
    for (o.method = ADZ_ODE_DORMAND_PRINCE; o.method <= ADZ_ODE_RODAS4; o.method += 2) {
        assert_null(adz_odeint(square, NULL, y0, times, &o, &report));
        expect_error(ADZ_ERR_NUMERIC, "the step has become too short at t = ");
        assert_true(fabs(report.time - 1) < 1e-3);
    }
    o.method = ADZ_ODE_RK4;
    o.steps = 50;
    assert_null(adz_odeint(square, NULL, y0, times, &o, &report));
    expect_error(ADZ_ERR_NUMERIC, "the solution from a state of [3] is not finite after 100 steps");
}

static adz_tensor *root_of_two(adz_tensor *x, void *user)
{
    (void)user;
    return adz_sub_number(adz_square(x), 2);
}

static adz_tensor *decays(adz_tensor *t, adz_tensor *y, void *rate)
{
    (void)t;
    return adz_mul(y, rate);
}

/* ---- exports --------------------------------------------------------------------------------- */

static adz_tensor *exported(void *user)
{
    void **given = user;
    adz_ode_options *o = given[1];
    adz_root_options root = ADZ_ROOT_OPTIONS;
    root.fixed_iterations = 3;
    return o == NULL
               ? adz_root(root_of_two, NULL, given[0], &root, NULL)
               : adz_odeint(square, NULL, given[0], adz_linspace(0, 0.5, 3, ADZ_F64), o, NULL);
}

static adz_status write_onnx(adz_tensor *y0, adz_ode_options *o)
{
    void *given[] = { y0, o };
    const char *path = temporary_path("ode.onnx");
    adz_plan_options options = ADZ_PLAN_OPTIONS;
    options.inputs = adz_tensor_list_of(&y0, 1);
    adz_plan *plan = adz_plan_new(exported, given, &options);
    const adz_status status =
        plan != NULL ? adz_plan_write_onnx(plan, path, NULL) : adz_error_code();
    adz_plan_free(&plan);
    remove(path);
    return status;
}

static void exports_have_runge_kutta_methods(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64);
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.steps = 2;
    assert_int_equal(write_onnx(y0, &o), ADZ_OK);
    o.steps = 0;
    assert_int_equal(write_onnx(y0, &o), ADZ_OK);
    o.method = ADZ_ODE_BDF;
    assert_int_equal(write_onnx(y0, &o), ADZ_ERR_STATE); /* the plan refuses it first */
    expect_error(ADZ_ERR_STATE, "ADZ_ODE_BDF chooses its steps and orders on the host");
    o.steps = 2;
    o.method = ADZ_ODE_RK4;
    assert_int_equal(write_onnx(y0, &o), ADZ_OK);
    o.method = ADZ_ODE_RODAS4;
    assert_int_equal(write_onnx(y0, &o), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "adz_odeint: ADZ_ODE_RODAS4 cannot be exported");
    assert_int_equal(write_onnx(y0, NULL), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "factors matrices, for which ONNX has no node");
}

static int64_t graph_bytes;

static adz_status solve_and_pull(void *rate)
{
    adz_scope *scope = adz_scope_open();
    adz_ode_options o = ADZ_ODE_OPTIONS;
    o.rtol = o.atol = 1e-2;
    o.checkpoints = 2;
    o.graph_bytes = graph_bytes;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(2), ADZ_F64), *leaves[] = { rate }, *dx;
    adz_tensor *times = adz_linspace(0, 1, 3, ADZ_F64);
    adz_tensor *y = times != NULL ? adz_odeint(decays, rate, y0, times, &o, NULL) : NULL;
    adz_tensor *loss = y != NULL ? adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL;
    adz_status status = adzi_status(loss);
    if (status == ADZ_OK) {
        status = adz_autograd_grad(&loss, NULL, 1, leaves, 1, NULL, &dx);
    }
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_tensor *rate = adz_requires_grad_(adz_full(ADZ_SHAPE(2), -1, ADZ_F64), true);
    for (graph_bytes = 0; graph_bytes <= 1 << 20; graph_bytes += 1 << 20) {
        assert_true(refuse_each(solve_and_pull, NULL, rate) >= 10);
    }
    assert_true(adz_is_grad_enabled());
}

static adz_tensor *jumps(adz_tensor *t, adz_tensor *y, void *user)
{
    (void)t;
    (void)y;
    (void)user;
    longjmp(out_of_function, 1);
}

static void a_jump_restores_the_mode(void **state)
{
    (void)state;
    adz_tensor *y0 = adz_ones(ADZ_SHAPE(3), ADZ_F64), *times = adz_linspace(0, 1, 3, ADZ_F64);
    if (setjmp(out_of_function) == 0) {
        adz_odeint(jumps, NULL, y0, times, NULL, NULL);
    }
    adz_error_clear();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F64), true);
    assert_true(adz_tensor_requires_grad(adz_exp(x)));
}

static int decays_by(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = adz_neg(adz_mul(in[1], in[2]));
    jump_from_gradient(out[0]);
    return 1;
}

/* The teardown counts what is left behind. */
static void a_jump_from_a_hook_leaves_nothing(void **state)
{
    (void)state;
    const adz_tensor_function f = { decays_by, NULL };
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 0.5, ADZ_F64), true), *dw = NULL;
    adz_tensor *rate = adz_mul_number(w, 2), *times = adz_linspace(0, 1, 3, ADZ_F64);
    adz_tensor *y = adz_odeint_many(&f, adz_mul_number(w, 3), times, &rate, 1, NULL, NULL);
    adz_tensor *loss = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    for (volatile int i = 0; i < 2; ++i) {
        solvers_armed = true;
        if (setjmp(out_of_function) == 0) {
            adz_autograd_grad(&loss, NULL, 1, &w, 1, &o, &dw);
            fail_msg("the hook has not jumped");
        }
        solvers_armed = false;
    }
    adz_error_clear();
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &w, 1, &o, &dw), ADZ_OK);
    double wanted = 0; /* y = 3 w exp(-2 w t), so dy/dw = 3 (1 - 2 w t) exp(-2 w t) */
    for (int i = 0; i < 3; ++i) {
        wanted += 3 * (1 - 0.5 * i) * exp(-0.5 * i);
    }
    assert_true(fabs(adz_item(adz_select(dw, 0, 1)) - wanted) < 1e-4);
}

const struct CMUnitTest ode_refused[N_ODE_REFUSED] = {
    cmocka_unit_test_setup_teardown(functions_are_checked, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(times_and_options_are_checked, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(
        solutions_that_blow_up_are_refused, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(exports_have_runge_kutta_methods, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(refused_memory_harms_nothing, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(a_jump_restores_the_mode, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(a_jump_from_a_hook_leaves_nothing, solvers_open, solvers_close),
};
