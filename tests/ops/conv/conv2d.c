#include "ops/conv/conv.h"

static int call(const op_args *a, adz_tensor **out)
{
    return conv_case(adz_conv2d, a, out);
}

/* ---- compared with a plain loop -------------------------------------------------------------- */

typedef struct images {
    const double *big, *weight, *small;
    double *to[3];
} images;

static void add_products(void *user, int64_t big, int64_t weight, int64_t small)
{
    images *all = user;
    all->to[0][big] += all->weight[weight] * all->small[small];
    all->to[1][weight] += all->big[big] * all->small[small];
    all->to[2][small] += all->big[big] * all->weight[weight];
}

/* Compares the convolution and its two gradients with the loop, whatever kernels compute them. */
static void expect_plain(const conv_plain *c)
{
    adz_scope *scope = adz_scope_open();
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = adz_shape_of(2, c->stride);
    o.padding = adz_shape_of(2, c->padding);
    o.dilation = adz_shape_of(2, c->dilation);
    o.groups = c->groups;
    const adz_shape shapes[3] = { ADZ_SHAPE(c->n, c->groups * c->channels, c->big[0], c->big[1]),
        ADZ_SHAPE(c->groups * c->maps, c->channels, c->kernel[0], c->kernel[1]),
        ADZ_SHAPE(c->n, c->groups * c->maps, c->small[0], c->small[1]) };
    adz_tensor *t[3], *expected[3], *found[3];
    for (int i = 0; i < 3; ++i) {
        t[i] = adz_randn(shapes[i], ADZ_F64);
        expected[i] = adz_zeros(shapes[i], ADZ_F64);
    }
    adz_requires_grad_(t[0], true);
    adz_requires_grad_(t[1], true);
    images all = { adz_tensor_data_f64(t[0]), adz_tensor_data_f64(t[1]), adz_tensor_data_f64(t[2]),
        { adz_tensor_data_f64(expected[0]), adz_tensor_data_f64(expected[1]),
            adz_tensor_data_f64(expected[2]) } };
    conv_each(c, add_products, &all);
    found[2] = adz_conv2d(t[0], t[1], ADZ_NONE, &o);
    if (adz_autograd_grad(&found[2], &t[2], 1, t, 2, NULL, found) != ADZ_OK) {
        fail_msg("%s", adz_error_message());
    }
    for (int i = 0; i < 3; ++i) {
        if (!adz_allclose(found[i], expected[i], 1e-12, 1e-11, false)) {
            fail_msg("tensor %d with %d channels, %d maps, stride %d, dilation %d", i,
                (int)c->channels, (int)c->maps, (int)c->stride[0], (int)c->dilation[0]);
        }
    }
    adz_scope_close(scope);
}

static void size_small(conv_plain *c)
{
    for (int d = 0; d < 2; ++d) {
        c->small[d] = (c->big[d] + 2 * c->padding[d] - c->dilation[d] * (c->kernel[d] - 1) - 1) /
                          c->stride[d] +
                      1;
    }
}

/* Strides, dilations and paddings beyond the image, of both dimensions in turn. A stride above the
 * kernel leaves elements of the input without a gradient. */
FACT(every_geometry_is_that_of_a_loop)
{
    adz_manual_seed(3);
    for (int i = 0; i < 3 * 3 * 3 * 3; ++i) {
        conv_plain c = { .n = 2,
            .groups = 1 + i % 2,
            .channels = 1 + i % 3,
            .maps = 1 + i % 5,
            .big = { 7, 9 },
            .kernel = { 1 + i % 3, 2 },
            .stride = { 1 + i / 3 % 3, 1 + i / 9 % 3 },
            .padding = { i / 27 * 2, i % 4 },
            .dilation = { 1 + i / 9 % 3, 1 + i / 3 % 3 } };
        size_small(&c);
        expect_plain(&c);
    }
}

/* The taps of a phase are found by the common divisor of stride and dilation. */
FACT(strides_and_dilations_may_have_a_common_divisor)
{
    adz_manual_seed(5);
    for (int i = 0; i < 6 * 6; ++i) {
        conv_plain c = { .n = 1,
            .groups = 1,
            .channels = 2,
            .maps = 1,
            .big = { 29, 31 },
            .kernel = { 5, 4 },
            .stride = { 1 + i % 6, 12 - i % 6 },
            .padding = { i % 3, 7 },
            .dilation = { 1 + i / 6, 8 - i / 6 } };
        size_small(&c);
        expect_plain(&c);
    }
}

