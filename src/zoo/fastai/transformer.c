/* fastai's encoders Transformer and Transformer-XL. ids[B, T] become out.0[B, T, d_model]. A
 * Transformer-XL also attends to a memory: the inputs of each layer in the last mem_len steps. */
#include "adze/zoo/fastai_transformer.h"

#include "adze/nn/containers.h"
#include "adze/nn/dropout.h"
#include "adze/nn/embedding.h"
#include "adze/nn/init.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "fastai/text.h"
#include "zoo.h"

enum { ENCODER, POS_ENC, DROP_EMB, LAYERS }; /* children */
enum { U, V };                               /* parameters of a Transformer-XL */

typedef struct {
    int64_t ctx_len, mem_len;
    bool learned, mask; /* positions have a learned table; later tokens are hidden */
    bool own_attention; /* the layers have adze's attention, which takes is_causal for a mask */
} encoder_state;

/* ---- both encoders -------------------------------------------------------------------------- */

static bool check_ids(adz_module *self, const adz_values *in, adz_tensor **ids)
{
    const char *op = adz_module_name(self);
    *ids = adz_values_argument(in, 0, "ids");
    if (!adz_check_tensor(op, "ids", *ids)) {
        return false;
    }
    if (adz_tensor_rank(*ids) != 2) {
        adz_error_format(op, ADZ_ERR_SHAPE, "ids%s must be [B, T]", adz_text_shape(*ids));
        return false;
    }
    return true;
}

/* Adds the argument that makes a layer hide later tokens: "is_causal" for adze's attention, or else
 * "mask"[1, 1, queries, keys]. The queries are the last of the keys. */
static adz_status hide_later(adz_module *self, adz_values *rest, int64_t queries, int64_t keys)
{
    const encoder_state *state = zoo_state(self);
    if (!state->mask) {
        return ADZ_OK;
    }
    if (state->own_attention) {
        return adz_values_add(
            rest, "is_causal", adz_tensor_from(&(bool){ true }, ADZ_SHAPE_SCALAR, ADZ_BOOL));
    }
    adz_tensor *ones = adz_ones(ADZ_SHAPE(1, 1, queries, keys), ADZ_F32);
    adz_tensor *later = adz_triu(ones, 1 + keys - queries);
    return adz_values_add(rest, "mask", adz_ne_number(later, 0));
}

static adz_tensor *run_layer(adz_module *self, size_t i, adz_tensor *h, const adz_values *rest)
{
    adz_module *layer = zoo_child(zoo_child(self, LAYERS), i);
    return adzi_fastai_call(layer, h, adz_values_get(rest, "mask"), rest);
}

static size_t n_layers(const adz_module *self)
{
    return adz_module_child_count(zoo_child(self, LAYERS));
}

/* ---- Transformer ---------------------------------------------------------------------------- */

/* The sum of the embeddings of tokens and of positions, after dropout. */
static adz_tensor *embed(adz_module *self, adz_tensor *ids)
{
    const encoder_state *state = zoo_state(self);
    int64_t length = adz_tensor_size(ids, 1);
    if (state->learned && length > state->ctx_len) {
        return zoo_fail(adz_module_name(self), ADZ_ERR_SHAPE,
            "ids%s are %lld in a row, but ctx_len is %lld", adz_text_shape(ids), (long long)length,
            (long long)state->ctx_len);
    }
    adz_tensor *positions = adz_arange(0, (double)length, 1, ADZ_I64);
    adz_tensor *h = adz_module_forward(zoo_child(self, ENCODER), ids);
    h = adz_add(h, adz_module_forward(zoo_child(self, POS_ENC), positions));
    return adz_module_forward(zoo_child(self, DROP_EMB), h);
}

static adz_status transformer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *ids;
    adz_tensor *h = check_ids(self, in, &ids) ? embed(self, ids) : NULL;
    if (h == NULL) {
        return adz_error_code();
    }
    adz_values *rest = adz_values_new();
    adz_status status = hide_later(self, rest, adz_tensor_size(ids, 1), adz_tensor_size(ids, 1));
    for (size_t i = 0; i < n_layers(self) && status == ADZ_OK; ++i) {
        h = run_layer(self, i, h, rest);
    }
    adz_values_free(&rest);
    status = status == ADZ_OK ? adz_values_add(out, "out.0", h) : status;
    return status == ADZ_OK ? adz_values_add(out, "raw.0", h) : status;
}

