/* Searches that must fail, with messages that name what is wrong; nothing is left behind. */
#include "solvers/equations/solvers.h"
#include "base/error.h"
#include "temporary.h"

static adz_tensor *as_given(adz_tensor *x, void *user)
{
    return user != NULL ? user : adz_neg(x);
}

static adz_tensor *silent(adz_tensor *x, void *user)
{
    (void)x;
    (void)user;
    return NULL;
}

static adz_tensor *shrinks(adz_tensor *x, void *calls) /* another shape on the second call */
{
    return ++*(int *)calls > 1 ? adz_narrow(x, 0, 0, 1) : adz_add_number(adz_square(x), -2);
}

static void functions_are_checked(void **state)
{
    (void)state;
    int calls = 0;
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F64);
    expect_null(adz_root(NULL, NULL, x, NULL, NULL) == NULL, "adz_root", "function");
    assert_null(adz_root(silent, NULL, x, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "adz_root: the function gave nothing for a state of [3]");
    assert_null(adz_root(shrinks, &calls, x, NULL, NULL));
    expect_error(ADZ_ERR_SHAPE, "the function gave float64[1] for a state of float64[3]");
    assert_null(adz_root(as_given, adz_ones(ADZ_SHAPE(3), ADZ_I64), x, NULL, NULL));
    expect_error(ADZ_ERR_DTYPE, "the function gave int64[3] for a state of float64[3]");
    assert_null(adz_root(as_given, NULL, adz_ones(ADZ_SHAPE(3), ADZ_I64), NULL, NULL));
    expect_error(ADZ_ERR_DTYPE, "x0 is int64[3]; it must be f32 or f64");
}

static int two(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = out[1] = in[0];
    return 2;
}

