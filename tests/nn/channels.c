/* PyTorch's BatchNorm3d, InstanceNorm3d, LocalResponseNorm, CrossMapLRN2d and ChannelShuffle. */
#include "nn/case.h"

#define MODULE(name, expression)              \
    static adz_module *name(adz_generator *g) \
    {                                         \
        (void)g;                              \
        return expression;                    \
    }

MODULE(batch_norm3d, adz_batch_norm3d_new(3, NULL))
MODULE(local_response_norm, adz_local_response_norm_new(2, 1e-4, 0.75, 1))
MODULE(cross_map, adz_cross_map_lrn2d_new(3, 0.5, 0.75, 2))
MODULE(channel_shuffle, adz_channel_shuffle_new(2))

static adz_module *instance_norm3d(adz_generator *g)
{
    adz_instance_norm_options o = ADZ_INSTANCE_NORM_OPTIONS;
    (void)g;
    o.affine = true;
    o.momentum = 0;
    return adz_instance_norm3d_new(2, &o);
}

static adz_module *tracking_norm3d(adz_generator *g)
{
    adz_instance_norm_options o = ADZ_INSTANCE_NORM_OPTIONS;
    (void)g;
    o.track_running_stats = true;
    return adz_instance_norm3d_new(2, &o);
}

/* Volumes are normalised like images with as many positions. */
static void volumes_of_a_batch_are_images(void **state)
{
    (void)state;
    adz_module *m = batch_norm3d(NULL), *flat = adz_batch_norm2d_new(3, NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 4, 5, 2), ADZ_F32);
    adz_tensor *image = adz_reshape(x, ADZ_SHAPE(2, 3, 20, 2));
    adz_tensor *y = adz_module_forward(m, x), *z = adz_module_forward(flat, image);
    assert_true(adz_equal(y, adz_reshape(z, ADZ_SHAPE(2, 3, 4, 5, 2))));
    assert_true(adz_equal(
        adz_module_get_buffer(m, "running_var"), adz_module_get_buffer(flat, "running_var")));
    assert_true(adz_item(adz_module_get_buffer(m, "num_batches_tracked")) == 1);
    adz_module_release(&m);
    adz_module_release(&flat);
}

/* A volume without a batch is normalised like a signal with as many positions. */
static void single_volumes_are_signals(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3, 2, 4), ADZ_F32);
    adz_module *m = tracking_norm3d(NULL), *flat = adz_instance_norm1d_new(2, NULL);
    adz_tensor *y = adz_module_forward(flat, adz_reshape(x, ADZ_SHAPE(2, 24)));
    expect_same(adz_module_forward(m, x), adz_reshape(y, ADZ_SHAPE(2, 3, 2, 4)), 1e-6);
    assert_false(all_are(adz_module_get_buffer(m, "running_mean"), 0));
    adz_module_release(&m);
    adz_module_release(&flat);
}

/* Squares 1, 4, 9 of the channels. A window of 4 has three channels and divides by 4. */
static void even_windows_across_maps_are_shorter(void **state)
{
    (void)state;
    adz_module *m = adz_cross_map_lrn2d_new(4, 4, 1, 1);
    static const float x[] = { 1, 2, 3 };
    adz_tensor *y = adz_module_forward(m, adz_tensor_from(x, ADZ_SHAPE(1, 3, 1, 1), ADZ_F32));
    assert_true(HOLDS(y, 1e-7, 1 / 6.0, 2 / 15.0, 3 / 14.0));
    adz_module_release(&m);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    expect_refused(batch_norm3d(NULL), adz_ones(ADZ_SHAPE(2, 3, 3, 1), ADZ_F32),
        "BatchNorm3d: x[2, 3, 3, 1] must be [N, 3, D, H, W]");
    expect_refused(instance_norm3d(NULL), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32),
        "must be [N, 2, D, H, W] or [2, D, H, W]");
    expect_refused(cross_map(NULL), adz_ones(ADZ_SHAPE(2, 3, 1), ADZ_F32), "must be [N, C, H, W]");
    expect_refused(
        local_response_norm(NULL), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), "local_response_norm");
    expect_refused(channel_shuffle(NULL), adz_ones(ADZ_SHAPE(2, 3, 1), ADZ_F32), "groups 2");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_batch_norm3d_new(-1, NULL), "adz_batch_norm3d_new: num_features is -1");
    expect_no_module(adz_instance_norm3d_new(-1, NULL), "num_features is -1");
    expect_no_module(adz_local_response_norm_new(0, 1, 1, 1), "size is 0");
    expect_no_module(adz_cross_map_lrn2d_new(-1, 1, 1, 1), "adz_cross_map_lrn2d_new: size is -1");
    expect_no_module(adz_channel_shuffle_new(0), "adz_channel_shuffle_new: groups is 0");
}

static const struct CMUnitTest facts[] = {
    TEST(volumes_of_a_batch_are_images),
    TEST(single_volumes_are_signals),
    TEST(even_windows_across_maps_are_shorter),
    TEST(wrong_shapes_are_refused),
    TEST(bad_values_are_refused),
};

const module_case channels_module = {
    .name = "channels",
    .samples = { { batch_norm3d,
                     "BatchNorm3d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
                     "weight bias running_mean running_var num_batches_tracked",
                     { X(2, 3, 2, 1, 2) } },
        { instance_norm3d,
            "InstanceNorm3d(2, eps=1e-05, momentum=0.0, affine=True, track_running_stats=False)",
            "weight bias", { X(2, 2, 3, 1, 2) } },
        { tracking_norm3d,
            "InstanceNorm3d(2, eps=1e-05, momentum=0.1, affine=False, track_running_stats=True)",
            "running_mean running_var num_batches_tracked", { X(2, 2, 1, 3, 2) } },
        { local_response_norm, "LocalResponseNorm(2, alpha=0.0001, beta=0.75, k=1.0)", "",
            { X(2, 3, 4) } },
        { cross_map, "CrossMapLRN2d(3, alpha=0.5, beta=0.75, k=2.0)", "", { X(2, 4, 3, 2) } },
        { channel_shuffle, "ChannelShuffle(groups=2)", "", { X(2, 6, 3) } } },
    FACTS(facts),
};
