/* Calls that must fail, with messages that name what is wrong; nothing is left behind. */
#include "solvers/functional/functional.h"
#include "base/error.h"
#include "temporary.h"

static adz_tensor *as_given(adz_tensor *x, void *user)
{
    return user != NULL ? user : x;
}

static void arguments_are_checked(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F64), *whole = adz_ones(ADZ_SHAPE(3), ADZ_I64);
    expect_null(adz_jacobian(NULL, NULL, x, NULL) == NULL, "adz_jacobian", "function");
    assert_null(adz_jacobian(as_given, NULL, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "adz_jacobian: input is NULL");
    assert_null(adz_jacobian(as_given, NULL, whole, NULL));
    expect_error(ADZ_ERR_DTYPE, "input 0 is [3], which has no derivatives");
    assert_null(adz_vjp(as_given, NULL, x, adz_ones(ADZ_SHAPE(2), ADZ_F64), NULL));
    expect_error(
        ADZ_ERR_SHAPE, "the vector for result 0 is float64[2], and the result is float64[3]");
    assert_null(adz_vjp(as_given, NULL, x, ADZ_NONE, NULL));
    expect_error(ADZ_ERR_SHAPE, "result 0 is [3], so its vector cannot be left out");
    assert_null(adz_jvp(as_given, NULL, x, adz_ones(ADZ_SHAPE(3), ADZ_F32), NULL));
    expect_error(
        ADZ_ERR_DTYPE, "the vector for input 0 is float32[3], and the input is float64[3]");
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.mode = (adz_jacobian_mode)7;
    assert_null(adz_jacobian(as_given, NULL, x, &o));
    expect_error(ADZ_ERR_ARGUMENT, "mode is 7");
}

static adz_tensor *fails(adz_tensor *x, void *user)
{
    (void)user;
    return adz_add(x, adz_ones(ADZ_SHAPE(5), ADZ_F64));
}

static adz_tensor *silent(adz_tensor *x, void *user)
{
    (void)x;
    (void)user;
    return NULL;
}

