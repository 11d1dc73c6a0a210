/* Convolutions and pools of volumes. */
#include "nn/case.h"

#define MODULE(name, expression)              \
    static adz_module *name(adz_generator *g) \
    {                                         \
        (void)g;                              \
        return expression;                    \
    }

MODULE(max_pool, adz_max_pool3d_new(ADZ_SHAPE(2), NULL))
MODULE(adaptive_avg_pool, adz_adaptive_avg_pool3d_new(ADZ_SHAPE(1, 2, 3)))
MODULE(adaptive_max_pool, adz_adaptive_max_pool3d_new(ADZ_SHAPE(2)))

static adz_module *avg_pool(adz_generator *g)
{
    (void)g;
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.padding = ADZ_SHAPE(1, 0, 1);
    return adz_avg_pool3d_new(ADZ_SHAPE(2), &o);
}

static adz_module *volumes(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2, 1, 1);
    o.padding = ADZ_SHAPE(1);
    return adz_conv3d_new(3, 4, ADZ_SHAPE(3, 2, 1), &o);
}

static adz_module *same(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    o.padding_mode = ADZ_PADDING_REFLECT;
    o.dilation = ADZ_SHAPE(2);
    o.bias = false;
    return adz_conv3d_new(2, 2, ADZ_SHAPE(2), &o);
}

static adz_module *depthwise(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.groups = 3;
    o.padding = ADZ_SHAPE(1, 0, 2);
    o.padding_mode = ADZ_PADDING_CIRCULAR;
    return adz_conv3d_new(3, 6, ADZ_SHAPE(2, 3, 1), &o);
}

static adz_module *volumes_back(adz_generator *g)
{
    (void)g;
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2, 1, 3);
    o.padding = ADZ_SHAPE(1, 0, 1);
    o.output_padding = ADZ_SHAPE(1, 0, 2);
    o.groups = 2;
    return adz_conv_transpose3d_new(4, 6, ADZ_SHAPE(3, 2, 3), &o);
}

static adz_module *larger(adz_generator *g)
{
    (void)g;
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = ADZ_INTERPOLATE_TRILINEAR;
    o.scale_factor = 2;
    return adz_upsample_new(ADZ_SHAPE_SCALAR, &o);
}

static adz_module *smaller(adz_generator *g)
{
    (void)g;
    return adz_upsample_new(ADZ_SHAPE(2, 5, 3), NULL);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_conv3d_new(1, 1, ADZ_SHAPE(1, 2), NULL), "one size for all dimensions");
    expect_no_module(adz_max_pool3d_new(ADZ_SHAPE(1, 2), NULL), "has 2 numbers");
    expect_refused(same(NULL), adz_ones(ADZ_SHAPE(2, 3, 3), ADZ_F32), "must have 4 or 5");
    expect_refused(larger(NULL), adz_ones(ADZ_SHAPE(1, 1, 3, 3), ADZ_F32), "[N, C, D, H, W]");
}

static const struct CMUnitTest facts[] = { TEST(bad_values_are_refused) };

const module_case volume_module = {
    .name = "volume",
    .samples = { { volumes,
                     "Conv3d(3, 4, kernel_size=(3, 2, 1), stride=(2, 1, 1), padding=(1, 1, 1))",
                     "weight bias", { X(2, 3, 3, 4, 3) } },
        { same,
            "Conv3d(2, 2, kernel_size=(2, 2, 2), stride=(1, 1, 1), padding=same, dilation=(2, 2, 2), bias=False, padding_mode=reflect)",
            "weight", { X(2, 2, 3, 4, 3) } },
        { depthwise,
            "Conv3d(3, 6, kernel_size=(2, 3, 1), stride=(1, 1, 1), padding=(1, 0, 2), groups=3, padding_mode=circular)",
            "weight bias", { X(1, 3, 3, 4, 3) } },
        { volumes_back,
            "ConvTranspose3d(4, 6, kernel_size=(3, 2, 3), stride=(2, 1, 3), padding=(1, 0, 1), output_padding=(1, 0, 2), groups=2)",
            "weight bias", { X(1, 4, 2, 3, 2) } },
        { max_pool, "MaxPool3d(kernel_size=2, stride=2, padding=0, dilation=1, ceil_mode=False)",
            "", { X(1, 2, 4, 3, 5) } },
        { avg_pool, "AvgPool3d(kernel_size=2, stride=2, padding=(1, 0, 1))", "",
            { X(1, 2, 4, 3, 5) } },
        { adaptive_avg_pool, "AdaptiveAvgPool3d(output_size=(1, 2, 3))", "", { X(1, 2, 4, 3, 5) } },
        { adaptive_max_pool, "AdaptiveMaxPool3d(output_size=2)", "", { X(1, 2, 4, 3, 5) } },
        { larger, "Upsample(scale_factor=2.0, mode='trilinear')", "", { X(1, 2, 2, 3, 2) } },
        { smaller, "Upsample(size=(2, 5, 3), mode='nearest')", "", { X(1, 2, 3, 2, 4) } } },
    FACTS(facts),
};
