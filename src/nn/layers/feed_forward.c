#include "nn/layers/feed_forward.h"

#include <string.h>

#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "nn/layers/activations.h"
#include "nn/layers/dropout.h"
#include "nn/layers/linear.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

enum { LAYER1, LAYER2, DROPOUT, ACTIVATION, LINEAR_V }; /* children, in PyTorch's order */

/* Hidden elements that no longer fit the cache, from which on passes over them are worth saving;
 * fewer gain nothing, and the smallest products add their biases in passing. */
enum { ENOUGH = 65536 };

/* The parts between the products in one pass, where they are the library's own; false where a user
 * has put something else in their place. */
static bool one_pass(const adz_module *self, const adz_tensor *x, adz_bias_activation_options *o)
{
    const adz_module *dropout = adzi_child_at(self, DROPOUT);
    if (!adzi_is_linear(adzi_child_at(self, LAYER1)) || !adzi_draws_dropout(dropout) ||
        !adzi_activation_of(adzi_child_at(self, ACTIVATION), &o->activation) ||
        (self->n_children > LINEAR_V && !adzi_is_linear(adzi_child_at(self, LINEAR_V)))) {
        return false;
    }
    const adz_tensor *weight = adzi_parameter(adzi_child_at(self, LAYER1), 0);
    if (x->numel / weight->sizes[1] * weight->sizes[0] < ENOUGH) {
        return false;
    }
    const adzi_dropout_state *state = dropout->state;
    o->dropout = state->p;
    o->training = dropout->training || state->always;
    o->generator = state->generator;
    return true;
}

static adz_tensor *product(adz_module *linear, adz_tensor *x)
{
    return adzi_module_forward_by(linear, adzi_linear_product, x);
}

static adz_tensor *hidden(
    const adz_module *self, adz_tensor *x, const adz_bias_activation_options *o)
{
    adz_module *layer1 = adzi_child_at(self, LAYER1);
    adz_tensor *h = product(layer1, x), *gate = ADZ_NONE, *gate_bias = ADZ_NONE;
    if (self->n_children > LINEAR_V && h != NULL) {
        adz_module *linear_v = adzi_child_at(self, LINEAR_V);
        gate = product(linear_v, x);
        gate_bias = adzi_linear_bias(linear_v);
    }
    return adz_bias_activation(h, adzi_linear_bias(layer1), gate, gate_bias, o);
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    if (one_pass(self, x, &o)) {
        return adz_module_forward(adzi_child_at(self, LAYER2), hidden(self, x, &o));
    }
    const adz_module *dropout = adzi_child_at(self, DROPOUT);
    if (self->n_children <= LINEAR_V && adzi_draws_dropout(dropout) &&
        adzi_linear_takes_relu(adzi_child_at(self, LAYER1), adzi_child_at(self, ACTIVATION), x)) {
        adz_tensor *a = adzi_linear_relu(adzi_child_at(self, LAYER1), dropout, x);
        return adz_module_forward(adzi_child_at(self, LAYER2), a);
    }
    adz_tensor *h = adz_module_forward(adzi_child_at(self, LAYER1), x);
    h = adz_module_forward(adzi_child_at(self, ACTIVATION), h);
    if (self->n_children > LINEAR_V && h != NULL) {
        h = adz_mul(h, adz_module_forward(adzi_child_at(self, LINEAR_V), x));
    }
    h = adz_module_forward(adzi_child_at(self, DROPOUT), h);
    return adz_module_forward(adzi_child_at(self, LAYER2), h);
}

static const adz_module_type feed_forward_type = {
    .size = sizeof(adz_module_type),
    .name = "FeedForward",
    .forward = forward,
};

void adz_feed_forward_options_init(adz_feed_forward_options *options, size_t size)
{
    adz_feed_forward_options all = ADZ_FEED_FORWARD_OPTIONS;
    adzi_options_fill(__func__, options, size, &all, sizeof all);
}

