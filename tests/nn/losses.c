/* Losses and distances as modules. */
#include "nn/case.h"

/* Returns the module that the call makes, and releases the tensors that it was made from. */
#define IN_SCOPE(call)                                \
    adz_scope *scope = adz_scope_open();              \
    adz_module *made = scope != NULL ? (call) : NULL; \
    if (scope != NULL) {                              \
        adz_scope_close(scope);                       \
    }                                                 \
    return made

#define PLAIN(fn, call)                     \
    static adz_module *fn(adz_generator *g) \
    {                                       \
        (void)g;                            \
        IN_SCOPE(call);                     \
    }

/* Weights of three classes, borrowed from the innermost scope. */
static adz_tensor *weights(void)
{
    return adz_tensor_from(((const float[]){ 0.5F, 2, 1 }), ADZ_SHAPE(3), ADZ_F32);
}

static adz_module *smoothed(adz_generator *g)
{
    (void)g;
    adz_cross_entropy_options o = ADZ_CROSS_ENTROPY_OPTIONS;
    o.label_smoothing = 0.1;
    IN_SCOPE(adz_cross_entropy_loss_new(weights(), &o));
}

static adz_module *squares(adz_generator *g)
{
    (void)g;
    adz_multi_margin_loss_options o = ADZ_MULTI_MARGIN_LOSS_OPTIONS;
    o.p = 2;
    IN_SCOPE(adz_multi_margin_loss_new(weights(), &o));
}

static adz_module *wide_triplet(adz_generator *g)
{
    (void)g;
    adz_triplet_margin_loss_options o = ADZ_TRIPLET_MARGIN_LOSS_OPTIONS;
    o.margin = 9;
    o.swap = true;
    return adz_triplet_margin_loss_new(&o);
}

/* A distance with parameters. */
static adz_module *learned_triplet(adz_generator *g)
{
    (void)g;
    adz_triplet_margin_with_distance_loss_options o = ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS;
    o.margin = 9;
    return adz_triplet_margin_with_distance_loss_new(adz_bilinear_new(3, 3, 1, NULL), &o);
}

static adz_module *flat_poisson(adz_generator *g)
{
    (void)g;
    adz_poisson_nll_loss_options o = ADZ_POISSON_NLL_LOSS_OPTIONS;
    o.full = true;
    return adz_poisson_nll_loss_new(&o);
}

PLAIN(l1, adz_l1_loss_new(ADZ_REDUCE_MEAN))
PLAIN(mse, adz_mse_loss_new(ADZ_REDUCE_NONE))
PLAIN(logits, adz_bce_with_logits_loss_new(ADZ_NONE, ADZ_REDUCE_MEAN, weights()))
PLAIN(labels, adz_multilabel_soft_margin_loss_new(weights(), ADZ_REDUCE_MEAN))
PLAIN(nll, adz_nll_loss_new(ADZ_NONE, -100, ADZ_REDUCE_MEAN))
PLAIN(listed, adz_multilabel_margin_loss_new(ADZ_REDUCE_MEAN))
PLAIN(triplet, adz_triplet_margin_with_distance_loss_new(NULL, NULL))

/* ---- facts ---------------------------------------------------------------------------------- */

/* Every module computes what its function computes. */
static void expect_loss(adz_module *m, adz_tensor *const *in, size_t n, adz_tensor *wanted)
{
    adz_values *from = adz_values_new(), *to = adz_values_new();
    assert_non_null(m);
    for (size_t i = 0; i < n; ++i) {
        assert_int_equal(adz_values_add(from, NULL, in[i]), ADZ_OK);
    }
    assert_int_equal(adz_module_call(m, from, to), ADZ_OK);
    assert_non_null(wanted);
    assert_true(adz_equal(adz_values_at(to, 0), wanted));
    adz_values_free(&from);
    adz_values_free(&to);
    adz_module_release(&m);
}
#define EXPECT_LOSS(m, wanted, ...)                   \
    expect_loss((m), (adz_tensor *[]){ __VA_ARGS__ }, \
        sizeof((adz_tensor *[]){ __VA_ARGS__ }) / sizeof(adz_tensor *), (wanted))

