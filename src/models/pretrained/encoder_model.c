/* BertModel, RobertaModel and DistilBertModel: embeddings of tokens, positions and types, and a
 * stack of encoder blocks. */
#include <stdio.h>
#include <string.h>

#include "adze/nn/containers.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/compare.h"
#include "adze/ops/convert.h"
#include "adze/ops/dropout.h"
#include "adze/ops/index.h"
#include "adze/ops/math.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "pretrained/encoder.h"
#include "pretrained/families.h"
#include "pretrained/pooling.h"

/* ---- the configuration ---------------------------------------------------------------------- */

typedef struct {
    int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
        max_position_embeddings, type_vocab_size, pad_token_id, padding;
    double layer_norm_eps, hidden_dropout, attention_dropout;
} encoder_config;

#define LAYERS_ROW(its_name)                                                              \
    ADZ_FIELD_AS(encoder_config, num_hidden_layers, its_name, ADZ_FIELD_I64, .value = -1, \
        ADZ_CLOSED(0, MODELS_MOST_LAYERS - 1), .hint = "the configuration says it")
#define SIZE_ROW(member, its_name)                                            \
    ADZ_FIELD_AS(encoder_config, member, its_name, ADZ_FIELD_I64, .value = 0, \
        ADZ_BETWEEN(0, 0x1p31), .hint = "the configuration says it")
#define DROPOUT_ROW(member, its_name) \
    ADZ_FIELD_AS(encoder_config, member, its_name, ADZ_FIELD_F64, .value = 0.1, ADZ_CLOSED(0, 1))
#define PADDING_ROW(number) \
    ADZ_FIELD(encoder_config, pad_token_id, .value = (number), ADZ_BELOW(0, 0x1p31))

#define BERT_ROWS                                                                          \
    SIZE_ROW(vocab_size, "vocab_size"), SIZE_ROW(hidden_size, "hidden_size"),              \
        SIZE_ROW(intermediate_size, "intermediate_size"), LAYERS_ROW("num_hidden_layers"), \
        SIZE_ROW(num_attention_heads, "num_attention_heads"),                              \
        SIZE_ROW(max_position_embeddings, "max_position_embeddings"),                      \
        SIZE_ROW(type_vocab_size, "type_vocab_size"),                                      \
        ADZ_FIELD(encoder_config, layer_norm_eps, .value = 1e-12, ADZ_CLOSED(0, 1)),       \
        DROPOUT_ROW(hidden_dropout, "hidden_dropout_prob"),                                \
        DROPOUT_ROW(attention_dropout, "attention_probs_dropout_prob")

static const adz_field bert_rows[] = { BERT_ROWS, PADDING_ROW(0) };
static const adz_field roberta_rows[] = { BERT_ROWS, PADDING_ROW(1) };
static const adz_field distilbert_rows[] = { SIZE_ROW(vocab_size, "vocab_size"),
    SIZE_ROW(hidden_size, "dim"), SIZE_ROW(intermediate_size, "hidden_dim"), LAYERS_ROW("n_layers"),
    SIZE_ROW(num_attention_heads, "n_heads"),
    SIZE_ROW(max_position_embeddings, "max_position_embeddings"),
    DROPOUT_ROW(hidden_dropout, "dropout"), DROPOUT_ROW(attention_dropout, "attention_dropout"),
    PADDING_ROW(0) };

static const models_encoder_names bert_names = { "attention.self.query", "attention.self.key",
    "attention.self.value", "attention.output.dense", "attention.output.LayerNorm",
    "intermediate.dense", "output.dense", "output.LayerNorm" };
static const models_encoder_names distilbert_names = { "attention.q_lin", "attention.k_lin",
    "attention.v_lin", "attention.out_lin", "sa_layer_norm", "ffn.lin1", "ffn.lin2",
    "output_layer_norm" };

/* What differs between the families. */
typedef struct {
    const char *type; /* model_type */
    const adz_field *rows;
    size_t n_rows;
    const models_encoder_names *names;
    const char *layers, *activation; /* the path of the blocks; the entry with the activation */
    bool counts_padding; /* positions count the tokens that are no padding, behind its id */
} family;