static void arguments_and_options_are_checked(void **state)
{
    (void)state;
    const adz_tensor_function f = { two, NULL };
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F64), *many[20] = { x };
    adz_root_options o = ADZ_ROOT_OPTIONS;
    assert_null(adz_root_many(&f, x, NULL, 0, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "the function gave 2 results; it must give one");
    assert_null(adz_root_many(&f, x, many, 15, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "15 arguments; at most 14 are possible");
    expect_null(adz_root_many(&f, x, NULL, 1, NULL, NULL) == NULL, "adz_root_many", "arguments");
    o.tolerance = 0;
    assert_null(adz_root(as_given, NULL, x, &o, NULL));
    expect_error(
        ADZ_ERR_ARGUMENT, "tolerance is 0, but must be finite and above 0; rounding keeps");
    o = (adz_root_options)ADZ_ROOT_OPTIONS;
    o.rows = true;
    assert_null(adz_root(as_given, NULL, x, &o, NULL));
    expect_error(ADZ_ERR_SHAPE, "x0 is [3]; with rows it must be a matrix");
    o.method = ADZ_ROOT_KRYLOV;
    o.rows = false;
    o.fixed_iterations = 3;
    assert_null(adz_root(as_given, NULL, x, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "fixed_iterations with ADZ_ROOT_KRYLOV");
    o.fixed_iterations = 10001;
    assert_null(adz_root(as_given, NULL, x, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "fixed_iterations is 10001, but must be in [0, 10000]");
    o = (adz_root_options)ADZ_ROOT_OPTIONS;
    o.history = 101;
    assert_null(adz_root(as_given, NULL, x, &o, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "history is 101");
}

static adz_tensor *above_zero(adz_tensor *x, void *user) /* x^2 + 1 has no root */
{
    (void)user;
    return adz_add_number(adz_square(x), 1);
}

static adz_tensor *constant(adz_tensor *x, void *user)
{
    (void)user;
    return adz_add_number(adz_mul_number(x, 0), 1);
}

static adz_tensor *logarithm(adz_tensor *x, void *user)
{
    (void)user;
    return adz_log(adz_sub_number(x, 5));
}

static void failures_say_why(void **state)
{
    (void)state;
    adz_tensor *x = adz_full(ADZ_SHAPE(2, 2), 0.7, ADZ_F64);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report found;
    assert_null(adz_root(constant, NULL, x, &o, &found));
    expect_error(ADZ_ERR_NUMERIC, "the Jacobian is singular");
    assert_int_equal(found.reason, ADZ_ROOT_SINGULAR);
    assert_true(found.residual == 1 && found.rows_left == 1);
    assert_null(adz_root(logarithm, NULL, x, &o, &found));
    expect_error(ADZ_ERR_NUMERIC, "the function is not finite at x0");
    assert_int_equal(found.reason, ADZ_ROOT_NOT_FINITE);
    o.max_iterations = 4;
    assert_null(adz_root(above_zero, NULL, x, &o, &found));
    expect_error(ADZ_ERR_NUMERIC,
        "adz_root: the search from x[2, 2] did not converge: max_iterations were not enough. After 4 evaluations of the function the residual is 1.");
    assert_true(found.iterations == 4 && found.residual > 1 && found.residual < 1.5);
    o.rows = o.accept_unconverged = true;
    o.max_iterations = 200;
    adz_tensor *best = adz_root(above_zero, NULL, x, &o, &found);
    assert_true(best != NULL && adz_error_code() == ADZ_OK);
    assert_true(found.rows_left == 2 && found.residual < 1.1);
    assert_true(found.reason == ADZ_ROOT_STALLED || found.reason == ADZ_ROOT_SINGULAR);
}

static int sum_of_arguments(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)user;
    out[0] = adz_mul_number(in[0], -2);
    for (size_t i = 1; i < n; ++i) {
        out[0] = adz_add(out[0], in[i]);
    }
    return out[0] != NULL;
}

static void anderson_says_why_as_well(void **state)
{
    (void)state;
    const adz_tensor_function f = { sum_of_arguments, NULL };
    adz_tensor *x = adz_full(ADZ_SHAPE(2), 0.7, ADZ_F64), *many[ADZ_SOLVER_ARGUMENTS];
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report found;
    o.method = ADZ_ROOT_ANDERSON;
    assert_null(adz_root(logarithm, NULL, x, &o, &found));
    expect_error(ADZ_ERR_NUMERIC, "the function is not finite at x0");
    assert_int_equal(found.reason, ADZ_ROOT_NOT_FINITE);
    o.max_iterations = 4;
    assert_null(adz_root(above_zero, NULL, x, &o, &found)); /* x = x^2 + 1 has no solution */
    expect_error(ADZ_ERR_NUMERIC, "max_iterations were not enough");
    assert_true(found.reason == ADZ_ROOT_ITERATIONS && found.iterations == 4);
    assert_true(found.rows_left == 1 && found.residual > 0.5);
    for (int i = 0; i < ADZ_SOLVER_ARGUMENTS; ++i) {
        many[i] = x;
    }
    adz_tensor *y = adz_root_many(&f, x, many, ADZ_SOLVER_ARGUMENTS, NULL, NULL);
    assert_true(y != NULL && fabs(adz_item(adz_max(y)) - 4.9) < 1e-12); /* 14 / 2 x 0.7 */
}

/* A row without a root does not keep the others from theirs. */
static adz_tensor *some(adz_tensor *x, void *wanted)
{
    return adz_sub(adz_square(x), wanted);
}

static void other_rows_go_on(void **state)
{
    (void)state;
    const double wanted[] = { 4, -1, 9 };
    adz_tensor *w = adz_tensor_from(wanted, ADZ_SHAPE(3, 1), ADZ_F64);
    adz_root_options o = ADZ_ROOT_OPTIONS;
    adz_root_report found;
    o.rows = o.accept_unconverged = true;
    adz_tensor *x = adz_root(some, w, adz_ones(ADZ_SHAPE(3, 1), ADZ_F64), &o, &found);
    assert_true(x != NULL && found.rows_left == 1 && found.residual >= 1);
    assert_true(fabs(adz_tensor_data_f64(x)[0] - 2) < 1e-10);
    assert_true(fabs(adz_tensor_data_f64(x)[2] - 3) < 1e-10);
}

static adz_status search_and_pull(void *wanted)
{
    adz_scope *scope = adz_scope_open();
    adz_root_options o = ADZ_ROOT_OPTIONS;
    o.rows = true;
    adz_tensor *x0 = adz_ones(ADZ_SHAPE(2, 1), ADZ_F64);
    adz_tensor *x = x0 != NULL ? adz_root(some, wanted, x0, &o, NULL) : NULL;
    adz_tensor *loss = x != NULL ? adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM) : NULL, *dx;
    adz_tensor *leaves[] = { wanted };
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
    adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(2, 1), 2, ADZ_F64), true);
    assert_true(refuse_each(search_and_pull, NULL, w) >= 10);
    assert_true(adz_is_grad_enabled());
}