/* More channels, maps and positions than a block, a range or a task holds. */
FACT(blocks_and_ranges_are_joined)
{
    static const conv_plain sizes[] = {
        { .n = 3, .groups = 1, .channels = 30, .maps = 5, .big = { 9, 11 }, .kernel = { 3, 3 } },
        { .n = 1, .groups = 2, .channels = 2, .maps = 140, .big = { 5, 5 }, .kernel = { 2, 2 } },
        { .n = 1, .groups = 1, .channels = 2, .maps = 3, .big = { 14, 30 }, .kernel = { 12, 13 } },
        { .n = 70, .groups = 1, .channels = 3, .maps = 7, .big = { 3, 3 }, .kernel = { 3, 3 } },
        { .n = 1, .groups = 3, .channels = 1, .maps = 2, .big = { 2, 1100 }, .kernel = { 1, 80 } },
        { .n = 2, .groups = 3, .channels = 1, .maps = 2, .big = { 50, 301 }, .kernel = { 3, 5 } },
        { .n = 1, .groups = 2, .channels = 1, .maps = 1, .big = { 6, 32 }, .kernel = { 3, 3 } },
        { .n = 1, .groups = 2, .channels = 1, .maps = 1, .big = { 1, 100 }, .kernel = { 3, 5 } },
        { .n = 2, .groups = 2, .channels = 1, .maps = 1, .big = { 2, 96 }, .kernel = { 3, 3 } },
        { .n = 1, .groups = 1, .channels = 1, .maps = 2, .big = { 7, 45 }, .kernel = { 3, 2 } },
        { .n = 1, .groups = 1, .channels = 3, .maps = 5, .big = { 9, 45 }, .kernel = { 3, 3 } },
        { .n = 1, .groups = 1, .channels = 2, .maps = 5, .big = { 4, 64 }, .kernel = { 2, 4 } },
    };
    adz_manual_seed(4);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        for (int stride = 1; stride < 3; ++stride) {
            conv_plain c = sizes[i];
            for (int d = 0; d < 2; ++d) {
                c.stride[d] = stride;
                c.padding[d] = 1;
                c.dilation[d] = 1;
            }
            size_small(&c);
            expect_plain(&c);
        }
    }
}

/* An image of one column is a signal along the height, also in groups of one channel. */
FACT(an_image_may_have_one_column)
{
    adz_manual_seed(7);
    for (int i = 0; i < 2 * 3 * 3; ++i) {
        conv_plain c = { .n = 3,
            .groups = 1 + i % 2,
            .channels = i % 2 == 0 ? 5 : 1,
            .maps = 3,
            .big = { 90, 1 },
            .kernel = { 3 + i % 3, 1 },
            .stride = { 1 + i / 6, 1 + i % 3 },
            .padding = { i % 4, i / 9 * 2 },
            .dilation = { 1 + i / 2 % 3, 1 } };
        size_small(&c);
        expect_plain(&c);
    }
}

/* A kernel of so many taps is computed in ranges of them, and a range that reads nothing but zeros
 * is passed over. The image has one or two elements, so that most positions read a single tap. */
FACT(no_range_that_reads_something_is_passed_over)
{
    adz_manual_seed(6);
    for (int i = 0; i < 12 * 10; ++i) {
        conv_plain c = { .n = 1,
            .groups = 1,
            .channels = 2,
            .maps = 1,
            .big = { 1 + i % 2, 1 + i % 3 / 2 },
            .kernel = { 13, 11 },
            .stride = { 1 + i % 12, 1 + i / 12 },
            .padding = { 12, 10 },
            .dilation = { 1, 1 } };
        size_small(&c);
        expect_plain(&c);
        c.dilation[i % 2] = 2;
        c.padding[i % 2] *= 2;
        size_small(&c);
        expect_plain(&c);
    }
}

/* The image is one element. Of each block of positions and each range of taps, only the last
 * position and the last tap reach it for some padding. Kernels have one row and three. */
