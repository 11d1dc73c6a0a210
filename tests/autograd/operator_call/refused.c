/* Calls that are refused, and calls that fail half-way: every error names the operator and the way
 * out, and nothing is left behind. */
#include "common.h"

#include <setjmp.h>

/* ---- operators and arguments that do not fit ------------------------------------------------ */

static void nothing_kernel(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    (void)call, (void)begin, (void)end;
}

static adz_status no_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node, (void)dx, (void)dy;
    return ADZ_OK;
}

static adz_status refusing_rule(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)results, (void)in, (void)attributes;
    return adz_error_set("mine", ADZ_ERR_DIM, "x is too flat");
}

static adz_status silent_rule(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)results, (void)in, (void)attributes;
    return ADZ_ERR_SHAPE;
}

static adz_status wild_rule(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)in, (void)attributes;
    results[0].shape.rank = 1000;
    return ADZ_OK;
}

static adz_status unknown_rule(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)in, (void)attributes;
    results[0].dtype = (adz_dtype)77;
    return ADZ_OK;
}

static adz_status missing_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)results, (void)in, (void)attributes;
    return ADZ_OK;
}

static adz_status longer_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)in, (void)attributes;
    results[0] = adz_ones(ADZ_SHAPE(7), ADZ_F32);
    return ADZ_OK;
}

static adz_status failing_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = adz_matmul(in[0], adz_ones(ADZ_SHAPE(9, 9), ADZ_F32));
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void freed(void *attributes)
{
    (void)attributes;
}

#define MINE   .size = sizeof(adz_operator), .name = "mine"
#define KERNEL MINE, .units = ADZ_UNITS_ELEMENTS, .kernels = { [ADZ_F32] = nothing_kernel }

static const adz_field one_field[] = { { .name = "a", .kind = ADZ_FIELD_F64 } };

static const double number = 1;
/* What is refused, and what the message says. */
static const struct {
    adz_operator op;
    size_t n;
    const void *attributes;
    adz_dtype dtype;
    bool wants;
    adz_status status;
    const char *says;
} cases[] = {
    { { .name = "mine" }, 1, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT, "op's size is 0" },
    { { .size = sizeof(adz_operator) }, 1, NULL, ADZ_F32, false, ADZ_ERR_NULL,
        "operator_call: op's name is NULL" },
    { { MINE }, 1, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT,
        "mine: the operator has neither a kernel nor an expression" },
    { { KERNEL, .attributes_free = freed }, 1, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT,
        "mine: the attributes own memory" },
    { { KERNEL, .n_inputs = 33 }, 33, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT,
        "mine: the operator says 33 inputs" },
    { { KERNEL, .n_results = 9 }, 1, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT, "9 results" },
    { { KERNEL, .attributes_size = 513, .fields = one_field, .n_fields = 1 }, 1, &number, ADZ_F32,
        false, ADZ_ERR_ARGUMENT, "513 bytes of attributes" },
    { { MINE, .kernels = { [ADZ_F32] = nothing_kernel } }, 1, NULL, ADZ_F32, false,
        ADZ_ERR_ARGUMENT, "mine: the operator says units 0 and grain 0; set .units to" },
    { { MINE, .units = (adz_units)5, .kernels = { [ADZ_F32] = nothing_kernel } }, 1, NULL, ADZ_F32,
        false, ADZ_ERR_ARGUMENT, "units 5" },
    { { KERNEL, .grain = -1 }, 1, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT, "grain -1" },
    { { KERNEL }, 1, &number, ADZ_F32, false, ADZ_ERR_ARGUMENT, "attributes_size is 0" },
    { { KERNEL, .attributes_size = 8 }, 1, &number, ADZ_F32, false, ADZ_ERR_ARGUMENT,
        "no table of fields" },
    { { KERNEL, .attributes_size = 8, .fields = one_field, .n_fields = 1 }, 1, NULL, ADZ_F32, false,
        ADZ_ERR_NULL, "mine: attributes is NULL" },
    { { KERNEL, .attributes_size = 4, .fields = one_field, .n_fields = 1 }, 1, &number, ADZ_F32,
        false, ADZ_ERR_ARGUMENT, "field a at byte 0 does not fit" },
    { { KERNEL }, 2, NULL, ADZ_F32, false, ADZ_ERR_ARGUMENT,
        "mine: the call has 2 inputs, and the operator's n_inputs is 1" },
    { { KERNEL, .n_inputs = 2 }, 2, NULL, ADZ_F32, false, ADZ_ERR_DTYPE,
        "mine: input 1[2] is float64, and the first input[2] is float32" },
    { { KERNEL, .n_results = 2 }, 1, NULL, ADZ_F32, false, ADZ_ERR_NULL,
        "mine: more, which gets the further results, is NULL" },
    { { KERNEL }, 1, NULL, ADZ_I64, false, ADZ_ERR_DTYPE,
        "the first input[2] is int64, and the operator has kernels for float32; convert it with adz_to, or give the operator a kernel for int64 or an expression" },
    { { KERNEL }, 1, NULL, ADZ_F32, true, ADZ_ERR_GRAPH,
        "mine: an input wants a gradient, but the operator has neither a backward nor an expression; set one of them, or call it inside ADZ_NO_GRAD" },
    { { KERNEL, .shape_rule = refusing_rule }, 1, NULL, ADZ_F32, false, ADZ_ERR_DIM,
        "mine: x is too flat" },
    { { KERNEL, .shape_rule = silent_rule }, 1, NULL, ADZ_F32, false, ADZ_ERR_SHAPE,
        "mine: the shape rule refused the inputs" },
    { { KERNEL, .shape_rule = wild_rule }, 1, NULL, ADZ_F32, false, ADZ_ERR_SHAPE, "mine: " },
    { { KERNEL, .shape_rule = unknown_rule }, 1, NULL, ADZ_F32, false, ADZ_ERR_DTYPE, "mine: " },
    { { MINE, .expression = missing_expression }, 1, NULL, ADZ_F32, false, ADZ_ERR_NULL,
        "mine: a result of the expression is NULL" },
    { { MINE, .expression = longer_expression }, 1, NULL, ADZ_F32, false, ADZ_ERR_SHAPE,
        "result 0 is float32[2] by the operator's shape rule, but float32[7] by its expression" },
    { { MINE, .expression = failing_expression }, 1, NULL, ADZ_F32, false, ADZ_ERR_SHAPE,
        "matmul: " },
};