static adz_tensor *jumps(adz_tensor *x, void *user)
{
    (void)x;
    (void)user;
    longjmp(out_of_function, 1);
}

static void a_jump_restores_the_mode(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F64);
    bool before = adz_set_grad_enabled(false);
    if (setjmp(out_of_function) == 0) {
        adz_root(jumps, NULL, x, NULL, NULL);
    }
    adz_error_clear();
    assert_false(adz_is_grad_enabled());
    adz_set_grad_enabled(before);
}

static int square_less(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    adz_tensor *square = adz_square(in[0]);
    jump_from_gradient(square);
    out[0] = adz_sub(square, in[1]);
    return 1;
}

/* The gradient of a root gets a graph, in which the argument's stand-in leads to nothing while the
 * hook runs. The teardown counts what is left behind. */
static void a_jump_from_a_hook_leaves_nothing(void **state)
{
    (void)state;
    const adz_tensor_function f = { square_less, NULL };
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 2, ADZ_F64), true);
    adz_tensor *p = adz_mul_number(w, 2), *dw = NULL;
    adz_tensor *x = adz_root_many(&f, adz_ones(ADZ_SHAPE(2), ADZ_F64), &p, 1, NULL, NULL);
    adz_tensor *loss = adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
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
    assert_true(fabs(adz_item(adz_select(dw, 0, 1)) - 0.5) < 1e-12); /* d sqrt(2 w) at w = 2 */
}

static int careless_square_less(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    const int count = square_less(in, n, out, user);
    adz_set_grad_enabled(false);
    return count;
}

static void a_function_may_end_the_mode(void **state)
{
    (void)state;
    const adz_tensor_function f = { careless_square_less, NULL };
    adz_backward_options o = ADZ_BACKWARD_OPTIONS;
    o.create_graph = true;
    adz_tensor *w = adz_requires_grad_(adz_full(ADZ_SHAPE(2), 4, ADZ_F64), true), *dw = NULL;
    adz_tensor *x = adz_root_many(&f, adz_ones(ADZ_SHAPE(2), ADZ_F64), &w, 1, NULL, NULL);
    adz_tensor *loss = adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM);
    assert_int_equal(adz_autograd_grad(&loss, NULL, 1, &w, 1, &o, &dw), ADZ_OK);
    assert_true(fabs(adz_item(adz_select(dw, 0, 1)) - 0.25) < 1e-12);
    assert_true(adz_is_grad_enabled());
}

const struct CMUnitTest root_refused[N_ROOT_REFUSED] = {
    cmocka_unit_test_setup_teardown(functions_are_checked, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(arguments_and_options_are_checked, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(failures_say_why, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(anderson_says_why_as_well, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(other_rows_go_on, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(refused_memory_harms_nothing, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(a_jump_restores_the_mode, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(a_jump_from_a_hook_leaves_nothing, solvers_open, solvers_close),
    cmocka_unit_test_setup_teardown(a_function_may_end_the_mode, solvers_open, solvers_close),
};
