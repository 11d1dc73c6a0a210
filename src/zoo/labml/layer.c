/* TransformerLayer of the annotated transformers (labml_nn), and Encoder and Decoder, which are
 * stacks of it. The layer norms come before attention and feed-forward network. */
#include "adze/nn/containers.h"
#include "adze/nn/dropout.h"
#include "adze/zoo/labml_transformer.h"
#include "adze/nn/layer_norm.h"
#include "adze/ops/arithmetic.h"
#include "labml/labml.h"
#include "zoo.h"

/* ---- TransformerLayer ----------------------------------------------------------------------- */

enum { SELF_ATTN }; /* the first child */

typedef struct {
    int64_t d_model;
    /* Indices of the children, which depend on whether there is a src_attn; 0 if there is none. */
    size_t src_attn, feed_forward, dropout, norm_self_attn, norm_src_attn, norm_ff;
} layer_state;

/* The layer norm `norm` of x. */
static adz_tensor *normed(adz_module *self, size_t norm, adz_tensor *x)
{
    return adz_module_forward(zoo_child(self, norm), x);
}

/* x + dropout(y) */
static adz_tensor *add(adz_module *self, adz_tensor *x, adz_tensor *y)
{
    const layer_state *state = zoo_state(self);
    return adz_add(x, adz_module_forward(zoo_child(self, state->dropout), y));
}

/* Calls an attention with `source` as key and value. NULL passes through. */
static adz_tensor *attend(
    adz_module *self, size_t attention, adz_tensor *query, adz_tensor *source, adz_tensor *mask)
{
    adzi_argument arguments[] = { { "query", query }, { "key", source }, { "value", source },
        { "mask", mask } };
    return adzi_labml_call(zoo_child(self, attention), arguments, 4);
}

/* Self-attention, attention to `src` if it is given, and the feed-forward network, each added to x.
 */
static adz_tensor *run_layer(
    adz_module *self, adz_tensor *x, adz_tensor *mask, adz_tensor *src, adz_tensor *src_mask)
{
    const layer_state *s = zoo_state(self);
    adz_tensor *z = normed(self, s->norm_self_attn, x);
    x = add(self, x, attend(self, SELF_ATTN, z, z, mask));
    if (!zoo_is_none(src)) {
        z = x != NULL ? normed(self, s->norm_src_attn, x) : NULL;
        x = add(self, x, attend(self, s->src_attn, z, src, src_mask));
    }
    z = x != NULL ? normed(self, s->norm_ff, x) : NULL;
    return z != NULL ? add(self, x, adz_module_forward(zoo_child(self, s->feed_forward), z)) : NULL;
}

static adz_status layer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const char *op = adz_module_name(self);
    const layer_state *state = zoo_state(self);
    adz_tensor *x = adz_values_argument(in, 0, "x");
    adz_tensor *mask = adz_values_argument(in, 1, "mask");
    adz_tensor *src = adz_values_argument(in, 2, "src");
    adz_tensor *src_mask = adz_values_argument(in, 3, "src_mask");
    if (!adz_check_tensor(op, "x", x)) {
        return adz_error_code();
    }
    if (!zoo_is_none(src) && state->src_attn == 0) {
        return adz_error_format(
            op, ADZ_ERR_ARGUMENT, "src is given, but the layer was made without options.src_attn");
    }
    return adz_values_add(out, "", run_layer(self, x, mask, src, src_mask));
}

static const adz_module_type layer_type = {
    .size = sizeof(adz_module_type),
    .name = "TransformerLayer",
    .call = layer_call,
};

static const adz_field fields[] = {
    ADZ_FIELD_PARAMETER_DTYPE(adz_labml_transformer_layer_options),
};

ADZ_OPTIONS_TABLE(adz_labml_transformer_layer_options, ADZ_LABML_TRANSFORMER_LAYER_OPTIONS, fields)

static adz_module *norm_new(int64_t d_model, adz_dtype dtype)
{
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.dtype = dtype;
    return adz_layer_norm_new(ADZ_SHAPE(d_model), &o);
}

/* Adds the children of a layer in labml_nn's order and makes the norms and the dropout. The
 * references to the attention and the feed-forward network are taken over in every case. */
static adz_module *assemble(adz_module *self, adz_module *self_attn, adz_module *feed_forward,
    double dropout_prob, const adz_labml_transformer_layer_options *o)
{
    const char *names[7];
    adz_module *children[7];
    layer_state *state = zoo_state(self);
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    dropout.generator = o->generator;
    size_t n = 0;
    names[n] = "self_attn"; /* SELF_ATTN */
    children[n++] = self_attn;
    if (o->src_attn != NULL) {
        state->src_attn = n;
        names[n] = "src_attn";
        children[n++] = adz_module_keep(o->src_attn);
    }
    state->feed_forward = n;
    names[n] = "feed_forward";
    children[n++] = feed_forward;
    state->dropout = n;
    names[n] = "dropout";
    children[n++] = adz_dropout_new(dropout_prob, &dropout);
    state->norm_self_attn = n;
    names[n] = "norm_self_attn";
    children[n++] = norm_new(state->d_model, o->dtype);
    if (o->src_attn != NULL) {
        state->norm_src_attn = n;
        names[n] = "norm_src_attn";
        children[n++] = norm_new(state->d_model, o->dtype);
    }
    state->norm_ff = n;
    names[n] = "norm_ff";
    children[n++] = norm_new(state->d_model, o->dtype);
    return adzi_labml_adopt(self, names, children, n);
}