FACT(a_range_is_computed_for_its_last_tap)
{
    adz_manual_seed(9);
    for (int i = 0; i < 3 * 100; ++i) {
        conv_plain c = { .n = 1,
            .groups = 1,
            .channels = 2,
            .maps = 1,
            .big = { 1, 1 },
            .kernel = { 1, 201 },
            .stride = { 1, 1 + 2 * (i / 100) },
            .padding = { 0, 101 + i % 100 },
            .dilation = { 1, 1 } };
        size_small(&c);
        expect_plain(&c);
    }
    for (int i = 0; i < 3 * 66; ++i) {
        conv_plain c = { .n = 1,
            .groups = 1,
            .channels = 2,
            .maps = 1,
            .big = { 1, 1 },
            .kernel = { 3, 70 },
            .stride = { 1, 1 },
            .padding = { 2 + i % 3, 69 + i / 3 },
            .dilation = { 1 + i % 2, 1 } };
        size_small(&c);
        expect_plain(&c);
    }
}

/* Kernels of more taps than a frame takes, strides that are too large for one, and rows that are
 * longer than the part of a row that is computed at a time. */
FACT(single_channels_need_no_frame)
{
    static const conv_plain sizes[] = {
        { .big = { 13, 24 }, .kernel = { 10, 9 }, .stride = { 1, 1 }, .dilation = { 1, 2 } },
        { .big = { 25, 22 }, .kernel = { 9, 8 }, .stride = { 2, 1 }, .dilation = { 2, 1 } },
        { .big = { 12, 1310 }, .kernel = { 8, 9 }, .stride = { 3, 2 }, .dilation = { 1, 3 } },
        { .big = { 12, 40 }, .kernel = { 3, 3 }, .stride = { 2, 9 }, .dilation = { 2, 2 } },
        { .big = { 3, 9000 }, .kernel = { 2, 3 }, .stride = { 1, 1 }, .dilation = { 2, 4 } },
        { .big = { 3, 9000 }, .kernel = { 3, 2 }, .stride = { 2, 2 }, .dilation = { 1, 3 } },
    };
    adz_manual_seed(8);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        conv_plain c = sizes[i];
        c.n = 2;
        c.groups = 2;
        c.channels = 1;
        c.maps = 1 + i % 2;
        c.padding[0] = 1;
        c.padding[1] = 2;
        size_small(&c);
        expect_plain(&c);
    }
}

/* Maps are computed in chunks, and every chunk adds its own part of the bias. */
FACT(every_chunk_of_maps_has_its_bias)
{
    adz_manual_seed(7);
    adz_scope *scope = adz_scope_open();
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.groups = 2;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 3, 5), ADZ_F64);
    adz_tensor *weight = adz_randn(ADZ_SHAPE(300, 2, 1, 2), ADZ_F64);
    adz_tensor *bias = adz_randn(ADZ_SHAPE(300), ADZ_F64);
    adz_tensor *expected =
        adz_add(adz_conv2d(x, weight, ADZ_NONE, &o), adz_reshape(bias, ADZ_SHAPE(300, 1, 1)));
    assert_true(adz_allclose(adz_conv2d(x, weight, bias, &o), expected, 1e-14, 1e-14, false));
    adz_scope_close(scope);
}

/* ---- bits ----------------------------------------------------------------------------------- */

/* Result and gradients in one tensor, computed with so many threads. */
static adz_tensor *with_threads(int threads, adz_tensor *x, adz_tensor *w, int64_t groups)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    adz_tensor *found[2], *in[2] = { x, w };
    o.padding = ADZ_SHAPE(1);
    o.groups = groups;
    const int before = adz_get_num_threads();
    assert_int_equal(adz_set_num_threads(threads), ADZ_OK);
    adz_tensor *y = adz_conv2d(x, w, ADZ_NONE, &o), *g = adz_cos(adz_detach(y));
    assert_int_equal(adz_autograd_grad(&y, &g, 1, in, 2, NULL, found), ADZ_OK);
    assert_int_equal(adz_set_num_threads(before), ADZ_OK);
    adz_tensor *all[3] = { adz_flatten(y, 0, -1), adz_flatten(found[0], 0, -1),
        adz_flatten(found[1], 0, -1) };
    return adz_cat(all, 3, 0);
}

FACT(threads_change_no_bit)
{
    for (int64_t groups = 1; groups <= 16; groups *= 16) {
        adz_tensor *x = adz_requires_grad_(adz_randn(ADZ_SHAPE(3, 16, 33, 31), ADZ_F32), true);
        adz_tensor *w = adz_requires_grad_(
            adz_randn(ADZ_SHAPE(groups == 1 ? 24 : 32, 16 / groups, 3, 3), ADZ_F32), true);
        adz_tensor *one = with_threads(1, x, w, groups);
        for (int threads = 2; threads <= 5; ++threads) {
            assert_true(adz_equal(one, with_threads(threads, x, w, groups)));
        }
    }
}

