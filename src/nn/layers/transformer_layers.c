/* The layers of a transformer's encoder and decoder.
 *
 *     x = norm(x + sublayer(x)),   or   x = x + sublayer(norm(x)) with norm_first
 *
 * The sublayers are attention among the positions, attention to the memory in a decoder, and the
 * feed-forward network linear2(dropout(activation(linear1(x)))). Each ends with a dropout. */
#include "nn/layers/transformer.h"

#include <string.h>

#include "adze/nn/dropout.h"
#include "adze/nn/layer_norm.h"
#include "adze/nn/linear.h"
#include "adze/options.h"
#include "adze/ops/arithmetic.h"
#include "base/error.h"
#include "nn/fusion.h"
#include "nn/layers/activations.h"
#include "ops/activation/activation_table.h"

/* The options of a decoder layer begin with those of an encoder layer, so one struct holds both. */
typedef struct {
    adz_transformer_decoder_layer_options o;
    int64_t d_model, nhead;
} layer_state;

_Static_assert(offsetof(adz_transformer_encoder_layer_options, is_causal) ==
                   offsetof(adz_transformer_decoder_layer_options, tgt_is_causal),
    "the options of both layers begin alike");

static const adz_field encoder_fields[] = {
    ADZ_FIELD(layer_state, d_model, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(layer_state, nhead, ADZ_SIZE_FROM(1)),
    ADZI_TRANSFORMER_FIELDS(adz_transformer_encoder_layer_options),
    ADZ_FIELD(adz_transformer_encoder_layer_options, is_causal, .value = false),
};

static const adz_field decoder_fields[] = {
    ADZ_FIELD(layer_state, d_model, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(layer_state, nhead, ADZ_SIZE_FROM(1)),
    ADZI_TRANSFORMER_FIELDS(adz_transformer_decoder_layer_options),
    ADZ_FIELD(adz_transformer_decoder_layer_options, tgt_is_causal, .value = false),
    ADZ_FIELD(adz_transformer_decoder_layer_options, memory_is_causal, .value = false),
};

ADZ_OPTIONS_TABLE(
    adz_transformer_encoder_layer_options, ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS, encoder_fields)
ADZ_OPTIONS_TABLE(
    adz_transformer_decoder_layer_options, ADZ_TRANSFORMER_DECODER_LAYER_OPTIONS, decoder_fields)

/* The positions of the children. MEMORY_ATTN stands in a decoder layer alone, and there is one norm
 * and one dropout for each sublayer. */
typedef struct {
    size_t memory_attn, linear1, dropout, linear2, norms, dropouts, activation;
} children;

static const children of_encoder = { 0, 1, 2, 3, 4, 6, 8 };
static const children of_decoder = { 1, 2, 3, 4, 5, 8, 11 };
enum { SELF_ATTN };

/* ---- calls ---------------------------------------------------------------------------------- */

bool adzi_take_argument(
    const adz_module *self, const adz_values *in, size_t index, const char *name, adz_tensor **t)
{
    *t = adz_values_argument(in, index, name);
    return *t == ADZ_NONE || adzi_check_tensor(self->type.name, name, *t);
}

/* activation(linear1(x)) with the dropout after it, in one operator where this is possible (Note
 * [Fused modules]). */
static adz_tensor *hidden(const adz_module *self, const children *at, adz_tensor *x)
{
    const layer_state *state = self->state;
    adz_module *linear1 = adzi_child_at(self, at->linear1);
    adz_module *dropout = adzi_child_at(self, at->dropout);
    adz_module *activation = adzi_optional_child(self, at->activation, "activation");
    adz_bias_activation_options steps = adzi_no_steps();
    steps.activation = state->o.activation_function == NULL && activation == NULL
                           ? state->o.activation
                           : ADZ_ACTIVATION_IDENTITY;
    if (linear1->type.linear_parts != NULL && x != NULL &&
        (activation == NULL || adzi_add_step(activation, &steps)) &&
        state->o.activation_function == NULL && adzi_add_step(dropout, &steps)) {
        adz_tensor *h = adzi_forward_gated(linear1, NULL, &steps, x);
        h = h == ADZ_NONE ? adzi_forward_linear(linear1, &steps, x) : h;
        if (h != ADZ_NONE) {
            return h;
        }
    }
    adz_tensor *h = adz_module_forward(linear1, x);
    if (activation != NULL) {
        h = adz_module_forward(activation, h);
    } else if (state->o.activation_function != NULL) {
        h = h != NULL ? state->o.activation_function(h) : NULL;
    } else {
        const adzi_activation_row *row = adzi_activation_row_of(state->o.activation);
        h = row->call(h, row->p);
    }
    return adz_module_forward(dropout, h);
}

static adz_tensor *feed_forward(const adz_module *self, const children *at, adz_tensor *x)
{
    return adz_module_forward(adzi_child_at(self, at->linear2), hidden(self, at, x));
}

/* Attention of x to `memory`, or to x itself if memory is NULL. */
static adz_tensor *attend(const adz_module *self, size_t which, adz_tensor *x, adz_tensor *memory,
    adz_tensor *const *masks)
{
    adzi_arguments list = { .count = 0 };
    adzi_argument(&list, "query", x);
    adzi_argument(&list, "key", memory != NULL ? memory : x);
    adzi_argument(&list, "value", memory != NULL ? memory : x);
    adzi_argument(&list, "attn_mask", masks[0]);
    adzi_argument(&list, "key_padding_mask", masks[1]);
    return x == NULL
               ? NULL
               : adz_module_call_named(adzi_child_at(self, which), list.items, list.count, NULL);
}

/* One call of a layer. */
typedef struct {
    adz_tensor *x, *memory;                 /* memory is NULL in an encoder */
    adz_tensor *masks[2], *memory_masks[2]; /* attn_mask and key_padding_mask */
} layer_call;

/* Sublayer i of x, without norm and dropout: attention, attention to the memory, feed-forward. */
static adz_tensor *sublayer(
    const adz_module *self, const children *at, const layer_call *c, int i, adz_tensor *x)
{
    if (i == 0) {
        return attend(self, SELF_ATTN, x, NULL, c->masks);
    }
    return i == 1 && c->memory != NULL
               ? attend(self, at->memory_attn, x, c->memory, c->memory_masks)
               : feed_forward(self, at, x);
}

static adz_tensor *run(const adz_module *self, const children *at, const layer_call *c)
{
    const bool first = ((const layer_state *)self->state)->o.norm_first;
    const int sublayers = c->memory != NULL ? 3 : 2;
    adz_tensor *x = c->x;
    for (int i = 0; i < sublayers && x != NULL; ++i) {
        adz_module *norm = adzi_child_at(self, at->norms + (size_t)i);
        adz_module *dropout = adzi_child_at(self, at->dropouts + (size_t)i);
        adz_tensor *y = sublayer(self, at, c, i, first ? adz_module_forward(norm, x) : x);
        x = y == NULL ? NULL : adz_add(x, adz_module_forward(dropout, y));
        x = first || x == NULL ? x : adz_module_forward(norm, x);
    }
    return x;
}

static adz_status encoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    layer_call c = { .memory = NULL };
    if (!adzi_take_argument(self, in, 0, "src", &c.x) ||
        !adzi_take_argument(self, in, 1, "src_mask", &c.masks[0]) ||
        !adzi_take_argument(self, in, 2, "src_key_padding_mask", &c.masks[1]) ||
        !adzi_check_tensor(self->type.name, "src", c.x)) {
        return adz_error_code();
    }
    return adz_values_add(out, "", run(self, &of_encoder, &c));
}

static adz_status decoder_call(adz_module *self, const adz_values *in, adz_values *out)
{
    layer_call c;
    if (!adzi_take_argument(self, in, 0, "tgt", &c.x) ||
        !adzi_take_argument(self, in, 1, "memory", &c.memory) ||
        !adzi_take_argument(self, in, 2, "tgt_mask", &c.masks[0]) ||
        !adzi_take_argument(self, in, 3, "memory_mask", &c.memory_masks[0]) ||
        !adzi_take_argument(self, in, 4, "tgt_key_padding_mask", &c.masks[1]) ||
        !adzi_take_argument(self, in, 5, "memory_key_padding_mask", &c.memory_masks[1]) ||
        !adzi_check_tensor(self->type.name, "tgt", c.x) ||
        !adzi_check_tensor(self->type.name, "memory", c.memory)) {
        return adz_error_code();
    }
    return adz_values_add(out, "", run(self, &of_decoder, &c));
}

/* ---- making --------------------------------------------------------------------------------- */

static const adz_module_type encoder_type = {
    .size = sizeof(adz_module_type), .name = "TransformerEncoderLayer", .call = encoder_call
};
static const adz_module_type decoder_type = {
    .size = sizeof(adz_module_type), .name = "TransformerDecoderLayer", .call = decoder_call
};

adz_module *adzi_transformer_norm_new(int64_t d_model, double eps, bool bias, adz_dtype dtype)
{
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.eps = eps;
    o.bias = bias;
    o.dtype = dtype;
    return adz_layer_norm_new(ADZ_SHAPE(d_model), &o);
}

static bool add_attention(adz_module *self, const char *name, bool is_causal)
{
    const layer_state *state = self->state;
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.dropout = state->o.dropout;
    o.bias = state->o.bias;
    o.batch_first = state->o.batch_first;
    o.dtype = state->o.dtype;
    o.generator = state->o.generator;
    o.need_weights = false;
    o.is_causal = is_causal;
    return adz_module_add_child(
               self, name, adz_multihead_attention_new(state->d_model, state->nhead, &o)) != NULL;
}

static bool add_linear(adz_module *self, const char *name, int64_t in, int64_t out)
{
    const layer_state *state = self->state;
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = state->o.bias;
    o.dtype = state->o.dtype;
    return adz_module_add_child(self, name, adz_linear_new(in, out, &o)) != NULL;
}

static bool add_dropout(adz_module *self, const char *name)
{
    const layer_state *state = self->state;
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = state->o.generator;
    return adz_module_add_child(self, name, adz_dropout_new(state->o.dropout, &o)) != NULL;
}

/* Adds the children of a layer with this number of sublayers, in PyTorch's order. */
static bool add_children(adz_module *self, int sublayers)
{
    static const char *const norms[] = { "norm1", "norm2", "norm3" };
    static const char *const dropouts[] = { "dropout1", "dropout2", "dropout3" };
    const layer_state *state = self->state;
    const adz_transformer_decoder_layer_options *o = &state->o;
    bool good = add_attention(self, "self_attn", o->tgt_is_causal) &&
                (sublayers < 3 || add_attention(self, "multihead_attn", o->memory_is_causal)) &&
                add_linear(self, "linear1", state->d_model, o->dim_feedforward) &&
                add_dropout(self, "dropout") &&
                add_linear(self, "linear2", o->dim_feedforward, state->d_model);
    for (int i = 0; i < sublayers && good; ++i) {
        good = adz_module_add_child(self, norms[i],
                   adzi_transformer_norm_new(
                       state->d_model, o->layer_norm_eps, o->bias, o->dtype)) != NULL;
    }
    for (int i = 0; i < sublayers && good; ++i) {
        good = add_dropout(self, dropouts[i]);
    }
    return good &&
           (o->activation_module == NULL || adz_module_add_child(self, "activation",
                                                adz_module_keep(o->activation_module)) != NULL);
}

static adz_module *make(
    const char *op, const adz_module_type *type, const layer_state *s, int sublayers)
{
    if (s->o.activation_function != NULL && s->o.activation_module != NULL) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "activation_function and activation_module are both given; give one of them");
    }
    if (s->d_model % s->nhead != 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "nhead is %lld, but must divide d_model, %lld",
            (long long)s->nhead, (long long)s->d_model);
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(type, s, sizeof *s);
    const bool good = self != NULL && add_children(self, sublayers);
    if (self != NULL) { /* the child has a reference; the state has none */
        ((layer_state *)self->state)->o.activation_module = NULL;
    }
    return adzi_build_end(build, self, good);
}

adz_module *adz_transformer_encoder_layer_new(
    int64_t d_model, int64_t nhead, const adz_transformer_encoder_layer_options *options)
{
    static const char op[] = "adz_transformer_encoder_layer_new";
    layer_state s = { .d_model = d_model, .nhead = nhead };
    return adz_options_take(op, &adz_transformer_encoder_layer_options_table, &s, options)
               ? make(op, &encoder_type, &s, 2)
               : NULL;
}

adz_module *adz_transformer_decoder_layer_new(
    int64_t d_model, int64_t nhead, const adz_transformer_decoder_layer_options *options)
{
    static const char op[] = "adz_transformer_decoder_layer_new";
    layer_state s = { .d_model = d_model, .nhead = nhead };
    return adz_options_take(op, &adz_transformer_decoder_layer_options_table, &s, options)
               ? make(op, &decoder_type, &s, 3)
               : NULL;
}