static void what_does_not_fit_is_refused(void **state)
{
    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *in[33];
        for (size_t k = 0; k < COUNT_OF(in); ++k) {
            in[k] = adz_ones(ADZ_SHAPE(2), k == 0 ? cases[i].dtype : ADZ_F64);
        }
        if (cases[i].wants) {
            adz_requires_grad_(in[0], true);
        }
        assert_null(adz_operator_call(&cases[i].op, in, cases[i].n, cases[i].attributes, NULL));
        expect_error(cases[i].status, cases[i].says);
        adz_scope_close(scope);
    }
}

static void inputs_that_are_missing(void **state)
{
    (void)state;
    static const adz_operator optional = { KERNEL, .n_inputs = 2, .optional_inputs = 3 };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = NULL;
    assert_null(adz_operator_call(NULL, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "operator_call: op is NULL");
    assert_null(adz_operator_call(&cube_operator, NULL, 1, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "cube: ");
    assert_null(cube(NULL));
    expect_error(ADZ_ERR_NULL, "cube: input 0 is NULL");
    assert_null(cube(ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "cube: input 0 is not optional");
    adz_tensor *none[] = { ADZ_NONE, ADZ_NONE };
    assert_null(adz_operator_call(&optional, none, 2, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "mine: all inputs are left out");
    /* The error of the call that gave NULL stands. */
    assert_null(cube(adz_matmul(adz_ones(ADZ_SHAPE(2), ADZ_F32), adz_ones(ADZ_SHAPE(3), ADZ_F32))));
    expect_error(ADZ_ERR_SHAPE, "matmul: ");
    adz_scope_close(scope);
}

/* A backward that reads what was not saved, and an operator that records outside a graph. */
static void what_is_not_saved(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_operator op = cube_operator;
    op.saved_inputs = 0;
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    adz_tensor *y = adz_operator_call(&op, &x, 1, NULL, NULL);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_GRAPH);
    expect_error(ADZ_ERR_GRAPH, "cube: input 0 was not saved");
    op = (adz_operator){ KERNEL };
    ADZ_NO_GRAD
    {
        assert_non_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    }
    op.backward = no_backward;
    assert_non_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    adz_scope_close(scope);
}

/* ---- what happens later --------------------------------------------------------------------- */

static void a_change_of_a_saved_value_is_noticed(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_operator op = cube_operator;
    adz_tensor *leaf = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    for (int derived = 0; derived <= 1; ++derived) {
        op.backward = derived ? NULL : cube_backward;
        adz_tensor *x = adz_mul_number(leaf, 2);
        adz_tensor *y = adz_operator_call(&op, &x, 1, NULL, NULL);
        adz_add_number_(x, 1);
        assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_ERR_VERSION);
        expect_error(ADZ_ERR_VERSION, "cube");
    }
    adz_scope_close(scope);
}

static void anomaly_mode_names_the_operator(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_set_anomaly_enabled(true);
    assert_null(cube(adz_full(ADZ_SHAPE(2), 1e20, ADZ_F32)));
    expect_error(ADZ_ERR_NUMERIC, "cube: infinity at [0] of the result [2], from finite arguments");
    assert_non_null(cube(adz_full(ADZ_SHAPE(2), INFINITY, ADZ_F32)));
    adz_set_anomaly_enabled(false);
    adz_scope_close(scope);
}

/* ---- memory --------------------------------------------------------------------------------- */

/* y = x^3 by a kernel and by the expression, from a strided input, and the gradient. Returns
 * whether all was computed. */
static bool use_memory(adz_tensor *base, bool derived)
{
    adz_scope *scope = adz_scope_open();
    adz_operator op = cube_operator;
    op.backward = derived ? NULL : cube_backward;
    adz_tensor *x = adz_transpose(base, 0, 1), *grad;
    adz_tensor *y = adz_operator_call(&op, &x, 1, NULL, NULL);
    x = adz_to(x, ADZ_F64);
    y = adz_add(y, adz_operator_call(&op, &x, 1, NULL, NULL));
    y = adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM);
    const bool good = y != NULL && adz_autograd_grad(&y, NULL, 1, &base, 1, NULL, &grad) == ADZ_OK;
    adz_scope_close(scope);
    return good;
}

static void refused_memory_leaves_nothing(void **state)
{
    (void)state;
    adz_set_num_threads(1); /* else the number of requests of this thread varies */
    adz_scope *scope = adz_scope_open();
    adz_tensor *base = adz_requires_grad_(adz_randn(ADZ_SHAPE(70, 80), ADZ_F32), true);
    for (int derived = 0; derived <= 1; ++derived) {
        assert_true(use_memory(base, derived != 0));
        const int64_t bytes = adzi_live_bytes(), tensors = adzi_live_tensors();
        bool reached = true;
        int n = 0;
        while (reached) {
            adzi_alloc_fail_at(++n);
            const bool good = use_memory(base, derived != 0);
            reached = adzi_alloc_failed();
            adzi_alloc_fail_at(0);
            assert_true(good == !reached);
            if (!good) {
                expect_error(ADZ_ERR_MEMORY, "");
            }
            assert_int_equal(adzi_live_bytes(), bytes);
            assert_int_equal(adzi_live_tensors(), tensors);
            assert_true(adz_is_grad_enabled());
        }
        assert_true(n > 10);
    }
    adz_scope_close(scope);
    adz_set_num_threads(0);
}

/* ---- expressions and rules that are left by a jump ------------------------------------------ */

static jmp_buf out;

static adz_status jumping_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)results, (void)in, (void)attributes;
    longjmp(out, 1);
}