#define ROWS(rows) (rows), sizeof(rows) / sizeof *(rows)
static const family families[] = {
    { "bert", ROWS(bert_rows), &bert_names, "encoder.layer", "hidden_act", false },
    { "roberta", ROWS(roberta_rows), &bert_names, "encoder.layer", "hidden_act", true },
    { "distilbert", ROWS(distilbert_rows), &distilbert_names, "transformer.layer", "activation",
        false },
};

static bool read_config(
    const family *f, const models_json *config, encoder_config *c, models_encoder *e)
{
    static const char *const others[] = { "hidden_act", "activation", "is_decoder",
        "add_cross_attention", "position_embedding_type", "tie_word_embeddings",
        "sinusoidal_pos_embds", "pad_token_id", NULL };
    *c = (encoder_config){ .layer_norm_eps = 1e-12 };
    if (!adzi_models_config_read(config, f->rows, f->n_rows, c) ||
        !adzi_models_config_known(config, f->rows, f->n_rows, others) ||
        !adzi_models_config_padding(config, c->vocab_size, c->pad_token_id, &c->padding) ||
        !adzi_models_config_activation(config, f->activation, "gelu", &e->activation) ||
        !adzi_models_config_is_flag(config, "is_decoder", false) ||
        !adzi_models_config_is_flag(config, "is_encoder_decoder", false) ||
        !adzi_models_config_is_flag(config, "add_cross_attention", false) ||
        !adzi_models_config_is_text(config, "position_embedding_type", "absolute")) {
        return false;
    }
    if (c->hidden_size % c->num_attention_heads != 0) {
        adzi_models_json_fail(config, ADZ_ERR_FORMAT,
            "has %lld heads, which do not divide %lld features", (long long)c->num_attention_heads,
            (long long)c->hidden_size);
        return false;
    }
    e->hidden = c->hidden_size;
    e->intermediate = c->intermediate_size;
    e->heads = c->num_attention_heads;
    e->norm_eps = c->layer_norm_eps;
    e->dropout = c->hidden_dropout;
    e->attention_dropout = c->attention_dropout;
    e->names = f->names;
    return true;
}

/* ---- the forward pass ----------------------------------------------------------------------- */

typedef struct {
    const char *layers; /* the path of the blocks, a constant */
    int64_t pad, hidden;
    double dropout;
    bool counts_padding, types, pooler; /* has a table of types; has a pooler */
    models_sentence sentence;
} model_state;

/* The rows of a table for ids of the shape of input_ids. */
static adz_tensor *rows_of(
    adz_module *self, const char *path, const char *name, adz_tensor *ids, const adz_tensor *like)
{
    if (!adzi_models_check_ids(self, name, ids)) {
        return NULL;
    }
    if (adz_tensor_size(ids, 0) != adz_tensor_size(like, 0) ||
        adz_tensor_size(ids, 1) != adz_tensor_size(like, 1)) {
        return models_fail(adz_module_name(self), ADZ_ERR_SHAPE, "%s%s must be like input_ids%s",
            name, adz_text_shape(ids), adz_text_shape(like));
    }
    return adz_module_forward(adz_module_get_child(self, path), ids);
}

/* The first `count` rows of a table, which broadcast to all items of the batch. */
static adz_tensor *first_rows(adz_module *self, const char *path, int64_t count)
{
    adz_module *child = adz_module_get_child(self, path);
    adz_tensor *table = adz_module_parameter_at(child, 0);
    if (table != NULL && count > adz_tensor_size(table, 0)) {
        return models_fail(adz_module_name(self), ADZ_ERR_SHAPE,
            "there are %lld tokens, but %lld positions", (long long)count,
            (long long)adz_tensor_size(table, 0));
    }
    const adz_dtype dtype = table != NULL ? adz_tensor_dtype(table) : ADZ_F32;
    if (dtype != ADZ_F32 && dtype != ADZ_F64) { /* stored weights are widened by the look-up */
        return adz_module_forward(child, adz_arange(0, (double)count, 1, ADZ_I64));
    }
    return adz_narrow(table, 0, 0, count);
}

/* Positions that count the tokens which are no padding, from pad + 1 on; padding has the position
 * pad. */
static adz_tensor *counted(const model_state *state, adz_tensor *ids)
{
    adz_tensor *real = adz_to(adz_ne_number(ids, (double)state->pad), ADZ_I64);
    return adz_add_number(adz_mul(adz_cumsum(real, 1), real), (double)state->pad);
}

