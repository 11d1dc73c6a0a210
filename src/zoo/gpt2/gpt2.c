/* GPT-2's parts: Conv1D, LayerNorm and the feed-forward networks. */
#include "gpt2/gpt2.h"

#include "adze/nn/activations.h"
#include "adze/nn/dropout.h"
#include "adze/nn/init.h"
#include "adze/nn/layer_norm.h"
#include "zoo.h"

/* ---- Conv1D --------------------------------------------------------------------------------- */

/* y = x weight + bias, with weight[nx, nf]: a linear layer whose weight is stored transposed. */
enum { WEIGHT, BIAS };

static adz_tensor *conv1d_forward(adz_module *self, adz_tensor *x)
{
    return adzi_zoo_linear(self, "nx", x, zoo_parameter(self, WEIGHT), zoo_parameter(self, BIAS));
}

static adz_status conv1d_reset(adz_module *self)
{
    adz_init_normal_(zoo_parameter(self, WEIGHT), 0, 0.02, NULL);
    adz_init_zeros_(zoo_parameter(self, BIAS)); /* refused after an error */
    return adz_error_code();
}

static size_t conv1d_repr(adz_module *self, char *buffer, size_t size)
{
    const adz_tensor *weight = zoo_parameter(self, WEIGHT);
    return (size_t)snprintf(buffer, size, "nf=%lld, nx=%lld", (long long)adz_tensor_size(weight, 1),
        (long long)adz_tensor_size(weight, 0));
}

static const adz_module_type conv1d_type = {
    .size = sizeof(adz_module_type),
    .name = "Conv1D",
    .forward = conv1d_forward,
    .reset_parameters = conv1d_reset,
    .extra_repr = conv1d_repr,
    .half_parameters = 1u << WEIGHT,
};

static const adz_field conv1d_fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_gpt2_conv1d_options),
};

ADZ_OPTIONS_TABLE(adz_gpt2_conv1d_options, ADZ_GPT2_CONV1D_OPTIONS, conv1d_fields)

static adz_module *conv1d_new(int64_t nf, adz_shape weight, adz_dtype dtype)
{
    adz_scope *scope = adz_scope_open();
    adz_module *self = adz_module_new(&conv1d_type, 0);
    bool good = self != NULL &&
                adz_module_add_parameter(self, "weight", adz_empty(weight, dtype)) != NULL &&
                adz_module_add_parameter(self, "bias", adz_empty(ADZ_SHAPE(nf), dtype)) != NULL &&
                conv1d_reset(self) == ADZ_OK;
    return adzi_zoo_built(scope, self, good);
}

adz_module *adz_gpt2_conv1d_new(int64_t nf, int64_t nx, const adz_gpt2_conv1d_options *options)
{
    static const char op[] = "adz_gpt2_conv1d_new";
    adz_gpt2_conv1d_options o;
    if (!adz_options_take(op, &adz_gpt2_conv1d_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "nf", nf, 1) || !adz_check_size(op, "nx", nx, 1)) {
        return NULL;
    }
    return conv1d_new(nf, ADZ_SHAPE(nx, nf), o.dtype);
}

bool adzi_gpt2_add_conv1d(
    adz_module *self, const char *name, int64_t nf, int64_t nx, const adz_gpt2_options *o)
{
    const adz_shape weight = o->skip_init ? ADZ_SHAPE(0, 0) : ADZ_SHAPE(nx, nf);
    return adz_module_add_child(self, name, conv1d_new(nf, weight, o->dtype)) != NULL;
}

/* ---- LayerNorm ------------------------------------------------------------------------------ */

static const adz_field layer_norm_fields[] = {
    ADZ_FIELD(adz_gpt2_layer_norm_options, eps, .value = 1e-12, ADZ_AT_LEAST(0)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_gpt2_layer_norm_options),
};

ADZ_OPTIONS_TABLE(adz_gpt2_layer_norm_options, ADZ_GPT2_LAYER_NORM_OPTIONS, layer_norm_fields)

adz_module *adz_gpt2_layer_norm_new(int64_t hidden_size, const adz_gpt2_layer_norm_options *options)
{
    adz_gpt2_layer_norm_options o;
    if (!adz_options_take(
            "adz_gpt2_layer_norm_new", &adz_gpt2_layer_norm_options_table, &o, options)) {
        return NULL;
    }
    adz_layer_norm_options all = ADZ_LAYER_NORM_OPTIONS;
    all.eps = o.eps;
    all.dtype = o.dtype;
    return adz_layer_norm_new(ADZ_SHAPE(hidden_size), &all);
}