static adz_status jumping_rule(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)results, (void)in, (void)attributes;
    longjmp(out, 1);
}

static void a_jump_restores_the_thread(void **state)
{
    (void)state;
    static const adz_operator by_expression = { MINE, .expression = jumping_expression },
                              by_rule = { KERNEL, .backward = no_backward,
                                  .shape_rule = jumping_rule },
                              by_backward = { KERNEL, .expression = jumping_expression };
    static const adz_operator *const ops[] = { &by_expression, &by_rule, &by_backward };
    for (volatile size_t i = 0; i < COUNT_OF(ops); ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
        if (setjmp(out) == 0) {
            adz_tensor *y = adz_operator_call(ops[i], &x, 1, NULL, NULL);
            adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
            fail_msg("%d did not jump", (int)i);
        }
        adz_error_clear();
        assert_true(adz_is_grad_enabled());
        adz_scope_close(scope);
    }
}

int refused_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_does_not_fit_is_refused),
        cmocka_unit_test(inputs_that_are_missing),
        cmocka_unit_test(what_is_not_saved),
        cmocka_unit_test(a_change_of_a_saved_value_is_noticed),
        cmocka_unit_test(anomaly_mode_names_the_operator),
        cmocka_unit_test(refused_memory_leaves_nothing),
        cmocka_unit_test(a_jump_restores_the_thread),
    };
    return run_group("operator_call: refused", tests, COUNT_OF(tests));
}