static const adz_field transformer_fields[] = {
    ADZ_FIELD(encoder_state, mask, .value = 0),
};

static const adz_module_type transformer_type = {
    .size = sizeof(adz_module_type),
    .name = "Transformer",
    .call = transformer_call,
    .fields = transformer_fields,
    .n_fields = sizeof transformer_fields / sizeof *transformer_fields,
};

/* ---- Transformer-XL ------------------------------------------------------------------------- */

/* The number of memories: one for the input of each layer and one for the result, or 0 if mem_len
 * is 0. Memory i is buffer i. */
static size_t n_memories(const adz_module *self)
{
    const encoder_state *state = zoo_state(self);
    return state->mem_len > 0 ? n_layers(self) + 1 : 0;
}

/* The number of steps in memory; -1 with the error recorded if they belong to a batch of another
 * size. */
static int64_t memory_length(adz_module *self, const adz_tensor *ids)
{
    const adz_tensor *mem = n_memories(self) > 0 ? adz_module_buffer_at(self, 0) : ADZ_NONE;
    if (zoo_is_none(mem)) {
        return 0;
    }
    if (adz_tensor_size(mem, 0) != adz_tensor_size(ids, 0)) {
        adz_error_format(adz_module_name(self), ADZ_ERR_SHAPE,
            "ids%s does not fit a memory of a batch of %lld: reset it with adz_module_reset, or pick its rows with adz_module_select_hidden",
            adz_text_shape(ids), (long long)adz_tensor_size(mem, 0));
        return -1;
    }
    return adz_tensor_size(mem, 1);
}

/* The new memory: the last mem_len steps of `mem` followed by h, detached from the graph. */
static adz_tensor *remember(const encoder_state *state, adz_tensor *mem, adz_tensor *h)
{
    h = adz_detach(h);
    int64_t old = zoo_is_none(mem) ? 0 : adz_tensor_size(mem, 1), new = adz_tensor_size(h, 1);
    new = new < state->mem_len ? new : state->mem_len;
    int64_t kept = old < state->mem_len - new ? old : state->mem_len - new;
    adz_tensor *parts[2];
    size_t n = 0;
    if (kept > 0) {
        parts[n++] = adz_narrow(mem, 1, old - kept, kept);
    }
    parts[n++] = adz_narrow(h, 1, adz_tensor_size(h, 1) - new, new);
    return adz_cat(parts, n, 1);
}

/* Replaces memory i. */
static adz_status put_memory(adz_module *self, size_t i, adz_tensor *mem)
{
    char name[32];
    snprintf(name, sizeof name, "mem_%zu", i);
    return adz_module_set_buffer(self, name, mem) != NULL ? ADZ_OK : adz_error_code();
}

/* Adds the arguments that are equal for all layers: "r", the encodings of the distances keys-1 ..
 * 0, the parameters "u" and "v", and the argument that hides later tokens. */
static adz_status shared_arguments(
    adz_module *self, adz_values *rest, const adz_tensor *ids, int64_t remembered)
{
    int64_t queries = adz_tensor_size(ids, 1), keys = remembered + queries;
    adz_tensor *distances = adz_arange((double)(keys - 1), -1, -1, ADZ_I64);
    adz_tensor *r = adz_module_forward(zoo_child(self, POS_ENC), distances);
    adz_status status = adz_values_add(rest, "r", r);
    if (status == ADZ_OK) {
        status = adz_values_add(rest, "u", zoo_parameter(self, U));
    }
    if (status == ADZ_OK) {
        status = adz_values_add(rest, "v", zoo_parameter(self, V));
    }
    return status == ADZ_OK ? hide_later(self, rest, queries, keys) : status;
}

/* Calls layer i with the shared arguments and with its memory. */
static adz_tensor *run_with_memory(
    adz_module *self, size_t i, adz_tensor *h, const adz_values *shared)
{
    adz_values *rest = adz_values_new();
    adz_status status = adzi_zoo_append(rest, shared, 0);
    if (status == ADZ_OK && n_memories(self) > 0) {
        status = adz_values_add(rest, "mem", adz_module_buffer_at(self, i));
    }
    h = status == ADZ_OK ? run_layer(self, i, h, rest) : NULL;
    adz_values_free(&rest);
    return h;
}

