/* LlamaForCausalLM, Qwen2ForCausalLM and Qwen3ForCausalLM: one stack of decoder blocks with
 * options. */
#include <stdio.h>
#include <string.h>

#include "adze/nn/containers.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/index.h"
#include "adze/ops/shape.h"
#include "adze/ops/math.h"
#include "pretrained/cache.h"
#include "pretrained/causal_lm.h"
#include "pretrained/decoder.h"
#include "pretrained/families.h"
#include "pretrained/rope.h"

/* ---- the configuration ---------------------------------------------------------------------- */

typedef struct {
    int64_t vocab_size, hidden_size, intermediate_size, num_hidden_layers, num_attention_heads,
        num_key_value_heads, head_dim, max_position_embeddings, sliding_window, max_window_layers,
        padding;
    double rms_norm_eps, attention_dropout;
    bool tie_word_embeddings, attention_bias, mlp_bias, use_sliding_window;
} decoder_config;

/* The table of frequencies takes memory by the features of a head, which a file without layers does
 * not show. */
enum { MOST_HEAD_DIM = 1 << 16 };

/* Entries that all three families have, with the defaults of transformers. */
#define COMMON_ROWS                                                                              \
    MODELS_SIZE(decoder_config, vocab_size), MODELS_SIZE(decoder_config, hidden_size),           \
        MODELS_SIZE(decoder_config, intermediate_size),                                          \
        ADZ_FIELD(decoder_config, num_hidden_layers, .value = -1,                                \
            ADZ_CLOSED(0, MODELS_MOST_LAYERS - 1), .hint = "the configuration says it"),         \
        MODELS_SIZE(decoder_config, num_attention_heads),                                        \
        ADZ_FIELD(decoder_config, num_key_value_heads, .value = 0, ADZ_BELOW(0, 0x1p31)),        \
        ADZ_FIELD(decoder_config, head_dim, .value = 0, ADZ_BELOW(0, 0x1p31)),                   \
        ADZ_FIELD(decoder_config, max_position_embeddings, .value = 2048, ADZ_BELOW(0, 0x1p53)), \
        ADZ_FIELD(decoder_config, rms_norm_eps, .value = 1e-6, ADZ_CLOSED(0, 1)),                \
        ADZ_FIELD(decoder_config, attention_dropout, .value = 0, ADZ_CLOSED(0, 1)),              \
        ADZ_FIELD(decoder_config, tie_word_embeddings, .value = false)

#define WINDOW_ROWS                                                                      \
    ADZ_FIELD(decoder_config, sliding_window, .value = 0, ADZ_BELOW(0, 0x1p53)),         \
        ADZ_FIELD(decoder_config, max_window_layers, .value = 28, ADZ_BELOW(0, 0x1p53)), \
        ADZ_FIELD(decoder_config, use_sliding_window, .value = false)

static const adz_field llama_rows[] = { COMMON_ROWS,
    ADZ_FIELD(decoder_config, attention_bias, .value = false),
    ADZ_FIELD(decoder_config, mlp_bias, .value = false) };
static const adz_field qwen2_rows[] = { COMMON_ROWS, WINDOW_ROWS };
static const adz_field qwen3_rows[] = { COMMON_ROWS, WINDOW_ROWS,
    ADZ_FIELD(decoder_config, attention_bias, .value = false) };

/* What a family has in common beside its rows. */
typedef struct {
    const char *type; /* model_type */
    const adz_field *rows;
    size_t n_rows;
    bool qwen2, qwen3;
} family;

#define ROWS(rows) (rows), sizeof(rows) / sizeof *(rows)
static const family families[] = { { "llama", ROWS(llama_rows), false, false },
    { "qwen2", ROWS(qwen2_rows), true, false }, { "qwen3", ROWS(qwen3_rows), false, true } };

