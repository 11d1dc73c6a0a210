/* What an operator may declare besides a kernel: units that are slices, inputs with strides, common
 * dtypes and shapes, results that are views, and calls in place. */
#include "common.h"

#define MINE .size = sizeof(adz_operator), .name = "mine"

static adz_tensor *numbers(adz_shape shape)
{
    int64_t n = 1;
    for (int i = 0; i < shape.rank; ++i) {
        n *= shape.sizes[i];
    }
    return adz_reshape(adz_arange(1, (double)n + 1, 1, ADZ_F32), shape);
}

/* ---- slices ---------------------------------------------------------------------------------- */

typedef struct {
    int dim;
} dim_attributes;

static const adz_field dim_fields[] = {
    { .name = "dim", .kind = ADZ_FIELD_INT, .offset = offsetof(dim_attributes, dim) },
};

static int largest_dim; /* that a kernel has seen */

static void sums_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *x = call->inputs[0].data;
    float *y = call->results[0].data;
    largest_dim = ((const dim_attributes *)call->attributes)->dim;
    for (int64_t i = begin; i < end; ++i) {
        const int64_t step = call->slice_stride, at = i / step * call->slice_size * step + i % step;
        double sum = 0;
        for (int64_t j = 0; j < call->slice_size; ++j) {
            sum += (double)x[at + j * step];
            y[at + j * step] = (float)sum;
        }
    }
}

static adz_status sums_expression(adz_tensor **y, adz_tensor *const *in, const void *attributes)
{
    y[0] = adz_cumsum(in[0], ((const dim_attributes *)attributes)->dim);
    return y[0] != NULL ? ADZ_OK : adz_error_code();
}

static const adz_operator sums_operator = { MINE, .kernels = { [ADZ_F32] = sums_f32 },
    .units = ADZ_UNITS_SLICES, .fields = dim_fields, .n_fields = 1,
    .attributes_size = sizeof(dim_attributes), .expression = sums_expression };

static adz_tensor *sums(adz_tensor *x, int dim)
{
    return adz_operator_call(&sums_operator, &x, 1, &(dim_attributes){ dim }, NULL);
}

static void units_may_be_slices(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = numbers(ADZ_SHAPE(3, 4, 5));
    for (int dim = -3; dim < 3; ++dim) {
        assert_same_bits(sums(x, dim), adz_cumsum(x, dim));
        assert_int_equal(largest_dim, dim < 0 ? dim + 3 : dim);
        adz_tensor *t = adz_transpose(x, 0, 2);
        assert_same_bits(sums(t, dim), adz_cumsum(t, dim));
    }
    assert_same_bits(sums(adz_scalar(2, ADZ_F32), 0), adz_scalar(2, ADZ_F32));
    assert_non_null(sums(adz_zeros(ADZ_SHAPE(3, 0), ADZ_F32), 1));
    assert_null(sums(x, 3));
    expect_error(ADZ_ERR_DIM, "mine: ");
    adz_operator nameless = sums_operator;
    nameless.n_fields = nameless.attributes_size = 0;
    assert_null(adz_operator_call(&nameless, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "mine: the units are slices, but no attribute says");
    adz_scope_close(scope);
}

/* ---- strides -------------------------------------------------------------------------------- */

static const void *seen; /* the address of an input that a kernel has seen */

/* Units are rows of the result. Inputs have its shape, whatever their strides are. */
static void product_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const adz_const_array *a = &call->inputs[0], *b = &call->inputs[1];
    float *y = call->results[0].data;
    const int64_t columns = call->results[0].sizes[1];
    seen = b->data;
    for (int64_t i = begin; i < end; ++i) {
        for (int64_t j = 0; j < columns; ++j) {
            y[i * columns + j] = ((const float *)a->data)[i * a->strides[0] + j * a->strides[1]] *
                                 ((const float *)b->data)[i * b->strides[0] + j * b->strides[1]];
        }
    }
}

static adz_status product_expression(adz_tensor **y, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    y[0] = adz_mul(in[0], in[1]);
    return y[0] != NULL ? ADZ_OK : adz_error_code();
}

#define PRODUCT                                                                           \
    MINE, .kernels = { [ADZ_F32] = product_f32 }, .units = ADZ_UNITS_ROWS, .n_inputs = 2, \
          .expression = product_expression

static adz_tensor *product(const adz_operator *op, adz_tensor *a, adz_tensor *b)
{
    return adz_operator_call(op, (adz_tensor *[]){ a, b }, 2, NULL, NULL);
}

