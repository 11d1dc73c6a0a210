/* The feed-forward networks and the dropout of darts. */
#include "adze/zoo.h"
#include "nn/case.h"
#include "nn/layers/dropout.h"

static adz_module *network(adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    o.dropout = 0.2;
    o.activation = ADZ_ACTIVATION_TANH;
    return adz_darts_feed_forward_new(3, 5, &o);
}

static adz_module *geglu(adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    return adz_darts_glu_variant_new("GEGLU", 3, 5, &o);
}

static adz_module *gelu(adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.generator = g;
    return adz_darts_glu_variant_new("GELU", 3, 5, &o);
}

static adz_tensor *plan_forward(void *inputs)
{
    void *const *of = inputs;
    return adz_module_forward(of[0], of[1]);
}

/* A plan notices adz_darts_set_mc_dropout between two runs. */
static void a_plan_notices_mc_dropout(void **state)
{
    (void)state;
    adz_module *m = adz_darts_monte_carlo_dropout_new(0.5, NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(4, 64), ADZ_F32);
    void *inputs[] = { m, x };
    adz_module_eval(m);
    adz_plan *plan = adz_plan_new(plan_forward, inputs, NULL);
    for (int on = 0; on < 4; ++on) { /* off, on, off, on */
        adz_darts_set_mc_dropout(m, on % 2 == 1);
        for (int run = 0; run < 3; ++run) {
            assert_int_equal(adz_plan_run(plan), ADZ_OK);
            assert_int_equal(adz_equal(adz_plan_output(plan), x), on % 2 == 0);
        }
    }
    adz_plan_free(&plan);
    adz_module_release(&m);
}

/* In a tree with both kinds of dropout, adz_darts_set_mc_dropout changes MonteCarloDropout only. */
static void the_switch_keeps_dropout_on_in_evaluation(void **state)
{
    (void)state;
    adz_module *mc = adz_darts_monte_carlo_dropout_new(0.5, NULL);
    adz_module *m = ADZ_SEQUENTIAL(
        adz_identity_new(), ADZ_SEQUENTIAL(adz_module_keep(mc)), adz_dropout_new(0.5, NULL));
    adz_tensor *x = adz_ones(ADZ_SHAPE(1000), ADZ_F32);
    assert_false(adz_equal(adz_module_forward(mc, x), x));
    adz_module_eval(m);
    assert_ptr_equal(adz_module_forward(m, x), x);
    assert_int_equal(adz_darts_set_mc_dropout(m, true), ADZ_OK);
    adz_tensor *y = adz_module_forward(m, x), *z = adz_module_forward(m, x);
    assert_false(adz_equal(y, z)); /* each call draws a mask */
    double mean = adz_item(adz_mean(y, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(fabs(mean - 1) < 0.15);
    assert_true(adz_item(adz_max(y)) == 2); /* 1 / (1 - p), the factor of one dropout */
    assert_int_equal(adz_darts_set_mc_dropout(m, false), ADZ_OK);
    assert_ptr_equal(adz_module_forward(m, x), x);
    assert_int_equal(adz_darts_set_mc_dropout(NULL, true), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "module");
    adz_module_release(&mc);
    adz_module_release(&m);
}

/* Stored masks replace drawn ones in the order of the calls. adze-parity relies on this. */
static void masks_are_replayed(void **state)
{
    (void)state;
    adz_module *m = ADZ_SEQUENTIAL(adz_dropout_new(0, NULL), adz_dropout_new(0.5, NULL),
        ADZ_SEQUENTIAL(adz_darts_monte_carlo_dropout_new(0.75, NULL)));
    static const bool first[] = { true, true, false }, second[] = { false, true, true };
    adz_tensor *masks[] = { adz_tensor_from(first, ADZ_SHAPE(3), ADZ_BOOL),
        adz_tensor_from(second, ADZ_SHAPE(3), ADZ_BOOL) };
    adzi_masks list = { masks, 2, 0 };
    adzi_module_replay(m, &list);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3), ADZ_F32);
    assert_true(HOLDS(adz_module_forward(m, x), 0, 0, 8, 0));
    assert_int_equal(list.next, 2);
    assert_null(adz_module_forward(m, x));
    expect_error(ADZ_ERR_STATE, "1: Dropout: no mask is left of the 2");
    adz_module_eval(m);
    assert_ptr_equal(adz_module_forward(m, x), x);
    list.next = 1;
    adz_darts_set_mc_dropout(m, true);
    assert_true(HOLDS(adz_module_forward(m, x), 0, 0, 4, 4));
    adzi_module_replay(m, NULL);
    assert_non_null(adz_module_forward(m, x));
    adz_module_release(&m);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(adz_darts_monte_carlo_dropout_new(1.5, NULL), "p is 1.5");
    expect_no_module(adz_darts_feed_forward_new(3, -2, NULL), "d_ff is -2");
    expect_no_module(adz_darts_glu_variant_new("glu", 3, 4, NULL), "'glu' is no variant");
    expect_no_module(adz_darts_glu_variant_new("GLU", 0, 4, NULL), "d_model is 0");
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = -0.1;
    expect_no_module(adz_darts_glu_variant_new("ReLU", 3, 4, &o), "p is -0.1");
    expect_refused(adz_darts_glu_variant_new("ReLU", 3, 4, NULL),
        adz_ones(ADZ_SHAPE(2, 4), ADZ_F32), "ffn.layer1: linear: x[2, 4]");
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    int64_t d_model = (int64_t)config_number(config, "d_model", 0);
    int64_t d_ff = (int64_t)config_number(config, "d_ff", 0);
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = config_number(config, "dropout", o.dropout);
    adz_module *m = NULL;
    if (strcmp(reference, "darts FeedForward") != 0) {
        m = adz_darts_glu_variant_new(reference + strlen("darts "), d_model, d_ff, &o);
    } else {
        o.activation_module = case_activation(config_text(config, "activation", "relu"));
        o.is_gated = config_flag(config, "is_gated", false);
        o.bias1 = config_flag(config, "bias1", true);
        o.bias2 = config_flag(config, "bias2", true);
        o.bias_gate = config_flag(config, "bias_gate", true);
        if (o.activation_module != NULL) {
            m = adz_darts_feed_forward_new(d_model, d_ff, &o);
        }
        adz_module_release(&o.activation_module);
    }
    if (m != NULL) {
        adz_darts_set_mc_dropout(m, config_flag(config, "mc_dropout_enabled", false));
    }
    return m;
}