static adz_tensor *embed(adz_module *self, const adz_values *in, adz_tensor *ids)
{
    const model_state *state = models_state(self);
    adz_tensor *types = adz_values_argument(in, 2, "token_type_ids");
    adz_tensor *positions = adz_values_argument(in, 3, "position_ids");
    adz_tensor *h =
        adz_module_forward(adz_module_get_child(self, "embeddings.word_embeddings"), ids);
    if (state->types) {
        static const char table[] = "embeddings.token_type_embeddings";
        h = adz_add(h, models_is_none(types) ? first_rows(self, table, 1)
                                             : rows_of(self, table, "token_type_ids", types, ids));
    } else if (!models_is_none(types)) {
        return models_fail(adz_module_name(self), ADZ_ERR_ARGUMENT,
            "token_type_ids are given, but the model has no types");
    }
    static const char table[] = "embeddings.position_embeddings";
    if (models_is_none(positions) && state->counts_padding) {
        positions = counted(state, ids);
    }
    h = adz_add(h, models_is_none(positions)
                       ? first_rows(self, table, adz_tensor_size(ids, 1))
                       : rows_of(self, table, "position_ids", positions, ids));
    h = adz_module_forward(adz_module_get_child(self, "embeddings.LayerNorm"), h);
    return adz_dropout(h, state->dropout, adz_module_is_training(self), NULL);
}

static adz_tensor *run_blocks(adz_module *self, adz_tensor *h, adz_tensor *mask)
{
    adz_module *layers =
        adz_module_get_child(self, ((const model_state *)models_state(self))->layers);
    adz_values *to = adz_values_new(), *from = adz_values_new();
    for (size_t i = 0; i < adz_module_child_count(layers) && h != NULL; ++i) {
        adz_values_clear(to);
        adz_values_clear(from);
        const bool good = adz_values_add(to, "", h) == ADZ_OK &&
                          adz_values_add(to, "", mask) == ADZ_OK &&
                          adz_module_call(models_child(layers, i), to, from) == ADZ_OK;
        h = good ? adz_values_at(from, 0) : NULL;
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return h;
}

static adz_status model_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const model_state *state = models_state(self);
    adz_tensor *ids = adz_values_argument(in, 0, "input_ids");
    adz_tensor *mask = adz_values_argument(in, 1, "attention_mask");
    if (!adzi_models_check_ids(self, "input_ids", ids)) {
        return adz_error_code();
    }
    mask = adzi_models_key_mask(self, mask, adz_tensor_size(ids, 0), adz_tensor_size(ids, 1));
    adz_tensor *h = mask != NULL ? run_blocks(self, embed(self, in, ids), mask) : NULL;
    adz_status status = adz_values_add(out, "last_hidden_state", h);
    if (status == ADZ_OK && state->pooler) {
        adz_module *pooler = adz_module_get_child(self, "pooler.dense");
        status = adz_values_add(
            out, "pooler_output", adz_tanh(adz_module_forward(pooler, adz_select(h, 1, 0))));
    }
    if (status == ADZ_OK && state->sentence.pooling != MODELS_POOLING_NONE) {
        status = adz_values_add(
            out, "sentence_embedding", adzi_models_sentence_embed(&state->sentence, h, mask));
    }
    return status;
}

#define MODEL_TYPE(its_name)                                                    \
    {                                                                           \
        .size = sizeof(adz_module_type), .name = (its_name), .call = model_call \
    }
static const adz_module_type model_types[] = { MODEL_TYPE("BertModel"), MODEL_TYPE("RobertaModel"),
    MODEL_TYPE("DistilBertModel") };

const models_sentence *adzi_models_sentence_of(const adz_module *module, int64_t *width)
{
    const adz_module_type *type = adz_module_type_of(module);
    if (type < model_types || type >= model_types + sizeof model_types / sizeof *model_types) {
        return NULL;
    }
    const model_state *state = models_state(module);
    if (width != NULL) {
        *width = state->hidden;
    }
    return &state->sentence;
}

/* ---- building ------------------------------------------------------------------------------- */

