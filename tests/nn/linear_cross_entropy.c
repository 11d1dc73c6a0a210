/* LinearCrossEntropyLoss. */
#include "nn/case.h"

/* Weights of three classes, borrowed from the innermost scope. */
static adz_tensor *weights(void)
{
    return adz_tensor_from(((const float[]){ 0.5F, 2, 1 }), ADZ_SHAPE(3), ADZ_F32);
}

/* Scores of three classes for each of two outputs. */
static adz_module *scored(adz_generator *g)
{
    (void)g;
    adz_linear_cross_entropy_loss_options o = ADZ_LINEAR_CROSS_ENTROPY_LOSS_OPTIONS;
    o.bias = true;
    o.label_smoothing = 0.1;
    adz_scope *scope = adz_scope_open();
    adz_module *made =
        scope != NULL ? adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE(2), weights(), &o) : NULL;
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return made;
}

static adz_module *plain(adz_generator *g)
{
    (void)g;
    return adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE_SCALAR, ADZ_NONE, NULL);
}

/* ---- facts ---------------------------------------------------------------------------------- */

/* Releases the module. */
static void expect_loss(adz_module *m, adz_tensor *x, adz_tensor *target, adz_tensor *wanted)
{
    assert_non_null(wanted);
    adz_tensor *loss = ADZ_CALL(m, { NULL, x }, { NULL, target });
    assert_non_null(loss);
    assert_true(adz_equal(loss, wanted));
    adz_module_release(&m);
}

static void scores_of_linear_cross_entropy_are_those_of_its_layer(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_linear_cross_entropy_loss_options o = ADZ_LINEAR_CROSS_ENTROPY_LOSS_OPTIONS;
    o.bias = true;
    o.ignore_index = 1;
    o.reduction = ADZ_REDUCE_NONE;
    adz_cross_entropy_options ce = ADZ_CROSS_ENTROPY_OPTIONS;
    ce.ignore_index = 1;
    ce.reduction = ADZ_REDUCE_NONE;
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 4), ADZ_F32), *w = weights();
    adz_tensor *y = adz_randint(0, 3, ADZ_SHAPE(5, 2), ADZ_I64);
    adz_module *m = adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE(2), w, &o);
    adz_module *layer = adz_module_get_child(m, "linear");
    adz_tensor *scores = adz_reshape(adz_module_forward(layer, x), ADZ_SHAPE(5, 3, 2));
    expect_loss(m, x, y, adz_cross_entropy(scores, y, w, &ce));

    m = adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE_SCALAR, ADZ_NONE, NULL);
    adz_tensor *one = adz_select(x, 0, 0), *class = adz_full(ADZ_SHAPE_SCALAR, 2, ADZ_I64);
    scores = adz_module_forward(adz_module_get_child(m, "linear"), one);
    expect_loss(m, one, class, adz_cross_entropy(scores, class, ADZ_NONE, NULL));

    m = adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE(2), ADZ_NONE, NULL);
    assert_null(ADZ_CALL(m, { NULL, one }, { NULL, class }));
    expect_error(ADZ_ERR_SHAPE, "x[4] must be [N, in_features]");
    adz_module_release(&m);
    adz_scope_close(scope);
}

static void linear_cross_entropy_refuses_wrong_sizes(void **state)
{
    (void)state;
    const adz_shape none = ADZ_SHAPE_SCALAR, huge = ADZ_SHAPE(1LL << 40, 1LL << 40);
    adz_linear_cross_entropy_loss_options o = ADZ_LINEAR_CROSS_ENTROPY_LOSS_OPTIONS;
    expect_no_module(
        adz_linear_cross_entropy_loss_new(-4, 3, none, ADZ_NONE, NULL), "in_features is -4");
    expect_no_module(
        adz_linear_cross_entropy_loss_new(4, 0, none, ADZ_NONE, NULL), "num_classes is 0");
    expect_no_module(
        adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE(2, -1), ADZ_NONE, NULL), "out_features");
    expect_no_module(adz_linear_cross_entropy_loss_new(4, 3, huge, ADZ_NONE, NULL), "is too large");
    expect_no_module(
        adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE(1, 1, 1, 1, 1, 1, 1), ADZ_NONE, NULL),
        "has 7 sizes, but 6 is the most");
    assert_null(adz_linear_cross_entropy_loss_new(4, 2, none, weights(), NULL));
    expect_error(ADZ_ERR_SHAPE, "weight");
    o.label_smoothing = 2;
    expect_no_module(
        adz_linear_cross_entropy_loss_new(4, 3, none, ADZ_NONE, &o), "label_smoothing is 2");
    o.label_smoothing = 0;
    o.reduction = ADZ_REDUCE_BATCHMEAN;
    expect_no_module(adz_linear_cross_entropy_loss_new(4, 3, none, ADZ_NONE, &o), "reduction");
    o.reduction = ADZ_REDUCE_MEAN;
    o.dtype = ADZ_F64;
    assert_null(adz_linear_cross_entropy_loss_new(4, 3, none, weights(), &o));
    expect_error(ADZ_ERR_DTYPE, "weight");
}

static void the_target_may_be_probabilities(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_tensor *x = adz_randn(ADZ_SHAPE(5, 4), ADZ_F32);
    adz_tensor *p = adz_softmax(adz_randn(ADZ_SHAPE(5, 3, 2), ADZ_F32), 1);
    adz_module *m = adz_linear_cross_entropy_loss_new(4, 3, ADZ_SHAPE(2), ADZ_NONE, NULL);
    adz_tensor *scores =
        adz_reshape(adz_module_forward(adz_module_get_child(m, "linear"), x), ADZ_SHAPE(5, 3, 2));
    expect_loss(m, x, p, adz_cross_entropy(scores, p, ADZ_NONE, NULL));
    adz_scope_close(scope);
}

static const struct CMUnitTest facts[] = {
    TEST(scores_of_linear_cross_entropy_are_those_of_its_layer),
    TEST(the_target_may_be_probabilities),
    TEST(linear_cross_entropy_refuses_wrong_sizes),
};

const module_case linear_cross_entropy_module = {
    .name = "linear_cross_entropy",
    .samples = {
        { plain,
            "LinearCrossEntropyLoss(\n  in_features=4, num_classes=3, out_features=(), bias=False, reduction=mean, ignore_index=None, label_smoothing=0.0, options=None\n  (linear): Linear(in_features=4, out_features=3, bias=False)\n)",
            "linear.weight", { X(5, 4), IDS(3, 5) } },
        { scored,
            "LinearCrossEntropyLoss(\n  in_features=4, num_classes=3, out_features=(2,), bias=True, reduction=mean, ignore_index=None, label_smoothing=0.1, options=None\n  (linear): Linear(in_features=4, out_features=6, bias=True)\n)",
            "weight linear.weight linear.bias", { X_NAMED("x", 5, 4), IDS_NAMED("target", 3, 5, 2) } },
    },
    FACTS(facts),
};