static adz_tensor *signs_of(adz_tensor *x)
{
    return adz_where(adz_gt_number(x, 0), adz_ones_like(x), adz_full_like(x, -1));
}

static void modules_of_pairs_are_their_functions(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32), *t = adz_rand(ADZ_SHAPE(4, 3), ADZ_F32);
    adz_tensor *p = adz_rand(ADZ_SHAPE(4, 3), ADZ_F32), *signs = signs_of(x), *w = weights();
    const adz_reduction sum = ADZ_REDUCE_SUM;
    EXPECT_LOSS(adz_l1_loss_new(sum), adz_l1_loss(x, t, sum), x, t);
    EXPECT_LOSS(adz_mse_loss_new(sum), adz_mse_loss(x, t, sum), x, t);
    EXPECT_LOSS(adz_soft_margin_loss_new(sum), adz_soft_margin_loss(x, signs, sum), x, signs);
    EXPECT_LOSS(adz_smooth_l1_loss_new(sum, 2), adz_smooth_l1_loss(x, t, sum, 2), x, t);
    EXPECT_LOSS(adz_huber_loss_new(sum, 2), adz_huber_loss(x, t, sum, 2), x, t);
    EXPECT_LOSS(adz_kl_div_loss_new(sum, true), adz_kl_div(x, t, sum, true), x, t);
    EXPECT_LOSS(
        adz_hinge_embedding_loss_new(sum, 2), adz_hinge_embedding_loss(x, signs, sum, 2), x, signs);
    EXPECT_LOSS(adz_bce_loss_new(w, sum), adz_binary_cross_entropy(p, t, w, sum), p, t);
    EXPECT_LOSS(adz_bce_with_logits_loss_new(w, sum, p),
        adz_binary_cross_entropy_with_logits(x, t, w, sum, p), x, t);
    EXPECT_LOSS(adz_multilabel_soft_margin_loss_new(w, sum),
        adz_multilabel_soft_margin_loss(x, t, w, sum), x, t);
    EXPECT_LOSS(adz_margin_ranking_loss_new(sum, 2), adz_margin_ranking_loss(x, t, signs, sum, 2),
        x, t, signs);
    EXPECT_LOSS(adz_pairwise_distance_new(3, 0.5, ADZ_KEEPDIM),
        adz_pairwise_distance(x, t, 3, 0.5, ADZ_KEEPDIM), x, t);
    EXPECT_LOSS(adz_cosine_similarity_new(0, 0.5), adz_cosine_similarity(x, t, 0, 0.5), x, t);
    adz_scope_close(scope);
}

