/* adz_operator_check: a kernel, a backward or a fused backward that says something else than the
 * expression is found and named. */
#include "common.h"

static void negative_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *x = call->inputs[0].data;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = -x[i] * x[i] * x[i];
    }
}

/* dx = -3 x^2 dy */
static adz_status negative_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adz_node_input_at(node, 0);
    dx[0] = adz_mul(dy[0], adz_mul_number(adz_square(x), -3));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status none_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node, (void)dx, (void)dy;
    return ADZ_OK;
}

static void differences_are_found(void **state)
{
    (void)state;
    static const struct {
        adz_kernel_function kernel;
        adz_backward_function backward, fused;
        const char *says; /* NULL: all agree */
    } cases[] = {
        { cube_f32, cube_backward, NULL, NULL },
        { cube_f32, cube_backward, cube_backward, NULL },
        { cube_f32, NULL, NULL, NULL },
        { NULL, cube_backward, NULL, NULL },
        { negative_f32, cube_backward, NULL,
            "cube: result 0[2], element 1 in row-major order, is -8 by the operator's kernel, but 8 by its expression" },
        { cube_f32, negative_backward, NULL,
            "cube: the gradient of input 0[2], element 1 in row-major order, is " },
        { cube_f32, none_backward, NULL, "by the operator's backward, but " },
        { cube_f32, cube_backward, negative_backward, "by the operator's fused backward, but " },
        { cube_f32, negative_backward, cube_backward, "by the operator's backward, but " },
    };
    adz_scope *scope = adz_scope_open();
    static const float values[] = { 0, 2 };
    adz_tensor *x = adz_tensor_from(values, ADZ_SHAPE(2), ADZ_F32);
    adz_tensor *before = adz_clone(x);
    adz_requires_grad_(x, true);
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        adz_operator op = cube_operator;
        op.kernels[ADZ_F32] = cases[i].kernel;
        op.backward = cases[i].backward;
        op.fused = cases[i].fused;
        const adz_status status = adz_operator_check(&op, &x, 1, NULL, 1e-5);
        if (cases[i].says != NULL) {
            assert_int_equal(status, ADZ_ERR_NUMERIC);
            expect_error(ADZ_ERR_NUMERIC, cases[i].says);
        } else if (status != ADZ_OK) {
            fail_msg("case %d: %s", (int)i, adz_error_message());
        }
    }
    assert_same_bits(adz_detach(x), before);
    assert_null(adz_tensor_grad(x));
    adz_scope_close(scope);
}

/* Without gradients, with special values, on results of a graph, and without recording. */
static void samples_of_all_kinds(void **state)
{
    (void)state;
    static const float special[] = { NAN, INFINITY, -INFINITY, -0.0F, 1e20F, 1e-30F };
    adz_scope *scope = adz_scope_open();
    adz_tensor *leaf = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 3), ADZ_F32), true);
    adz_tensor *const samples[] = { adz_tensor_from(special, ADZ_SHAPE(6), ADZ_F32),
        adz_zeros(ADZ_SHAPE(0), ADZ_F32), adz_transpose(adz_exp(leaf), 0, 1), leaf };
    for (size_t i = 0; i < COUNT_OF(samples); ++i) {
        adz_tensor *x = samples[i];
        if (adz_operator_check(&cube_operator, &x, 1, NULL, 1e-5) != ADZ_OK) {
            fail_msg("sample %d: %s", (int)i, adz_error_message());
        }
    }
    ADZ_NO_GRAD
    {
        adz_operator op = cube_operator;
        op.backward = negative_backward;
        assert_int_equal(adz_operator_check(&op, &leaf, 1, NULL, 1e-5), ADZ_ERR_NUMERIC);
        expect_error(ADZ_ERR_NUMERIC, "gradient");
        assert_false(adz_is_grad_enabled());
    }
    adz_scope_close(scope);
}

static void what_cannot_be_compared(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    adz_operator op = cube_operator;
    assert_int_equal(adz_operator_check(NULL, &x, 1, NULL, 0), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "operator_check: op is NULL");
    assert_int_equal(adz_operator_check(&op, NULL, 1, NULL, 0), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "cube: inputs is NULL");
    assert_int_equal(adz_operator_check(&op, &x, 1, NULL, NAN), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "cube: tolerance is nan");
    assert_int_equal(adz_operator_check(&op, &x, 33, NULL, 0), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "cube: 33 inputs");
    op.expression = NULL;
    assert_int_equal(adz_operator_check(&op, &x, 1, NULL, 0), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "cube: the operator has no expression");
    x = NULL;
    assert_int_equal(adz_operator_check(&cube_operator, &x, 1, NULL, 0), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "cube: input 0 is NULL");
    adz_scope_close(scope);
}

/* A plan and an export would leave the check out of what they repeat. */
static adz_tensor *check_inside(void *user)
{
    adz_tensor *x = adz_exp(user);
    return adz_operator_check(&cube_operator, &x, 1, NULL, 1e-5) == ADZ_OK ? x : NULL;
}

static adz_tensor *check_in_a_module(adz_tensor *x)
{
    return check_inside(x);
}

static void functions_that_are_repeated(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32);
    assert_non_null(check_inside(x));
    assert_null(adz_plan_new(check_inside, x, NULL));
    expect_error(ADZ_ERR_STATE, "adz_operator_check: cannot be captured");
    adz_module *net = adz_function_new(check_in_a_module);
    assert_int_equal(adz_module_write_onnx(net, x, "no.onnx", NULL), ADZ_ERR_UNSUPPORTED);
    expect_error(ADZ_ERR_UNSUPPORTED, "adz_operator_check accesses elements of exp");
    adz_module_release(&net);
    adz_scope_close(scope);
}

int checked_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(differences_are_found),
        cmocka_unit_test(samples_of_all_kinds),
        cmocka_unit_test(what_cannot_be_compared),
        cmocka_unit_test(functions_that_are_repeated),
    };
    return run_group("operator_call: checked", tests, COUNT_OF(tests));
}