/* Reads the configuration, and finishes what follows from other entries. */
static bool read_config(const family *f, const models_json *config, decoder_config *c,
    models_decoder *d, models_rope *rope)
{
    static const char *const others[] = { "hidden_act", "rope_theta", "rope_scaling",
        "rope_parameters", "layer_types", "rope_interleaved", "use_mrope", NULL };
    *c = (decoder_config){ 0 };
    if (!adzi_models_config_is_flag(config, "is_encoder_decoder", false) ||
        !adzi_models_config_is_flag(config, "rope_interleaved", false) ||
        !adzi_models_config_is_flag(config, "use_mrope", false) ||
        !adzi_models_config_read(config, f->rows, f->n_rows, c) ||
        !adzi_models_config_known(config, f->rows, f->n_rows, others) ||
        !adzi_models_config_activation(config, "hidden_act", "silu", &d->activation) ||
        !adzi_models_config_padding(config, c->vocab_size, ADZ_NO_PADDING, &c->padding) ||
        !adzi_models_rope_read(config, rope)) {
        return false;
    }
    c->num_key_value_heads =
        c->num_key_value_heads > 0 ? c->num_key_value_heads : c->num_attention_heads;
    if (c->head_dim == 0 && f->qwen3) {
        c->head_dim = 128;
    } else if (c->head_dim == 0) {
        c->head_dim = c->hidden_size / c->num_attention_heads;
    }
    if (c->num_attention_heads % c->num_key_value_heads != 0 || c->head_dim % 2 != 0 ||
        c->head_dim == 0 || c->head_dim > MOST_HEAD_DIM) {
        adzi_models_json_fail(config, ADZ_ERR_FORMAT,
            "has %lld heads for %lld of keys, and %lld features for each: heads must divide, and features be even and at most 65536",
            (long long)c->num_attention_heads, (long long)c->num_key_value_heads,
            (long long)c->head_dim);
        return false;
    }
    d->hidden = c->hidden_size;
    d->intermediate = c->intermediate_size;
    d->heads = c->num_attention_heads;
    d->key_heads = c->num_key_value_heads;
    d->head_dim = c->head_dim;
    d->norm_eps = c->rms_norm_eps;
    d->dropout = c->attention_dropout;
    d->qkv_bias = f->qwen2 || c->attention_bias;
    d->o_bias = c->attention_bias;
    d->mlp_bias = c->mlp_bias;
    d->qk_norm = f->qwen3;
    return true;
}

/* The window of a layer, 0 for none; -1 with the error recorded. The list layer_types decides where
 * there is one, otherwise the number of layers without a window. */
static int64_t window_of(const models_json *config, const decoder_config *c, int64_t layer)
{
    const models_json types = adzi_models_json_member(config, "layer_types");
    bool slides = c->use_sliding_window && layer >= c->max_window_layers;
    if (types.value != NULL && !json_is_null(types.value)) {
        const models_json type = adzi_models_json_at(&types, (size_t)layer);
        const char *text = adzi_models_json_text_of(&type);
        if (text == NULL) {
            return -1;
        }
        slides = strcmp(text, "sliding_attention") == 0;
        if (!slides && strcmp(text, "full_attention") != 0) {
            adzi_models_json_fail(&type, ADZ_ERR_UNSUPPORTED,
                "is \"%.60s\", but adze knows full_attention and sliding_attention only", text);
            return -1;
        }
    }
    if (slides && c->sliding_window == 0) {
        adzi_models_json_fail(
            config, ADZ_ERR_FORMAT, "has layers with a window, but no sliding_window");
        return -1;
    }
    return slides ? c->sliding_window : 0;
}

/* ---- the stack ------------------------------------------------------------------------------ */

enum { EMBED_TOKENS, LAYERS, NORM }; /* children */

typedef struct {
    int64_t key_heads, head_dim;
    double attention_factor; /* of cosines and sines */
} model_state;

/* The arguments of a call and what follows from them. */
typedef struct {
    adz_tensor *ids, *mask, *positions, *cache, *past;
    int64_t batch, length, seen; /* seen: positions in the cache */
} call_arguments;