static void inputs_with_strides_are_not_copied(void **state)
{
    (void)state;
    static const adz_operator op = { PRODUCT, .strided_inputs = 3 }, copies = { PRODUCT };
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = numbers(ADZ_SHAPE(3, 4)), *b = adz_transpose(numbers(ADZ_SHAPE(4, 3)), 0, 1);
    assert_same_bits(product(&op, a, b), adz_mul(a, b));
    assert_ptr_equal(seen, adz_tensor_data_constant(b));
    assert_same_bits(product(&copies, a, b), adz_mul(a, b));
    assert_ptr_not_equal(seen, adz_tensor_data_constant(b));
    adz_scope_close(scope);
}

/* ---- common shapes and dtypes --------------------------------------------------------------- */

static void inputs_are_broadcast(void **state)
{
    (void)state;
    static const adz_operator ops[] = { { PRODUCT, .broadcasts = true },
        { PRODUCT, .broadcasts = true, .strided_inputs = 3 },
        { PRODUCT, .broadcasts = true, .strided_inputs = 1,
            .promotion = ADZ_PROMOTION_INT_TO_FLOAT } };
    for (size_t i = 0; i < COUNT_OF(ops); ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *a = adz_requires_grad_(adz_clone(numbers(ADZ_SHAPE(3, 1))), true);
        adz_tensor *b = adz_requires_grad_(adz_clone(numbers(ADZ_SHAPE(4))), true);
        adz_tensor *y = product(&ops[i], a, b);
        assert_same_bits(adz_detach(y), adz_mul(adz_detach(a), adz_detach(b)));
        assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        assert_same_bits(adz_tensor_grad(a), adz_full(ADZ_SHAPE(3, 1), 10, ADZ_F32));
        assert_same_bits(adz_tensor_grad(b), adz_full(ADZ_SHAPE(4), 6, ADZ_F32));
        assert_null(product(&ops[i], a, adz_ones(ADZ_SHAPE(2, 5), ADZ_F32)));
        expect_error(ADZ_ERR_SHAPE, "mine: ");
        adz_scope_close(scope);
    }
}

static void inputs_come_to_one_dtype(void **state)
{
    (void)state;
    static const adz_operator types = { PRODUCT, .promotion = ADZ_PROMOTION_DEFAULT },
                              floats = { PRODUCT, .promotion = ADZ_PROMOTION_INT_TO_FLOAT },
                              narrow = { PRODUCT, .dtypes = ADZ_DTYPE_BIT(ADZ_F32) };
    adz_scope *scope = adz_scope_open();
    adz_tensor *a = numbers(ADZ_SHAPE(2, 3)), *i = adz_to(a, ADZ_I64), *d = adz_to(a, ADZ_F64);
    assert_same_bits(product(&types, i, a), adz_mul(i, a));
    assert_same_bits(product(&types, a, d), adz_mul(a, d)); /* by the expression */
    assert_same_bits(product(&types, i, i), adz_mul(i, i));
    assert_same_bits(product(&floats, i, i), adz_mul(a, a));
    /* The conversions are on the tape. */
    adz_tensor *leaf = adz_requires_grad_(adz_clone(a), true);
    adz_tensor *y = product(&types, leaf, d);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_same_bits(adz_tensor_grad(leaf), a);
    assert_null(product(&types, a, adz_to(a, ADZ_F16)));
    expect_error(ADZ_ERR_DTYPE, "mine: input 1[2, 3] is float16");
    assert_null(product(&narrow, d, d));
    expect_error(
        ADZ_ERR_DTYPE, "mine: the first input[2, 3] is float64, and the operator takes float32");
    adz_scope_close(scope);
}

/* ---- views ---------------------------------------------------------------------------------- */

static int64_t view_offset;

/* Every second row, from element `view_offset` on. */
static adz_status rows_rule(adz_result *y, adz_tensor *const *in, void *attributes)
{
    (void)in, (void)attributes;
    y->offset = view_offset;
    y->shape.sizes[0] = (y->shape.sizes[0] + 1) / 2;
    y->strides[0] *= 2;
    return ADZ_OK;
}

