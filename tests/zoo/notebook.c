/* The network of the notebook on position-wise feed-forward networks, and its parts. */
#include "adze/zoo.h"
#include "nn/case.h"

static adz_module *network(adz_generator *g)
{
    adz_notebook_feed_forward_options o = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    o.dropout = 0.3;
    o.generator = g;
    return adz_notebook_feed_forward_new(4, 6, &o);
}

static adz_module *without_bias(adz_generator *g)
{
    adz_notebook_feed_forward_options o = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    o.bias = false;
    o.generator = g;
    return adz_notebook_feed_forward_new(4, 6, &o);
}

static adz_module *dropout(adz_generator *g)
{
    adz_dropout_options o = { sizeof o, g };
    return adz_notebook_dropout_new(0.25, &o);
}

static adz_module *relu(adz_generator *g)
{
    (void)g;
    return adz_notebook_relu_new();
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "notebook ReLU") == 0) {
        return config_flag(config, "inplace", false) ? adz_notebook_relu_inplace_new()
                                                     : adz_notebook_relu_new();
    }
    if (strcmp(reference, "notebook Dropout") == 0) {
        return adz_notebook_dropout_new(config_number(config, "p", 0.1), NULL);
    }
    adz_notebook_feed_forward_options o = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    o.dropout = config_number(config, "dropout_p", o.dropout);
    o.bias = config_flag(config, "bias", o.bias);
    return adz_notebook_feed_forward_new((int64_t)config_number(config, "d_model", 0),
        (int64_t)config_number(config, "d_ff", 0), &o);
}

/* Probabilities from 0 to below 1, sizes from 1 on, and two dtypes. */
static void borders(void **state)
{
    (void)state;
    adz_module *m = adz_notebook_dropout_new(0, NULL);
    assert_non_null(m);
    adz_module_release(&m);
    expect_no_module(adz_notebook_dropout_new(1, NULL), "p is 1, but must be in [0, 1)");
    m = adz_notebook_feed_forward_new(1, 1, NULL);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1), ADZ_F32)));
    adz_module_release(&m);
    expect_no_module(adz_notebook_feed_forward_new(0, 1, NULL), "d_model 0 and d_ff 1 must be 1");
    expect_no_module(adz_notebook_feed_forward_new(1, 0, NULL), "d_model 1 and d_ff 0 must be 1");
    adz_notebook_feed_forward_options o = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    o.dtype = ADZ_I64;
    assert_null(adz_notebook_feed_forward_new(1, 1, &o));
    expect_error(ADZ_ERR_DTYPE,
        "adz_notebook_feed_forward_new: parameters are float32 or float64, not int64");
}

/* The dropout acts in training mode. */
static void hidden_values_are_dropped(void **state)
{
    (void)state;
    adz_notebook_feed_forward_options o = ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS;
    o.dropout = 0.5;
    adz_module *m = adz_notebook_feed_forward_new(4, 100, &o);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 4), ADZ_F32), *y = adz_module_forward(m, x);
    adz_module_eval(m);
    assert_false(adz_equal(y, adz_module_forward(m, x)));
    adz_module_release(&m);
}

static const struct CMUnitTest notebook_facts[] = { TEST(borders),
    TEST(hidden_values_are_dropped) };

const module_case notebook_module = {
    .name = "notebook",
    .references = { "notebook PositionWiseFeedForward", "notebook ReLU", "notebook Dropout" },
    .from_config = from_config,
    .samples = { { network,
                     "PositionWiseFeedForward(\n"
                     "  (relu): ReLU()\n"
                     "  (dropout): Dropout(p=0.3, inplace=False)\n"
                     ")",
                     "w1 w2 b1 b2", { X(2, 3, 4) } },
        { without_bias,
            "PositionWiseFeedForward(\n"
            "  (relu): ReLU()\n"
            "  (dropout): Dropout(p=0.1, inplace=False)\n"
            ")",
            "w1 w2", { X(4) } },
        { dropout, "Dropout(p=0.25, inplace=False)", "", { X(3, 7) } },
        { relu, "ReLU()", "", { X(3, 7) } } },
    FACTS(notebook_facts),
};