static const struct CMUnitTest facts[] = {
    TEST(a_plan_notices_mc_dropout),
    TEST(the_switch_keeps_dropout_on_in_evaluation),
    TEST(masks_are_replayed),
    TEST(bad_values_are_refused),
};

const module_case darts_module = {
    .name = "darts",
    .references = { "darts FeedForward", "darts ReLU", "darts GELU", "darts GLU", "darts Bilinear",
        "darts ReGLU", "darts GEGLU", "darts SwiGLU" },
    .from_config = from_config,
    .samples = { { network,
                     "FeedForward(\n"
                     "  (layer1): Linear(in_features=3, out_features=5, bias=True)\n"
                     "  (layer2): Linear(in_features=5, out_features=3, bias=True)\n"
                     "  (dropout): MonteCarloDropout(p=0.2, inplace=False)\n"
                     "  (activation): Tanh()\n"
                     ")",
                     "layer1.weight layer1.bias layer2.weight layer2.bias", { X(2, 3) } },
        { geglu,
            "GEGLU(\n"
            "  (ffn): FeedForward(\n"
            "    (layer1): Linear(in_features=3, out_features=5, bias=False)\n"
            "    (layer2): Linear(in_features=5, out_features=3, bias=False)\n"
            "    (dropout): MonteCarloDropout(p=0.1, inplace=False)\n"
            "    (activation): GELU(approximate='none')\n"
            "    (linear_v): Linear(in_features=3, out_features=5, bias=False)\n"
            "  )\n"
            ")",
            "ffn.layer1.weight ffn.layer2.weight ffn.linear_v.weight", { X(2, 2, 3) } },
        { gelu,
            "GELU(\n"
            "  (ffn): FeedForward(\n"
            "    (layer1): Linear(in_features=3, out_features=5, bias=True)\n"
            "    (layer2): Linear(in_features=5, out_features=3, bias=True)\n"
            "    (dropout): MonteCarloDropout(p=0.1, inplace=False)\n"
            "    (activation): GELU(approximate='none')\n"
            "  )\n"
            ")",
            "ffn.layer1.weight ffn.layer1.bias ffn.layer2.weight ffn.layer2.bias", { X(3) } } },
    FACTS(facts),
};
