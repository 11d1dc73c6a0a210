/* Steps of a call that an operator may have: a check of elements, values that its backward reads,
 * and inputs that are saved for some gradients only. */
#include "common.h"
#include "masked.h"

#include <setjmp.h>

#define MINE .size = sizeof(adz_operator)

static adz_tensor *numbers(int64_t rows, int64_t columns)
{
    adz_tensor *x = adz_arange(1, (double)(rows * columns) + 1, 1, ADZ_F32);
    return adz_reshape(x, ADZ_SHAPE(rows, columns));
}

static adz_status sum_backward(adz_tensor *y)
{
    return adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
}

/* ---- elements that are checked -------------------------------------------------------------- */

static int kernel_calls;

/* Units are rows of the result: y[i][j] = table[index[i]][j]. */
static void rows_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *table = call->inputs[0].data;
    const int64_t *index = call->inputs[1].data, columns = call->results[0].sizes[1];
    float *y = call->results[0].data;
    ++kernel_calls;
    for (int64_t i = begin; i < end; ++i) {
        memcpy(y + i * columns, table + index[i] * columns, (size_t)columns * sizeof *y);
    }
}

static adz_status rows_rule(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)attributes;
    if (adz_tensor_dtype(in[1]) != ADZ_I64 || adz_tensor_rank(in[0]) != 2 ||
        adz_tensor_rank(in[1]) != 1) {
        return adz_error_set("rows", ADZ_ERR_SHAPE, "a table and an index are needed");
    }
    results[0].shape.sizes[0] = adz_tensor_numel(in[1]);
    return ADZ_OK;
}

static adz_status rows_check(adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    assert_false(adz_is_grad_enabled());
    adz_tensor *inside = adz_logical_and(
        adz_ge_number(in[1], 0), adz_lt_number(in[1], (double)adz_tensor_size(in[0], 0)));
    return adz_assert_all(inside, "the index names no row");
}

static adz_status rows_expression(adz_tensor **y, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    y[0] = adz_index_select(in[0], 0, in[1]);
    return y[0] != NULL ? ADZ_OK : adz_error_code();
}

static const adz_operator rows_operator = { MINE, .name = "rows",
    .kernels = { [ADZ_F32] = rows_f32 }, .units = ADZ_UNITS_ROWS, .n_inputs = 2,
    .other_dtypes = 1U << 1, .shape_rule = rows_rule, .expression = rows_expression,
    .check = rows_check };

static adz_tensor *rows(adz_tensor *table, adz_tensor *index)
{
    return adz_operator_call(&rows_operator, (adz_tensor *[]){ table, index }, 2, NULL, NULL);
}

static adz_tensor *index_of(int64_t a, int64_t b)
{
    return adz_tensor_from((int64_t[]){ a, b }, ADZ_SHAPE(2), ADZ_I64);
}

static void elements_are_checked(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *table = adz_requires_grad_(adz_clone(numbers(3, 4)), true);
    adz_tensor *y = rows(table, index_of(2, 0));
    assert_same_bits(adz_detach(y), adz_index_select(adz_detach(table), 0, index_of(2, 0)));
    assert_int_equal(sum_backward(y), ADZ_OK);
    assert_true(adz_is_grad_enabled());
    const int before = kernel_calls;
    static const int64_t wrong[][2] = { { 0, 3 }, { -1, 0 } };
    for (size_t i = 0; i < COUNT_OF(wrong); ++i) {
        assert_null(rows(table, index_of(wrong[i][0], wrong[i][1])));
        expect_error(ADZ_ERR_ARGUMENT, "the index names no row, first at position");
    }
    assert_int_equal(kernel_calls, before);
    /* The shape rule has been asked first. */
    assert_null(rows(table, table));
    expect_error(ADZ_ERR_SHAPE, "rows: a table and an index are needed");
    adz_scope_close(scope);
}

typedef struct {
    adz_tensor *table, *index;
} lookup;

static adz_tensor *look_up(void *user)
{
    lookup *l = user;
    return rows(l->table, adz_add_number(l->index, 1));
}