/* Runs all layers. mems[i] becomes the new memory of the input of layer i, and the last one that of
 * the result. NULL with the error recorded. */
static adz_tensor *run_all(
    adz_module *self, adz_tensor *h, const adz_values *shared, adz_tensor **mems)
{
    const encoder_state *state = zoo_state(self);
    size_t layers = n_layers(self);
    for (size_t i = 0; i <= layers && h != NULL; ++i) {
        if (n_memories(self) > 0) {
            mems[i] = remember(state, adz_module_buffer_at(self, i), h);
        }
        h = i < layers ? run_with_memory(self, i, h, shared) : h;
    }
    return h;
}

/* Appends out.0 and raw.i: the new memories, as in fastai, or the output if there is no memory. */
static adz_status add_results(
    adz_module *self, adz_values *out, adz_tensor *h, adz_tensor *const *mems)
{
    adz_status status = adz_values_add(out, "out.0", h);
    for (size_t i = 0; i < n_memories(self) && status == ADZ_OK; ++i) {
        char name[ADZ_VALUE_NAME + 1];
        snprintf(name, sizeof name, "raw.%zu", i);
        status = adz_values_add(out, name, mems[i]);
    }
    return status == ADZ_OK && n_memories(self) == 0 ? adz_values_add(out, "raw.0", h) : status;
}

/* Replaces the memories only after all layers have succeeded. */
static adz_status xl_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *ids;
    int64_t remembered = check_ids(self, in, &ids) ? memory_length(self, ids) : -1;
    if (remembered < 0) {
        return adz_error_code();
    }
    adz_tensor **mems = adzi_zoo_scratch((n_layers(self) + 1) * sizeof *mems);
    if (mems == NULL) {
        return ADZ_ERR_MEMORY;
    }
    adz_values *shared = adz_values_new();
    adz_tensor *h = adz_module_forward(zoo_child(self, ENCODER), ids);
    h = adz_module_forward(zoo_child(self, DROP_EMB), h);
    adz_status status = shared_arguments(self, shared, ids, remembered);
    h = status == ADZ_OK ? run_all(self, h, shared, mems) : NULL;
    status = h != NULL ? add_results(self, out, h, mems) : adz_error_code();
    for (size_t i = 0; i < n_memories(self) && status == ADZ_OK; ++i) {
        status = put_memory(self, i, mems[i]);
    }
    adz_values_free(&shared);
    return status;
}

static adz_status xl_reset_parameters(adz_module *self)
{
    adz_init_normal_(zoo_parameter(self, U), 0, 0.02, NULL);
    adz_init_normal_(zoo_parameter(self, V), 0, 0.02, NULL); /* refused after an error */
    return adz_error_code();
}

static adz_status xl_reset(adz_module *self)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < n_memories(self) && status == ADZ_OK; ++i) {
        status = put_memory(self, i, ADZ_NONE);
    }
    return status;
}

static adz_status xl_select_hidden(adz_module *self, adz_tensor *rows)
{
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < n_memories(self) && status == ADZ_OK; ++i) {
        adz_tensor *old = adz_module_buffer_at(self, i);
        status = zoo_is_none(old) ? ADZ_OK : put_memory(self, i, adz_index_select(old, 0, rows));
    }
    return status;
}

static const adz_field xl_fields[] = {
    ADZ_FIELD(encoder_state, mem_len, .value = 0),
    ADZ_FIELD(encoder_state, mask, .value = 0),
};

static const adz_module_type xl_type = {
    .size = sizeof(adz_module_type),
    .name = "TransformerXL",
    .call = xl_call,
    .reset_parameters = xl_reset_parameters,
    .fields = xl_fields,
    .n_fields = sizeof xl_fields / sizeof *xl_fields,
    .reset = xl_reset,
    .select_hidden = xl_select_hidden,
};

/* ---- constructors --------------------------------------------------------------------------- */