static adz_module *layers_new(
    models_weights *w, const char *path, int64_t count, const models_encoder *e)
{
    adz_module *list = adz_module_list_new(NULL, 0);
    for (int64_t i = 0; i < count && list != NULL; ++i) {
        char at[MODELS_NAME];
        snprintf(at, sizeof at, "%s.%lld", path, (long long)i);
        adz_module *layer = adzi_models_encoder_new(w, at, e);
        if (layer == NULL || adz_module_list_append(list, layer) == NULL) {
            adz_module_release(&list);
        }
    }
    return list;
}

static bool add_table(adz_module *self, models_weights *w, const char *path, int64_t rows,
    int64_t width, int64_t padding)
{
    return adzi_models_add_path(self, path, adzi_models_table(w, path, rows, width, padding));
}

static bool add_embeddings(
    adz_module *self, models_weights *w, const encoder_config *c, bool counts_padding)
{
    const int64_t width = c->hidden_size;
    static const char norm[] = "embeddings.LayerNorm";
    return add_table(self, w, "embeddings.word_embeddings", c->vocab_size, width, c->padding) &&
           add_table(self, w, "embeddings.position_embeddings", c->max_position_embeddings, width,
               counts_padding ? c->pad_token_id : ADZ_NO_PADDING) &&
           (c->type_vocab_size == 0 || add_table(self, w, "embeddings.token_type_embeddings",
                                           c->type_vocab_size, width, ADZ_NO_PADDING)) &&
           adzi_models_add_path(
               self, norm, adzi_models_layer_norm(w, norm, width, c->layer_norm_eps));
}

/* Finds how many tokens a text can have. False with the error recorded if there are no positions
 * for them. */
static bool find_lengths(
    const family *f, const models_json *config, const encoder_config *c, models_sentence *s)
{
    const int64_t first = f->counts_padding ? c->pad_token_id + 1 : 0;
    s->max_positions = c->max_position_embeddings - first;
    if (s->max_positions < 1) {
        adzi_models_json_fail(config, ADZ_ERR_FORMAT,
            "has max_position_embeddings %lld, but those of tokens begin at %lld",
            (long long)c->max_position_embeddings, (long long)first);
        return false;
    }
    if (s->max_seq_length == 0 || s->max_seq_length > s->max_positions) {
        s->max_seq_length = s->max_positions;
    }
    return true;
}

static adz_module *build(models_weights *w, const models_json *config, const char *architecture)
{
    const models_json type = adzi_models_json_member(config, "model_type");
    const size_t n = sizeof families / sizeof *families;
    size_t i = 0;
    while (i + 1 < n && strcmp(families[i].type, json_string_value(type.value)) != 0) {
        ++i;
    }
    const family *f = &families[i];
    encoder_config c;
    models_encoder e = { 0 };
    models_sentence sentence = { .pooling = MODELS_POOLING_NONE };
    (void)architecture;
    if (!read_config(f, config, &c, &e) ||
        (w->sentence == NULL && !adzi_models_sentence_read(w->op, w->file, &sentence))) {
        return NULL;
    }
    sentence = w->sentence != NULL ? *w->sentence : sentence;
    adz_module *self = find_lengths(f, config, &c, &sentence)
                           ? adz_module_new(&model_types[i], sizeof(model_state))
                           : NULL;
    if (self == NULL) {
        return NULL;
    }
    const bool pooler = adzi_models_has(w, "pooler.dense", "weight");
    *(model_state *)models_state(self) = (model_state){ f->layers, c.pad_token_id, c.hidden_size,
        c.hidden_dropout, f->counts_padding, c.type_vocab_size > 0, pooler, sentence };
    const bool good =
        add_embeddings(self, w, &c, f->counts_padding) &&
        adzi_models_add_path(self, f->layers, layers_new(w, f->layers, c.num_hidden_layers, &e)) &&
        (!pooler || adzi_models_add_path(self, "pooler.dense",
                        adzi_models_linear(w, "pooler.dense", c.hidden_size, c.hidden_size, true)));
    return adzi_models_or_free(good, self);
}

/* Old files have the positions as buffers. */
static bool ignored(const char *name)
{
    return adzi_models_ends_in(name, "embeddings.position_ids");
}

const models_family adzi_models_encoders[] = {
    { "bert", (const char *const[]){ "BertModel", NULL }, build, ignored },
    { "roberta", (const char *const[]){ "RobertaModel", NULL }, build, ignored },
    { "distilbert", (const char *const[]){ "DistilBertModel", NULL }, build, ignored },
    { .model_type = NULL },
};