/* ---- facts ---------------------------------------------------------------------------------- */

FACT(same_keeps_the_size_and_adds_more_at_the_end)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(1, 1, 4));
    adz_tensor *w = adz_reshape(VALUES(ADZ_F64, 1, 10), ADZ_SHAPE(1, 1, 1, 2));
    ASSERT_VALUES(adz_flatten(adz_conv2d(x, w, ADZ_NONE, &o), 0, -1), ADZ_F64, 21, 32, 43, 4);
    o.stride = ADZ_SHAPE(1, 2);
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_ARGUMENT, "needs stride 1");
}

/* The node keeps neither the image nor the weight if only the bias needs a gradient. */
FACT(a_bias_alone_has_a_gradient)
{
    adz_tensor *bias = adz_requires_grad_(adz_zeros(ADZ_SHAPE(2), ADZ_F64), true);
    adz_tensor *y = adz_conv2d(adz_ones(ADZ_SHAPE(3, 1, 4, 5), ADZ_F64),
        adz_ones(ADZ_SHAPE(2, 1, 2, 2), ADZ_F64), bias, NULL);
    assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
    ASSERT_VALUES(adz_tensor_grad(bias), ADZ_F64, 36, 36);
}

FACT(bad_options_are_refused)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 4, 5, 5), ADZ_F32);
    adz_tensor *w = adz_ones(ADZ_SHAPE(6, 4, 3, 3), ADZ_F32);
    adz_conv_options o = ADZ_CONV_OPTIONS, zero = { 0 };
    o.stride = ADZ_SHAPE(1, 0);
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_ARGUMENT,
        "stride is [1, 0], but each size must be 1 or more");
    o = (adz_conv_options)ADZ_CONV_OPTIONS;
    o.padding = ADZ_SHAPE(1, 2, 3);
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_ARGUMENT,
        "padding has 3 numbers, but needs 1 for both dimensions or 2");
    o.padding = ADZ_SHAPE(1);
    o.padding_rule = ADZ_PADDING_VALID;
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_ARGUMENT, "give one of the two");
    o.padding_rule = (adz_padding_rule)9;
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_ARGUMENT,
        "padding_rule is 9, but must be 0 (numbers)");
    o = (adz_conv_options)ADZ_CONV_OPTIONS;
    o.groups = 0;
    ASSERT_REFUSED(
        adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_ARGUMENT, "groups is 0, but must be 1 or more");
    o.groups = 4;
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_SHAPE, "4 groups do not divide");
    o.groups = INT64_MAX;
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_SHAPE, "do not divide");
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &zero), ADZ_ERR_ARGUMENT, "ADZ_CONV_OPTIONS");
}

FACT(sizes_that_overflow_are_refused)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 5, 5), ADZ_F32);
    adz_tensor *w = adz_ones(ADZ_SHAPE(1, 1, 3, 3), ADZ_F32);
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.padding = ADZ_SHAPE(INT64_MAX);
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_SHAPE, "overflows");
    o.padding = ADZ_SHAPE((int64_t)1 << 40);
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_SHAPE, "more elements than fit");
    o.padding = ADZ_SHAPE(0);
    o.dilation = ADZ_SHAPE(INT64_MAX);
    ASSERT_REFUSED(adz_conv2d(x, w, ADZ_NONE, &o), ADZ_ERR_SHAPE, "overflows");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(every_geometry_is_that_of_a_loop),
    cmocka_unit_test(strides_and_dilations_may_have_a_common_divisor),
    cmocka_unit_test(blocks_and_ranges_are_joined),
    cmocka_unit_test(an_image_may_have_one_column),
    cmocka_unit_test(no_range_that_reads_something_is_passed_over),
    cmocka_unit_test(a_range_is_computed_for_its_last_tap),
    cmocka_unit_test(single_channels_need_no_frame),
    cmocka_unit_test(every_chunk_of_maps_has_its_bias),
    cmocka_unit_test(threads_change_no_bit),
    cmocka_unit_test(same_keeps_the_size_and_adds_more_at_the_end),
    cmocka_unit_test(a_bias_alone_has_a_gradient),
    cmocka_unit_test(bad_options_are_refused),
    cmocka_unit_test(sizes_that_overflow_are_refused),
};

