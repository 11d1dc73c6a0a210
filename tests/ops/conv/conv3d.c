#include "ops/conv/conv.h"

static int call(const op_args *a, adz_tensor **out)
{
    return conv_case(adz_conv3d, a, out);
}

/* ---- compared with images -------------------------------------------------------------------- */

/* The geometry of a convolution, by depth, height and width. */
typedef struct volumes {
    int64_t n, groups, channels, maps; /* channels and maps per group */
    int64_t big[3], kernel[3], stride[3], padding[3], dilation[3];
} volumes;

/* Slice `at` of x[N, C, D, H, W]; zeros outside. */
static adz_tensor *slice_at(adz_tensor *x, int64_t at)
{
    return at >= 0 && at < adz_tensor_size(x, 2) ? adz_select(x, 2, at)
                                                 : adz_mul_number(adz_select(x, 2, 0), 0);
}

/* The convolution as sums of convolutions of images, one for each slice of the kernel. */
static adz_tensor *by_images(adz_tensor *x, adz_tensor *w, const volumes *v)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = adz_shape_of(2, v->stride + 1);
    o.padding = adz_shape_of(2, v->padding + 1);
    o.dilation = adz_shape_of(2, v->dilation + 1);
    o.groups = v->groups;
    const int64_t reach = v->dilation[0] * (v->kernel[0] - 1) + 1;
    const int64_t depth = (v->big[0] + 2 * v->padding[0] - reach) / v->stride[0] + 1;
    adz_tensor *slices[64];
    for (int64_t q = 0; q < depth; ++q) {
        for (int64_t t = 0; t < v->kernel[0]; ++t) {
            const int64_t at = q * v->stride[0] + t * v->dilation[0] - v->padding[0];
            adz_tensor *part = adz_conv2d(slice_at(x, at), adz_select(w, 2, t), ADZ_NONE, &o);
            slices[q] = t == 0 ? part : adz_add(slices[q], part);
        }
    }
    return adz_stack(slices, (size_t)depth, 2);
}

/* Compares the convolution and its two gradients, and those of the gradient. */
static void expect_images(const volumes *v)
{
    adz_scope *scope = adz_scope_open();
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = adz_shape_of(3, v->stride);
    o.padding = adz_shape_of(3, v->padding);
    o.dilation = adz_shape_of(3, v->dilation);
    o.groups = v->groups;
    const int64_t *b = v->big, *k = v->kernel;
    adz_tensor *leaf[2] = { adz_randn(ADZ_SHAPE(v->n, v->groups * v->channels, b[0], b[1], b[2]),
                                ADZ_F64),
        adz_randn(ADZ_SHAPE(v->groups * v->maps, v->channels, k[0], k[1], k[2]), ADZ_F64) };
    adz_requires_grad_(leaf[0], true);
    adz_requires_grad_(leaf[1], true);
    adz_tensor *y = adz_conv3d(leaf[0], leaf[1], ADZ_NONE, &o);
    adz_tensor *other = by_images(leaf[0], leaf[1], v), *d[2], *e[2];
    assert_non_null(y);
    assert_true(adz_allclose(y, other, 1e-12, 1e-11, false));
    adz_tensor *dy = adz_randn(adz_tensor_shape(y), ADZ_F64);
    assert_int_equal(adz_autograd_grad(&y, &dy, 1, leaf, 2, NULL, d), ADZ_OK);
    assert_int_equal(adz_autograd_grad(&other, &dy, 1, leaf, 2, NULL, e), ADZ_OK);
    for (int i = 0; i < 2; ++i) {
        if (!adz_allclose(d[i], e[i], 1e-12, 1e-11, false)) {
            fail_msg("gradient %d with %d channels, stride %d, dilation %d", i, (int)v->channels,
                (int)v->stride[0], (int)v->dilation[0]);
        }
    }
    adz_scope_close(scope);
}

