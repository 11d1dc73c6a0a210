/* What a call computes: values, dtypes, layouts, units, several inputs and results, gradients. */
#include "common.h"

#include "base/threads/parallel.h"

/* ---- the documented operator ---------------------------------------------------------------- */

static void the_documented_operator_passes_gradcheck(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 2), ADZ_F64), true);
    adz_gradcheck_function f = { call_cube, NULL };
    adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
    adz_gradcheck_report report;
    o.f32_tolerance = 1e-4;
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, &report), ADZ_OK);
    assert_int_equal(report.elements, 72); /* in f64 by the expression, in f32 by the kernel */
    assert_int_equal(adz_gradgradcheck(&f, &x, 1, NULL, NULL), ADZ_OK);
    adz_scope_close(scope);
}

static void layouts_and_sizes(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *base = adz_randn(ADZ_SHAPE(4, 6), ADZ_F32);
    adz_tensor *const inputs[] = { base, adz_transpose(base, 0, 1), adz_slice(base, 1, 1, 6, 2),
        adz_expand(adz_slice(base, 0, 0, 1, 1), ADZ_SHAPE(3, 6)), adz_scalar(-2, ADZ_F32),
        adz_zeros(ADZ_SHAPE(0), ADZ_F32), adz_zeros(ADZ_SHAPE(3, 0), ADZ_F32) };
    for (size_t i = 0; i < COUNT_OF(inputs); ++i) {
        adz_tensor *x = inputs[i], *y = cube(x);
        assert_same_bits(y, adz_mul(adz_mul(x, x), x));
        assert_true(adz_tensor_is_contiguous(y));
    }
    adz_scope_close(scope);
}

/* A thread's share of a launch may be any range, in any order. */
static void backwards(
    adzi_kernel kernel, const void *args, size_t size, int64_t units, int64_t grain)
{
    (void)size, (void)grain;
    for (int64_t end = units; end > 0;) {
        const int64_t begin = end - end / 3 - 1;
        kernel(args, begin, end);
        end = begin;
    }
}

static void units_may_be_cut(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_randn(ADZ_SHAPE(101, 301), ADZ_F32);
    adz_tensor *expected = adz_mul(adz_mul(x, x), x);
    const int threads = adz_get_num_threads();
    adz_set_num_threads(3);
    assert_same_bits(cube(x), expected);
    adz_set_num_threads(threads);
    atomic_store(&adzi_launch_observer, backwards);
    adz_tensor *y = cube(x);
    atomic_store(&adzi_launch_observer, NULL);
    assert_same_bits(y, expected);
    adz_scope_close(scope);
}

/* ---- an operator with everything ------------------------------------------------------------ */

/* y_ij = scale * a_ij + b_j, where b may be left out, and positions_i is the column of the largest
 * a_ij, plus shift_i (i64). Rows are units. */
typedef struct {
    bool negative; /* bytes without a meaning follow */
    double scale;
} row_attributes;

static const adz_field row_fields[] = {
    { .name = "negative", .kind = ADZ_FIELD_BOOL, .offset = offsetof(row_attributes, negative) },
    { .name = "scale", .kind = ADZ_FIELD_F64, .offset = offsetof(row_attributes, scale) },
};

static int64_t row_launches; /* counted on one thread */
static int64_t row_ends;     /* the sum of `end` over the launches */

static void row_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const adz_const_array *in = call->inputs;
    const row_attributes *at = call->attributes;
    const float *a = in[0].data, *b = in[1].data;
    const int64_t *shift = in[2].data, columns = in[0].sizes[1];
    float *y = call->results[0].data;
    int64_t *positions = call->results[1].data;
    const double scale = at->negative ? -at->scale : at->scale;
    row_launches += 1;
    row_ends += end;
    for (int64_t i = begin; i < end; ++i) {
        int64_t largest = 0;
        for (int64_t j = 0; j < columns; ++j) {
            y[i * columns + j] =
                (float)(scale * (double)a[i * columns + j]) + (b != NULL ? b[j] : 0);
            largest = a[i * columns + j] > a[i * columns + largest] ? j : largest;
        }
        positions[i] = largest + shift[i];
    }
}

static adz_status row_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    const row_attributes *at = attributes;
    const double scale = at->negative ? -at->scale : at->scale;
    results[0] = adz_mul_number(in[0], scale);
    results[0] = in[1] != ADZ_NONE ? adz_add(results[0], in[1]) : results[0];
    results[1] = adz_add(adz_argmax(in[0], ADZ_DIMS(1), ADZ_DROPDIM), in[2]);
    return results[0] != NULL && results[1] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status row_shapes(adz_result *results, adz_tensor *const *in, void *attributes)
{
    const row_attributes *at = attributes;
    const adz_shape a = results[0].shape;
    if (a.rank != 2 || adz_tensor_dtype(in[2]) != ADZ_I64 || at->scale == 0) {
        return adz_error_set("row", ADZ_ERR_SHAPE, "a is no matrix, or shift is not i64");
    }
    results[1] = (adz_result){ .shape = ADZ_SHAPE(a.sizes[0]), .dtype = ADZ_I64 };
    return ADZ_OK;
}

