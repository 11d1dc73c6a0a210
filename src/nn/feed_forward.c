#include "adze/nn/feed_forward.h"

#include "adze/nn/dropout.h"
#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/options.h"

enum { LAYER1, LAYER2, DROPOUT, ACTIVATION, LINEAR_V }; /* children, in PyTorch's order */

static adz_tensor *forward(adz_module *self, adz_tensor *x)
{
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
    adzi_options_fill(options, size, &all, sizeof all);
}

static bool add_linear(
    adz_module *self, const char *name, int64_t in, int64_t out, bool bias, adz_dtype dtype)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = bias;
    o.dtype = dtype;
    return adz_module_add_child(self, name, adz_linear_new(in, out, &o)) != NULL;
}

adz_module *adz_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_feed_forward_options *options)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    adzi_options_read(&o, sizeof o, options);
    if (d_model < 1 || d_ff < 1) {
        return adzi_fail("adz_feed_forward_new", ADZ_ERR_ARGUMENT,
            "d_model %lld and d_ff %lld must be 1 or more", (long long)d_model, (long long)d_ff);
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o.generator;
    adz_module *self = adz_module_new(&feed_forward_type, 0);
    bool good =
        self != NULL && add_linear(self, "layer1", d_model, d_ff, o.bias1, o.dtype) &&
        add_linear(self, "layer2", d_ff, d_model, o.bias2, o.dtype) &&
        adz_module_add_child(self, "dropout", adz_dropout_new(o.dropout, &dropout)) != NULL &&
        adz_module_add_child(self, "activation", adz_activation_new(o.activation)) != NULL &&
        (!o.is_gated || add_linear(self, "linear_v", d_model, d_ff, o.bias_gate, o.dtype));
    if (!good) {
        adz_module_free(&self);
    }
    return self;
}