bool adzi_gpt2_add_norm(adz_module *self, const char *name, const adz_gpt2_options *o)
{
    adz_gpt2_layer_norm_options norm = ADZ_GPT2_LAYER_NORM_OPTIONS;
    norm.eps = o->layer_norm_epsilon;
    norm.dtype = o->dtype;
    return adz_module_add_child(self, name, adz_gpt2_layer_norm_new(o->n_embd, &norm)) != NULL;
}

bool adzi_gpt2_add_dropout(adz_module *self, double p, adz_generator *generator)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = generator;
    return p == 0 || adz_module_add_child(self, "dropout", adz_dropout_new(p, &o)) != NULL;
}

/* ---- feed-forward networks ------------------------------------------------------------------ */

enum { C_FC, C_PROJ, ACT, DROPOUT }; /* children; DROPOUT only where it may zero something */

/* c_proj(act(c_fc(x))), followed by dropout if there is one. */
static adz_tensor *mlp_forward(adz_module *self, adz_tensor *x)
{
    adz_tensor *h = adz_module_forward(zoo_child(self, C_FC), x);
    h = adz_module_forward(zoo_child(self, ACT), h);
    h = adz_module_forward(zoo_child(self, C_PROJ), h);
    return adz_module_child_count(self) > DROPOUT ? adz_module_forward(zoo_child(self, DROPOUT), h)
                                                  : h;
}

static const adz_module_type mlp_type = {
    .size = sizeof(adz_module_type),
    .name = "MLP",
    .forward = mlp_forward,
};

static const adz_module_type notes_type = {
    .size = sizeof(adz_module_type),
    .name = "FeedForward",
    .forward = mlp_forward,
};

/* A network from n_embd to `hidden` features and back. */
static adz_module *mlp_new(const adz_module_type *type, int64_t hidden, adz_gelu_approximate gelu,
    const adz_gpt2_options *o)
{
    adz_module *self = adz_module_new(type, 0);
    bool good = self != NULL && adzi_gpt2_add_conv1d(self, "c_fc", hidden, o->n_embd, o) &&
                adzi_gpt2_add_conv1d(self, "c_proj", o->n_embd, hidden, o) &&
                adz_module_add_child(self, "act", adz_gelu_new(gelu)) != NULL;
    return adzi_zoo_or_free(good, self);
}

adz_module *adz_gpt2_mlp_new(int64_t n_state, const adz_gpt2_options *options)
{
    static const char op[] = "adz_gpt2_mlp_new";
    adz_gpt2_options o;
    if (!adzi_gpt2_options(op, &o, options) || !adz_check_size(op, "n_state", n_state, 1)) {
        return NULL;
    }
    adz_module *self = mlp_new(&mlp_type, n_state, ADZ_GELU_TANH, &o);
    return adzi_zoo_or_free(
        self != NULL && adzi_gpt2_add_dropout(self, o.resid_pdrop, o.generator), self);
}

static const adz_field notes_fields[] = {
    ADZ_FIELD(adz_gpt2_notes_feed_forward_options, dropout, .value = 0.1, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_PARAMETER_DTYPE(adz_gpt2_notes_feed_forward_options),
};

ADZ_OPTIONS_TABLE(
    adz_gpt2_notes_feed_forward_options, ADZ_GPT2_NOTES_FEED_FORWARD_OPTIONS, notes_fields)

adz_module *adz_gpt2_notes_feed_forward_new(
    int64_t d_model, int64_t nx, const adz_gpt2_notes_feed_forward_options *options)
{
    static const char op[] = "adz_gpt2_notes_feed_forward_new";
    adz_gpt2_notes_feed_forward_options o;
    if (!adz_options_take(op, &adz_gpt2_notes_feed_forward_options_table, &o, options)) {
        return NULL;
    }
    if (!adz_check_size(op, "d_model", d_model, 1) || !adz_check_size(op, "nx", nx, 1)) {
        return NULL;
    }
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o.generator;
    adz_gpt2_options parts = ADZ_GPT2_OPTIONS;
    parts.n_embd = nx;
    parts.dtype = o.dtype;
    adz_module *self = mlp_new(&notes_type, d_model, ADZ_GELU_NONE, &parts);
    if (self != NULL &&
        adz_module_add_child(self, "dropout", adz_dropout_new(o.dropout, &dropout)) == NULL) {
        adz_module_release(&self);
    }
    return self;
}