static const adz_operator row_operator = {
    .size = sizeof(adz_operator),
    .name = "row",
    .kernels = { [ADZ_F32] = row_f32 },
    .units = ADZ_UNITS_ROWS,
    .grain = 1000,
    .shape_rule = row_shapes,
    .n_inputs = 3,
    .n_results = 2,
    .optional_inputs = 1U << 1,
    .other_dtypes = 1U << 2,
    .fields = row_fields,
    .n_fields = COUNT_OF(row_fields),
    .attributes_size = sizeof(row_attributes),
    .expression = row_expression,
};

static adz_tensor *row(
    adz_tensor *a, adz_tensor *b, adz_tensor *shift, double scale, adz_tensor **positions)
{
    const row_attributes at = { .negative = scale < 0, .scale = fabs(scale) };
    return adz_operator_call(&row_operator, (adz_tensor *[]){ a, b, shift }, 3, &at, positions);
}

/* A vector or a matrix of 3 columns, of any dtype. */
static adz_tensor *numbers(const double *values, adz_shape shape, adz_dtype dtype)
{
    return adz_to(adz_tensor_from(values, shape, ADZ_F64), dtype);
}

static void several_inputs_and_results(void **state)
{
    (void)state;
    static const double of_a[] = { 1, 5, 2, 9, 7, 8 }, of_b[] = { 10, 20, 30 },
                        of_y[] = { 8, 10, 26, -8, 6, 14 };
    static const int64_t of_shift[] = { 100, 200 }, of_positions[] = { 101, 200 };
    adz_scope *scope = adz_scope_open();
    for (int d = ADZ_F32; d <= ADZ_F64; ++d) {
        const adz_dtype dtype = (adz_dtype)d;
        adz_tensor *a = numbers(of_a, ADZ_SHAPE(2, 3), dtype), *positions = NULL;
        adz_tensor *b = numbers(of_b, ADZ_SHAPE(3), dtype);
        adz_tensor *shift = adz_tensor_from(of_shift, ADZ_SHAPE(2), ADZ_I64);
        adz_tensor *y = row(a, b, shift, -2, &positions);
        assert_same_bits(y, numbers(of_y, ADZ_SHAPE(2, 3), dtype));
        assert_same_bits(positions, adz_tensor_from(of_positions, ADZ_SHAPE(2), ADZ_I64));
        assert_same_bits(row(a, ADZ_NONE, shift, 1, &positions), a);
    }
    adz_scope_close(scope);
}

static void units_are_rows(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *positions;
    row_launches = row_ends = 0;
    adz_tensor *a = adz_ones(ADZ_SHAPE(7, 5), ADZ_F32);
    assert_non_null(row(a, ADZ_NONE, adz_zeros(ADZ_SHAPE(7), ADZ_I64), 1, &positions));
    assert_int_equal(row_launches, 1); /* fewer than the grain */
    assert_int_equal(row_ends, 7);
    a = adz_ones(ADZ_SHAPE(0, 5), ADZ_F32);
    assert_non_null(row(a, ADZ_NONE, adz_zeros(ADZ_SHAPE(0), ADZ_I64), 1, &positions));
    assert_int_equal(row_launches, 1); /* there is nothing to compute */
    adz_scope_close(scope);
}

/* A kernel that counts the call has one unit, also for an empty input. */
static void total_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *x = call->inputs[0].data;
    double sum = (double)(end - begin);
    for (int64_t i = 0; i < call->inputs[0].numel; ++i) {
        sum += (double)x[i];
    }
    *(float *)call->results[0].data = (float)sum;
}

static adz_status total_shape(adz_result *results, adz_tensor *const *in, void *attributes)
{
    (void)in, (void)attributes;
    results[0].shape = ADZ_SHAPE_SCALAR;
    return ADZ_OK;
}

static void a_unit_may_be_the_whole_call(void **state)
{
    (void)state;
    static const adz_operator op = { .size = sizeof(adz_operator),
        .name = "total",
        .kernels = { [ADZ_F32] = total_f32 },
        .units = ADZ_UNITS_CALL,
        .shape_rule = total_shape };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_ones(ADZ_SHAPE(30, 1000), ADZ_F32);
    assert_true(adz_item(adz_operator_call(&op, &x, 1, NULL, NULL)) == 30001);
    x = adz_ones(ADZ_SHAPE(0), ADZ_F32);
    assert_true(adz_item(adz_operator_call(&op, &x, 1, NULL, NULL)) == 1);
    adz_scope_close(scope);
}