static void modules_of_classes_and_options_are_their_functions(void **state)
{
    (void)state;
    adz_scope *scope = adz_scope_open();
    adz_manual_seed(4);
    adz_tensor *x = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32), *v = adz_rand(ADZ_SHAPE(4, 3), ADZ_F32);
    adz_tensor *u = adz_randn(ADZ_SHAPE(4, 3), ADZ_F32), *w = weights();
    adz_tensor *y = adz_tensor_from(((const int64_t[]){ 2, 0, 1, 1 }), ADZ_SHAPE(4), ADZ_I64);
    adz_tensor *ys = adz_randint(0, 3, ADZ_SHAPE(4, 3), ADZ_I64),
               *one = adz_ones(ADZ_SHAPE(4), ADZ_F32);
    EXPECT_LOSS(
        adz_nll_loss_new(w, 1, ADZ_REDUCE_SUM), adz_nll_loss(x, y, w, 1, ADZ_REDUCE_SUM), x, y);
    adz_cross_entropy_options ce = ADZ_CROSS_ENTROPY_OPTIONS;
    ce.ignore_index = 2;
    EXPECT_LOSS(adz_cross_entropy_loss_new(w, &ce), adz_cross_entropy(x, y, w, &ce), x, y);
    adz_multi_margin_loss_options mm = ADZ_MULTI_MARGIN_LOSS_OPTIONS;
    mm.margin = 3;
    EXPECT_LOSS(adz_multi_margin_loss_new(w, &mm), adz_multi_margin_loss(x, y, w, &mm), x, y);
    EXPECT_LOSS(adz_multilabel_margin_loss_new(ADZ_REDUCE_SUM),
        adz_multilabel_margin_loss(x, ys, ADZ_REDUCE_SUM), x, ys);
    EXPECT_LOSS(adz_cosine_embedding_loss_new(ADZ_REDUCE_SUM, 0.5),
        adz_cosine_embedding_loss(x, u, one, ADZ_REDUCE_SUM, 0.5), x, u, one);
    adz_poisson_nll_loss_options poisson = ADZ_POISSON_NLL_LOSS_OPTIONS;
    poisson.log_input = false;
    EXPECT_LOSS(adz_poisson_nll_loss_new(&poisson), adz_poisson_nll_loss(v, u, &poisson), v, u);
    adz_gaussian_nll_loss_options gaussian = ADZ_GAUSSIAN_NLL_LOSS_OPTIONS;
    gaussian.full = true;
    EXPECT_LOSS(
        adz_gaussian_nll_loss_new(&gaussian), adz_gaussian_nll_loss(x, u, v, &gaussian), x, u, v);
    adz_triplet_margin_loss_options triple = ADZ_TRIPLET_MARGIN_LOSS_OPTIONS;
    triple.p = 1;
    EXPECT_LOSS(
        adz_triplet_margin_loss_new(&triple), adz_triplet_margin_loss(x, u, v, &triple), x, u, v);
    EXPECT_LOSS(adz_triplet_margin_with_distance_loss_new(adz_cosine_similarity_new(1, 1e-8), NULL),
        adz_mean(adz_relu(adz_add_number(adz_sub(adz_cosine_similarity(x, u, 1, 1e-8),
                                             adz_cosine_similarity(x, v, 1, 1e-8)),
                     1)),
            ADZ_ALL_DIMS, ADZ_DROPDIM),
        x, u, v);
    adz_ctc_loss_options ctc = ADZ_CTC_LOSS_OPTIONS;
    ctc.blank = 2;
    adz_tensor *logs = adz_log_softmax(adz_randn(ADZ_SHAPE(5, 2, 3), ADZ_F32), 2);
    adz_tensor *targets = adz_randint(0, 2, ADZ_SHAPE(2, 2), ADZ_I64);
    adz_tensor *steps = adz_full(ADZ_SHAPE(2), 5, ADZ_I64),
               *sizes = adz_full(ADZ_SHAPE(2), 2, ADZ_I64);
    EXPECT_LOSS(adz_ctc_loss_new(&ctc), adz_ctc_loss(logs, targets, steps, sizes, &ctc), logs,
        targets, steps, sizes);
    adz_scope_close(scope);
}

static void arguments_come_by_name_and_all_are_needed(void **state)
{
    (void)state;
    adz_module *m = adz_mse_loss_new(ADZ_REDUCE_MEAN);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2), ADZ_F32), *t = adz_zeros(ADZ_SHAPE(2), ADZ_F32);
    assert_true(adz_item(ADZ_CALL(m, { "target", t }, { "x", x })) == 1);
    assert_null(ADZ_CALL(m, { "x", x }));
    expect_error(ADZ_ERR_ARGUMENT, "MSELoss: target");
    assert_null(ADZ_CALL(m, { NULL, x }, { NULL, t }, { "weight", t }));
    expect_error(ADZ_ERR_ARGUMENT, "weight");
    adz_module_release(&m);
}