static bool add_linear(
    adz_module *self, const char *name, int64_t in, int64_t out, bool bias, adz_dtype dtype)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = bias;
    o.dtype = dtype;
    return adz_module_add_child(self, name, adz_linear_new(in, out, &o)) != NULL;
}

adz_module *adzi_feed_forward_new(const char *op, int64_t d_model, int64_t d_ff,
    const adz_feed_forward_options *options, adzi_dropout_maker make_dropout)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    if (!adzi_options_read(op, "ADZ_FEED_FORWARD_OPTIONS", &o, sizeof o, options)) {
        return NULL;
    }
    if (d_model < 1 || d_ff < 1) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "d_model %lld and d_ff %lld must be 1 or more",
            (long long)d_model, (long long)d_ff);
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o.generator;
    adz_module *self = adz_module_new(&feed_forward_type, 0);
    bool good = self != NULL && add_linear(self, "layer1", d_model, d_ff, o.bias1, o.dtype) &&
                add_linear(self, "layer2", d_ff, d_model, o.bias2, o.dtype) &&
                adz_module_add_child(self, "dropout", make_dropout(o.dropout, &dropout)) != NULL &&
                adz_module_add_child(self, "activation",
                    adzi_activation_choose(
                        op, o.activation, o.activation_function, o.activation_module)) != NULL &&
                (!o.is_gated || add_linear(self, "linear_v", d_model, d_ff, o.bias_gate, o.dtype));
    if (!good) {
        adz_module_free(&self);
    }
    return self;
}

adz_module *adz_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    return adzi_feed_forward_new("adz_feed_forward_new", d_model, d_ff, options, adz_dropout_new);
}

/* ---- variants by name ----------------------------------------------------------------------- */

static const struct {
    const char *name;
    adz_activation activation;
    bool gated;
} variants[ADZI_FEED_FORWARD_VARIANTS] = {
    { "ReLU", ADZ_ACTIVATION_RELU, false },
    { "GELU", ADZ_ACTIVATION_GELU, false },
    { "GLU", ADZ_ACTIVATION_SIGMOID, true },
    { "Bilinear", ADZ_ACTIVATION_IDENTITY, true },
    { "ReGLU", ADZ_ACTIVATION_RELU, true },
    { "GEGLU", ADZ_ACTIVATION_GELU, true },
    { "SwiGLU", ADZ_ACTIVATION_SILU, true },
};

int adzi_feed_forward_variant(const char *op, const char *name,
    const adz_feed_forward_options *options, adz_feed_forward_options *all)
{
    if (name == NULL) {
        adzi_error_null(op, "variant");
        return -1;
    }
    *all = (adz_feed_forward_options)ADZ_FEED_FORWARD_OPTIONS;
    if (!adzi_options_read(op, "ADZ_FEED_FORWARD_OPTIONS", all, sizeof *all, options)) {
        return -1;
    }
    all->size = sizeof *all;
    for (int i = 0; i < ADZI_FEED_FORWARD_VARIANTS; ++i) {
        if (strcmp(variants[i].name, name) == 0) {
            all->activation = variants[i].activation;
            all->activation_function = NULL;
            all->activation_module = NULL;
            all->is_gated = variants[i].gated;
            all->bias1 = all->bias2 = all->bias_gate = !variants[i].gated;
            return i;
        }
    }
    adzi_error(op, ADZ_ERR_ARGUMENT,
        "'%.40s' is no variant; there are ReLU, GELU, GLU, Bilinear, ReGLU, GEGLU and SwiGLU",
        name);
    return -1;
}

adz_module *adz_feed_forward_variant_new(
    const char *variant, int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    static const char op[] = "adz_feed_forward_variant_new";
    adz_feed_forward_options o;
    return adzi_feed_forward_variant(op, variant, options, &o) < 0
               ? NULL
               : adzi_feed_forward_new(op, d_model, d_ff, &o, adz_dropout_new);
}