static bool read_call(adz_module *self, const adz_values *in, call_arguments *a)
{
    *a = (call_arguments){ .ids = adz_values_argument(in, 0, "input_ids"),
        .mask = adz_values_argument(in, 1, "attention_mask"),
        .positions = adz_values_argument(in, 2, "position_ids"),
        .cache = adz_values_argument(in, 3, "cache"),
        .past = adz_values_argument(in, 4, "past") };
    if (!adzi_models_check_ids(self, "input_ids", a->ids)) {
        return false;
    }
    a->batch = adz_tensor_size(a->ids, 0);
    a->length = adz_tensor_size(a->ids, 1);
    if (!models_is_none(a->positions)) {
        if (!adzi_models_check_ids(self, "position_ids", a->positions)) {
            return false;
        }
        if (adz_tensor_size(a->positions, 0) != a->batch ||
            adz_tensor_size(a->positions, 1) != a->length) {
            adz_error_format(adz_module_name(self), ADZ_ERR_SHAPE,
                "position_ids%s must be like input_ids%s", adz_text_shape(a->positions),
                adz_text_shape(a->ids));
            return false;
        }
    }
    const model_state *state = models_state(self);
    const int64_t layers = (int64_t)adz_module_child_count(models_child(self, LAYERS));
    models_cache_call call = { .cache = a->cache, .past = a->past };
    if (!adzi_models_check_cache(self, &call,
            ADZ_SHAPE(layers, 2, a->batch, state->key_heads, 0, state->head_dim), a->length)) {
        return false;
    }
    a->seen = call.seen;
    a->mask = adzi_models_key_mask(self, a->mask, a->batch, a->seen + a->length);
    return a->mask != NULL;
}

/* The angles of the positions, [T, 1, E/2] or [B, T, 1, E/2]. */
static adz_tensor *angles(adz_module *self, const call_arguments *a)
{
    adz_tensor *frequencies = adz_module_buffer_at(self, 0), *p = a->positions;
    if (models_is_none(p)) {
        p = adz_arange((double)a->seen, (double)(a->seen + a->length), 1, ADZ_I64);
    }
    p = adz_to(p, adz_tensor_dtype(frequencies));
    adz_shape shape = p != NULL ? adz_tensor_shape(p) : ADZ_SHAPE(0);
    shape.sizes[shape.rank++] = 1;
    shape.sizes[shape.rank++] = 1;
    return p != NULL ? adz_mul(adz_reshape(p, shape), frequencies) : NULL;
}