/* Each run of a plan checks the index that it has. */
static void plans_repeat_the_check(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    lookup l = { numbers(4, 3), adz_clone(index_of(0, 2)) };
    adz_plan *plan = adz_plan_new(look_up, &l, NULL);
    assert_non_null(plan);
    for (int64_t k = -2; k < 5; ++k) {
        const int64_t at[] = { k, 1 };
        const bool good = k >= -1 && k < 3;
        assert_int_equal(adz_tensor_write(l.index, at, sizeof at), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), good ? ADZ_OK : ADZ_ERR_ARGUMENT);
        if (good) {
            assert_same_bits(adz_plan_output(plan), look_up(&l));
        } else {
            expect_error(ADZ_ERR_ARGUMENT, "the index names no row");
        }
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static jmp_buf away;

static adz_status silent_check(adz_tensor *const *in, const void *attributes)
{
    (void)in, (void)attributes;
    return ADZ_ERR_SHAPE;
}

static adz_status leaving_check(adz_tensor *const *in, const void *attributes)
{
    (void)in, (void)attributes;
    longjmp(away, 1);
}

static adz_status wasteful_check(adz_tensor *const *in, const void *attributes)
{
    (void)in, (void)attributes;
    return adz_zeros(ADZ_SHAPE(1 << 20), ADZ_F32) != NULL ? ADZ_OK : adz_error_code();
}

static size_t live_bytes(void)
{
    adz_memory_info info;
    adz_get_memory_info(&info, sizeof info);
    return info.live_bytes;
}

static void checks_may_fail_and_leave(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_clone(numbers(2, 2)), true);
    adz_operator op = masked_operator;
    op.check = silent_check;
    assert_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_SHAPE, "masked: the check refused the inputs");
    op.check = leaving_check;
    if (setjmp(away) == 0) {
        adz_operator_call(&op, &x, 1, NULL, NULL);
        fail_msg("the check was not called");
    }
    assert_int_equal(sum_backward(masked(x)), ADZ_OK); /* calls are recorded again */
    /* What the check makes ends with it. */
    const size_t before = live_bytes();
    op.check = wasteful_check;
    assert_non_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    assert_true(live_bytes() < before + (1 << 16));
    adz_scope_close(scope);
}

/* ---- values that are kept ------------------------------------------------------------------- */

static int call_masked(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    (void)n, (void)user;
    out[0] = masked(in[0]);
    return out[0] != NULL;
}

static void backwards_read_what_is_kept(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *from = adz_sub_number(numbers(3, 4), 6);
    adz_tensor *expected = adz_to(adz_gt_number(from, 0), ADZ_F32);
    adz_tensor *x = adz_requires_grad_(adz_clone(from), true), *y = masked(x);
    assert_same_bits(adz_detach(y), adz_relu(from));
    assert_int_equal(sum_backward(y), ADZ_OK);
    assert_same_bits(adz_tensor_grad(x), expected);
    assert_int_equal(adz_operator_check(&masked_operator, &x, 1, NULL, 0), ADZ_OK);
    /* In place, by a kernel of elements and by way of a new tensor. */
    for (int strided = 0; strided < 2; ++strided) {
        adz_tensor_set_grad(x, ADZ_NONE);
        y = adz_mul_number(x, 1);
        y = strided ? adz_transpose(adz_clone(adz_transpose(y, 0, 1)), 0, 1) : y;
        if (!strided) {
            assert_ptr_equal(adz_operator_call_(&masked_operator, &y, 1, NULL), y);
            assert_int_equal(sum_backward(y), ADZ_OK);
            assert_same_bits(adz_tensor_grad(x), expected);
        } else {
            y = adz_detach(y);
            assert_ptr_equal(adz_operator_call_(&masked_operator, &y, 1, NULL), y);
            assert_same_bits(y, adz_relu(from));
        }
    }
    /* The expression keeps the value where there is no kernel. */
    const adz_tensor_function f = { .call = call_masked };
    adz_tensor *d = adz_requires_grad_(adz_to(adz_sub_number(from, 0.5), ADZ_F64), true);
    assert_int_equal(adz_gradcheck(&f, &d, 1, NULL, NULL), ADZ_OK);
    assert_int_equal(adz_gradgradcheck(&f, &d, 1, NULL, NULL), ADZ_OK);
    adz_scope_close(scope);
}

