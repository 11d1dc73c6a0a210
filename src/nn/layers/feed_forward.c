/* FeedForward: two linear layers with an activation function, and perhaps a gate, between them.
 *
 *     h[..., F] = activation(layer1(x[..., D])), times linear_v(x) if there is a gate
 *     y[..., D] = layer2(dropout(h)) */
#include "adze/nn/feed_forward.h"

#include <stdio.h>
#include <string.h>

#include "adze/nn/dropout.h"
#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "ops/activation/activation_table.h"
#include "nn/fusion.h"
#include "nn/layers/activations.h"
#include "base/error.h"
#include "adze/options.h"

enum { LAYER1, LAYER2, DROPOUT, ACTIVATION, LINEAR_V }; /* children, in the order of labml_nn */

/* dropout(activation(layer1(x)) * linear_v(x)). One operator computes it if the types of the
 * children declare what they compute (Note [Fused modules]); otherwise the children are called one
 * by one. */
static adz_tensor *hidden(const adz_module *self, adz_tensor *x)
{
    adz_module *layer1 = adzi_child_at(self, LAYER1), *dropout = adzi_child_at(self, DROPOUT);
    adz_module *activation = adzi_child_at(self, ACTIVATION);
    adz_module *gate = adzi_optional_child(self, LINEAR_V, "linear_v");
    adz_bias_activation_options steps = adzi_no_steps();
    if (adzi_add_step(activation, &steps) && adzi_add_step(dropout, &steps)) {
        adz_tensor *h = adzi_forward_gated(layer1, gate, &steps, x);
        if (h == ADZ_NONE && gate == NULL) {
            h = adzi_forward_linear(layer1, &steps, x);
        }
        if (h != ADZ_NONE) {
            return h;
        }
    }
    adz_tensor *h = adz_module_forward(activation, adz_module_forward(layer1, x));
    if (gate != NULL && h != NULL) {
        h = adz_mul(h, adz_module_forward(gate, x));
    }
    return adz_module_forward(dropout, h);
}

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
    return adz_module_forward(adzi_child_at(self, LAYER2), hidden(self, x));
}

static const adz_module_type feed_forward_type = {
    .size = sizeof(adz_module_type),
    .name = "FeedForward",
    .forward = forward,
};

/* The arguments of the constructors. The module itself has children alone. */
typedef struct {
    adz_feed_forward_options o;
    int64_t d_model, d_ff;
} feed_forward_arguments;

static const adz_field fields[] = {
    ADZ_FIELD(feed_forward_arguments, d_model, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(feed_forward_arguments, d_ff, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_feed_forward_options, dropout, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_AS(adz_feed_forward_options, activation, "activation", ADZ_FIELD_ENUM,
        .value = ADZ_ACTIVATION_RELU, .values = adzi_activation_names),
    ADZ_FIELD(adz_feed_forward_options, is_gated, .value = false),
    ADZ_FIELD(adz_feed_forward_options, bias1, .value = true),
    ADZ_FIELD(adz_feed_forward_options, bias2, .value = true),
    ADZ_FIELD(adz_feed_forward_options, bias_gate, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_feed_forward_options),
};

ADZ_OPTIONS_TABLE(adz_feed_forward_options, ADZ_FEED_FORWARD_OPTIONS, fields)

static bool add_linear(
    adz_module *self, const char *name, int64_t in, int64_t out, bool bias, adz_dtype dtype)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = bias;
    o.dtype = dtype;
    return adz_module_add_child(self, name, adz_linear_new(in, out, &o)) != NULL;
}

/* The dropout module that the options ask for: the user's own, or a new one. */
static adz_module *dropout_of(const adz_feed_forward_options *o)
{
    if (o->dropout_module != NULL) {
        return adz_module_keep(o->dropout_module);
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o->generator;
    return adz_dropout_new(o->dropout, &dropout);
}

/* Makes the module; NULL with the error recorded under `op`. */
static adz_module *network(const char *op, const feed_forward_arguments *a)
{
    const adz_feed_forward_options *o = &a->o;
    const int64_t d_model = a->d_model, d_ff = a->d_ff;
    adz_module *self = adz_module_new(&feed_forward_type, 0);
    bool good =
        self != NULL && add_linear(self, "layer1", d_model, d_ff, o->bias1, o->dtype) &&
        add_linear(self, "layer2", d_ff, d_model, o->bias2, o->dtype) &&
        adz_module_add_child(self, "dropout", dropout_of(o)) != NULL &&
        adz_module_add_child(self, "activation",
            adzi_activation_choose(
                op, o->activation, o->activation_function, o->activation_module)) != NULL &&
        (!o->is_gated || add_linear(self, "linear_v", d_model, d_ff, o->bias_gate, o->dtype));
    if (!good) {
        adz_module_release(&self);
    }
    return self;
}

adz_module *adz_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    static const char op[] = "adz_feed_forward_new";
    feed_forward_arguments a = { .d_model = d_model, .d_ff = d_ff };
    return adz_options_take(op, &adz_feed_forward_options_table, &a, options) ? network(op, &a)
                                                                              : NULL;
}

/* ---- variants by name ----------------------------------------------------------------------- */

/* Sets activation function, gate and biases of the variant called `name`. If there is no such
 * variant, returns false and writes the names of all variants to `known`, which has `size` bytes.
 */
static bool set_variant(adz_feed_forward_options *o, const char *name, char *known, size_t size)
{
    size_t length = 0;
    for (int i = 0; i < 2 * adzi_activation_count(); ++i) {
        const bool gated = i % 2 == 1;
        const adzi_activation_row *row = adzi_activation_row_of((adz_activation)(i / 2));
        const char *variant = gated ? row->gated : row->plain;
        if (variant == NULL) {
            continue;
        }
        if (strcmp(variant, name) == 0) {
            o->activation = (adz_activation)(i / 2);
            o->activation_function = NULL;
            o->activation_module = NULL;
            o->is_gated = gated;
            o->bias1 = o->bias2 = o->bias_gate = !gated;
            return true;
        }
        length += (size_t)snprintf(
            known + length, size - length, "%s%s", length > 0 ? ", " : "", variant);
    }
    return false;
}

adz_module *adz_feed_forward_variant_new(
    const char *variant, int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    static const char op[] = "adz_feed_forward_variant_new";
    char known[256];
    feed_forward_arguments a = { .d_model = d_model, .d_ff = d_ff };
    if (variant == NULL) {
        return adzi_fail_null(op, "variant");
    }
    if (!adz_options_take(op, &adz_feed_forward_options_table, &a, options)) {
        return NULL;
    }
    if (!set_variant(&a.o, variant, known, sizeof known)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "'%.40s' is no variant; there are %s", variant, known);
    }
    return network(op, &a);
}
