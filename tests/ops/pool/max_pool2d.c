#include "ops/pool.h"

static int call(const op_args *a, adz_tensor **out)
{
    adz_max_pool_options o = max_pool_options_of(a, 2);
    out[0] = adz_max_pool2d(a->in[0], pool_pair(a->p, 2), &o, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

static bool config(const json_t *config, op_args *a)
{
    config_max_pool(config, a, 2);
    return true;
}

FACT(the_usual_windows)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 24, 1, ADZ_F32), ADZ_SHAPE(1, 4, 6)), *positions;
    adz_tensor *y = adz_max_pool2d(x, ADZ_SHAPE(2), NULL, NULL);
    assert_int_equal(adz_tensor_rank(y), 3);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F32, 7, 9, 11, 19, 21, 23);
    adz_max_pool2d(x, ADZ_SHAPE(3, 2), NULL, &positions);
    ASSERT_VALUES(adz_reshape(positions, ADZ_SHAPE(3)), ADZ_I64, 13, 15, 17);
}

/* The first of equal elements gets the gradient, row by row, as does the first of -inf. */
FACT(ties_go_to_the_first)
{
    adz_tensor *x = LEAF(1, 3, 3, 1, 2, 2, 2, 2);
    adz_tensor *images = adz_reshape(x, ADZ_SHAPE(2, 2, 2)), *y;
    for (int expression = 0; expression < 2; ++expression) {
        y = adz_max_pool2d(images, ADZ_SHAPE(2), NULL, NULL);
        ASSERT_VALUES(gradient_by(y, x, expression != 0), ADZ_F64, 0, 1, 0, 0, 1, 0, 0, 0);
    }
    x = LEAF(-INFINITY, -INFINITY, -INFINITY, -INFINITY);
    y = adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 2, 2)), ADZ_SHAPE(2), NULL, NULL);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 0, 0, 0);
    adz_tensor *positions;
    adz_max_pool2d(
        adz_full(ADZ_SHAPE(1, 4, 4), -INFINITY, ADZ_F32), ADZ_SHAPE(2), NULL, &positions);
    ASSERT_VALUES(adz_reshape(positions, ADZ_SHAPE(4)), ADZ_I64, 0, 2, 8, 10);
}

FACT(nan_is_the_largest)
{
    adz_tensor *x = LEAF(1, NAN, 3, 4, 5, 6, 7, 8), *images = adz_reshape(x, ADZ_SHAPE(1, 2, 4));
    adz_tensor *y = adz_max_pool2d(images, ADZ_SHAPE(2), NULL, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F64, NAN, 8);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 1, 0, 0, 0, 0, 0, 1);
    y = adz_max_pool2d(images, ADZ_SHAPE(2, 4), NULL, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(1)), ADZ_F64, NAN);
}

/* Windows share elements if they overlap, and then the gradients add up. */
FACT(gradients_of_shared_elements_add_up)
{
    adz_tensor *x = LEAF(0, 9, 0, 0);
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(1);
    adz_tensor *y = adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 1, 4)), ADZ_SHAPE(1, 2), &o, NULL);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 2, 1, 0);
}

/* The size of an image, and the numbers of its windows by rows and columns. */
typedef struct {
    int64_t sizes[2], kernel[2], stride[2], padding[2], dilation[2];
} geometry;

