/* fastai's SequentialEx with MergeLayer, and the feed-forward network that is built from them. */
#include "adze/zoo/fastai.h"

#include "adze/nn/activations.h"
#include "adze/nn/containers.h"
#include "adze/nn/dropout.h"
#include "adze/nn/layer_norm.h"
#include "adze/nn/linear.h"
#include "adze/ops/arithmetic.h"
#include "fastai/text.h"
#include "zoo.h"

/* ---- SequentialEx and MergeLayer ------------------------------------------------------------ */

/* Always fails: the SequentialEx around a MergeLayer does the addition and never calls it. */
static adz_tensor *merge_forward(adz_module *self, adz_tensor *x)
{
    (void)x;
    return zoo_fail(adz_module_name(self), ADZ_ERR_UNSUPPORTED,
        "stands for the argument of a SequentialEx; put it into one");
}

static const adz_module_type merge_type = {
    .size = sizeof(adz_module_type),
    .name = "MergeLayer",
    .forward = merge_forward,
};

adz_module *adz_fastai_merge_layer_new(void)
{
    return adz_module_new(&merge_type, 0);
}

/* Calls the layers in order. A MergeLayer adds x, the argument of the whole module. */
static adz_tensor *sequential_ex_forward(adz_module *self, adz_tensor *x)
{
    const adz_module *layers = zoo_child(self, 0);
    adz_tensor *h = x;
    for (size_t i = 0; i < adz_module_child_count(layers) && h != NULL; ++i) {
        adz_module *layer = zoo_child(layers, i);
        h = adz_module_type_of(layer) == &merge_type ? adz_add(h, x) : adz_module_forward(layer, h);
    }
    return h;
}

static const adz_module_type sequential_ex_type = {
    .size = sizeof(adz_module_type),
    .name = "SequentialEx",
    .forward = sequential_ex_forward,
};

adz_module *adz_fastai_sequential_ex_new(adz_module *const *modules, size_t count)
{
    adz_module *layers = adz_module_list_new(modules, count);
    adz_module *self = layers != NULL ? adz_module_new(&sequential_ex_type, 0) : NULL;
    if (self == NULL) {
        adz_module_release(&layers);
    } else if (adz_module_add_child(self, "layers", layers) == NULL) {
        adz_module_release(&self);
    }
    return self;
}

/* ---- feed_forward --------------------------------------------------------------------------- */

const char *const adzi_fastai_activations[] = { "relu", "swish", "gelu", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(adz_fastai_feed_forward_options, ff_p, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_AS(adz_fastai_feed_forward_options, act, "act", ADZ_FIELD_ENUM,
        .values = adzi_fastai_activations),
    ADZ_FIELD(adz_fastai_feed_forward_options, double_drop, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_feed_forward_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_feed_forward_options, ADZ_FASTAI_FEED_FORWARD_OPTIONS, fields)

static adz_module *activation(adz_fastai_activation act)
{
    return act == ADZ_FASTAI_ACTIVATION_RELU    ? adz_relu_inplace_new()
           : act == ADZ_FASTAI_ACTIVATION_SWISH ? adz_silu_new()
                                                : adz_gelu_new(ADZ_GELU_TANH);
}

adz_module *adz_fastai_feed_forward_new(
    int64_t d_model, int64_t d_ff, const adz_fastai_feed_forward_options *options)
{
    static const char op[] = "adz_fastai_feed_forward_new";
    adz_fastai_feed_forward_options o;
    if (!adz_options_take(op, &adz_fastai_feed_forward_options_table, &o, options)) {
        return NULL;
    }
    if (d_model < 1 || d_ff < 1) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT, "d_model %lld and d_ff %lld must be 1 or more",
            (long long)d_model, (long long)d_ff);
    }
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    adz_layer_norm_options norm = ADZ_LAYER_NORM_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    linear.dtype = norm.dtype = o.dtype;
    dropout.generator = o.generator;
    adz_module *layers[7];
    size_t n = 0;
    layers[n++] = adz_linear_new(d_model, d_ff, &linear);
    layers[n++] = activation(o.act);
    if (o.double_drop) {
        layers[n++] = adz_dropout_new(o.ff_p, &dropout);
    }
    layers[n++] = adz_linear_new(d_ff, d_model, &linear);
    layers[n++] = adz_dropout_new(o.ff_p, &dropout);
    layers[n++] = adz_fastai_merge_layer_new();
    layers[n++] = adz_layer_norm_new(ADZ_SHAPE(d_model), &norm);
    return adz_fastai_sequential_ex_new(layers, n);
}
