#include "ops/conv/nonfinite.h"

/* The text says how large the kernel is: a digit per spatial dimension, "32". */
static int call(const op_args *a, adz_tensor **out)
{
    const adz_conv_options o = conv_options(a);
    const int n = (int)strlen(a->text), lead = adz_tensor_rank(a->in[0]) - n;
    adz_shape weight = { .rank = n + 2 };
    weight.sizes[0] = adz_tensor_size(a->in[1], lead - 1);
    weight.sizes[1] = adz_tensor_size(a->in[0], lead - 1) / o.groups;
    for (int d = 0; d < n; ++d) {
        weight.sizes[2 + d] = a->text[d] - '0';
    }
    return case_one(adz_conv_weight(a->in[0], a->in[1], weight, &o), out);
}

FACT(dy_must_have_the_shape_of_the_result)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 4, 6), ADZ_F32);
    adz_tensor *dy = adz_ones(ADZ_SHAPE(2, 6, 4), ADZ_F32);
    assert_non_null(adz_conv_weight(x, dy, ADZ_SHAPE(6, 4, 3), NULL));
    ASSERT_REFUSED(adz_conv_weight(x, dy, ADZ_SHAPE(6, 4, 2), NULL), ADZ_ERR_SHAPE, "[2, 6, 5]");
    ASSERT_REFUSED(adz_conv_weight(x, dy, ADZ_SHAPE(6, 3, 3), NULL), ADZ_ERR_SHAPE, "[6, 3, 3]");
    ASSERT_REFUSED(adz_conv_weight(x, dy, ADZ_SHAPE(6, 4), NULL), ADZ_ERR_SHAPE, "KH, KW");
    ASSERT_REFUSED(
        adz_conv_weight(x, adz_to(dy, ADZ_F64), ADZ_SHAPE(6, 4, 3), NULL), ADZ_ERR_DTYPE, "dy");
}

/* The zeros of the padding are elements of the image: whether an image was padded before the call
 * or by it makes no difference, also if a weight or a gradient is infinite there. */
FACT(padding_is_made_of_zeros)
{
    adz_manual_seed(7);
    for (int i = 0; i < 5 * NONFINITE_SIZES; ++i) {
        adz_scope *scope = adz_scope_open();
        const conv_plain c = nonfinite_plain(i / 5);
        adz_conv_options o = nonfinite_options(&c);
        const int64_t *p = c.padding, around[] = { p[1], p[1], p[0], p[0] };
        const double value = i % 2 == 0 ? (double)INFINITY : (double)NAN;
        adz_tensor *w = nonfinite_in(NONFINITE_WEIGHT(c), i % 5 * 37, value);
        adz_tensor *dy = nonfinite_in(NONFINITE_SMALL(c), i % 5 * 13, value);
        adz_tensor *x = adz_randn(NONFINITE_BIG(c), ADZ_F64), *padded = adz_pad(x, around, 4, 0);
        adz_tensor *y = adz_conv2d(x, w, ADZ_NONE, &o);
        adz_tensor *dw = adz_conv_weight(x, dy, NONFINITE_WEIGHT(c), &o);
        o.padding = ADZ_SHAPE_SCALAR;
        if (!adz_allclose(y, adz_conv2d(padded, w, ADZ_NONE, &o), 1e-12, 1e-11, true) ||
            !adz_allclose(
                dw, adz_conv_weight(padded, dy, NONFINITE_WEIGHT(c), &o), 1e-12, 1e-11, true)) {
            fail_msg("geometry %d, element %d", i / 5, i % 5);
        }
        adz_scope_close(scope);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(padding_is_made_of_zeros),
    cmocka_unit_test(dy_must_have_the_shape_of_the_result),
};

const op_case conv_weight_case = {
    .name = "conv_weight",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 5, 4), IN(2, 2, 5, 5) }, .p = { [PADDING] = 1 }, .text = "32" },
        { .in = { IN_T(2, 2, 4, 6), IN_T(2, 3, 2, 5) }, .p = { [STRIDE] = 2, 1 }, .text = "22" },
        { .in = { IN(2, 7), IN(3, 4) }, .p = { [DILATION] = 3 }, .text = "2" },
        { .in = { IN(2, 4, 6), IN(2, 4, 3) }, .p = { [GROUPS] = 4, [STRIDE] = 2, [PADDING] = 1 },
            .text = "3" },
        { .in = { IN(1, 1, 2), IN(1, 1, 2) }, .text = "1" },
        { .in = { IN(0, 2, 3, 3), IN(0, 2, 2, 2) }, .text = "22" },
        { .in = { IN(3, 20, 9, 10), IN(3, 35, 4, 5) }, .p = { [STRIDE] = 2 }, .text = "22",
            .large = true },
    },
    .rejects = {
        { .in = { IN(1, 2, 6), IN(1, 3, 4) }, .p = { [GROUPS] = 2 }, .status = ADZ_ERR_SHAPE,
            .says = "2 groups", .text = "3" },
        { .in = { IN_TYPED(ADZ_I32, 1, 2, 6), IN(1, 2, 4) }, .status = ADZ_ERR_DTYPE,
            .text = "3" },
    },
    .inputs = { "x", "dy" },
    FACTS(facts),
};
