#include "ops/pool.h"

/* p[0 ..] = kernel_size, p[3 ..] = stride (0: the default), p[6] = padding, p[7] = dilation,
 * p[8] = ceil_mode */
static int call(const op_args *a, adz_tensor **out)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    if (a->p[3] != 0) {
        o.stride = ADZ_SHAPE((int64_t)a->p[3], (int64_t)a->p[4], (int64_t)a->p[5]);
    }
    o.padding = ADZ_SHAPE((int64_t)a->p[6]);
    o.dilation = ADZ_SHAPE((int64_t)a->p[7]);
    o.ceil_mode = a->p[8] != 0;
    const adz_shape kernel = ADZ_SHAPE((int64_t)a->p[0], (int64_t)a->p[1], (int64_t)a->p[2]);
    out[0] = adz_max_pool3d(a->in[0], kernel, &o, &out[1]);
    return out[0] != NULL ? 2 : 0;
}

FACT(the_usual_windows)
{
    adz_tensor *x = adz_reshape(adz_arange(0, 48, 1, ADZ_F32), ADZ_SHAPE(1, 2, 4, 6)), *at;
    adz_tensor *y = adz_max_pool3d(x, ADZ_SHAPE(2), NULL, NULL);
    assert_int_equal(adz_tensor_rank(y), 4);
    ASSERT_VALUES(adz_reshape(y, ADZ_SHAPE(6)), ADZ_F32, 31, 33, 35, 43, 45, 47);
    adz_max_pool3d(adz_neg(x), ADZ_SHAPE(2, 3, 2), NULL, &at);
    ASSERT_VALUES(adz_reshape(at, ADZ_SHAPE(3)), ADZ_I64, 0, 2, 4);
}

/* The first of equal elements gets the gradient, slice by slice and row by row. */
FACT(ties_go_to_the_first)
{
    adz_tensor *x = LEAF(1, 1, 1, 1, 1, 3, 3, 3);
    adz_tensor *y = adz_max_pool3d(adz_reshape(x, ADZ_SHAPE(1, 2, 2, 2)), ADZ_SHAPE(2), NULL, NULL);
    for (int expression = 0; expression < 2; ++expression) {
        ASSERT_VALUES(gradient_by(y, x, expression != 0), ADZ_F64, 0, 0, 0, 0, 0, 1, 0, 0);
    }
    x = LEAF(2, 1, 1, 1, 2, 1, 1, 2);
    y = adz_max_pool3d(adz_reshape(x, ADZ_SHAPE(1, 2, 2, 2)), ADZ_SHAPE(2), NULL, NULL);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 1, 0, 0, 0, 0, 0, 0, 0);
}

/* The size of a volume, and the numbers of its windows by slices, rows and columns. */
typedef struct {
    int64_t sizes[3], kernel[3], stride[3], padding[3], dilation[3];
} geometry;

static const geometry geometries[] = {
    { { 4, 4, 15 }, { 2, 2, 2 }, { 2, 2, 2 }, { 0, 0, 0 }, { 1, 1, 1 } },
    { { 5, 9, 11 }, { 3, 3, 3 }, { 2, 2, 2 }, { 1, 1, 1 }, { 1, 1, 1 } }, /* shared elements */
    { { 6, 9, 11 }, { 2, 2, 3 }, { 1, 1, 2 }, { 1, 1, 1 }, { 2, 3, 2 } }, /* searched one by one */
    { { 1, 6, 12 }, { 1, 2, 2 }, { 1, 2, 2 }, { 0, 1, 1 }, { 1, 1, 1 } },
    { { 3, 6, 12 }, { 1, 2, 2 }, { 1, 2, 2 }, { 0, 0, 0 }, { 1, 1, 1 } },
    { { 9, 9, 20 }, { 8, 8, 5 }, { 3, 3, 4 }, { 4, 4, 2 },
        { 1, 1, 1 } }, /* numbers in more bytes */
    { { 2, 2, 2500 }, { 2, 2, 3 }, { 1, 1, 2 }, { 0, 0, 0 }, { 1, 1, 1 } },
};

/* The position of the largest element of window w of a volume, as the operator's comment defines
 * it: the last NaN, or else the first one of the largest. */
static int64_t position_by_definition(const geometry *g, const double *x, const int64_t w[3])
{
    int64_t position = -1;
    for (int64_t k = 0; k < g->kernel[0] * g->kernel[1] * g->kernel[2]; ++k) {
        const int64_t tap[] = { k / g->kernel[2] / g->kernel[1], k / g->kernel[2] % g->kernel[1],
            k % g->kernel[2] };
        int64_t at = 0;
        for (int d = 0; d < 3 && at >= 0; ++d) {
            const int64_t i = w[d] * g->stride[d] - g->padding[d] + tap[d] * g->dilation[d];
            at = i >= 0 && i < g->sizes[d] ? at * g->sizes[d] + i : -1;
        }
        if (at >= 0) {
            position = position < 0 || x[at] > x[position] || isnan(x[at]) ? at : position;
        }
    }
    return position;
}

