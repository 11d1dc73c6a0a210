#include "ops/conv/conv.h"

/* The text says how large the kernel is: a digit per dimension, "32". */
static adz_shape kernel_of(const char *text)
{
    return ADZ_SHAPE(text[0] - '0', text[1] - '0');
}

static int call(const op_args *a, adz_tensor **out)
{
    const adz_conv_options o = conv_options(a);
    return case_one(adz_unfold(a->in[0], kernel_of(a->text), &o), out);
}

static bool config(const json_t *json, op_args *args)
{
    double kernel[2];
    static char text[3];
    config_list(json, "kernel_size", kernel, 2);
    text[0] = (char)('0' + (int)kernel[0]);
    text[1] = (char)('0' + (int)kernel[1]);
    args->text = text;
    return conv_config(json, args);
}

/* A convolution is a product of the weight and the patches. */
FACT(patches_make_a_convolution)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    o.stride = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(1, 2);
    o.dilation = ADZ_SHAPE(1, 2);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 6, 5), ADZ_F64);
    adz_tensor *w = adz_randn(ADZ_SHAPE(4, 3, 3, 2), ADZ_F64);
    adz_tensor *patches = adz_unfold(x, ADZ_SHAPE(3, 2), &o);
    adz_tensor *y = adz_matmul(adz_reshape(w, ADZ_SHAPE(4, 18)), patches);
    adz_tensor *expected = adz_flatten(adz_conv2d(x, w, ADZ_NONE, &o), 2, 3);
    assert_true(adz_allclose(y, expected, 1e-12, 1e-12, false));
}

FACT(bad_kernels_are_refused)
{
    adz_tensor *x = adz_ones(ADZ_SHAPE(1, 2, 3, 3), ADZ_F32);
    adz_conv_options o = ADZ_CONV_OPTIONS;
    ASSERT_REFUSED(adz_unfold(x, ADZ_SHAPE(0), NULL), ADZ_ERR_ARGUMENT, "kernel_size");
    ASSERT_REFUSED(adz_unfold(x, ADZ_SHAPE(1, 1, 1), NULL), ADZ_ERR_ARGUMENT, "kernel_size");
    o.groups = 2;
    ASSERT_REFUSED(adz_unfold(x, ADZ_SHAPE(2), &o), ADZ_ERR_ARGUMENT, "groups 2");
}

static const struct CMUnitTest facts[] = {
    cmocka_unit_test(patches_make_a_convolution),
    cmocka_unit_test(bad_kernels_are_refused),
};

const op_case unfold_case = {
    .name = "unfold",
    .call = call,
    .samples = {
        { .in = { IN(2, 3, 5, 4) }, .p = { [PADDING] = 1 }, .text = "32" },
        { .in = { IN_T(2, 2, 4, 5) }, .p = { [STRIDE] = 2, 3 }, .text = "22" },
        { .in = { IN(2, 6, 5) }, .p = { [DILATION] = 3, 2, [PADDING] = 2 }, .text = "22" },
        { .in = { IN(1, 1, 1, 1) }, .text = "11" },
        { .in = { IN(0, 2, 3, 3) }, .text = "22" },
        { .in = { IN(2, 0, 3, 3) }, .text = "22" },
        { .in = { IN(2, 20, 30, 31) }, .p = { [PADDING] = 1 }, .text = "33", .large = true },
    },
    .rejects = {
        { .in = { IN(1, 1, 3, 3) }, .status = ADZ_ERR_SHAPE, .says = "spans 4", .text = "44" },
        { .in = { IN(3, 3) }, .status = ADZ_ERR_SHAPE, .says = "[N, C, H, W]", .text = "22" },
        { .in = { IN_TYPED(ADZ_I64, 1, 3, 3) }, .status = ADZ_ERR_DTYPE, .text = "22" },
    },
    .first_order_only = true,
    .vectors = { "unfold" },
    .inputs = { "x" },
    .config = config,
    FACTS(facts),
};