/* The rows of both encoders, which have other defaults. */
#define ROWS(sides, heads, width, head, inner, biased, learned)                                    \
    {                                                                                              \
        ADZ_FIELD(OPTIONS, ctx_len, .value = (sides), ADZ_SIZE_FROM(1)),                           \
            ADZ_FIELD(OPTIONS, n_layers, .value = 12, ADZ_CLOSED(0, ZOO_MOST_LAYERS)),             \
            ADZ_FIELD(OPTIONS, n_heads, .value = (heads), ADZ_SIZE_FROM(1)),                       \
            ADZ_FIELD(OPTIONS, d_model, .value = (width), ADZ_SIZE_FROM(1)),                       \
            ADZ_FIELD(OPTIONS, d_head, .value = (head), ADZ_SIZE_FROM(0)),                         \
            ADZ_FIELD(OPTIONS, d_inner, .value = (inner), ADZ_SIZE_FROM(1)),                       \
            ADZ_FIELD(OPTIONS, resid_p, ADZ_CLOSED(0, 1)),                                         \
            ADZ_FIELD(OPTIONS, attn_p, ADZ_CLOSED(0, 1)),                                          \
            ADZ_FIELD(OPTIONS, ff_p, ADZ_CLOSED(0, 1)),                                            \
            ADZ_FIELD(OPTIONS, embed_p, ADZ_CLOSED(0, 1)),                                         \
            ADZ_FIELD(OPTIONS, bias, .value = (biased)), ADZ_FIELD(OPTIONS, scale, .value = true), \
            ADZ_FIELD_AS(OPTIONS, act, "act", ADZ_FIELD_ENUM, .values = adzi_fastai_activations),  \
            ADZ_FIELD(OPTIONS, double_drop, .value = true),                                        \
            ADZ_FIELD(OPTIONS, learned_pos_enc, .value = (learned)),                               \
            ADZ_FIELD(OPTIONS, mask, .value = true),                                               \
            ADZ_FIELD(OPTIONS, mem_len, ADZ_SIZE_FROM(0)), ADZ_FIELD_PARAMETER_DTYPE(OPTIONS)      \
    }
#define OPTIONS adz_fastai_transformer_options
static const adz_field transformer_rows[] = ROWS(512, 12, 768, 64, 3072, true, true);
static const adz_field xl_rows[] = ROWS(150, 10, 410, 41, 2100, false, false);

ADZ_OPTIONS_TABLE(adz_fastai_transformer_options, ADZ_FASTAI_TRANSFORMER_OPTIONS, transformer_rows)

static const adz_options_table xl_table = { "ADZ_FASTAI_TRANSFORMER_XL_OPTIONS",
    sizeof(adz_fastai_transformer_options), xl_rows, sizeof xl_rows / sizeof *xl_rows };

void adz_fastai_transformer_xl_options_init(adz_fastai_transformer_options *options, size_t size)
{
    adz_options_defaults("adz_fastai_transformer_xl_options_init", &xl_table, options, size);
}

static bool check(const char *op, int64_t vocab_sz, const adz_fastai_transformer_options *o)
{
    if (!adz_check_size(op, "vocab_sz", vocab_sz, 1)) {
        return false;
    }
    if (!o->learned_pos_enc && o->d_model % 2 != 0) {
        adz_error_format(op, ADZ_ERR_ARGUMENT,
            "d_model is %lld, but sinusoidal positions have an even width", (long long)o->d_model);
        return false;
    }
    return true;
}

static adz_module *layers_new(const adz_fastai_transformer_options *o)
{
    adz_fastai_decoder_layer_options layer = ADZ_FASTAI_DECODER_LAYER_OPTIONS;
    layer.resid_p = o->resid_p;
    layer.attn_p = o->attn_p;
    layer.ff_p = o->ff_p;
    layer.bias = o->bias;
    layer.scale = o->scale;
    layer.act = o->act;
    layer.double_drop = o->double_drop;
    layer.attn_cls = o->attn_cls;
    layer.dtype = o->dtype;
    layer.generator = o->generator;
    adz_module *list = adz_module_list_new(NULL, 0);
    for (int64_t i = 0; i < o->n_layers && list != NULL; ++i) {
        if (adz_module_list_append(list, adz_fastai_decoder_layer_new(o->n_heads, o->d_model,
                                             o->d_head, o->d_inner, &layer)) == NULL) {
            adz_module_release(&list);
        }
    }
    return list;
}