static const geometry geometries[] = {
    { { 4, 15 }, { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 } }, /* four windows at a time, and a rest */
    { { 4, 40 }, { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 } },
    { { 2, 41 }, { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 } }, /* a single row of windows */
    { { 9, 3 }, { 2, 2 }, { 2, 2 }, { 0, 0 }, { 1, 1 } },  /* a single column of them */
    { { 2, 3 }, { 3, 2 }, { 5, 2 }, { 1, 0 }, { 1, 1 } },  /* a single one, padded */
    { { 2, 2 }, { 3, 3 }, { 3, 3 }, { 1, 1 }, { 1, 1 } },
    { { 9, 11 }, { 3, 3 }, { 2, 2 }, { 1, 1 }, { 1, 1 } }, /* shared elements */
    { { 9, 11 }, { 3, 2 }, { 1, 1 }, { 0, 1 }, { 1, 1 } },
    { { 9, 11 }, { 2, 3 }, { 1, 2 }, { 1, 1 }, { 3, 2 } }, /* searched position by position */
    { { 6, 12 }, { 2, 2 }, { 2, 2 }, { 1, 1 }, { 1, 1 } },
    { { 24, 40 }, { 16, 16 }, { 3, 4 }, { 8, 8 }, { 1, 1 } }, /* numbers in one byte */
    { { 24, 40 }, { 16, 17 }, { 3, 4 }, { 8, 8 }, { 1, 1 } }, /* numbers in more */
    { { 3, 2500 }, { 2, 3 }, { 1, 2 }, { 0, 0 }, { 1, 1 } },  /* longer than the buffer */
    { { 2, 2500 }, { 2, 1200 }, { 1, 700 }, { 0, 0 }, { 1, 1 } },
};

/* The position of the largest element of window (i, j) of an image, as the operator's comment
 * defines it: the last NaN, or else the first one of the largest. */
static int64_t position_by_definition(const geometry *g, const double *x, int64_t i, int64_t j)
{
    int64_t position = -1;
    for (int64_t k = 0; k < g->kernel[0]; ++k) {
        for (int64_t l = 0; l < g->kernel[1]; ++l) {
            const int64_t h = i * g->stride[0] - g->padding[0] + k * g->dilation[0];
            const int64_t w = j * g->stride[1] - g->padding[1] + l * g->dilation[1];
            if (h >= 0 && h < g->sizes[0] && w >= 0 && w < g->sizes[1]) {
                const int64_t at = h * g->sizes[1] + w;
                position = position < 0 || x[at] > x[position] || isnan(x[at]) ? at : position;
            }
        }
    }
    return position;
}

/* Values, positions and gradients, with and without a graph, agree with the definition. */
static void compare_with_definition(const geometry *g, adz_dtype dtype)
{
    enum { PLANES = 3 };
    const adz_shape shape = ADZ_SHAPE(PLANES, g->sizes[0], g->sizes[1]);
    const int64_t plane = g->sizes[0] * g->sizes[1];
    adz_tensor *values = adz_to(adz_randint(0, 3, shape, ADZ_I64), ADZ_F64);
    values = adz_masked_fill(values, adz_lt_number(adz_rand(shape, ADZ_F32), 0.1), NAN);
    values = adz_masked_fill(values, adz_lt_number(adz_rand(shape, ADZ_F32), 0.3), -INFINITY);
    adz_tensor *x = adz_requires_grad_(adz_detach(adz_clone(adz_to(values, dtype))), true);
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = adz_shape_of(2, g->stride);
    o.padding = adz_shape_of(2, g->padding);
    o.dilation = adz_shape_of(2, g->dilation);
    adz_tensor *at, *same, *y = adz_max_pool2d(x, adz_shape_of(2, g->kernel), &o, &at);
    adz_tensor *plain = adz_max_pool2d(adz_detach(x), adz_shape_of(2, g->kernel), &o, NULL);
    adz_max_pool2d(adz_detach(x), adz_shape_of(2, g->kernel), &o, &same);
    assert_true(adz_equal(at, same));
    const int64_t rows = adz_tensor_size(y, 1), columns = adz_tensor_size(y, 2);
    const adz_shape flat = ADZ_SHAPE(PLANES, rows * columns);
    adz_tensor *positions = adz_empty(flat, ADZ_I64);
    for (int64_t u = 0; u < PLANES * rows * columns; ++u) {
        const int64_t window = u % (rows * columns);
        ((int64_t *)adz_tensor_data(positions))[u] = position_by_definition(g,
            (double *)adz_tensor_data(values) + u / (rows * columns) * plane, window / columns,
            window % columns);
    }
    assert_true(adz_equal(adz_reshape(at, flat), positions));
    adz_tensor *wanted =
        adz_gather(adz_reshape(adz_detach(x), ADZ_SHAPE(PLANES, plane)), 1, positions);
    assert_true(adz_allclose(adz_reshape(adz_detach(y), flat), wanted, 0, 0, true));
    assert_true(adz_allclose(adz_reshape(plain, flat), wanted, 0, 0, true));
    /* Small integers, whose sums have no rounding: the order of the additions is free. */
    adz_tensor *dy = adz_to(adz_randint(-9, 9, ADZ_SHAPE(PLANES, rows, columns), ADZ_I64), dtype);
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(PLANES, plane), dtype);
    wanted = adz_scatter_add(zeros, 1, positions, adz_reshape(dy, flat));
    for (int expression = 0; expression < 2; ++expression) {
        adz_backward_options options = ADZ_BACKWARD_OPTIONS;
        options.retain_graph = true;
        options.create_graph = expression != 0;
        adz_tensor *dx;
        assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, &options, &dx), ADZ_OK);
        assert_true(adz_equal(adz_reshape(dx, ADZ_SHAPE(PLANES, plane)), wanted));
    }
}

