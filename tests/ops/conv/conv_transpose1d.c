#include "ops/conv/conv.h"

static int call(const op_args *a, adz_tensor **out)
{
    return conv_case(adz_conv_transpose1d, a, out);
}

FACT(a_stride_moves_the_kernels_apart)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(3);
    o.output_padding = ADZ_SHAPE(1);
    adz_tensor *x = adz_reshape(VALUES(ADZ_F64, 1, 2), ADZ_SHAPE(1, 2));
    adz_tensor *w = adz_reshape(VALUES(ADZ_F64, 10, 100), ADZ_SHAPE(1, 1, 2));
    adz_tensor *y = adz_conv_transpose1d(x, w, VALUES(ADZ_F64, 1), &o);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F64, 11, 101, 1, 21, 201, 1);
}

/* Two results at the ends get no product of the infinite weight. */
FACT(an_infinite_weight_stops_at_the_border)
{
    const double inf = (double)INFINITY;
    adz_conv_options o = ADZ_CONV_OPTIONS;
    adz_tensor *x = adz_reshape(VALUES(ADZ_F32, 1, 2, 3), ADZ_SHAPE(1, 1, 3));
    adz_tensor *w = adz_reshape(VALUES(ADZ_F32, 1, inf), ADZ_SHAPE(1, 1, 2));
    adz_tensor *y = adz_conv_transpose1d(x, w, ADZ_NONE, &o);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F32, 1, inf, inf, inf);
    o.stride = ADZ_SHAPE(3);
    y = adz_conv_transpose1d(x, w, ADZ_NONE, &o);
    ASSERT_VALUES(adz_flatten(y, 0, -1), ADZ_F32, 1, inf, 0, 2, inf, 0, 3, inf);
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(an_infinite_weight_stops_at_the_border),
    cmocka_unit_test(a_stride_moves_the_kernels_apart),
};

const op_case conv_transpose1d_case = {
    .name = "conv_transpose1d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 5), IN(3, 2, 3), IN(2) }, .p = { [PADDING] = 1 } },
        { .in = { IN_T(2, 2, 4), IN_T(2, 3, 3), IN_NONE },
            .p = { [STRIDE] = 2, [OUTPUT_PADDING] = 1 } },
        { .in = { IN(2, 4), IN(2, 2, 2), IN(2) }, .p = { [DILATION] = 3, [STRIDE] = 2 } },
        { .in = { IN(2, 4, 3), IN(4, 2, 3), IN(4) }, .p = { [GROUPS] = 2 } },
        { .in = { IN(1, 1, 1), IN(1, 1, 1), IN(1) }, .p = { [STRIDE] = 2 } },
        { .in = { IN(0, 2, 3), IN(2, 2, 2), IN(2) } },
    },
    .rejects = {
        { .in = { IN(1, 1, 0), IN(1, 1, 2), IN_NONE }, .p = { [PADDING] = 1 },
            .status = ADZ_ERR_SHAPE, .says = "is empty" },
        { .in = { IN(1, 1, 3), IN(1, 1, 2), IN_NONE }, .p = { [RULE] = ADZ_PADDING_CAUSAL },
            .status = ADZ_ERR_ARGUMENT, .says = "padding \"causal\" is for convolutions" },
        { .in = { IN(3), IN(1, 1, 2), IN_NONE }, .status = ADZ_ERR_SHAPE, .says = "[N, C, L]" },
    },
    .vectors = { "conv_transpose1d" },
    .inputs = { "x", "weight", "bias" },
    .config = conv_config,
    FACTS(facts),
};