static void functions_are_checked(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F64), *unset = x;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.results = &unset;
    assert_null(adz_jacobian(fails, NULL, x, &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_SHAPE);
    adz_error_clear();
    assert_null(adz_jacobian(silent, NULL, x, &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_jacobian(as_given, adz_ones(ADZ_SHAPE(2), ADZ_I64), x, &o));
    expect_error(ADZ_ERR_DTYPE, "result 0 is [2], which has no derivatives");
    assert_null(adz_hessian(as_given, NULL, x, &o));
    expect_error(ADZ_ERR_SHAPE, "a second derivative is that of one element");
    assert_null(adz_jacobian_rows(as_given, NULL, x, &o));
    expect_error(ADZ_ERR_SHAPE, "input 0 is [3], but it must be a matrix");
    adz_tensor *rows = adz_ones(ADZ_SHAPE(2, 3), ADZ_F64);
    assert_null(adz_jacobian_rows(as_given, adz_ones(ADZ_SHAPE(3, 1), ADZ_F64), rows, &o));
    expect_error(ADZ_ERR_SHAPE, "result 0 is [3, 1], but it must be a matrix with a row for each");
    assert_ptr_equal(unset, x);
}

static int three_results(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n;
    (void)user;
    out[0] = out[1] = out[2] = in[0];
    return 3;
}

static void counts_are_checked(void **state)
{
    (void)state;
    const adz_tensor_function f = { three_results, NULL };
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F64), *out[2] = { x, x };
    assert_int_equal(adz_jacobian_many(&f, &x, 1, 2, NULL, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "the function gave 3 results, and 2 were asked for");
    assert_int_equal(adz_jacobian_many(&f, &x, 17, 2, NULL, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "17 inputs and 2 results");
    assert_true(out[0] == x && out[1] == x);
}

static int sum_of_all(adz_tensor *const *in, size_t n, adz_tensor **out, void *calls)
{
    ++*(int *)calls;
    out[0] = adz_sum(in[0], ADZ_ALL_DIMS, ADZ_DROPDIM);
    for (size_t i = 1; i < n; ++i) {
        out[0] = adz_add(out[0], adz_sum(in[i], ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    return 1;
}

/* Wrong arguments are found before the function is called, and a wrong result before it is used. */
static void wrong_arguments_call_nothing(void **state)
{
    (void)state;
    int calls = 0;
    const adz_tensor_function f = { sum_of_all, &calls }, none = { NULL, NULL };
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F64), *whole = adz_ones(ADZ_SHAPE(3), ADZ_I64);
    adz_tensor *nothing = ADZ_NONE, *unset = NULL, *out[16];
    expect_null(adz_jacobian_many(NULL, &x, 1, 1, NULL, out), "adz_jacobian_many", "function");
    expect_null(adz_jacobian_many(&none, &x, 1, 1, NULL, out), "adz_jacobian_many", "function");
    expect_null(adz_jacobian_many(&f, NULL, 1, 1, NULL, out), "adz_jacobian_many", "inputs");
    expect_null(adz_jacobian_many(&f, &x, 1, 1, NULL, NULL), "adz_jacobian_many",
        "the array for the derivatives");
    expect_null(adz_jvp_many(&f, &x, 1, NULL, 1, NULL, out), "adz_jvp_many", "vectors");
    expect_null(adz_hvp_many(&f, &x, 1, NULL, NULL, out), "adz_hvp_many", "vectors");
    assert_int_equal(adz_jacobian_many(&f, &x, 0, 1, NULL, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "0 inputs and 1 results; 1 to 16 inputs and 1 to");
    assert_int_equal(adz_jacobian_many(&f, &x, 1, 0, NULL, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "1 inputs and 0 results");
    assert_int_equal(adz_jacobian_many(&f, &x, 1, 17, NULL, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "1 inputs and 17 results");
    assert_int_equal(adz_jacobian_many(&f, &whole, 1, 1, NULL, out), ADZ_ERR_DTYPE);
    expect_error(ADZ_ERR_DTYPE, "input 0 is [3], which has no derivatives");
    adz_jacobian_many(&f, &nothing, 1, 1, NULL, out);
    expect_error(ADZ_ERR_ARGUMENT, "input is not optional: ADZ_NONE was given");
    o.mode = (adz_jacobian_mode)-1;
    assert_int_equal(adz_jacobian_many(&f, &x, 1, 1, &o, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "mode is -1");
    assert_int_equal(calls, 0);
    assert_int_equal(adz_jvp_many(&f, &x, 1, &unset, 1, NULL, out), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "a vector is NULL");
    adz_tensor *all[16];
    for (int i = 0; i < 16; ++i) {
        all[i] = x;
    }
    o.mode = ADZ_JACOBIAN_FORWARD;
    assert_int_equal(adz_jacobian_many(&f, all, 16, 1, &o, out), ADZ_OK);
    assert_true(adz_equal(out[15], x));
}

static adz_tensor *centred(adz_tensor *x, void *user)
{
    (void)user;
    return adz_sub(x, adz_mean(x, ADZ_DIMS(0), ADZ_KEEPDIM));
}

static void dependent_rows_are_found(void **state)
{
    (void)state;
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.check_rows = true;
    for (int i = 0; i < 2; ++i) {
        const adz_dtype dtype = i == 0 ? ADZ_F64 : ADZ_F32;
        assert_null(adz_jacobian_rows(centred, NULL, adz_randn(ADZ_SHAPE(50, 3), dtype), &o));
        expect_error(ADZ_ERR_ARGUMENT, "the rows of the function depend on each other");
        assert_non_null(adz_jacobian_rows(centred, NULL, adz_randn(ADZ_SHAPE(1, 3), dtype), &o));
    }
}

/* ---- failures half-way ----------------------------------------------------------------------- */

static adz_status tangent_of(void *x)
{
    adz_scope *scope = adz_scope_open();
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.mode = ADZ_JACOBIAN_FORWARD;
    adz_status status = adzi_status(adz_jacobian_rows(centred, NULL, x, &o));
    adz_scope_close(scope);
    return status;
}

static adz_tensor *cubes(adz_tensor *x, void *user)
{
    (void)user;
    return adz_pow_number(x, 3);
}

static adz_tensor *sum_of_cubes(adz_tensor *x, void *user)
{
    return adz_sum(cubes(x, user), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static adz_status rows_of(void *x)
{
    adz_scope *scope = adz_scope_open();
    adz_functional_options o = ADZ_FUNCTIONAL_OPTIONS;
    o.check_rows = true;
    adz_tensor *j = adz_jacobian_rows(cubes, NULL, x, &o);
    assert_true(j == NULL || adz_tensor_rank(j) == 3);
    const adz_status status = adzi_status(j);
    adz_scope_close(scope);
    return status;
}

static adz_status curvature_of(void *x)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *h = adz_hessian(sum_of_cubes, NULL, x, NULL);
    adz_tensor *g = h != NULL ? adz_vjp(sum_of_cubes, NULL, x, ADZ_NONE, NULL) : NULL;
    const adz_status status = adzi_status(g);
    adz_scope_close(scope);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F64);
    assert_true(refuse_each(tangent_of, NULL, x) >= 10);
    assert_true(refuse_each(rows_of, NULL, x) >= 10);
    assert_true(refuse_each(curvature_of, NULL, x) >= 10);
    assert_true(adz_is_grad_enabled());
}

static jmp_buf out_of_function;

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
        adz_jacobian(jumps, NULL, x, NULL);
    }
    adz_error_clear();
    assert_false(adz_is_grad_enabled());
    adz_set_grad_enabled(before);
}

const struct CMUnitTest functional_refused[N_FUNCTIONAL_REFUSED] = {
    cmocka_unit_test_setup_teardown(arguments_are_checked, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(functions_are_checked, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(counts_are_checked, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        wrong_arguments_call_nothing, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(dependent_rows_are_found, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(
        refused_memory_harms_nothing, functional_open, functional_close),
    cmocka_unit_test_setup_teardown(a_jump_restores_the_mode, functional_open, functional_close),
};
