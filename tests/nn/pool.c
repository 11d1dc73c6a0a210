/* PyTorch's pooling and BatchNorm2d. */
#include "nn/case.h"

#define MODULE(name, expression)              \
    static adz_module *name(adz_generator *g) \
    {                                         \
        (void)g;                              \
        return expression;                    \
    }

MODULE(max_pool1d, adz_max_pool1d_new(3, NULL))
MODULE(avg_pool1d, adz_avg_pool1d_new(2, NULL))
MODULE(avg_pool2d, adz_avg_pool2d_new(ADZ_SHAPE(2), NULL))
MODULE(adaptive_avg_pool1d, adz_adaptive_avg_pool1d_new(3))
MODULE(adaptive_avg_pool2d, adz_adaptive_avg_pool2d_new(ADZ_SHAPE(1)))
MODULE(adaptive_max_pool1d, adz_adaptive_max_pool1d_new(2))
MODULE(adaptive_max_pool2d, adz_adaptive_max_pool2d_new(ADZ_SHAPE(2, 3)))
MODULE(norm, adz_batch_norm2d_new(3, NULL))

static adz_module *max_pool2d(adz_generator *g)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    (void)g;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1, 0);
    o.ceil_mode = true;
    return adz_max_pool2d_new(ADZ_SHAPE(3, 2), &o);
}

static adz_module *plain_norm(adz_generator *g)
{
    adz_batch_norm2d_options o;
    (void)g;
    adz_batch_norm2d_options_init(&o, sizeof o);
    o.affine = false;
    o.momentum = ADZ_CUMULATIVE_MOMENTUM;
    return adz_batch_norm2d_new(2, &o);
}

/* Each channel of a batch of images has mean 0 and variance 1, and the statistics follow it. */
static void channels_are_normalised(void **state)
{
    (void)state;
    adz_module *m = adz_batch_norm2d_new(2, NULL);
    adz_tensor *x = adz_reshape(adz_arange(0, 24, 1, ADZ_F32), ADZ_SHAPE(3, 2, 2, 2));
    adz_tensor *y = adz_module_forward(m, x);
    adz_dims dims = ADZ_DIMS(0, 2, 3);
    assert_true(HOLDS(adz_mean(y, dims, ADZ_DROPDIM), 1e-6, 0, 0));
    assert_true(HOLDS(adz_var(y, dims, 0, ADZ_DROPDIM), 1e-5, 1, 1));
    assert_true(HOLDS(adz_module_get_buffer(m, "running_mean"), 1e-6, 0.95, 1.35));
    assert_true(adz_item(adz_module_get_buffer(m, "num_batches_tracked")) == 1);
    adz_module_eval(m);
    y = adz_module_forward(m, adz_zeros(ADZ_SHAPE(1, 2, 1, 1), ADZ_F32));
    assert_int_equal(adz_tensor_numel(y), 2);
    adz_module_release(&m);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    expect_refused(norm(NULL), adz_ones(ADZ_SHAPE(2, 4, 3, 3), ADZ_F32), "must be [N, 3, H, W]");
    expect_refused(norm(NULL), adz_ones(ADZ_SHAPE(2, 3, 3), ADZ_F32), "BatchNorm2d: x[2, 3, 3]");
    expect_refused(avg_pool2d(NULL), adz_ones(ADZ_SHAPE(1, 1, 3), ADZ_F32), "does not fit");
    expect_refused(adaptive_avg_pool2d(NULL), adz_ones(ADZ_SHAPE(1, 0, 3), ADZ_F32), "is empty");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_max_pool_options m = ADZ_MAX_POOL_OPTIONS;
    adz_avg_pool_options a = ADZ_AVG_POOL_OPTIONS;
    m.stride = a.stride = ADZ_SHAPE(0);
    expect_no_module(adz_max_pool1d_new(2, &m), "adz_max_pool1d_new: stride is [0]");
    expect_no_module(adz_max_pool2d_new(ADZ_SHAPE(2), &m), "stride is [0]");
    expect_no_module(adz_avg_pool1d_new(2, &a), "stride is [0]");
    expect_no_module(adz_avg_pool2d_new(ADZ_SHAPE(2), &a), "stride is [0]");
    m.stride = ADZ_SHAPE(1);
    m.padding = ADZ_SHAPE(2);
    expect_no_module(adz_max_pool2d_new(ADZ_SHAPE(2), &m), "padding 2 is more than half");
    m.size = 0;
    expect_no_module(adz_max_pool2d_new(ADZ_SHAPE(2), &m), "size is 0");
    a.size = 0;
    expect_no_module(adz_avg_pool1d_new(2, &a), "size is 0");
    expect_no_module(adz_adaptive_avg_pool1d_new(-2), "output_size is -2");
    expect_no_module(adz_adaptive_max_pool2d_new(ADZ_SHAPE(1, 2, 3)), "has 3 numbers");
    expect_no_module(adz_batch_norm2d_new(-1, NULL),
        "adz_batch_norm2d_new: num_features is -1, but must be 0 or more");
}

static const struct CMUnitTest facts[] = {
    TEST(channels_are_normalised),
    TEST(wrong_shapes_are_refused),
    TEST(bad_values_are_refused),
};

const module_case pool_module = {
    .name = "pool",
    .samples = { { max_pool1d,
                     "MaxPool1d(kernel_size=3, stride=3, padding=0, dilation=1, ceil_mode=False)",
                     "", { X(2, 3, 7) } },
        { max_pool2d,
            "MaxPool2d(kernel_size=(3, 2), stride=2, padding=(1, 0), dilation=1, ceil_mode=True)",
            "", { X(2, 2, 5, 6) } },
        { avg_pool1d, "AvgPool1d(kernel_size=(2,), stride=(2,), padding=(0,))", "",
            { X(2, 3, 7) } },
        { avg_pool2d, "AvgPool2d(kernel_size=2, stride=2, padding=0)", "", { X(2, 2, 4, 6) } },
        { adaptive_avg_pool1d, "AdaptiveAvgPool1d(output_size=3)", "", { X(2, 3, 7) } },
        { adaptive_avg_pool2d, "AdaptiveAvgPool2d(output_size=1)", "", { X(2, 2, 4, 6) } },
        { adaptive_max_pool1d, "AdaptiveMaxPool1d(output_size=2)", "", { X(2, 3, 7) } },
        { adaptive_max_pool2d, "AdaptiveMaxPool2d(output_size=(2, 3))", "", { X(2, 2, 4, 7) } },
        { norm, "BatchNorm2d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
            "weight bias running_mean running_var num_batches_tracked", { X(2, 3, 2, 2) } },
        { plain_norm,
            "BatchNorm2d(2, eps=1e-05, momentum=None, affine=False, track_running_stats=True)",
            "running_mean running_var num_batches_tracked", { X(3, 2, 1, 2) } } },
    FACTS(facts),
};
