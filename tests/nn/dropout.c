/* PyTorch's dropouts of channels, and its alpha dropouts. */
#include "nn/case.h"
#include "nn/layers/dropout.h"

/* A module that draws from the generator. */
#define DROPOUT(name)                                \
    static adz_module *name(adz_generator *g)        \
    {                                                \
        adz_dropout_options o = ADZ_DROPOUT_OPTIONS; \
        o.generator = g;                             \
        return adz_##name##_new(0.3, &o);            \
    }

DROPOUT(dropout1d)
DROPOUT(dropout2d)
DROPOUT(dropout3d)
DROPOUT(alpha_dropout)
DROPOUT(feature_alpha_dropout)

static adz_module *(*const builds[])(
    adz_generator *g) = { dropout1d, dropout2d, dropout3d, alpha_dropout, feature_alpha_dropout };
enum { BUILDS = sizeof builds / sizeof *builds };

/* Three dimensions suit all of them but Dropout3d, which has one more. */
static adz_shape shape_for(int i)
{
    return i == 2 ? ADZ_SHAPE(3, 4, 2, 2) : ADZ_SHAPE(3, 4, 2);
}

static void evaluation_returns_the_argument(void **state)
{
    (void)state;
    for (int i = 0; i < BUILDS; ++i) {
        adz_module *m = builds[i](NULL);
        adz_tensor *x = adz_randn(shape_for(i), ADZ_F32);
        assert_false(adz_equal(adz_module_forward(m, x), x));
        adz_module_eval(m);
        assert_ptr_equal(adz_module_forward(m, x), x);
        adz_module_release(&m);
    }
}

/* A module draws what its function draws from the same generator. */
static void a_generator_of_the_callers_is_used(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(4);
    const adz_generator_state before = adz_generator_get_state(g);
    adz_module *m = dropout2d(g);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 6, 2, 2), ADZ_F64);
    adz_tensor *y = adz_module_forward(m, x);
    adz_generator_set_state(g, before);
    assert_true(adz_equal(y, adz_dropout2d(x, 0.3, true, g)));
    adz_module_release(&m);
    adz_generator_free(&g);
}

/* Masks of a replay: one number per channel, or one per element. */
static void masks_are_replayed(void **state)
{
    (void)state;
    adz_tensor *x = adz_full(ADZ_SHAPE(1, 2, 2), 3, ADZ_F64);
    adz_tensor *mask = adz_tensor_from((float[]){ 0, 1 }, ADZ_SHAPE(1, 2, 1), ADZ_F32);
    adzi_masks masks = { (adz_tensor *const[]){ mask, mask }, 2, 0 };
    adz_module *m = dropout1d(NULL), *alpha = feature_alpha_dropout(NULL);
    adzi_module_replay(m, &masks);
    adzi_module_replay(alpha, &masks);
    assert_true(HOLDS(adz_module_forward(m, x), 1e-15, 0, 0, 3 / 0.7, 3 / 0.7));
    const double s = 1.7580993408473766, a = 1 / sqrt(0.7 * (1 + 0.3 * s * s));
    const double low = a * (0.3 * s - s), high = a * (3 + 0.3 * s);
    assert_true(HOLDS(adz_module_forward(alpha, x), 1e-15, low, low, high, high));
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_STATE, "no mask is left");
    adz_module_release(&m);
    adz_module_release(&alpha);
}

static void wrong_shapes_and_values_are_refused(void **state)
{
    (void)state;
    expect_refused(dropout1d(NULL), adz_ones(ADZ_SHAPE(2), ADZ_F32), "dropout1d: x[2]");
    expect_refused(dropout2d(NULL), adz_ones(ADZ_SHAPE(2, 2), ADZ_F32), "dropout2d: x[2, 2]");
    expect_refused(dropout3d(NULL), adz_ones(ADZ_SHAPE(2, 2), ADZ_F32), "dropout3d: x[2, 2]");
    expect_refused(feature_alpha_dropout(NULL), adz_ones(ADZ_SHAPE(2), ADZ_F32),
        "feature_alpha_dropout: x[2]");
    expect_no_module(adz_dropout1d_new(1.5, NULL), "adz_dropout1d_new: p is 1.5");
    expect_no_module(adz_alpha_dropout_new(-1, NULL), "adz_alpha_dropout_new: p is -1");
}

static const struct CMUnitTest facts[] = {
    TEST(evaluation_returns_the_argument),
    TEST(a_generator_of_the_callers_is_used),
    TEST(masks_are_replayed),
    TEST(wrong_shapes_and_values_are_refused),
};

const module_case dropout_module = {
    .name = "dropout",
    .samples = { { dropout1d, "Dropout1d(p=0.3, inplace=False)", "", { X(2, 3, 4) } },
        { dropout2d, "Dropout2d(p=0.3, inplace=False)", "", { X(2, 3, 2, 2) } },
        { dropout3d, "Dropout3d(p=0.3, inplace=False)", "", { X(2, 3, 2, 1, 2) } },
        { alpha_dropout, "AlphaDropout(p=0.3, inplace=False)", "", { X(2, 3, 4) } },
        { feature_alpha_dropout, "FeatureAlphaDropout(p=0.3, inplace=False)", "",
            { X(2, 3, 4) } } },
    FACTS(facts),
};