static adz_status model_call(adz_module *self, const adz_values *in, adz_values *out)
{
    call_arguments a;
    if (!read_call(self, in, &a)) {
        return adz_error_code();
    }
    adz_tensor *h = adzi_models_forward(self, EMBED_TOKENS, a.ids), *angle = angles(self, &a);
    adz_tensor *c = adz_cos(angle), *s = adz_sin(angle);
    const double factor = ((const model_state *)models_state(self))->attention_factor;
    if (factor != 1) {
        c = adz_mul_number(c, factor);
        s = adz_mul_number(s, factor);
    }
    adz_module *layers = models_child(self, LAYERS);
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = h != NULL && s != NULL ? ADZ_OK : adz_error_code();
    for (size_t i = 0; i < adz_module_child_count(layers) && status == ADZ_OK; ++i) {
        adz_tensor *cache = models_is_none(a.cache) ? ADZ_NONE : adz_select(a.cache, 0, (int64_t)i);
        adz_tensor *const values[] = { h, c, s, a.mask, cache, a.past };
        adz_values_clear(to);
        adz_values_clear(from);
        for (size_t k = 0; k < sizeof values / sizeof *values && status == ADZ_OK; ++k) {
            status = adz_values_add(to, "", values[k]);
        }
        status = status == ADZ_OK ? adz_module_call(models_child(layers, i), to, from) : status;
        h = status == ADZ_OK ? adz_values_at(from, 0) : NULL;
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status == ADZ_OK
               ? adz_values_add(out, "last_hidden_state", adzi_models_forward(self, NORM, h))
               : status;
}

static const adz_module_type model_type = {
    .size = sizeof(adz_module_type), .name = "DecoderModel", .call = model_call
};

static adz_module *layers_new(
    models_weights *w, const models_json *config, const decoder_config *c, const models_decoder *d)
{
    adz_module *list = adz_module_list_new(NULL, 0);
    for (int64_t i = 0; i < c->num_hidden_layers && list != NULL; ++i) {
        char path[MODELS_NAME];
        snprintf(path, sizeof path, "model.layers.%lld", (long long)i);
        const int64_t window = window_of(config, c, i);
        adz_module *layer = window >= 0 ? adzi_models_decoder_new(w, path, d, window) : NULL;
        if (layer == NULL || adz_module_list_append(list, layer) == NULL) {
            adz_module_release(&list);
        }
    }
    return list;
}

static adz_module *model_new(models_weights *w, const models_json *config, const decoder_config *c,
    const models_decoder *d, const models_rope *rope)
{
    adz_module *self = adz_module_new(&model_type, sizeof(model_state));
    if (self == NULL) {
        return NULL;
    }
    *(model_state *)models_state(self) =
        (model_state){ d->key_heads, d->head_dim, rope->attention_factor };
    adz_tensor *frequencies = adzi_models_rope_frequencies(rope, d->head_dim, w->dtype);
    const bool good = adz_module_add_buffer(self, "inv_freq", frequencies, false) != NULL &&
                      adzi_models_add(self, "embed_tokens",
                          adzi_models_table(w, "model.embed_tokens", c->vocab_size, c->hidden_size,
                              c->padding)) &&
                      adzi_models_add(self, "layers", layers_new(w, config, c, d)) &&
                      adzi_models_add(self, "norm",
                          adzi_models_rms_norm(w, "model.norm", c->hidden_size, c->rms_norm_eps));
    return adzi_models_or_free(good, self);
}

/* ---- the language model --------------------------------------------------------------------- */

enum { MODEL, LM_HEAD }; /* children */

static adz_status lm_call(adz_module *self, const adz_values *in, adz_values *out)
{
    static const char *const arguments[] = { "input_ids", "attention_mask", "position_ids", "cache",
        "past" };
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < sizeof arguments / sizeof *arguments && status == ADZ_OK; ++i) {
        status = adz_values_add(to, arguments[i], adz_values_argument(in, i, arguments[i]));
    }
    status = status == ADZ_OK ? adz_module_call(models_child(self, MODEL), to, from) : status;
    if (status == ADZ_OK) {
        adz_tensor *h = adz_values_at(from, 0);
        adz_tensor *kept = adzi_models_kept(self, in, 5, h);
        status = adz_values_add(out, "logits", adzi_models_forward(self, LM_HEAD, kept));
        status = status == ADZ_OK ? adz_values_add(out, "last_hidden_state", h) : status;
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

#define LM_TYPE(its_name)                                                    \
    {                                                                        \
        .size = sizeof(adz_module_type), .name = (its_name), .call = lm_call \
    }
static const adz_module_type lm_types[] = { LM_TYPE("LlamaForCausalLM"),
    LM_TYPE("Qwen2ForCausalLM"), LM_TYPE("Qwen3ForCausalLM") };

bool adzi_models_is_causal_lm(const adz_module *module)
{
    const adz_module_type *type = adz_module_type_of(module);
    return type >= lm_types && type < lm_types + sizeof lm_types / sizeof *lm_types;
}

adz_shape adzi_models_cache_shape(const adz_module *module, int64_t batch, int64_t capacity)
{
    const adz_module *model = models_child(module, MODEL);
    const model_state *state = models_state(model);
    return ADZ_SHAPE((int64_t)adz_module_child_count(models_child(model, LAYERS)), 2, batch,
        state->key_heads, capacity, state->head_dim);
}

static adz_module *build(models_weights *w, const models_json *config, const char *architecture)
{
    const models_json type = adzi_models_json_member(config, "model_type");
    const size_t n = sizeof families / sizeof *families;
    size_t i = 0;
    while (i + 1 < n && strcmp(families[i].type, json_string_value(type.value)) != 0) {
        ++i;
    }
    decoder_config c;
    models_decoder d = { 0 };
    models_rope rope;
    (void)architecture;
    if (!read_config(&families[i], config, &c, &d, &rope)) {
        return NULL;
    }
    adz_module *model = model_new(w, config, &c, &d, &rope);
    adz_module *self = model != NULL ? adz_module_new(&lm_types[i], 0) : NULL;
    if (self == NULL) {
        adz_module_release(&model);
        return NULL;
    }
    const bool good =
        adzi_models_add(self, "model", model) &&
        adzi_models_add(self, "lm_head",
            adzi_models_head(w, adz_module_parameter_at(models_child(model, EMBED_TOKENS), 0),
                c.tie_word_embeddings));
    return adzi_models_or_free(good, self);
}

/* Old files have the frequencies as buffers. */
static bool ignored(const char *name)
{
    return adzi_models_ends_in(name, "rotary_emb.inv_freq");
}

const models_family adzi_models_decoders[] = {
    { "llama", (const char *const[]){ "LlamaForCausalLM", NULL }, build, ignored },
    { "qwen2", (const char *const[]){ "Qwen2ForCausalLM", NULL }, build, ignored },
    { "qwen3", (const char *const[]){ "Qwen3ForCausalLM", NULL }, build, ignored },
    { .model_type = NULL },
};
