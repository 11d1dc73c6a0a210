#include "ops/conv/conv.h"

static int call(const op_args *a, adz_tensor **out)
{
    return conv_case(adz_conv1d, a, out);
}

/* A causal convolution: padding of dilation (K - 1), and the end of the result cut off. The rule
 * "causal" gives this at once. */
FACT(a_signal_is_correlated_and_not_mirrored)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2, 3, 4), ADZ_SHAPE(1, 4));
    adz_tensor *w = adz_reshape(VALUES(ADZ_F64, 100, 1), ADZ_SHAPE(1, 1, 2));
    ASSERT_VALUES(adz_flatten(adz_conv1d(x, w, ADZ_NONE, NULL), 0, -1), ADZ_F64, 102, 203, 304);
    o.dilation = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(2);
    adz_tensor *y = adz_narrow(adz_conv1d(x, w, VALUES(ADZ_F64, 0.5), &o), 1, 0, 4);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 1.5, 2.5, 103.5, 204.5);
    o.padding = ADZ_SHAPE_SCALAR;
    o.padding_rule = ADZ_PADDING_CAUSAL;
    y = adz_conv1d(x, w, VALUES(ADZ_F64, 0.5), &o);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 1.5, 2.5, 103.5, 204.5);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(a_signal_is_correlated_and_not_mirrored),
};

const op_case conv1d_case = {
    .name = "conv1d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 7), IN(2, 3, 3), IN(2) }, .p = { [PADDING] = 1 } },
        { .in = { IN_T(2, 2, 8), IN_T(3, 2, 3), IN_NONE }, .p = { [STRIDE] = 2 } },
        { .in = { IN(2, 8), IN(2, 2, 2), IN(2) }, .p = { [DILATION] = 3 } },
        { .in = { IN(2, 4, 6), IN(4, 2, 3), IN(4) }, .p = { [GROUPS] = 2 } },
        { .in = { IN(2, 3, 6), IN(3, 1, 3), IN(3) }, .p = { [GROUPS] = 3, [PADDING] = 2 } },
        { .in = { IN(2, 3, 6), IN(2, 3, 1), IN(2) } },
        { .in = { IN(2, 2, 6), IN(2, 2, 4), IN(2) }, .p = { [RULE] = ADZ_PADDING_SAME } },
        { .in = { IN(2, 2, 6), IN(2, 2, 3), IN(2) },
            .p = { [RULE] = ADZ_PADDING_CAUSAL, [DILATION] = 2 } },
        { .in = { IN(2, 6), IN(2, 1, 2), IN(2) },
            .p = { [RULE] = ADZ_PADDING_CAUSAL, [GROUPS] = 2, [STRIDE] = 2 } },
        { .in = { IN(0, 2, 3), IN(2, 2, 2), IN(2) } },
        { .in = { IN(2, 16, 200), IN(16, 16, 2), IN(16) }, .p = { [DILATION] = 8 },
            .large = true },
    },
    .rejects = {
        { .in = { IN(1, 1, 3), IN(1, 1, 5), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "spans 5 elements" },
        { .in = { IN(1, 1, 3), IN(1, 1, 2), IN_NONE }, .p = { [STRIDE] = 1, 1 },
            .status = ADZ_ERR_ARGUMENT, .says = "stride has 2 numbers, but needs 1" },
        { .in = { IN(1, 1, 3), IN(1, 1, 2), IN_NONE },
            .p = { [RULE] = ADZ_PADDING_CAUSAL, [PADDING] = 1 }, .status = ADZ_ERR_ARGUMENT,
            .says = "padding_rule \"causal\" leaves no room" },
        { .in = { IN(3), IN(1, 1, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "[N, C, L]" },
    },
    .vectors = { "conv1d" },
    .inputs = { "x", "weight", "bias" },
    .config = conv_config,
    FACTS(facts),
};