static adz_tensor *shifted(void *user)
{
    adz_tensor *leaf = user;
    adz_tensor *loss = adz_sum(masked(adz_sub_number(leaf, 2)), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adz_backward(loss) == ADZ_OK ? adz_clone(adz_tensor_grad(leaf)) : NULL;
}

static void plans_keep_the_value(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32), true);
    adz_tensor_set_grad(x, adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32));
    adz_plan *plan = adz_plan_new(shifted, x, NULL);
    if (plan == NULL) {
        fail_msg("%s", adz_error_message());
    }
    for (int k = 0; k < 4; ++k) {
        float values[6], expected[6];
        for (int i = 0; i < 6; ++i) {
            values[i] = (float)((i * 5 + k * 3) % 7);
            expected[i] = values[i] > 2;
        }
        adz_zero_(adz_tensor_grad(x));
        assert_int_equal(adz_tensor_write(adz_detach(x), values, sizeof values), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_memory_equal(adz_tensor_data_f32(adz_plan_output(plan)), expected, sizeof expected);
    }
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

static void what_cannot_be_kept_is_refused(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = numbers(2, 2);
    adz_operator op = masked_operator;
    op.n_kept = 8;
    assert_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "masked: the operator says 0 inputs, 0 results, 8 values");
    op.n_kept = SIZE_MAX;
    assert_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "8 results with the values to keep");
    op.n_kept = 1;
    op.view = true;
    memset(op.kernels, 0, sizeof op.kernels);
    assert_null(adz_operator_call(&op, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "leave out .kernels, .saved_results and .n_kept");
    /* A program that was compiled before the members existed has none of them. */
    op = masked_operator;
    op.backward = NULL;
    op.shape_rule = NULL;
    op.size = offsetof(adz_operator, check);
    op.check = silent_check;
    op.kernels[ADZ_F32] = NULL;
    assert_same_bits(adz_operator_call(&op, &x, 1, NULL, NULL), x);
    adz_scope_close(scope);
}

/* ---- inputs that are saved for some gradients ----------------------------------------------- */

static void product_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *a = call->inputs[0].data, *b = call->inputs[1].data;
    float *y = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        y[i] = a[i] * b[i];
    }
}

static adz_status product_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    for (size_t i = 0; i < 2; ++i) {
        if (adz_node_needs_input_grad(node, i)) {
            dx[i] = adz_mul(dy[0], adz_node_input_at(node, 1 - i));
            if (dx[i] == NULL) {
                return adz_error_code();
            }
        }
    }
    return ADZ_OK;
}

static const uint32_t other_factor[] = { 1U << 1, 1U << 0 };

static const adz_operator product_operator = { MINE, .name = "product",
    .kernels = { [ADZ_F32] = product_f32 }, .units = ADZ_UNITS_ELEMENTS, .n_inputs = 2,
    .backward = product_backward, .saved_for = other_factor };

/* Factor `wanted` wants a gradient, and factor `changed` is written before the backward. */
static adz_status change_factor(int wanted, int changed, bool inplace)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *in[2] = { adz_clone(numbers(2, 3)), adz_full(ADZ_SHAPE(2, 3), 3, ADZ_F32) };
    adz_tensor *leaf = in[wanted] = adz_requires_grad_(in[wanted], true);
    adz_tensor *expected = adz_clone(in[1 - wanted]);
    in[wanted] = adz_mul_number(leaf, 1);
    adz_tensor *y = inplace ? adz_operator_call_(&product_operator, in, 2, NULL)
                            : adz_operator_call(&product_operator, in, 2, NULL, NULL);
    assert_non_null(y);
    if (!inplace) {
        adz_set_grad_enabled(false);
        assert_non_null(adz_add_number_(in[changed], 1));
        adz_set_grad_enabled(true);
    }
    const adz_status status = sum_backward(y);
    if (status == ADZ_OK) {
        assert_same_bits(adz_tensor_grad(leaf), expected);
    }
    adz_scope_close(scope);
    return status;
}

static void only_wanted_gradients_save(void **state)
{
    (void)state;
    for (int wanted = 0; wanted < 2; ++wanted) {
        assert_int_equal(change_factor(wanted, wanted, false), ADZ_OK);
        assert_int_equal(change_factor(wanted, 1 - wanted, false), ADZ_ERR_VERSION);
        expect_error(ADZ_ERR_VERSION, "product");
        assert_int_equal(change_factor(wanted, 0, true), ADZ_OK);
    }
}

int steps_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elements_are_checked),
        cmocka_unit_test(plans_repeat_the_check),
        cmocka_unit_test(checks_may_fail_and_leave),
        cmocka_unit_test(backwards_read_what_is_kept),
        cmocka_unit_test(plans_keep_the_value),
        cmocka_unit_test(what_cannot_be_kept_is_refused),
        cmocka_unit_test(only_wanted_gradients_save),
    };
    return run_group("operator_call: steps", tests, COUNT_OF(tests));
}