static int call_row(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    adz_tensor *positions, *shift = adz_zeros(ADZ_SHAPE(2), ADZ_I64);
    out[0] =
        adz_mul(row(in[0], n > 1 ? in[1] : ADZ_NONE, shift, *(double *)user, &positions), in[0]);
    return out[0] != NULL;
}

/* Without a backward the expression is differentiated, in f32 for the kernel's results. */
static void gradients_of_an_expression(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    double scale = -1.5;
    adz_gradcheck_function f = { call_row, &scale };
    adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
    o.f32_tolerance = 1e-4;
    adz_tensor *in[] = { adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 3), ADZ_F64), true),
        adz_requires_grad_(adz_randn(ADZ_SHAPE(3), ADZ_F64), true) };
    for (size_t n = 1; n <= 2; ++n) {
        if (adz_gradcheck(&f, in, n, &o, NULL) != ADZ_OK ||
            adz_gradgradcheck(&f, in, n, NULL, NULL) != ADZ_OK) {
            fail_msg("%s", adz_error_message());
        }
    }
    adz_scope_close(scope);
}

/* The gradient of one input only, and of a result that does not depend on the inputs. */
static adz_status constant_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = adz_ones(adz_tensor_shape(in[0]), adz_tensor_dtype(in[0]));
    return ADZ_OK;
}

static void gradients_that_are_zero(void **state)
{
    (void)state;
    static const adz_operator op = {
        .size = sizeof(adz_operator), .name = "constant", .expression = constant_expression
    };
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    adz_tensor *y = adz_add(adz_operator_call(&op, &x, 1, NULL, NULL), x);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_same_bits(adz_tensor_grad(x), adz_ones(ADZ_SHAPE(2), ADZ_F32));
    adz_tensor *positions, *b = adz_requires_grad_(adz_ones(ADZ_SHAPE(3), ADZ_F32), true);
    y = row(adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), b, adz_zeros(ADZ_SHAPE(2), ADZ_I64), 3, &positions);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_same_bits(adz_tensor_grad(b), adz_full(ADZ_SHAPE(3), 2, ADZ_F32));
    adz_scope_close(scope);
}

/* y = a b, where b depends on a: each input gets its own part of the gradient. */
static adz_status product_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = adz_mul(in[0], in[1]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static void inputs_that_depend_on_each_other(void **state)
{
    (void)state;
    static const adz_operator op = { .size = sizeof(adz_operator),
        .name = "product",
        .n_inputs = 2,
        .expression = product_expression };
    adz_scope *scope = adz_scope_open();
    for (int graph = 0; graph <= 1; ++graph) {
        adz_tensor *a = adz_requires_grad_(adz_scalar(3, ADZ_F64), true), *da, *dda;
        adz_tensor *in[] = { a, adz_mul_number(a, 2) };
        adz_tensor *y = adz_operator_call(&op, in, 2, NULL, NULL); /* 2 a^2 */
        adz_backward_options o = ADZ_BACKWARD_OPTIONS;
        o.create_graph = graph != 0;
        assert_int_equal(adz_autograd_grad(&y, NULL, 1, &a, 1, &o, &da), ADZ_OK);
        assert_true(adz_item(da) == 12);
        if (graph) {
            assert_int_equal(adz_autograd_grad(&da, NULL, 1, &a, 1, NULL, &dda), ADZ_OK);
            assert_true(adz_item(dda) == 4);
        }
    }
    adz_scope_close(scope);
}

/* ---- expressions that give what exists already ---------------------------------------------- */

static adz_tensor *global;

static adz_status existing_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = in[0];
    results[1] = adz_transpose(in[0], 0, 1);
    results[2] = results[3] = adz_exp(in[0]);
    results[4] = global;
    return ADZ_OK;
}

/* Every result is a tensor that only the call has: changing it changes no input and no other
 * result. */
static void results_share_nothing(void **state)
{
    (void)state;
    static const adz_operator op = { .size = sizeof(adz_operator),
        .name = "existing",
        .n_results = 5,
        .expression = existing_expression };
    adz_scope *scope = adz_scope_open();
    global = adz_zeros(ADZ_SHAPE(2, 2), ADZ_F32);
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(2, 2), ADZ_F32), true);
    adz_tensor *before = adz_clone(adz_detach(x)), *y[5];
    y[0] = adz_operator_call(&op, &x, 1, NULL, y + 1);
    assert_same_bits(y[2], y[3]);
    for (int k = 0; k < 5; ++k) {
        assert_true(adz_tensor_is_contiguous(y[k]));
        for (int other = 0; other < k; ++other) {
            assert_ptr_not_equal(adz_tensor_data(y[k]), adz_tensor_data(y[other]));
        }
        adz_mul_number_(y[k], 3);
    }
    assert_same_bits(adz_detach(x), before);
    assert_same_bits(global, adz_zeros(ADZ_SHAPE(2, 2), ADZ_F32));
    adz_scope_close(scope);
}

