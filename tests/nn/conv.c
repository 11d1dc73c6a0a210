#include "nn/case.h"

static adz_module *images(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(1);
    return adz_conv2d_new(3, 4, ADZ_SHAPE(3, 2), &o);
}

static adz_module *same(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    o.padding_mode = ADZ_PADDING_REFLECT;
    o.dilation = ADZ_SHAPE(2);
    o.bias = false;
    return adz_conv2d_new(2, 2, ADZ_SHAPE(2), &o);
}

static adz_module *depthwise(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o;
    adz_conv_module_options_init(&o, sizeof o);
    o.groups = 3;
    o.padding = ADZ_SHAPE(0, 2);
    o.padding_mode = ADZ_PADDING_CIRCULAR;
    return adz_conv2d_new(3, 6, ADZ_SHAPE(3, 1), &o);
}

static adz_module *signals(adz_generator *g)
{
    (void)g;
    return adz_conv1d_new(3, 4, 5, NULL);
}

static adz_module *causal(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding = ADZ_SHAPE(4);
    o.dilation = ADZ_SHAPE(4);
    o.padding_mode = ADZ_PADDING_REPLICATE;
    return adz_conv1d_new(2, 3, 2, &o);
}

static adz_module *zeros_in_front(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding_rule = ADZ_PADDING_CAUSAL;
    o.dilation = ADZ_SHAPE(2);
    return adz_conv1d_new(2, 3, 3, &o);
}

static adz_module *signals_back(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(3);
    o.output_padding = ADZ_SHAPE(2);
    return adz_conv_transpose1d_new(4, 3, 5, &o);
}

static adz_module *images_back(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1, 0);
    o.groups = 2;
    o.padding_rule = ADZ_PADDING_NUMBERS;
    return adz_conv_transpose2d_new(4, 6, ADZ_SHAPE(3), &o);
}

static adz_module *valid(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding_rule = ADZ_PADDING_VALID;
    return adz_conv1d_new(2, 1, 1, &o);
}

/* The layer with a padding mode is the layer without padding on a padded input. */
static void modes_pad_the_input(void **state)
{
    (void)state;
    for (int mode = ADZ_PADDING_REFLECT; mode <= ADZ_PADDING_CIRCULAR; ++mode) {
        adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
        o.padding = ADZ_SHAPE(2, 1);
        o.padding_mode = (adz_padding_mode)mode;
        adz_module *m = adz_conv2d_new(2, 3, ADZ_SHAPE(3), &o);
        adz_tensor *x = adz_randn(ADZ_SHAPE(2, 4, 5), ADZ_F32);
        adz_tensor *padded = adz_pad_mode(x, (int64_t[]){ 1, 1, 2, 2 }, 4, (adz_padding_mode)mode);
        expect_same(adz_module_forward(m, x),
            adz_conv2d(padded, adz_module_get_parameter(m, "weight"),
                adz_module_get_parameter(m, "bias"), NULL),
            0);
        adz_module_release(&m);
    }
}