/* Strides, dilations and paddings, also beyond the volume, of all dimensions in turn. */
FACT(every_geometry_is_that_of_images)
{
    adz_manual_seed(3);
    for (int i = 0; i < 3 * 3 * 3 * 3; ++i) {
        const volumes v = { .n = 2,
            .groups = 1 + i % 2,
            .channels = 1 + i % 3,
            .maps = 1 + i % 5,
            .big = { 5 + i % 3, 7, 9 },
            .kernel = { 1 + i / 3 % 3, 1 + i % 3, 2 },
            .stride = { 1 + i / 9 % 3, 1 + i / 3 % 3, 1 + i / 27 },
            .padding = { i / 27 * 2, i % 3, i % 4 },
            .dilation = { 1 + i % 2, 1 + i / 9 % 3, 1 + i / 3 % 3 } };
        expect_images(&v);
    }
}

/* More channels, maps, positions and taps than a block, a range or a task holds. */
FACT(blocks_and_ranges_are_joined)
{
    static const volumes all[] = {
        { 2, 1, 30, 5, { 4, 9, 11 }, { 3, 3, 3 }, { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } },
        { 1, 2, 2, 140, { 3, 5, 5 }, { 2, 2, 2 }, { 1, 1, 1 }, { 0, 1, 0 }, { 1, 1, 1 } },
        { 1, 1, 2, 3, { 9, 9, 30 }, { 7, 8, 9 }, { 2, 1, 2 }, { 6, 7, 8 }, { 1, 1, 1 } },
        { 1, 1, 1, 2, { 2, 2, 2 }, { 7, 6, 5 }, { 1, 2, 1 }, { 6, 5, 4 }, { 1, 1, 1 } },
        { 40, 1, 3, 7, { 2, 3, 3 }, { 2, 3, 3 }, { 1, 1, 1 }, { 1, 1, 1 }, { 1, 1, 1 } },
        { 2, 3, 1, 2, { 6, 8, 31 }, { 3, 3, 5 }, { 2, 2, 2 }, { 1, 1, 1 }, { 1, 1, 1 } },
    };
    adz_manual_seed(4);
    for (size_t i = 0; i < sizeof all / sizeof *all; ++i) {
        expect_images(&all[i]);
    }
}

/* The zeros of the padding are elements of x: a weight that is infinite or NaN reaches the results
 * that read them. A slice of the kernel that lies outside x is such a case. */
FACT(padding_is_made_of_zeros)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    adz_manual_seed(5);
    for (int i = 0; i < 40; ++i) {
        adz_scope *scope = adz_scope_open();
        const adz_shape kernel = i % 2 != 0 ? ADZ_SHAPE(2, 2, 7, 6, 5) : ADZ_SHAPE(2, 2, 2, 3, 2);
        adz_tensor *x = adz_randn(ADZ_SHAPE(1, 2, 3, 3, 2), ADZ_F64);
        adz_tensor *w = adz_randn(kernel, ADZ_F64);
        adz_tensor_data_f64(w)[i * 41 % adz_tensor_numel(w)] = i % 3 == 0 ? NAN : INFINITY;
        const int64_t p = i % 2 != 0 ? 6 : 1, around[] = { p, p, p, p, p, p };
        o.padding = ADZ_SHAPE(p);
        adz_tensor *y = adz_conv3d(x, w, ADZ_NONE, &o);
        o.padding = ADZ_SHAPE(0);
        adz_tensor *padded = adz_pad(x, around, 6, 0);
        assert_true(adz_allclose(y, adz_conv3d(padded, w, ADZ_NONE, &o), 1e-12, 1e-11, true));
        adz_scope_close(scope);
    }
}

