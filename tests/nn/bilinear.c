/* Bilinear. */
#include "nn/case.h"

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_bilinear_new(3, 4, 2, NULL);
}

static adz_module *without_bias(adz_generator *g)
{
    (void)g;
    adz_bilinear_options o;
    adz_bilinear_options_init(&o, sizeof o);
    o.bias = false;
    o.dtype = ADZ_F64;
    return adz_bilinear_new(2, 1, 3, &o);
}

static void it_is_the_function(void **state)
{
    (void)state;
    adz_module *m = adz_bilinear_new(3, 4, 2, NULL);
    adz_tensor *x1 = adz_randn(ADZ_SHAPE(5, 3), ADZ_F32), *x2 = adz_randn(ADZ_SHAPE(5, 4), ADZ_F32);
    adz_tensor *w = adz_module_get_parameter(m, "weight"), *b = adz_module_get_parameter(m, "bias");
    adz_tensor *y = ADZ_CALL(m, { "x2", x2 }, { "x1", x1 });
    assert_true(adz_equal(y, adz_bilinear(x1, x2, w, b)));
    /* Both are drawn from the interval of PyTorch, and fill it. */
    const double bound = 1 / sqrt(3);
    const double most = adz_item(adz_max(adz_abs(adz_flatten(w, 0, -1))));
    assert_true(most <= bound && most > bound / 2);
    adz_module_release(&m);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_bilinear_new(0, 4, 2, NULL), "in1_features is 0");
    expect_no_module(adz_bilinear_new(3, -1, 2, NULL), "in2_features is -1");
    expect_no_module(adz_bilinear_new(3, 4, -1, NULL), "out_features is -1");
    adz_module *m = adz_bilinear_new(3, 4, 2, NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32);
    assert_null(ADZ_CALL(m, { NULL, x }, { NULL, x }));
    expect_error(ADZ_ERR_SHAPE, "x2[2, 3]");
    assert_null(ADZ_CALL(m, { NULL, x }));
    expect_error(ADZ_ERR_ARGUMENT, "x2");
    adz_module_release(&m);
}

static const struct CMUnitTest facts[] = {
    TEST(it_is_the_function),
    TEST(bad_values_are_refused),
};

const module_case bilinear_module = {
    .name = "bilinear",
    .samples = {
        { plain, "Bilinear(in1_features=3, in2_features=4, out_features=2, bias=True)",
            "weight bias", { X(5, 3), X(5, 4) } },
        { without_bias, "Bilinear(in1_features=2, in2_features=1, out_features=3, bias=False)",
            "weight", { X(2, 3, 2), X(2, 3, 1) } },
    },
    FACTS(facts),
};