static void constructors_refuse_what_the_functions_refuse(void **state)
{
    (void)state;
    expect_no_module(adz_l1_loss_new((adz_reduction)7), "reduction");
    expect_no_module(adz_mse_loss_new(ADZ_REDUCE_BATCHMEAN), "reduction");
    expect_no_module(adz_huber_loss_new(ADZ_REDUCE_MEAN, 0), "delta is 0");
    expect_no_module(adz_smooth_l1_loss_new(ADZ_REDUCE_MEAN, -1), "beta is -1");
    expect_no_module(adz_hinge_embedding_loss_new(ADZ_REDUCE_MEAN, NAN), "margin is nan");
    expect_no_module(adz_cosine_embedding_loss_new(ADZ_REDUCE_MEAN, NAN), "margin is nan");
    expect_no_module(adz_multilabel_margin_loss_new((adz_reduction)7), "reduction");
    expect_no_module(adz_pairwise_distance_new(NAN, 0, false), "p is NaN");
    adz_triplet_margin_with_distance_loss_options o = ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS;
    o.margin = 0;
    expect_no_module(
        adz_triplet_margin_with_distance_loss_new(adz_linear_new(1, 1, NULL), &o), "margin is 0");
    adz_multi_margin_loss_options p = ADZ_MULTI_MARGIN_LOSS_OPTIONS;
    p.p = 3;
    expect_no_module(adz_multi_margin_loss_new(ADZ_NONE, &p), "p is 3");
    p.size = 0;
    expect_no_module(adz_multi_margin_loss_new(ADZ_NONE, &p), "ADZ_MULTI_MARGIN_LOSS_OPTIONS");
    assert_null(adz_nll_loss_new(adz_ones(ADZ_SHAPE(2, 2), ADZ_F32), -100, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_SHAPE, "weight");
    assert_null(adz_bce_loss_new(NULL, ADZ_REDUCE_MEAN));
    expect_error(ADZ_ERR_NULL, "");
}

static void weights_are_converted_with_the_module(void **state)
{
    (void)state;
    adz_module *m = adz_cross_entropy_loss_new(weights(), NULL);
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    adz_tensor *x = adz_zeros(ADZ_SHAPE(1, 3), ADZ_F64), *y = adz_zeros(ADZ_SHAPE(1), ADZ_I64);
    assert_float_equal(adz_item(ADZ_CALL(m, { NULL, x }, { NULL, y })), log(3), 1e-15);
    adz_module_release(&m);
}

static const struct CMUnitTest facts[] = {
    TEST(modules_of_pairs_are_their_functions),
    TEST(modules_of_classes_and_options_are_their_functions),
    TEST(arguments_come_by_name_and_all_are_needed),
    TEST(constructors_refuse_what_the_functions_refuse),
    TEST(weights_are_converted_with_the_module),
};

const module_case losses_module = {
    .name = "losses",
    .samples = {
        { l1, "L1Loss()", "", { X(4, 3), X(4, 3) } },
        { mse, "MSELoss()", "", { X(4, 3), X(4, 3) } },
        { smoothed, "CrossEntropyLoss()", "weight", { X(4, 3), IDS(3, 4) } },
        { squares, "MultiMarginLoss()", "weight", { X(4, 3), IDS(3, 4) } },
        { logits, "BCEWithLogitsLoss()", "pos_weight", { X(4, 3), X(4, 3) } },
        { listed, "MultiLabelMarginLoss()", "", { X(4, 3), IDS(3, 4, 3) } },
        { labels, "MultiLabelSoftMarginLoss()", "weight", { X(4, 3), X_NAMED("target", 4, 3) } },
        { nll, "NLLLoss()", "", { X(4, 3), IDS_NAMED("target", 3, 4) } },
        { wide_triplet, "TripletMarginLoss()", "", { X(4, 3), X(4, 3), X(4, 3) } },
        { learned_triplet,
            "TripletMarginWithDistanceLoss(\n  (distance_function): Bilinear(in1_features=3, in2_features=3, out_features=1, bias=True)\n)",
            "distance_function.weight distance_function.bias", { X(4, 3), X(4, 3), X(4, 3) } },
        { triplet,
            "TripletMarginWithDistanceLoss(\n  (distance_function): PairwiseDistance()\n)",
            "", { X(4, 3), X(4, 3), X(4, 3) } },
        { flat_poisson, "PoissonNLLLoss()", "", { X(4, 3), X(4, 3) } },
    },
    FACTS(facts),
};