adz_module *adz_labml_transformer_layer_new(int64_t d_model, adz_module *self_attn,
    adz_module *feed_forward, double dropout_prob,
    const adz_labml_transformer_layer_options *options)
{
    static const char op[] = "adz_labml_transformer_layer_new";
    adz_labml_transformer_layer_options o;
    adz_module *self = NULL;
    if (self_attn == NULL || feed_forward == NULL) {
        adz_error_null(op, self_attn == NULL ? "self_attn" : "feed_forward");
    } else if (adz_error_code() == ADZ_OK &&
               adz_options_take(op, &adz_labml_transformer_layer_options_table, &o, options) &&
               adz_check_size(op, "d_model", d_model, 1)) {
        self = adz_module_new(&layer_type, sizeof(layer_state));
    }
    if (self == NULL) {
        adz_module_release(&self_attn);
        adz_module_release(&feed_forward);
        return NULL;
    }
    ((layer_state *)zoo_state(self))->d_model = d_model;
    return assemble(self, self_attn, feed_forward, dropout_prob, &o);
}

/* Reads the number of features and the dtype of a TransformerLayer. For any other module returns
 * false with the error recorded. */
static bool layer_size(const char *op, const adz_module *layer, int64_t *d_model, adz_dtype *dtype)
{
    if (adz_module_type_of(layer) != &layer_type) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "layer is a %s, but must come from adz_labml_transformer_layer_new",
            adz_module_name(layer));
        return false;
    }
    const layer_state *state = zoo_state(layer);
    *d_model = state->d_model;
    *dtype = adz_tensor_dtype(zoo_parameter(zoo_child(layer, state->norm_ff), 0));
    return true;
}

/* ---- Encoder and Decoder -------------------------------------------------------------------- */

enum { LAYERS, NORM }; /* children */

/* Runs the layers one after the other, then the norm. arguments[0] is x; the other arguments go to
 * every layer. */
static adz_status run_stack(adz_module *self, adzi_argument *arguments, size_t n, adz_values *out)
{
    if (!adz_check_tensor(adz_module_name(self), "x", arguments[0].tensor)) {
        return adz_error_code();
    }
    adz_module *layers = zoo_child(self, LAYERS);
    for (size_t i = 0; i < adz_module_child_count(layers); ++i) {
        arguments[0].tensor = adzi_labml_call(zoo_child(layers, i), arguments, n);
    }
    return adz_values_add(out, "", adz_module_forward(zoo_child(self, NORM), arguments[0].tensor));
}

static adz_status encoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adzi_argument arguments[] = { { "x", adz_values_argument(in, 0, "x") },
        { "mask", adz_values_argument(in, 1, "mask") } };
    return run_stack(self, arguments, 2, out);
}

static adz_status decoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adzi_argument arguments[] = { { "x", adz_values_argument(in, 0, "x") },
        { "mask", adz_values_argument(in, 3, "tgt_mask") },
        { "src", adz_values_argument(in, 1, "memory") },
        { "src_mask", adz_values_argument(in, 2, "src_mask") } };
    return run_stack(self, arguments, 4, out);
}

static const adz_module_type encoder_type = {
    .size = sizeof(adz_module_type),
    .name = "Encoder",
    .call = encoder_call,
};

static const adz_module_type decoder_type = {
    .size = sizeof(adz_module_type),
    .name = "Decoder",
    .call = decoder_call,
};

/* A ModuleList of n deep copies of a layer, which begin with equal parameters as in labml_nn. */
static adz_module *copies_of(adz_module *layer, int64_t n)
{
    adz_module *list = adz_module_list_new(NULL, 0);
    for (int64_t i = 0; i < n && list != NULL; ++i) {
        if (adz_module_list_append(list, adz_module_copy(layer)) == NULL) {
            adz_module_release(&list);
        }
    }
    return list;
}

/* Makes an Encoder or Decoder. The reference to `layer` is taken over in every case. */
static adz_module *stack_new(
    const char *op, const adz_module_type *type, adz_module *layer, int64_t n_layers)
{
    static const char *const names[] = { "layers", "norm" };
    int64_t d_model;
    adz_dtype dtype;
    adz_module *self = NULL;
    if (layer == NULL) {
        return zoo_fail_null(op, "layer");
    }
    if (adz_check_range(op, "n_layers", n_layers, 0, ZOO_MOST_LAYERS) &&
        layer_size(op, layer, &d_model, &dtype)) {
        self = adz_module_new(type, 0);
    }
    if (self != NULL) {
        adz_module *children[] = { copies_of(layer, n_layers), norm_new(d_model, dtype) };
        self = adzi_labml_adopt(self, names, children, 2);
    }
    adz_module_release(&layer);
    return self;
}

adz_module *adz_labml_encoder_new(adz_module *layer, int64_t n_layers)
{
    return stack_new("adz_labml_encoder_new", &encoder_type, layer, n_layers);
}

adz_module *adz_labml_decoder_new(adz_module *layer, int64_t n_layers)
{
    return stack_new("adz_labml_decoder_new", &decoder_type, layer, n_layers);
}