static adz_module *positions_new(const adz_fastai_transformer_options *o)
{
    if (o->learned_pos_enc) {
        adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
        table.dtype = o->dtype;
        return adz_embedding_new(o->ctx_len, o->d_model, &table);
    }
    adz_fastai_positional_encoding_options sines = ADZ_FASTAI_POSITIONAL_ENCODING_OPTIONS;
    sines.dtype = o->dtype;
    return adz_fastai_positional_encoding_new(o->d_model, &sines);
}

/* The parts that both encoders have. o->attn_cls must not be NULL. */
static adz_module *encoder_new(
    const adz_module_type *type, int64_t vocab_sz, const adz_fastai_transformer_options *o)
{
    adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
    adz_dropout_options dropout = ADZ_DROPOUT_OPTIONS;
    table.dtype = o->dtype;
    dropout.generator = o->generator;
    adz_module *self = adz_module_new(type, sizeof(encoder_state));
    bool good =
        self != NULL &&
        adz_module_add_child(self, "encoder", adz_embedding_new(vocab_sz, o->d_model, &table)) !=
            NULL &&
        adz_module_add_child(self, "pos_enc", positions_new(o)) != NULL &&
        adz_module_add_child(self, "drop_emb", adz_dropout_new(o->embed_p, &dropout)) != NULL &&
        adz_module_add_child(self, "layers", layers_new(o)) != NULL;
    if (!good) {
        adz_module_release(&self);
        return NULL;
    }
    *(encoder_state *)zoo_state(self) = (encoder_state){
        o->ctx_len, o->mem_len, o->learned_pos_enc, o->mask,
        o->attn_cls == adz_fastai_attention_new || o->attn_cls == adz_fastai_relative_attention_new
    };
    return self;
}

adz_module *adz_fastai_transformer_new(
    int64_t vocab_sz, const adz_fastai_transformer_options *options)
{
    static const char op[] = "adz_fastai_transformer_new";
    adz_fastai_transformer_options o;
    if (!adz_options_take(op, &adz_fastai_transformer_options_table, &o, options)) {
        return NULL;
    }
    if (!check(op, vocab_sz, &o)) {
        return NULL;
    }
    if (o.mem_len != 0) {
        return zoo_fail(op, ADZ_ERR_ARGUMENT,
            "mem_len is %lld, but a Transformer has no memory; leave it 0, or call adz_fastai_transformer_xl_new",
            (long long)o.mem_len);
    }
    o.attn_cls = o.attn_cls != NULL ? o.attn_cls : adz_fastai_attention_new;
    return encoder_new(&transformer_type, vocab_sz, &o);
}

/* Adds the parameters u and v and the buffers of the memories. */
static bool add_own(adz_module *self, const adz_fastai_transformer_options *o)
{
    int64_t d_head = o->d_head > 0 ? o->d_head : o->d_model / o->n_heads;
    adz_shape shape = ADZ_SHAPE(o->n_heads, 1, d_head);
    bool good = adz_module_add_parameter(self, "u", adz_empty(shape, o->dtype)) != NULL &&
                adz_module_add_parameter(self, "v", adz_empty(shape, o->dtype)) != NULL &&
                xl_reset_parameters(self) == ADZ_OK;
    for (int64_t i = 0; i <= o->n_layers && o->mem_len > 0 && good; ++i) {
        char name[32];
        snprintf(name, sizeof name, "mem_%lld", (long long)i);
        good = adz_module_add_buffer(self, name, ADZ_NONE, false) != NULL;
    }
    return good;
}

adz_module *adz_fastai_transformer_xl_new(
    int64_t vocab_sz, const adz_fastai_transformer_options *options)
{
    static const char op[] = "adz_fastai_transformer_xl_new";
    adz_fastai_transformer_options o;
    if (!adz_options_take(op, &xl_table, &o, options)) {
        return NULL;
    }
    if (o.learned_pos_enc) {
        return zoo_fail(op, ADZ_ERR_UNSUPPORTED,
            "a table of positions cannot be asked for distances: leave learned_pos_enc off");
    }
    if (!check(op, vocab_sz, &o)) {
        return NULL;
    }
    o.attn_cls = o.attn_cls != NULL ? o.attn_cls : adz_fastai_relative_attention_new;
    adz_scope *scope = adz_scope_open();
    adz_module *self = encoder_new(&xl_type, vocab_sz, &o);
    return adzi_zoo_built(scope, self, self != NULL && add_own(self, &o));
}
