/* LPPool, MaxUnpool, ZeroPad and the two samplings of images. */
#include "nn/case.h"

#define MODULE(name, expression)              \
    static adz_module *name(adz_generator *g) \
    {                                         \
        (void)g;                              \
        return expression;                    \
    }

MODULE(lp1, adz_lp_pool1d_new(2, 3, NULL))
MODULE(lp3, adz_lp_pool3d_new(4, ADZ_SHAPE(2, 1, 2), NULL))
MODULE(unpool1, adz_max_unpool1d_new(2, NULL))
MODULE(unpool3, adz_max_unpool3d_new(ADZ_SHAPE(2, 1, 2), NULL))
MODULE(nearest_by, adz_upsampling_nearest2d_new(ADZ_SHAPE_SCALAR, 2))
MODULE(nearest_to, adz_upsampling_nearest2d_new(ADZ_SHAPE(5), 0))
MODULE(bilinear_to, adz_upsampling_bilinear2d_new(ADZ_SHAPE(5, 3), 0))
MODULE(zero1, adz_zero_pad1d_new(ADZ_SHAPE(2, 1)))
MODULE(zero2, adz_zero_pad2d_new(ADZ_SHAPE(1)))
MODULE(zero3, adz_zero_pad3d_new(ADZ_SHAPE(1, 0, -1, 1, 1, 0)))

static adz_module *lp2(adz_generator *g)
{
    (void)g;
    adz_lp_pool_options o = ADZ_LP_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.ceil_mode = true;
    return adz_lp_pool2d_new(2, ADZ_SHAPE(2, 3), &o);
}

static adz_module *unpool2(adz_generator *g)
{
    (void)g;
    adz_max_unpool_options o = ADZ_MAX_UNPOOL_OPTIONS;
    o.padding = ADZ_SHAPE(1);
    o.stride = ADZ_SHAPE(2);
    o.output_size = ADZ_SHAPE(4, 5);
    return adz_max_unpool2d_new(ADZ_SHAPE(3), &o);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_lp_pool1d_new(0, 2, NULL), "adz_lp_pool1d_new: norm_type is 0");
    expect_no_module(adz_lp_pool2d_new(2, ADZ_SHAPE(1, 2, 3), NULL), "has 3 numbers");
    expect_no_module(adz_max_unpool2d_new(ADZ_SHAPE(0), NULL), "kernel_size is [0]");
    expect_no_module(adz_upsampling_nearest2d_new(ADZ_SHAPE(1, 2, 3), 0), "size has 3 numbers");
    expect_no_module(adz_upsampling_nearest2d_new(ADZ_SHAPE(1), 2), "either a size or");
    adz_module *m = unpool1(NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 1, 2), ADZ_F32)));
    expect_error(ADZ_ERR_ARGUMENT, "input and indices");
    adz_module_release(&m);
}

static const struct CMUnitTest facts[] = { TEST(bad_values_are_refused) };

const module_case pool_composed_module = {
    .name = "pool_composed",
    .samples = { { lp1, "LPPool1d(norm_type=2.0, kernel_size=3, stride=None, ceil_mode=False)", "",
                     { X(2, 3, 7) } },
        { lp2, "LPPool2d(norm_type=2.0, kernel_size=(2, 3), stride=2, ceil_mode=True)", "",
            { X(2, 2, 5, 6) } },
        { lp3, "LPPool3d(norm_type=4.0, kernel_size=(2, 1, 2), stride=None, ceil_mode=False)", "",
            { X(1, 2, 2, 3, 4) } },
        { unpool1, "MaxUnpool1d(kernel_size=(2,), stride=(2,), padding=(0,))", "",
            { X(2, 3, 4), IDS(8, 2, 3, 4) } },
        { unpool2, "MaxUnpool2d(kernel_size=(3, 3), stride=(2, 2), padding=(1, 1))", "",
            { X(2, 2, 2, 3), IDS(20, 2, 2, 2, 3) } },
        { unpool3, "MaxUnpool3d(kernel_size=(2, 1, 2), stride=(2, 1, 2), padding=(0, 0, 0))", "",
            { X(1, 2, 2, 3, 2), IDS(48, 1, 2, 2, 3, 2) } },
        { nearest_by, "UpsamplingNearest2d(scale_factor=2.0, mode='nearest')", "",
            { X(2, 2, 3, 4) } },
        { nearest_to, "UpsamplingNearest2d(size=5, mode='nearest')", "", { X(2, 2, 3, 4) } },
        { bilinear_to, "UpsamplingBilinear2d(size=(5, 3), mode='bilinear')", "",
            { X(2, 2, 3, 4) } },
        { zero1, "ZeroPad1d((2, 1))", "", { X(2, 3, 4) } },
        { zero2, "ZeroPad2d((1, 1, 1, 1))", "", { X(2, 2, 3, 4) } },
        { zero3, "ZeroPad3d((1, 0, -1, 1, 1, 0))", "", { X(1, 2, 3, 4, 3) } } },
    FACTS(facts),
};