static adz_status rows_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    adz_tensor *zeros = adz_zeros_like(dy[0]);
    adz_tensor *both = adz_stack((adz_tensor *[]){ dy[0], zeros }, 2, 1);
    dx[0] = adz_reshape(both, ADZ_SHAPE(4, 3));
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static void results_may_be_views(void **state)
{
    (void)state;
    static const adz_operator op = { MINE, .view = true, .shape_rule = rows_rule,
        .backward = rows_backward };
    static const adz_operator kernel = { MINE, .view = true, .shape_rule = rows_rule,
        .kernels = { [ADZ_F32] = product_f32 }, .units = ADZ_UNITS_ROWS };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_clone(numbers(ADZ_SHAPE(4, 3))), true);
    view_offset = 0;
    adz_tensor *y = adz_operator_call(&op, &x, 1, NULL, NULL);
    assert_same_bits(adz_detach(y), adz_slice(adz_detach(x), 0, 0, 4, 2));
    assert_ptr_equal(adz_tensor_data_constant(y), adz_tensor_data_constant(x));
    adz_tensor *weights = numbers(ADZ_SHAPE(2, 3));
    assert_int_equal(adz_backward(adz_sum(adz_mul(y, weights), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_same_bits(adz_slice(adz_tensor_grad(x), 0, 0, 4, 2), weights);
    assert_same_bits(
        adz_slice(adz_tensor_grad(x), 0, 1, 4, 2), adz_zeros(ADZ_SHAPE(2, 3), ADZ_F32));
    view_offset = 3;
    x = adz_detach(x);
    assert_same_bits(adz_operator_call(&op, &x, 1, NULL, NULL), adz_slice(x, 0, 1, 4, 2));
    for (view_offset = -1; view_offset <= 4; view_offset += 5) { /* one element too far */
        assert_null(adz_operator_call(&op, &x, 1, NULL, NULL));
        expect_error(ADZ_ERR_SHAPE, "result 0[2, 3] is no view of the first input[4, 3]");
    }
    assert_null(adz_operator_call(&kernel, &x, 1, NULL, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "mine: the results are views");
    adz_scope_close(scope);
}

/* ---- in place ------------------------------------------------------------------------------- */

static adz_tensor *cube_(adz_tensor *x)
{
    return adz_operator_call_(&cube_operator, &x, 1, NULL);
}

static void calls_in_place(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *from = numbers(ADZ_SHAPE(3, 4)), *x = adz_clone(from);
    assert_ptr_equal(cube_(x), x);
    assert_same_bits(x, cube(from));
    /* A strided input, and units that are slices: by way of a new tensor. */
    adz_tensor *base = adz_clone(from), *t = adz_transpose(base, 0, 1);
    assert_ptr_equal(cube_(t), t);
    assert_same_bits(base, cube(from));
    x = adz_clone(from);
    assert_ptr_equal(adz_operator_call_(&sums_operator, &x, 1, &(dim_attributes){ 0 }), x);
    assert_same_bits(x, adz_cumsum(from, 0));
    /* The backward reads the old value. */
    adz_tensor *leaf = adz_requires_grad_(adz_clone(from), true);
    x = adz_mul_number(leaf, 1);
    assert_ptr_equal(cube_(x), x);
    assert_int_equal(adz_backward(adz_sum(x, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_same_bits(adz_tensor_grad(leaf), adz_mul_number(adz_square(from), 3));
    assert_null(cube_(leaf));
    expect_error(ADZ_ERR_INPLACE, "a leaf that wants a gradient");
    adz_tensor *d = adz_ones(ADZ_SHAPE(2), ADZ_F64);
    assert_null(cube_(d)); /* only the expression computes f64 */
    expect_error(ADZ_ERR_ARGUMENT, "cube: a call in place needs");
    assert_null(adz_operator_call_(NULL, &x, 1, NULL));
    expect_error(ADZ_ERR_NULL, "operator_call_: op is NULL");
    adz_scope_close(scope);
}

/* ---- plans ---------------------------------------------------------------------------------- */

static adz_tensor *planned(void *user)
{
    static const adz_operator op = { PRODUCT, .broadcasts = true, .strided_inputs = 1 };
    adz_tensor *x = user;
    adz_tensor *y = product(&op, adz_transpose(sums(x, 1), 0, 1), numbers(ADZ_SHAPE(3)));
    return adz_mul_number(cube_(y), 2);
}

static void plans_replay_all_forms(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_clone(numbers(ADZ_SHAPE(3, 4)));
    adz_plan *plan = adz_plan_new(planned, x, NULL);
    assert_non_null(plan);
    for (int k = 0; k < 3; ++k) {
        float values[12];
        for (int i = 0; i < 12; ++i) {
            values[i] = (float)((i * 5 + k * 3) % 7 - 3);
        }
        assert_int_equal(adz_tensor_write(x, values, sizeof values), ADZ_OK);
        assert_int_equal(adz_plan_run(plan), ADZ_OK);
        assert_same_bits(adz_plan_output(plan), planned(x));
    }
    adz_plan_info info;
    assert_int_equal(adz_plan_get_info(plan, &info, sizeof info), ADZ_OK);
    assert_true(info.captured && info.captures == 1);
    adz_plan_free(&plan);
    adz_scope_close(scope);
}

int forms_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(units_may_be_slices),
        cmocka_unit_test(inputs_with_strides_are_not_copied),
        cmocka_unit_test(inputs_are_broadcast),
        cmocka_unit_test(inputs_come_to_one_dtype),
        cmocka_unit_test(results_may_be_views),
        cmocka_unit_test(calls_in_place),
        cmocka_unit_test(plans_replay_all_forms),
    };
    return run_group("operator_call: forms", tests, COUNT_OF(tests));
}