/* Values, positions and gradients, with and without a graph, agree with the definition. */
static void compare_with_definition(const geometry *g, adz_dtype dtype)
{
    enum { PLANES = 3 };
    const adz_shape shape = ADZ_SHAPE(PLANES, g->sizes[0], g->sizes[1], g->sizes[2]);
    const int64_t volume = g->sizes[0] * g->sizes[1] * g->sizes[2];
    adz_tensor *values = adz_to(adz_randint(0, 3, shape, ADZ_I64), ADZ_F64);
    values = adz_masked_fill(values, adz_lt_number(adz_rand(shape, ADZ_F32), 0.1), NAN);
    values = adz_masked_fill(values, adz_lt_number(adz_rand(shape, ADZ_F32), 0.3), -INFINITY);
    adz_tensor *x = adz_requires_grad_(adz_detach(adz_clone(adz_to(values, dtype))), true);
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = adz_shape_of(3, g->stride);
    o.padding = adz_shape_of(3, g->padding);
    o.dilation = adz_shape_of(3, g->dilation);
    adz_tensor *at, *y = adz_max_pool3d(x, adz_shape_of(3, g->kernel), &o, &at);
    assert_non_null(y);
    const adz_shape out = adz_tensor_shape(y);
    const int64_t *n = out.sizes + 1, windows = n[0] * n[1] * n[2];
    const adz_shape flat = ADZ_SHAPE(PLANES, windows);
    adz_tensor *positions = adz_empty(flat, ADZ_I64);
    for (int64_t u = 0; u < PLANES * windows; ++u) {
        const int64_t i = u % windows;
        const int64_t w[] = { i / n[2] / n[1], i / n[2] % n[1], i % n[2] };
        ((int64_t *)adz_tensor_data(positions))[u] =
            position_by_definition(g, (double *)adz_tensor_data(values) + u / windows * volume, w);
    }
    assert_true(adz_equal(adz_reshape(at, flat), positions));
    adz_tensor *wanted =
        adz_gather(adz_reshape(adz_detach(x), ADZ_SHAPE(PLANES, volume)), 1, positions);
    assert_true(adz_allclose(adz_reshape(adz_detach(y), flat), wanted, 0, 0, true));
    adz_tensor *dy = adz_to(adz_randint(-9, 9, out, ADZ_I64), dtype);
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(PLANES, volume), dtype);
    wanted = adz_scatter_add(zeros, 1, positions, adz_reshape(dy, flat));
    for (int expression = 0; expression < 2; ++expression) {
        adz_backward_options options = ADZ_BACKWARD_OPTIONS;
        options.retain_graph = true;
        options.create_graph = expression != 0;
        adz_tensor *dx;
        assert_int_equal(adz_autograd_grad(&y, &dy, 1, &x, 1, &options, &dx), ADZ_OK);
        assert_true(adz_equal(adz_reshape(dx, ADZ_SHAPE(PLANES, volume)), wanted));
    }
}

FACT(agrees_with_the_definition)
{
    for (size_t i = 0; i < sizeof geometries / sizeof *geometries; ++i) {
        compare_with_definition(&geometries[i], ADZ_F32);
        compare_with_definition(&geometries[i], ADZ_F64);
    }
}

/* Dilated windows whose slices lie in front of x and behind it. */
FACT(padding_alone_gives_minus_infinity)
{
    const double none = -(double)INFINITY;
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.padding = ADZ_SHAPE(1, 0, 0);
    o.dilation = ADZ_SHAPE(3, 1, 1);
    o.stride = ADZ_SHAPE(1);
    adz_tensor *x = LEAF(1, 2, 3, 4, 5, 6), *at;
    adz_tensor *y =
        adz_max_pool3d(adz_reshape(x, ADZ_SHAPE(1, 2, 1, 3)), ADZ_SHAPE(2, 1, 1), &o, &at);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, none, none, none);
    ASSERT_VALUES(adz_flatten(at, 0, -1), ADZ_I64, -1, -1, -1);
    ASSERT_VALUES(gradient_of(y, x), ADZ_F64, 0, 0, 0, 0, 0, 0);
    ASSERT_VALUES(gradient_by_expression(y, x), ADZ_F64, 0, 0, 0, 0, 0, 0);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(the_usual_windows),
    cmocka_unit_test(ties_go_to_the_first),
    cmocka_unit_test(agrees_with_the_definition),
    cmocka_unit_test(padding_alone_gives_minus_infinity),
};

const op_case max_pool3d_case = {
    .name = "max_pool3d",
    .call = call,
    .samples = {
        { .in = { D(1, 2, 4, 4, 2) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 } },
        { .in = { D_T(2, 4, 3, 5) }, .p = { 2, 1, 3, 2, 1, 2, 0, 1 } },
        { .in = { D(2, 3, 4, 5) }, .p = { 3, 2, 3, 2, 2, 1, 1, 1 } },
        { .in = { D(1, 4, 5, 3) }, .p = { 3, 3, 2, 2, 2, 2, 1, 1, 1 } },
        { .in = { D_T(1, 1, 5, 4, 5) }, .p = { 2, 2, 3, 1, 2, 1, 1, 2 } },
        { .in = { D(1, 1, 1, 1) }, .p = { 1, 1, 1, 0, 0, 0, 0, 1 } },
        { .in = { D(0, 2, 4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 } },
        { .in = { D(2, 2, 7, 14, 17) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .large = true },
        { .in = { D(1, 1, 3, 5, 1100) }, .p = { 3, 3, 3, 2, 2, 2, 1, 1 }, .large = true },
    },
    .rejects = {
        { .in = { D(4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "must be [N, C, D, H, W] or [C, D, H, W]" },
        { .in = { D(1, 4, 0, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "dimension 2 of x[1, 4, 0, 4] is empty" },
        { .in = { D(1, 4, 4, 4) }, .p = { 5, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_SHAPE, .says = "does not fit into dimension 1" },
        { .in = { D(1, 4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 2, 1 }, .status = ADZ_ERR_ARGUMENT, .says = "padding 2 is more than half" },
        { .in = { IN_TYPED(ADZ_I64, 1, 4, 4, 4) }, .p = { 2, 2, 2, 0, 0, 0, 0, 1 }, .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x" },
    .outputs = { "y", "indices" },
    .needs_distinct = true,
    .first_order_only = true,
    FACTS(facts),
};
