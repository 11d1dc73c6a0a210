#include "nn/case.h"

static adz_module *affine(adz_generator *g)
{
    (void)g;
    return adz_layer_norm_new(ADZ_SHAPE(5), NULL);
}

static adz_module *of_two(adz_generator *g)
{
    (void)g;
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.eps = 1e-12;
    o.bias = false;
    return adz_layer_norm_new(ADZ_SHAPE(2, 3), &o);
}

static adz_module *plain(adz_generator *g)
{
    (void)g;
    adz_layer_norm_options o;
    adz_layer_norm_options_init(&o, sizeof o);
    o.elementwise_affine = false;
    return adz_layer_norm_new(ADZ_SHAPE(5), &o);
}

/* Compares the result with mean and deviation that plain loops compute. */
static void rows_are_normalised(void **state)
{
    (void)state;
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.dtype = ADZ_F64;
    o.eps = 0.5;
    adz_module *m = adz_layer_norm_new(ADZ_SHAPE(3), &o);
    assert_true(all_are(adz_module_get_parameter(m, "weight"), 1));
    assert_true(all_are(adz_module_get_parameter(m, "bias"), 0));
    static const double w[] = { 1, 2, 3 }, b[] = { 0.5, 0, -0.5 }, x[] = { 1, 2, 6 };
    ADZ_NO_GRAD
    {
        adz_tensor_write(adz_module_get_parameter(m, "weight"), w, sizeof w);
        adz_tensor_write(adz_module_get_parameter(m, "bias"), b, sizeof b);
    }
    adz_tensor *y = adz_module_forward(m, adz_tensor_from(x, ADZ_SHAPE(1, 3), ADZ_F64));
    double deviation = sqrt((4 + 1 + 9) / 3.0 + 0.5);
    assert_true(HOLDS(y, 1e-14, -2 / deviation + 0.5, 2 * -1 / deviation, 3 * 3 / deviation - 0.5));
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_true(all_are(adz_module_get_parameter(m, "weight"), 1));
    assert_true(all_are(adz_module_get_parameter(m, "bias"), 0));
    adz_module_release(&m);
}

/* Up to ADZ_MAX_RANK sizes, a size of 0, and an eps of 0. */
static void borders_are_allowed(void **state)
{
    (void)state;
    adz_shape most = { ADZ_MAX_RANK, { 0 } };
    for (int i = 0; i < ADZ_MAX_RANK; ++i) {
        most.sizes[i] = i == 0 ? 3 : 1;
    }
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.eps = 0;
    adz_module *m = adz_layer_norm_new(most, &o), *empty = adz_layer_norm_new(ADZ_SHAPE(0), NULL);
    adz_tensor *x = adz_reshape(adz_arange(1, 4, 1, ADZ_F32), most);
    assert_true(HOLDS(adz_module_forward(m, x), 1e-6, -sqrt(1.5), 0, sqrt(1.5)));
    assert_int_equal(
        adz_tensor_numel(adz_module_forward(empty, adz_ones(ADZ_SHAPE(2, 0), ADZ_F32))), 0);
    adz_module_release(&m);
    adz_module_release(&empty);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    expect_no_module(adz_layer_norm_new(ADZ_SHAPE_SCALAR, NULL), "has 0 sizes");
    expect_no_module(adz_layer_norm_new(ADZ_SHAPE(2, -3), NULL),
        "normalized_shape is [2, -3], but each size must be 0 or more");
    o.eps = -1;
    expect_no_module(adz_layer_norm_new(ADZ_SHAPE(2), &o), "eps is -1");
    o.eps = NAN;
    expect_no_module(adz_layer_norm_new(ADZ_SHAPE(2), &o), "eps is");
    o.eps = 0;
    o.dtype = ADZ_I32;
    assert_null(adz_layer_norm_new(ADZ_SHAPE(2), &o));
    expect_error(ADZ_ERR_DTYPE, "adz_layer_norm_new: parameters are float32 or float64, not int32");
    expect_refused(affine(NULL), adz_ones(ADZ_SHAPE(5, 4), ADZ_F32), "layer_norm: ");
    expect_refused(plain(NULL), adz_ones(ADZ_SHAPE(5, 4), ADZ_F32), "layer_norm: ");
    expect_refused(of_two(NULL), adz_ones(ADZ_SHAPE(3), ADZ_F32), "layer_norm: ");
}

static const struct CMUnitTest facts[] = {
    TEST(rows_are_normalised),
    TEST(borders_are_allowed),
    TEST(bad_values_are_refused),
};

const module_case layer_norm_module = {
    .name = "layer_norm",
    .samples = { { affine, "LayerNorm((5,), eps=1e-05, elementwise_affine=True)", "weight bias",
                     { X(2, 3, 5) } },
        { of_two, "LayerNorm((2, 3), eps=1e-12, elementwise_affine=True)", "weight",
            { X(4, 2, 3) } },
        { plain, "LayerNorm((5,), eps=1e-05, elementwise_affine=False)", "", { X(2, 5) } } },
    FACTS(facts),
};