/* ---- callers of earlier headers ------------------------------------------------------------- */

static adz_status twice_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    (void)node;
    dx[0] = adz_mul_number(dy[0], 2);
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static adz_status twice_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = adz_add(in[0], in[0]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

/* What adz_operator was before it had kernels. */
typedef struct {
    size_t size;
    const char *name;
    adz_backward_function backward, fused;
    void (*attributes_free)(void *attributes);
    const adz_field *fields;
    size_t n_fields;
    adz_expression_function expression;
} earlier_operator;

static void a_shorter_struct_goes_on_to_work(void **state)
{
    (void)state;
    static earlier_operator earlier[2] = { { .size = sizeof(earlier_operator),
                                               .name = "twice",
                                               .backward = twice_backward,
                                               .expression = twice_expression },
        { .size = SIZE_MAX } }; /* read as members, what follows would be wild */
    const adz_operator *op = (const adz_operator *)(void *)&earlier[0];
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_ones(ADZ_SHAPE(2), ADZ_F32), true);
    adz_tensor *y = adz_full(ADZ_SHAPE(2), 2, ADZ_F32);
    assert_int_equal(adz_record(op, &x, 1, &y, 1, NULL), ADZ_OK);
    adz_tensor *z = adz_operator_call(op, &x, 1, NULL, NULL);
    assert_same_bits(adz_detach(y), adz_detach(z));
    assert_int_equal(adz_backward(adz_sum(adz_add(y, z), ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    assert_same_bits(adz_tensor_grad(x), adz_full(ADZ_SHAPE(2), 4, ADZ_F32));
    adz_scope_close(scope);
}

/* A backward with a kernel of its own is a second operator, which the backward calls. */
static void slope_f32(const adz_kernel_call *call, int64_t begin, int64_t end)
{
    const float *x = call->inputs[0].data, *dy = call->inputs[1].data;
    float *dx = call->results[0].data;
    for (int64_t i = begin; i < end; ++i) {
        dx[i] = 3 * x[i] * x[i] * dy[i];
    }
}

static adz_status slope_expression(
    adz_tensor **results, adz_tensor *const *in, const void *attributes)
{
    (void)attributes;
    results[0] = adz_mul(adz_mul_number(adz_mul(in[0], in[0]), 3), in[1]);
    return results[0] != NULL ? ADZ_OK : adz_error_code();
}

static const adz_operator slope_operator = { .size = sizeof(adz_operator),
    .name = "cube_slope",
    .n_inputs = 2,
    .kernels = { [ADZ_F32] = slope_f32 },
    .units = ADZ_UNITS_ELEMENTS,
    .expression = slope_expression };

static adz_status kernel_backward(adz_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *in[] = { adz_node_input_at(node, 0), dy[0] };
    dx[0] = adz_operator_call(&slope_operator, in, 2, NULL, NULL);
    return dx[0] != NULL ? ADZ_OK : adz_error_code();
}

static int call_cube_with_kernels(adz_tensor *const *in, size_t n, adz_tensor **out, void *user)
{
    static adz_operator op;
    (void)n, (void)user;
    op = cube_operator;
    op.backward = kernel_backward;
    out[0] = adz_operator_call(&op, in, 1, NULL, NULL);
    return out[0] != NULL;
}

static void a_backward_with_a_kernel(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(5), ADZ_F64), true);
    adz_gradcheck_function f = { call_cube_with_kernels, NULL };
    adz_gradcheck_options o = ADZ_GRADCHECK_OPTIONS;
    o.f32_tolerance = 1e-4;
    assert_int_equal(adz_gradcheck(&f, &x, 1, &o, NULL), ADZ_OK);
    assert_int_equal(adz_gradgradcheck(&f, &x, 1, NULL, NULL), ADZ_OK);
    adz_scope_close(scope);
}

int calls_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_documented_operator_passes_gradcheck),
        cmocka_unit_test(layouts_and_sizes),
        cmocka_unit_test(units_may_be_cut),
        cmocka_unit_test(several_inputs_and_results),
        cmocka_unit_test(units_are_rows),
        cmocka_unit_test(a_unit_may_be_the_whole_call),
        cmocka_unit_test(gradients_of_an_expression),
        cmocka_unit_test(gradients_that_are_zero),
        cmocka_unit_test(inputs_that_depend_on_each_other),
        cmocka_unit_test(results_share_nothing),
        cmocka_unit_test(a_shorter_struct_goes_on_to_work),
        cmocka_unit_test(a_backward_with_a_kernel),
    };
    return run_group("operator_call: calls", tests, COUNT_OF(tests));
}
