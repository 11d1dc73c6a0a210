#include "ops/conv/nonfinite.h"

static int call(const op_args *a, adz_tensor **out)
{
    return conv_case(adz_conv_transpose2d, a, out);
}

/* <conv(x), y> = <x, transposed conv(y)>, for strides with and without a rest at the end. */
FACT(it_is_the_adjoint_of_a_convolution)
{
    for (int64_t rest = 0; rest < 3; ++rest) {
        adz_conv_options o = ADZ_CONV_OPTIONS;
        o.stride = ADZ_SHAPE(3, 2);
        o.padding = ADZ_SHAPE(1, 2);
        o.dilation = ADZ_SHAPE(2, 3);
        o.groups = 2;
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 9 + rest, 12), ADZ_F64);
        adz_tensor *w = adz_randn(ADZ_SHAPE(6, 2, 3, 2), ADZ_F64);
        adz_tensor *y = adz_conv2d(x, w, ADZ_NONE, &o), *g = adz_cos(y);
        o.output_padding = ADZ_SHAPE(rest, 0);
        adz_tensor *back = adz_conv_transpose2d(g, w, ADZ_NONE, &o);
        const double one = adz_item(adz_sum(adz_mul(y, g), ADZ_ALL_DIMS, ADZ_DROPDIM));
        const double other = adz_item(adz_sum(adz_mul(x, back), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(fabs(one - other) < 1e-10 * (1 + fabs(one)));
    }
}

typedef struct products {
    const double *weight, *small;
    double *big;
} products;

static void add_product(void *user, int64_t big, int64_t weight, int64_t small)
{
    products *all = user;
    all->big[big] += all->weight[weight] * all->small[small];
}

/* A result is the sum of the products that the formula names. So a weight that is not finite
 * reaches no other result, neither at the border nor where a stride leaves positions out. */
FACT(an_infinite_weight_reaches_its_results_only)
{
    static const double values[] = { INFINITY, NAN, -INFINITY };
    adz_manual_seed(8);
    for (int i = 0; i < 9 * NONFINITE_SIZES; ++i) {
        adz_scope *scope = adz_scope_open();
        const conv_plain c = nonfinite_plain(i / 9);
        const adz_conv_options o = nonfinite_options(&c);
        adz_tensor *w = nonfinite_in(NONFINITE_WEIGHT(c), i % 9 * 7, values[i % 3]);
        adz_tensor *small = adz_randn(NONFINITE_SMALL(c), ADZ_F64);
        adz_tensor *big = adz_zeros(NONFINITE_BIG(c), ADZ_F64);
        products all = { adz_tensor_data_f64(w), adz_tensor_data_f64(small),
            adz_tensor_data_f64(big) };
        conv_each(&c, add_product, &all);
        adz_tensor *x = adz_requires_grad_(adz_randn(NONFINITE_BIG(c), ADZ_F64), true), *dx = NULL;
        adz_tensor *y = adz_conv2d(x, w, ADZ_NONE, &o);
        assert_int_equal(adz_autograd_grad(&y, &small, 1, &x, 1, NULL, &dx), ADZ_OK);
        if (!adz_allclose(dx, big, 1e-12, 1e-11, true)) {
            fail_msg("geometry %d, weight %d", i / 9, i % 9 * 7);
        }
        adz_scope_close(scope);
    }
}

FACT(padding_same_is_refused)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 1, 2, 2), ADZ_F32);
    ASSERT_REFUSED(adz_conv_transpose2d(x, x, ADZ_NONE, &o), ADZ_ERR_ARGUMENT, "takes numbers");
    o.padding_rule = ADZ_PADDING_NUMBERS;
    o.stride = ADZ_SHAPE(INT64_MAX);
    ASSERT_REFUSED(adz_conv_transpose2d(x, x, ADZ_NONE, &o), ADZ_ERR_SHAPE, "overflows");
    o.stride = ADZ_SHAPE((int64_t)1 << 40);
    ASSERT_REFUSED(
        adz_conv_transpose2d(x, x, ADZ_NONE, &o), ADZ_ERR_SHAPE, "more elements than fit");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(it_is_the_adjoint_of_a_convolution),
    cmocka_unit_test(an_infinite_weight_reaches_its_results_only),
    cmocka_unit_test(padding_same_is_refused),
};

const op_case conv_transpose2d_case = {
    .name = "conv_transpose2d",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 3, 4), IN(3, 2, 3, 2), IN(2) }, .p = { [PADDING] = 1 } },
        { .in = { IN_T(2, 2, 3, 2), IN_T(2, 3, 3, 2), IN_NONE },
            .p = { [STRIDE] = 2, 3, [OUTPUT_PADDING] = 1, 2 } },
        { .in = { IN(2, 3, 3), IN(2, 2, 2, 2), IN(2) }, .p = { [DILATION] = 2, 3 } },
        { .in = { IN(1, 4, 3, 3), IN(4, 2, 3, 3), IN(4) },
            .p = { [GROUPS] = 2, [STRIDE] = 2, [PADDING] = 1 } },
        { .in = { IN(2, 3, 2, 3), IN(3, 1, 3, 3), IN(3) },
            .p = { [GROUPS] = 3, [STRIDE] = 2, [DILATION] = 3 } },
        { .in = { IN(2, 3, 3, 2), IN(3, 2, 1, 1), IN(2) }, .p = { [STRIDE] = 3 } },
        { .in = { IN(1, 2, 2, 2), IN(2, 1, 2, 2), IN(1) },
            .p = { [STRIDE] = 2, [DILATION] = 4, [OUTPUT_PADDING] = 3 } },
        { .in = { IN(0, 2, 3, 3), IN(2, 2, 2, 2), IN(2) } },
        { .in = { IN(2, 0, 3, 3), IN(0, 2, 2, 2), IN(2) } },
        { .in = { IN(2, 30, 7, 8), IN(30, 20, 3, 3), IN(20) }, .p = { [STRIDE] = 2 },
            .large = true },
        { .in = { IN(2, 12, 14, 35), IN(12, 2, 3, 5), IN(24) },
            .p = { [STRIDE] = 2, 1, [GROUPS] = 12 }, .large = true },
    },
    .rejects = {
        { .in = { IN(1, 3, 4, 4), IN(2, 2, 2, 2), IN_NONE }, .status = ADZ_ERR_SHAPE,
            .says = "has 3 channels" },
        { .in = { IN(1, 1, 1, 1), IN(1, 1, 2, 2), IN_NONE }, .p = { [PADDING] = 1 },
            .status = ADZ_ERR_SHAPE, .says = "dimension -2 of the input, size 1" },
        { .in = { IN(1, 1, 2, 2), IN(1, 1, 2, 2), IN_NONE },
            .p = { [STRIDE] = 2, [OUTPUT_PADDING] = 2 }, .status = ADZ_ERR_ARGUMENT,
            .says = "smaller than the stride" },
        { .in = { IN(1, 3, 4, 4), IN(3, 2, 2, 2), IN_NONE }, .p = { [GROUPS] = 2 },
            .status = ADZ_ERR_SHAPE, .says = "[in, out / groups, KH, KW]" },
        { .in = { IN(1, 2, 4, 4), IN(2, 2, 2, 2), IN(2) }, .p = { [GROUPS] = 2 },
            .status = ADZ_ERR_SHAPE, .says = "makes 4 channels" },
    },
    .vectors = { "conv_transpose2d" },
    .inputs = { "x", "weight", "bias" },
    .config = conv_config,
    FACTS(facts),
};