FACT(agrees_with_the_definition)
{
    for (size_t i = 0; i < sizeof geometries / sizeof *geometries; ++i) {
        compare_with_definition(&geometries[i], ADZ_F32);
        compare_with_definition(&geometries[i], ADZ_F64);
    }
}

/* The node keeps a byte per result, and x ends with its last owner. */
FACT(x_is_not_saved)
{
    adz_tensor *leaf = LEAF(1, 2, 3, 4),
               *x = adz_mul_number(adz_reshape(leaf, ADZ_SHAPE(1, 2, 2)), 2);
    adz_tensor *y = adz_max_pool2d(x, ADZ_SHAPE(2), NULL, NULL);
    adz_fill_(x, 7); /* a saved x would make the backward fail */
    ASSERT_VALUES(gradient_of(y, leaf), ADZ_F64, 0, 0, 0, 2);
}

/* A row that is longer than the buffer of the kernel, and a window that is. */
FACT(long_rows_are_cut)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 5000, 1, ADZ_F32), ADZ_SHAPE(1, 1, 5000));
    adz_tensor *y = adz_max_pool2d(x, ADZ_SHAPE(1, 5), NULL, NULL);
    adz_tensor *expected = adz_arange(4, 5000, 5, ADZ_F32);
    assert_true(adz_equal(adz_reshape(y, ADZ_SHAPE(1000)), expected));
    y = adz_max_pool2d(x, ADZ_SHAPE(1, 2500), NULL, NULL);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(2)), ADZ_F32, 2499, 4999);
}

FACT(options_and_sizes_are_checked)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 4, 4), ADZ_F32);
    adz_max_pool_options o;
    adz_max_pool_options_init(&o, sizeof o);
    o.size = 0;
    ASSERT_REFUSED(adz_max_pool2d(x, ADZ_SHAPE(2), &o, NULL), ADZ_ERR_ARGUMENT, "size is 0");
    ASSERT_REFUSED(adz_max_pool2d(x, ADZ_SHAPE(1, 2, 3), NULL, NULL), ADZ_ERR_ARGUMENT,
        "kernel_size has 3 numbers");
    ASSERT_REFUSED(
        adz_max_pool2d(x, ADZ_SHAPE_SCALAR, NULL, NULL), ADZ_ERR_ARGUMENT, "has 0 numbers");
}

/* Dilated windows whose positions lie in front of x and behind it: all of them in one dimension,
 * and some of them in the other. PyTorch gives -infinity; its indices are positions outside x. */