FACT(same_keeps_the_size)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    o.dilation = ADZ_SHAPE(1, 2, 3);
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 4, 5, 6), ADZ_F32);
    adz_tensor *y = adz_conv3d(x, adz_ones(ADZ_SHAPE(1, 1, 2, 3, 2), ADZ_F32), ADZ_NONE, &o);
    assert_true(adz_tensor_size(y, 1) == 4 && adz_tensor_size(y, 2) == 5);
    assert_int_equal(adz_tensor_size(y, 3), 6);
    ASSERT_REFUSED(adz_conv3d(x, adz_ones(ADZ_SHAPE(1, 1, 2, 2), ADZ_F32), ADZ_NONE, NULL),
        ADZ_ERR_SHAPE, "[out, in / groups, KD, KH, KW]");
    o.dilation = ADZ_SHAPE(1, 2);
    ASSERT_REFUSED(adz_conv3d(x, adz_ones(ADZ_SHAPE(1, 1, 2, 2, 2), ADZ_F32), ADZ_NONE, &o),
        ADZ_ERR_ARGUMENT, "dilation has 2 numbers, but needs 1 for all dimensions or 3");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_geometry_is_that_of_images),
    cmocka_unit_test(blocks_and_ranges_are_joined),
    cmocka_unit_test(padding_is_made_of_zeros),
    cmocka_unit_test(same_keeps_the_size),
};

const op_case conv3d_case = {
    .name = "conv3d",
    .call = call,
    .samples = {
        { .in = { IN(2, 2, 3, 4, 3), IN(2, 2, 2, 3, 2), IN(2) }, .p = { [PADDING] = 1 } },
        { .in = { IN_T(1, 2, 4, 3, 4), IN_T(3, 2, 2, 2, 2), IN_NONE }, .p = { [STRIDE] = 2, 1 } },
        { .in = { IN(2, 5, 5, 4), IN(2, 2, 2, 2, 2), IN(2) }, .p = { [DILATION] = 3, 2 } },
        { .in = { IN(1, 4, 2, 3, 3), IN(4, 2, 3, 3, 3), IN(4) },
            .p = { [GROUPS] = 2, [PADDING] = 2, 1 } },
        { .in = { IN(2, 3, 3, 2, 4), IN(3, 1, 3, 2, 2), IN(3) },
            .p = { [GROUPS] = 3, [PADDING] = 1, [STRIDE] = 2 } },
        { .in = { IN(2, 3, 2, 3, 2), IN(2, 3, 1, 1, 1), IN(2) } },
        { .in = { IN(1, 2, 2, 3, 3), IN(2, 2, 2, 2, 2), IN(2) }, .p = { [RULE] = ADZ_PADDING_SAME } },
        { .in = { IN(0, 2, 3, 3, 3), IN(2, 2, 2, 2, 2), IN(2) } },
        { .in = { IN(2, 0, 3, 3, 3), IN(2, 0, 2, 2, 2), IN(2) } },
        { .in = { IN(2, 8, 5, 12, 13), IN(30, 8, 3, 3, 3), IN(30) }, .p = { [PADDING] = 1 },
            .large = true },
        { .in = { IN(2, 6, 7, 10, 15), IN(12, 1, 3, 3, 5), IN(12) },
            .p = { [STRIDE] = 2, 1, [GROUPS] = 6 }, .large = true },
    },
    .rejects = {
        { .in = { IN(1, 2, 0, 2, 2), IN(1, 2, 2, 2, 2), IN(1) }, .p = { [PADDING] = 1 },
            .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(1, 1, 3, 5, 5), IN(1, 1, 5, 5, 5), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "spans 5 elements, but dimension -3 of the input has 3" },
        { .in = { IN(4, 4, 4), IN(1, 1, 2, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "it is [N, C, D, H, W] or [C, D, H, W]" },
        { .in = { IN(1, 1, 4, 4, 4), IN(2, 1, 2, 2, 2), IN_NONE }, .p = { [OUTPUT_PADDING] = 1 },
            .status = ADZ_ERR_ARGUMENT, .says = "transposed" },
        { .in = { IN_TYPED(ADZ_I64, 1, 1, 4, 4, 4), IN(2, 1, 2, 2, 2), IN_NONE },
            .status = ADZ_ERR_DTYPE },
    },
    .inputs = { "x", "weight", "bias" },
    .config = conv_config,
    FACTS(facts),
};
