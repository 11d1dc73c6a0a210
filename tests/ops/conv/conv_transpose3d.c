#include "ops/conv/conv.h"

static int call(const op_args *a, adz_tensor **out)
{
    return conv_case(adz_conv_transpose3d, a, out);
}

/* <conv(x), y> = <x, transposed conv(y)>, for strides with and without a rest at the end. */
FACT(it_is_the_adjoint_of_a_convolution)
{
    for (int64_t rest = 0; rest < 3; ++rest) {
        adz_conv_options o = ADZ_CONV_OPTIONS;
        o.stride = ADZ_SHAPE(3, 2, 1);
        o.padding = ADZ_SHAPE(1, 2, 0);
        o.dilation = ADZ_SHAPE(2, 3, 1);
        o.groups = 2;
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 9 + rest, 12, 5), ADZ_F64);
        adz_tensor *w = adz_randn(ADZ_SHAPE(6, 2, 3, 2, 3), ADZ_F64);
        adz_tensor *y = adz_conv3d(x, w, ADZ_NONE, &o), *g = adz_cos(y);
        o.output_padding = ADZ_SHAPE(rest, 0, 0);
        adz_tensor *back = adz_conv_transpose3d(g, w, ADZ_NONE, &o);
        const double one = adz_item(adz_sum(adz_mul(y, g), ADZ_ALL_DIMS, ADZ_DROPDIM));
        const double other = adz_item(adz_sum(adz_mul(x, back), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(one - other) < 1e-10 * (1 + fabs(one)));
    }
}

/* A weight that is not finite reaches no result but those that the sum names. With finite weights
 * instead, the other results are the same. */
FACT(an_infinite_weight_reaches_its_results_only)
{
    adz_manual_seed(8);
    for (int i = 0; i < 54; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_conv_options o = ADZ_CONV_OPTIONS;
        o.stride = ADZ_SHAPE(1 + i % 3, 1 + i / 3 % 2, 2 - i % 2);
        o.padding = ADZ_SHAPE(1, i % 2, 1);
        adz_tensor *x = adz_add_number(adz_rand(ADZ_SHAPE(1, 2, 3, 2, 4), ADZ_F64), 1);
        adz_tensor *w = adz_zeros(ADZ_SHAPE(2, 3, 3, 2, 3), ADZ_F64);
        const int64_t at = i * 17 % adz_tensor_numel(w);
        adz_tensor_data_f64(w)[at] = 1;
        adz_tensor *reached = adz_gt_number(adz_conv_transpose3d(x, w, ADZ_NONE, &o), 0);
        adz_tensor_data_f64(w)[at] = INFINITY;
        adz_tensor *y = adz_conv_transpose3d(x, w, ADZ_NONE, &o);
        adz_tensor *wanted =
            adz_masked_fill(adz_zeros(adz_tensor_shape(y), ADZ_F64), reached, INFINITY);
        assert_true(adz_equal(y, wanted));
        adz_scope_close(scope);
    }
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_is_the_adjoint_of_a_convolution),
    cmocka_unit_test(an_infinite_weight_reaches_its_results_only),
};

const op_case conv_transpose3d_case = {
    .name = "conv_transpose3d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 2, 3, 4), IN(3, 2, 2, 3, 2), IN(2) }, .p = { [PADDING] = 1 } },
        { .in = { IN_T(2, 2, 2, 3, 2), IN_T(2, 3, 3, 2, 2), IN_NONE },
            .p = { [STRIDE] = 2, 3, [OUTPUT_PADDING] = 1, 2 } },
        { .in = { IN(2, 3, 2, 3), IN(2, 2, 2, 2, 2), IN(2) }, .p = { [DILATION] = 2, 3 } },
        { .in = { IN(1, 4, 2, 3, 3), IN(4, 2, 3, 3, 2), IN(4) },
            .p = { [GROUPS] = 2, [STRIDE] = 2, [PADDING] = 1 } },
        { .in = { IN(2, 3, 2, 2, 3), IN(3, 1, 2, 3, 3), IN(3) },
            .p = { [GROUPS] = 3, [STRIDE] = 2, [DILATION] = 3 } },
        { .in = { IN(2, 3, 2, 3, 2), IN(3, 2, 1, 1, 1), IN(2) }, .p = { [STRIDE] = 3 } },
        { .in = { IN(0, 2, 3, 3, 3), IN(2, 2, 2, 2, 2), IN(2) } },
        { .in = { IN(1, 12, 5, 7, 8), IN(12, 20, 3, 3, 3), IN(20) }, .p = { [STRIDE] = 2 },
            .large = true },
    },
    .rejects = {
        { .in = { IN(1, 3, 4, 4, 4), IN(2, 2, 2, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "has 3 channels" },
        { .in = { IN(1, 1, 1, 1, 1), IN(1, 1, 2, 2, 2), IN_NONE }, .p = { [PADDING] = 1 },
            .status = ADZ_ERR_SHAPE, .says = "dimension -3 of the input, size 1" },
        { .in = { IN(1, 3, 4, 4, 4), IN(3, 2, 2, 2), IN_NONE },
            .status = ADZ_ERR_SHAPE, .says = "[in, out / groups, KD, KH, KW]" },
    },
    .inputs = { "x", "weight", "bias" },
    .config = conv_config,
    FACTS(facts),
};