FACT(padding_alone_gives_minus_infinity)
{
    const double none = -(double)INFINITY;
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.padding = ADZ_SHAPE(2);
    o.dilation = ADZ_SHAPE(5);
    o.stride = ADZ_SHAPE(1);
    adz_tensor *x = LEAF(1, 2, 3, 4, 5, 6), *positions;
    adz_tensor *y =
        adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 2, 3)), ADZ_SHAPE(2), &o, &positions);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, none, none);
    ASSERT_VALUES(adz_flatten(positions, 0, -1), ADZ_I64, -1, -1);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 0, 0, 0, 0);
    ASSERT_VALUES(gradient_by_expression(y, x), ADZ_F64, 0, 0, 0, 0, 0, 0);
    o.padding = ADZ_SHAPE(0, 1);
    o.dilation = ADZ_SHAPE(1, 4);
    y = adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 2, 3)), ADZ_SHAPE(2), &o, &positions);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, none);
    y = adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 1, 6)), ADZ_SHAPE(1, 2), &o, &positions);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 4, 5, 6, 3);
    o.padding = ADZ_SHAPE(1, 0);
    o.dilation = ADZ_SHAPE(3, 1);
    y = adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 2, 3)), ADZ_SHAPE(2, 1), &o, &positions);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, none, none, none);
    y = adz_max_pool2d(adz_reshape(x, ADZ_SHAPE(1, 3, 2)), ADZ_SHAPE(2, 1), &o, &positions);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 5, 6, 1, 2);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_usual_windows),
    cmocka_unit_test(ties_go_to_the_first),
    cmocka_unit_test(nan_is_the_largest),
    cmocka_unit_test(gradients_of_shared_elements_add_up),
    cmocka_unit_test(agrees_with_the_definition),
    cmocka_unit_test(x_is_not_saved),
    cmocka_unit_test(long_rows_are_cut),
    cmocka_unit_test(padding_alone_gives_minus_infinity),
    cmocka_unit_test(options_and_sizes_are_checked),
};

const op_case max_pool2d_case = {
    .name = "max_pool2d",
    .call = call,
    .samples = {
        { .in = { D(2, 2, 4, 6) }, .p = { 2, 2, 0, 0, 0, 0, 1, 1 } },
        { .in = { D_T(2, 5, 7) }, .p = { 2, 2, 2, 2, 0, 0, 1, 1 } },
        { .in = { D(2, 6, 5) }, .p = { 3, 2, 2, 1, 1, 1, 1, 1 } },
        { .in = { D(1, 7, 6) }, .p = { 3, 3, 2, 2, 1, 0, 1, 1, 1 } },
        { .in = { D_T(2, 1, 7, 8) }, .p = { 2, 3, 1, 2, 1, 1, 3, 2 } },
        { .in = { D(1, 1, 1) }, .p = { 1, 1, 0, 0, 0, 0, 1, 1 } },
        { .in = { D(0, 2, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1, 1 } },
        { .in = { D(2, 3, 3) }, .p = { 5, 5, 2, 2, 2, 2, 1, 1 } },
        { .in = { D(3, 2, 34, 37) }, .p = { 2, 2, 0, 0, 0, 0, 1, 1 }, .large = true },
        { .in = { D(1, 2, 5, 1100) }, .p = { 3, 3, 2, 2, 1, 1, 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { D(4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, H, W] or [C, H, W]" },
        { .in = { D(1, 4, 0) }, .p = { 2, 2, 0, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "dimension 2 of x[1, 4, 0] is empty" },
        { .in = { D(1, 4, 4) }, .p = { 5, 2, 0, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_SHAPE, .says = "window of 5 positions" },
        { .in = { D(1, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 4, 1 }, .status = ADZ_ERR_SHAPE, .says = "dilation 4) does not fit into dimension 1" },
        { .in = { D(1, 4, 4) }, .p = { 2, 2, 1, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "stride is [1, 0], but each size must be in [1, 2147483647]" },
        { .in = { D(1, 4, 4) }, .p = { 2, 2, 1, 1, 2, 0, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "padding 2 is more than half" },
        { .in = { D(1, 4, 4) }, .p = { 0, 2, 0, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "kernel_size is [0, 2]" },
        { .in = { D(1, 4, 4) }, .p = { 2, 2, 0, 0, -1, 0, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "padding is [-1, 0]" },
        { .in = { D(1, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "dilation is [0, 1]" },
        { .in = { D(1, 4, 4) }, .p = { 4e9, 2, 0, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "2147483647" },
        { .in = { IN_TYPED(ADZ_I64, 1, 4, 4) }, .p = { 2, 2, 0, 0, 0, 0, 1, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "max_pool2d" },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .config = config,
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
