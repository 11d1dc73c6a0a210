/* PyTorch's GroupNorm, InstanceNorm and RMSNorm. */
#include "nn/case.h"

static adz_module *group_norm(adz_generator *g)
{
    (void)g;
    return adz_group_norm_new(2, 4, NULL);
}

static adz_module *plain_group_norm(adz_generator *g)
{
    adz_group_norm_options o;
    (void)g;
    adz_group_norm_options_init(&o, sizeof o);
    o.affine = false;
    o.eps = 1e-3;
    return adz_group_norm_new(1, 3, &o);
}

static adz_module *instance_norm1d(adz_generator *g)
{
    (void)g;
    return adz_instance_norm1d_new(3, NULL);
}

static adz_module *instance_norm2d(adz_generator *g)
{
    adz_instance_norm_options o;
    (void)g;
    adz_instance_norm_options_init(&o, sizeof o);
    o.affine = o.track_running_stats = true;
    return adz_instance_norm2d_new(2, &o);
}

static adz_module *rms_norm(adz_generator *g)
{
    (void)g;
    return adz_rms_norm_new(ADZ_SHAPE(5), NULL);
}

static adz_module *plain_rms_norm(adz_generator *g)
{
    adz_rms_norm_options o;
    (void)g;
    adz_rms_norm_options_init(&o, sizeof o);
    o.elementwise_affine = false;
    o.eps = 1e-6;
    return adz_rms_norm_new(ADZ_SHAPE(2, 3), &o);
}

/* A signal without a batch gives the result of a batch of one. */
static void a_batch_may_be_missing(void **state)
{
    (void)state;
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 7), ADZ_F32);
    adz_module *m = instance_norm1d(NULL);
    adz_tensor *y = adz_module_forward(m, adz_unsqueeze(x, 0));
    expect_same(adz_module_forward(m, x), adz_squeeze(y, 0), 0);
    adz_module_release(&m);
}

static void tracked_statistics_serve_evaluation(void **state)
{
    (void)state;
    adz_module *m = instance_norm2d(NULL);
    adz_tensor *x = adz_reshape(adz_arange(0, 8, 1, ADZ_F32), ADZ_SHAPE(1, 2, 2, 2));
    adz_module_forward(m, x);
    assert_true(HOLDS(adz_module_get_buffer(m, "running_mean"), 1e-6, 0.15, 0.55));
    assert_true(adz_item(adz_module_get_buffer(m, "num_batches_tracked")) == 0);
    adz_module_eval(m);
    adz_tensor *y = adz_module_forward(m, adz_zeros(ADZ_SHAPE(1, 2, 1, 1), ADZ_F32));
    assert_true(adz_tensor_data_f32(y)[0] < -0.1f && adz_tensor_data_f32(y)[0] > -0.16f);
    adz_module_train(m, true);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_true(all_are(adz_module_get_buffer(m, "running_mean"), 0));
    assert_true(all_are(adz_module_get_buffer(m, "running_var"), 1));
    adz_module_release(&m);
}

static void rows_have_mean_square_one(void **state)
{
    (void)state;
    adz_module *m = adz_rms_norm_new(ADZ_SHAPE(2), NULL);
    static const float x[] = { 1, 7, -3, 4 };
    adz_tensor *y = adz_module_forward(m, adz_tensor_from(x, ADZ_SHAPE(2, 2), ADZ_F32));
    double deep = sqrt(12.5);
    assert_true(HOLDS(y, 1e-6, 1 / 5.0, 7 / 5.0, -3 / deep, 4 / deep));
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_true(all_are(adz_module_get_parameter(m, "weight"), 1));
    adz_module_release(&m);
}

static void wrong_shapes_are_refused(void **state)
{
    (void)state;
    expect_refused(
        group_norm(NULL), adz_ones(ADZ_SHAPE(2, 6, 3), ADZ_F32), "GroupNorm: x[2, 6, 3] must be");
    expect_refused(instance_norm1d(NULL), adz_ones(ADZ_SHAPE(2, 4, 3), ADZ_F32),
        "must be [N, 3, L] or [3, L]");
    expect_refused(instance_norm2d(NULL), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32),
        "must be [N, 2, H, W] or [2, H, W]");
    expect_refused(rms_norm(NULL), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), "rms_norm: x[2, 3]");
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_group_norm_options g = ADZ_GROUP_NORM_OPTIONS;
    expect_no_module(adz_group_norm_new(3, 4, NULL), "num_groups 3 does not divide num_channels 4");
    expect_no_module(adz_group_norm_new(0, 4, NULL), "num_groups is 0, but must be 1 or more");
    expect_no_module(adz_group_norm_new(1, -4, NULL), "num_channels");
    g.eps = -1;
    expect_no_module(adz_group_norm_new(2, 4, &g), "eps is -1");
    g.size = 0;
    expect_no_module(adz_group_norm_new(2, 4, &g), "size is 0");
    adz_instance_norm_options i = ADZ_INSTANCE_NORM_OPTIONS;
    expect_no_module(adz_instance_norm1d_new(-1, NULL), "num_features");
    i.momentum = 2;
    expect_no_module(adz_instance_norm2d_new(1, &i), "momentum is 2");
    i.momentum = 0;
    i.dtype = ADZ_I64;
    assert_null(adz_instance_norm2d_new(1, &i));
    expect_error(ADZ_ERR_DTYPE, "int64");
    adz_rms_norm_options r = ADZ_RMS_NORM_OPTIONS;
    expect_no_module(adz_rms_norm_new(ADZ_SHAPE_SCALAR, NULL), "normalized_shape");
    expect_no_module(adz_rms_norm_new(ADZ_SHAPE(2, -1), NULL), "[2, -1]");
    r.eps = -2;
    expect_no_module(adz_rms_norm_new(ADZ_SHAPE(2), &r), "eps is -2");
}

static const struct CMUnitTest facts[] = {
    TEST(a_batch_may_be_missing),
    TEST(tracked_statistics_serve_evaluation),
    TEST(rows_have_mean_square_one),
    TEST(wrong_shapes_are_refused),
    TEST(bad_values_are_refused),
};

const module_case group_norm_module = {
    .name = "group_norm",
    .samples = { { group_norm, "GroupNorm(2, 4, eps=1e-05, affine=True)", "weight bias",
                     { X(2, 4, 3) } },
        { plain_group_norm, "GroupNorm(1, 3, eps=0.001, affine=False)", "", { X(2, 3, 2, 2) } },
        { instance_norm1d,
            "InstanceNorm1d(3, eps=1e-05, momentum=0.1, affine=False, track_running_stats=False)",
            "", { X(2, 3, 4) } },
        { instance_norm2d,
            "InstanceNorm2d(2, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)",
            "weight bias running_mean running_var num_batches_tracked", { X(2, 2, 3, 2) } },
        { rms_norm, "RMSNorm((5,), eps=None, elementwise_affine=True)", "weight", { X(2, 3, 5) } },
        { plain_rms_norm, "RMSNorm((2, 3), eps=1e-06, elementwise_affine=False)", "",
            { X(4, 2, 3) } } },
    FACTS(facts),
};
