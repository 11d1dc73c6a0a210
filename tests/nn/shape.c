/* PyTorch's Flatten, Unflatten, PixelShuffle, PixelUnshuffle, Upsample, Unfold and Fold. */
#include "nn/case.h"

#define MODULE(name, expression)              \
    static adz_module *name(adz_generator *g) \
    {                                         \
        (void)g;                              \
        return expression;                    \
    }

MODULE(flatten, adz_flatten_new(1, -1))
MODULE(unflatten, adz_unflatten_new(1, ADZ_SHAPE(2, -1)))
MODULE(shuffle, adz_pixel_shuffle_new(2))
MODULE(unshuffle, adz_pixel_unshuffle_new(2))
MODULE(unfold, adz_unfold_new(ADZ_SHAPE(2), NULL))
MODULE(folded, adz_fold_new(ADZ_SHAPE(3), ADZ_SHAPE(2), NULL))
MODULE(resized, adz_upsample_new(ADZ_SHAPE(3, 5), NULL))

static adz_module *upsample(adz_generator *g)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    (void)g;
    o.mode = ADZ_INTERPOLATE_BILINEAR;
    o.scale_factor = 2;
    return adz_upsample_new(ADZ_SHAPE_SCALAR, &o);
}

static adz_module *fold(adz_generator *g)
{
    adz_conv_options o = ADZ_CONV_OPTIONS;
    (void)g;
    o.stride = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(1);
    return adz_fold_new(ADZ_SHAPE(4, 3), ADZ_SHAPE(2, 3), &o);
}

static void fold_sums_what_unfold_has_copied(void **state)
{
    (void)state;
    adz_module *to = adz_unfold_new(ADZ_SHAPE(2, 3), NULL);
    adz_module *back = adz_fold_new(ADZ_SHAPE(2, 4), ADZ_SHAPE(2, 3), NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 1, 2, 4), ADZ_F64);
    adz_tensor *y = adz_module_forward(back, adz_module_forward(to, x));
    adz_tensor *times = adz_tensor_from((double[]){ 1, 2, 2, 1 }, ADZ_SHAPE(4), ADZ_F64);
    assert_true(adz_equal(y, adz_mul(x, times))); /* two positions of the kernel */
    adz_module_release(&to);
    adz_module_release(&back);
}

static void parts_may_follow_from_the_size(void **state)
{
    (void)state;
    adz_module *m = adz_unflatten_new(-1, ADZ_SHAPE(2, -1, 3));
    adz_tensor *y = adz_module_forward(m, adz_ones(ADZ_SHAPE(5, 12), ADZ_F32));
    assert_int_equal(adz_tensor_rank(y), 4);
    assert_int_equal(adz_tensor_size(y, 2), 2);
    adz_module_release(&m);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    expect_refused(unflatten(NULL), adz_ones(ADZ_SHAPE(2, 5), ADZ_F32), "cannot be split into");
    expect_refused(adz_unflatten_new(0, ADZ_SHAPE(2, 2)), adz_ones(ADZ_SHAPE(5), ADZ_F32),
        "dimension 0 of x[5]");
    expect_refused(adz_unflatten_new(0, ADZ_SHAPE(1, 1, 1, 1)),
        adz_ones(ADZ_SHAPE(1, 1, 1, 1, 1, 1), ADZ_F32), "at most 8 dimensions");
    expect_refused(shuffle(NULL), adz_ones(ADZ_SHAPE(3, 2, 2), ADZ_F32), "upscale_factor 2");
    expect_refused(
        unfold(NULL), adz_ones(ADZ_SHAPE(3, 1, 2), ADZ_F32), "unfold: a kernel of size 2");
    expect_refused(fold(NULL), adz_ones(ADZ_SHAPE(3, 2), ADZ_F32), "fold: x[3, 2]");
    expect_refused(upsample(NULL), adz_ones(ADZ_SHAPE(3, 2, 2), ADZ_F32), "mode bilinear");
    adz_module *m = flatten(NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2), ADZ_F32)));
    expect_error(ADZ_ERR_DIM, "flatten");
    adz_module_release(&m);
    m = adz_unflatten_new(3, ADZ_SHAPE(2));
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2), ADZ_F32)));
    expect_error(ADZ_ERR_DIM, "Unflatten");
    adz_module_release(&m);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_unflatten_new(1, ADZ_SHAPE_SCALAR), "1 to 8 sizes");
    expect_no_module(adz_unflatten_new(1, ADZ_SHAPE(-1, -1)), "[-1, -1]");
    expect_no_module(adz_unflatten_new(1, ADZ_SHAPE(2, -2)), "[2, -2]");
    expect_no_module(adz_pixel_shuffle_new(0), "upscale_factor");
    expect_no_module(adz_pixel_unshuffle_new(-1), "downscale_factor");
    expect_no_module(adz_unfold_new(ADZ_SHAPE(2, 0), NULL), "adz_unfold_new: kernel_size");
    expect_no_module(adz_fold_new(ADZ_SHAPE(2, 2, 2), ADZ_SHAPE(2), NULL), "output_size");
    adz_conv_options two = ADZ_CONV_OPTIONS;
    two.groups = 2;
    expect_no_module(adz_fold_new(ADZ_SHAPE(2), ADZ_SHAPE(2), &two), "groups 2 must be 1");
    expect_no_module(adz_upsample_new(ADZ_SHAPE_SCALAR, NULL), "give either a size");
    expect_no_module(adz_upsample_new(ADZ_SHAPE(0), NULL), "size is [0]");
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = (adz_interpolate_mode)5;
    expect_no_module(adz_upsample_new(ADZ_SHAPE(2), &o), "mode is 5");
}

static const struct CMUnitTest facts[] = {
    TEST(fold_sums_what_unfold_has_copied),
    TEST(parts_may_follow_from_the_size),
    TEST(wrong_shapes_are_refused),
    TEST(bad_values_are_refused),
};

const module_case shape_module = {
    .name = "shape",
    .samples = { { flatten, "Flatten(start_dim=1, end_dim=-1)", "", { X(2, 3, 4) } },
        { unflatten, "Unflatten(dim=1, unflattened_size=(2, -1))", "", { X(3, 6) } },
        { shuffle, "PixelShuffle(upscale_factor=2)", "", { X(2, 4, 3, 2) } },
        { unshuffle, "PixelUnshuffle(downscale_factor=2)", "", { X(2, 1, 4, 2) } },
        { unfold, "Unfold(kernel_size=2, dilation=1, padding=0, stride=1)", "", { X(2, 3, 3, 4) } },
        { folded, "Fold(output_size=3, kernel_size=2, dilation=1, padding=0, stride=1)", "",
            { X(2, 8, 4) } },
        { fold,
            "Fold(output_size=(4, 3), kernel_size=(2, 3), dilation=1, padding=1, stride=(2, 1))",
            "", { X(1, 6, 9) } },
        { upsample, "Upsample(scale_factor=2.0, mode='bilinear')", "", { X(1, 2, 3, 2) } },
        { resized, "Upsample(size=(3, 5), mode='nearest')", "", { X(1, 2, 3, 2) } } },
    FACTS(facts),
};
