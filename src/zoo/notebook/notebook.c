/* The modules of the notebook on position-wise feed-forward networks:
 *
 *     y = dropout(relu(x w1 + b1)) w2 + b2,   w1[d_model, d_ff], w2[d_ff, d_model] */
#include "adze/zoo/notebook.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/ops/math.h"
#include "zoo.h"

/* ---- ReLU ----------------------------------------------------------------------------------- */

typedef struct {
    bool inplace;
} relu_state;

static adz_tensor *relu_forward(adz_module *self, adz_tensor *x)
{
    const relu_state *state = zoo_state(self);
    return state->inplace ? adz_clamp_(x, 0, INFINITY) : adz_clamp(x, 0, INFINITY);
}

static const adz_field relu_fields[] = {
    ADZ_FIELD(relu_state, inplace, .value = false, .shown = ADZ_SHOWN_CHANGED),
};

static const adz_module_type relu_type = {
    .size = sizeof(adz_module_type),
    .name = "ReLU",
    .forward = relu_forward,
    .fields = relu_fields,
    .n_fields = sizeof relu_fields / sizeof *relu_fields,
};

static adz_module *relu_new(bool inplace)
{
    adz_module *self = adz_module_new(&relu_type, sizeof(relu_state));
    if (self != NULL) {
        *(relu_state *)zoo_state(self) = (relu_state){ inplace };
    }
    return self;
}

adz_module *adz_notebook_relu_new(void)
{
    return relu_new(false);
}

adz_module *adz_notebook_relu_inplace_new(void)
{
    return relu_new(true);
}

/* ---- Dropout -------------------------------------------------------------------------------- */

adz_module *adz_notebook_dropout_new(double p, const adz_dropout_options *options)
{
    if (!(p >= 0 && p < 1)) {
        return zoo_fail("adz_notebook_dropout_new", ADZ_ERR_ARGUMENT,
            "p is %s, but must be in [0, 1)", adz_text_number(p));
    }
    return adz_dropout_new(p, options);
}

/* ---- PositionWiseFeedForward ---------------------------------------------------------------- */

enum { W1, W2, B1, B2 }; /* parameters */
enum { RELU, DROPOUT };  /* children */

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *h =
        adzi_zoo_linear(self, "d_model", x, zoo_parameter(self, W1), zoo_parameter(self, B1));
    h = adz_module_forward(zoo_child(self, RELU), h);
    h = adz_module_forward(zoo_child(self, DROPOUT), h);
    return adzi_zoo_linear(self, "d_ff", h, zoo_parameter(self, W2), zoo_parameter(self, B2));
}

/* Draws w[in, out] from N(0, 1 / in). */
static bool draw(adz_tensor *w)
{
    return adz_init_normal_(w, 0, 1 / sqrt((double)adz_tensor_size(w, 0)), NULL) != NULL;
}

static adz_status reset_parameters(adz_module *self)
{
    for (int i = B1; i <= B2; ++i) {
        adz_tensor *b = zoo_parameter(self, (size_t)i);
        if (!zoo_is_none(b)) {
            adz_init_zeros_(b);
        }
    }
    return draw(zoo_parameter(self, W1)) && draw(zoo_parameter(self, W2)) ? ADZ_OK
                                                                          : adz_error_code();
}

static const adz_module_type feed_forward_type = {
    .size = sizeof(adz_module_type),
    .name = "PositionWiseFeedForward",
    .forward = forward,
    .reset_parameters = reset_parameters,
};

static const adz_field fields[] = {
    ADZ_FIELD(adz_notebook_feed_forward_options, dropout, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_notebook_feed_forward_options, bias, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_notebook_feed_forward_options),
};

ADZ_OPTIONS_TABLE(adz_notebook_feed_forward_options, ADZ_NOTEBOOK_FEED_FORWARD_OPTIONS, fields)

adz_module *adz_notebook_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_notebook_feed_forward_options *options)
{
    static const char op[] = "adz_notebook_feed_forward_new";
    adz_notebook_feed_forward_options o;
    if (!adz_options_take(op, &adz_notebook_feed_forward_options_table, &o, options)) {
        return NULL;
    }
    if (d_model < 1 || d_ff < 1) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "d_model %lld and d_ff %lld must be 1 or more",
            (long long)d_model, (long long)d_ff);
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o.generator;
    adz_scope *scope = adz_scope_open();
    adz_module *self = adz_module_new(&feed_forward_type, 0);
    bool good = self != NULL &&
                adz_module_add_parameter(
                    self, "w1", adz_empty(ADZ_SHAPE(d_model, d_ff), o.dtype)) != NULL &&
                adz_module_add_parameter(
                    self, "w2", adz_empty(ADZ_SHAPE(d_ff, d_model), o.dtype)) != NULL &&
                adz_module_add_parameter(
                    self, "b1", o.bias ? adz_empty(ADZ_SHAPE(d_ff), o.dtype) : ADZ_NONE) != NULL &&
                adz_module_add_parameter(self, "b2",
                    o.bias ? adz_empty(ADZ_SHAPE(d_model), o.dtype) : ADZ_NONE) != NULL &&
                adz_module_add_child(self, "relu", adz_notebook_relu_new()) != NULL &&
                adz_module_add_child(
                    self, "dropout", adz_notebook_dropout_new(o.dropout, &dropout)) != NULL &&
                reset_parameters(self) == ADZ_OK;
    return adzi_zoo_built(scope, self, good);
}