const op_case conv2d_case = {
    .name = "conv2d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 5, 4), IN(2, 3, 3, 2), IN(2) }, .p = { [PADDING] = 1 } },
        { .in = { IN_T(2, 2, 4, 5), IN_T(3, 2, 2, 2), IN_NONE }, .p = { [STRIDE] = 2, 1 } },
        { .in = { IN(2, 5, 5), IN(2, 2, 2, 2), IN(2) }, .p = { [DILATION] = 2, 3 } },
        { .in = { IN(1, 4, 4, 4), IN(4, 2, 3, 3), IN(4) }, .p = { [GROUPS] = 2, [PADDING] = 2 } },
        { .in = { IN(2, 3, 4, 5), IN(3, 1, 3, 3), IN(3) }, .p = { [GROUPS] = 3, [PADDING] = 1 } },
        { .in = { IN(1, 2, 5, 5), IN(4, 1, 2, 3), IN_NONE },
            .p = { [GROUPS] = 2, [STRIDE] = 2, [PADDING] = 1 } },
        { .in = { IN(2, 3, 3, 2), IN(2, 3, 1, 1), IN(2) } },
        { .in = { IN(1, 2, 4, 4), IN(2, 2, 2, 2), IN(2) }, .p = { [RULE] = ADZ_PADDING_SAME } },
        { .in = { IN(1, 1, 1, 1), IN(1, 1, 1, 1), IN(1) }, .p = { [STRIDE] = 3 } },
        { .in = { IN(0, 2, 3, 3), IN(2, 2, 2, 2), IN(2) } },
        { .in = { IN(2, 0, 3, 3), IN(2, 0, 2, 2), IN(2) } },
        { .in = { IN(1, 2, 3, 3), IN(0, 2, 2, 2), IN(0) } },
        { .in = { IN_CONST(1, 2, 3, 3), IN(2, 2, 2, 2), IN(2) } },
        { .in = { IN(2, 20, 12, 13), IN(30, 20, 3, 3), IN(30) }, .p = { [PADDING] = 1 },
            .large = true },
        { .in = { IN(2, 12, 30, 35), IN(24, 1, 3, 5), IN(24) },
            .p = { [STRIDE] = 2, 1, [GROUPS] = 12 }, .large = true },
    },
    .rejects = {
        { .in = { IN(1, 2, 0, 2), IN(1, 2, 2, 2), IN(1) }, .p = { [PADDING] = 1 },
            .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(1, 1, 3, 3), IN(1, 1, 5, 5), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "spans 5 elements, but dimension -2 of the input has 3" },
        { .in = { IN(1, 3, 4, 4), IN(2, 2, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "has 3 channels" },
        { .in = { IN(4, 4), IN(1, 1, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "rank 2" },
        { .in = { IN(1, 1, 4, 4), IN(1, 1, 2), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "[out, in / groups, KH, KW]" },
        { .in = { IN(1, 1, 4, 4), IN(1, 1, 0, 2), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "1 or more" },
        { .in = { IN(1, 2, 4, 4), IN(3, 1, 2, 2), IN_NONE }, .p = { [GROUPS] = 2 },
            .status = ADZ_ERR_SHAPE, .says = "do not divide" },
        { .in = { IN(1, 1, 4, 4), IN(2, 1, 2, 2), IN(3) }, .status = ADZ_ERR_SHAPE,
            .says = "bias[3]" },
        { .in = { IN(1, 1, 4, 4), IN(2, 1, 2, 2), IN_NONE }, .p = { [STRIDE] = -1 },
            .status = ADZ_ERR_ARGUMENT, .says = "stride is [-1]" },
        { .in = { IN(1, 1, 4, 4), IN(2, 1, 2, 2), IN_NONE }, .p = { [OUTPUT_PADDING] = 1 },
            .status = ADZ_ERR_ARGUMENT, .says = "transposed" },
        { .in = { IN_TYPED(ADZ_I64, 1, 1, 4, 4), IN(2, 1, 2, 2), IN_NONE },
            .status = ADZ_ERR_DTYPE },
    },
    .vectors = { "conv2d" },
    .inputs = { "x", "weight", "bias" },
    .config = conv_config,
    FACTS(facts),
};