/* Weights and bias lie within 1 / sqrt(k), and some beyond half of it. */
static void parameters_are_drawn_by_their_fan_in(void **state)
{
    (void)state;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.groups = 2;
    adz_module *layers[] = { adz_conv2d_new(8, 60, ADZ_SHAPE(3, 2), &o),
        adz_conv_transpose2d_new(60, 8, ADZ_SHAPE(3, 2), &o) };
    for (int i = 0; i < 2; ++i) {
        for (int k = 0; k < 2; ++k) {
            adz_tensor *t = adz_module_get_parameter(layers[i], k == 0 ? "weight" : "bias");
            const double most = adz_item(adz_amax(adz_abs(t), ADZ_ALL_DIMS, ADZ_DROPDIM));
            assert_true(most <= 1 / sqrt(4 * 3 * 2) && most > 0.5 / sqrt(4 * 3 * 2));
        }
        adz_module_release(&layers[i]);
    }
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    expect_no_module(adz_conv1d_new(0, 2, 3, NULL), "in_channels");
    expect_no_module(adz_conv1d_new(2, -1, 3, NULL), "out_channels");
    expect_no_module(
        adz_conv1d_new(2, 2, 0, NULL), "kernel_size is [0], but each size must be 1 or more");
    expect_no_module(adz_conv2d_new(2, 2, ADZ_SHAPE(1, 2, 3), NULL), "kernel_size [1, 2, 3]");
    o.groups = 2;
    expect_no_module(adz_conv1d_new(2, 3, 1, &o), "groups 2 must divide");
    o.groups = 1;
    o.stride = ADZ_SHAPE(0);
    expect_no_module(adz_conv1d_new(2, 3, 1, &o),
        "adz_conv1d_new: stride is [0], but each size must be 1 or more");
    o.stride = ADZ_SHAPE(2);
    o.padding_rule = ADZ_PADDING_SAME;
    expect_no_module(adz_conv1d_new(2, 3, 1, &o), "needs stride 1");
    o.padding_rule = ADZ_PADDING_NUMBERS;
    o.padding_mode = ADZ_PADDING_REFLECT;
    expect_no_module(adz_conv_transpose1d_new(2, 3, 1, &o), "need");
    o.padding_mode = (adz_padding_mode)7;
    expect_no_module(adz_conv1d_new(2, 3, 1, &o), "padding_mode is 7, but must be 0 (zeros)");
    o = (adz_conv_module_options)ADZ_CONV_MODULE_OPTIONS;
    o.dtype = ADZ_I64;
    assert_null(adz_conv1d_new(2, 3, 1, &o));
    expect_error(ADZ_ERR_DTYPE, "adz_conv1d_new: ");
    expect_refused(signals(NULL), adz_ones(ADZ_SHAPE(2, 2, 9), ADZ_F32), "conv1d: ");
    expect_refused(same(NULL), adz_ones(ADZ_SHAPE(9), ADZ_F32), "conv2d: ");
    expect_refused(images_back(NULL), adz_ones(ADZ_SHAPE(9), ADZ_F32), "conv_transpose2d: ");
}

static const struct CMUnitTest facts[] = {
    TEST(modes_pad_the_input),
    TEST(parameters_are_drawn_by_their_fan_in),
    TEST(bad_values_are_refused),
};

const module_case conv_module = {
    .name = "conv",
    .samples = {
        { images, "Conv2d(3, 4, kernel_size=(3, 2), stride=(2, 1), padding=(1, 1))", "weight bias",
            { X(2, 3, 5, 4) } },
        { same,
            "Conv2d(2, 2, kernel_size=(2, 2), stride=(1, 1), padding=same, dilation=(2, 2), bias=False, padding_mode=reflect)",
            "weight", { X(2, 2, 4, 4) } },
        { depthwise,
            "Conv2d(3, 6, kernel_size=(3, 1), stride=(1, 1), padding=(0, 2), groups=3, padding_mode=circular)",
            "weight bias", { X(3, 4, 4) } },
        { signals, "Conv1d(3, 4, kernel_size=(5,), stride=(1,))", "weight bias", { X(2, 3, 7) } },
        { causal,
            "Conv1d(2, 3, kernel_size=(2,), stride=(1,), padding=(4,), dilation=(4,), padding_mode=replicate)",
            "weight bias", { X(2, 2, 6) } },
        { zeros_in_front,
            "Conv1d(2, 3, kernel_size=(3,), stride=(1,), padding=causal, dilation=(2,))",
            "weight bias", { X(2, 2, 6) } },
        { valid, "Conv1d(2, 1, kernel_size=(1,), stride=(1,), padding=valid)", "weight bias",
            { X(2, 6) } },
        { signals_back,
            "ConvTranspose1d(4, 3, kernel_size=(5,), stride=(3,), output_padding=(2,))",
            "weight bias", { X(2, 4, 3) } },
        { images_back,
            "ConvTranspose2d(4, 6, kernel_size=(3, 3), stride=(2, 2), padding=(1, 0), groups=2)",
            "weight bias", { X(2, 4, 3, 2) } },
    },
    FACTS(facts),
};
