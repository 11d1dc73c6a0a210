/* Published models in GGUF files (architectures.c lists their kinds).
 *
 * The rows of llama's projections of queries and keys are in another order than in transformers: a
 * head's features 0, E/2, 1, E/2 + 1 ... follow each other, as a rotation of pairs wants them. They
 * are put back. The projections of gpt2 are transposed. */
#include "gguf/model.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "adze/ops/convert.h"
#include "adze/ops/shape.h"
#include "gguf/architectures.h"
#include "gguf/gguf.h"
#include "pretrained/pooling.h"
#include "pretrained/rope.h"

typedef struct gguf_model {
    adz_gguf *file;
    const gguf_architecture *kind;
    const char *architecture; /* its name */
    int64_t heads, key_heads;
    bool has_factors;         /* the configuration says what is in rope_freqs.weight */
    models_sentence sentence; /* of encoders */
} gguf_model;

#define COUNT(table) (sizeof(table) / sizeof *(table))

/* Poolings by the numbers of files; others, such as that of the last token, are refused. */
static const models_pooling poolings[] = { MODELS_POOLING_NONE, MODELS_POOLING_MEAN,
    MODELS_POOLING_CLS };

static const char factors_name[] = "rope_freqs.weight";

/* ---- weights -------------------------------------------------------------------------------- */

/* Rows of llama's queries and keys in the order of transformers. */
static adz_tensor *in_halves(adz_tensor *t, int64_t heads)
{
    if (t == NULL || adz_tensor_rank(t) < 1) {
        return t; /* the caller refuses a number */
    }
    const adz_shape shape = adz_tensor_shape(t);
    const int64_t rows = shape.sizes[0], width = rows > 0 ? adz_tensor_numel(t) / rows : 0;
    if (heads < 1 || rows % (2 * heads) != 0) {
        return t; /* the caller refuses this shape */
    }
    adz_tensor *pairs = adz_reshape(t, ADZ_SHAPE(heads, rows / heads / 2, 2, width));
    return adz_reshape(adz_permute(pairs, ADZ_DIMS(0, 2, 1, 3)), shape);
}

static bool has_tensor(const gguf_model *m, const char *name)
{
    return adz_gguf_tensor_index(m->file, name) < adz_gguf_tensor_count(m->file);
}

static bool has(models_weights *weights, const char *name)
{
    const gguf_model *m = weights->user;
    char own[MODELS_NAME];
    return adzi_gguf_translate(m->kind, own, name, 1) && has_tensor(m, own);
}

/* Whether a tensor is a projection of gpt2, which files have transposed. */
static bool is_transposed(const gguf_model *m, const char *name)
{
    return m->kind->transposed && strstr(name, ".c_") != NULL && strstr(name, ".weight") != NULL;
}

static bool in_blocks(const gguf_model *m, const char *own)
{
    return strcmp(adz_gguf_tensor_type_at(m->file, adz_gguf_tensor_index(m->file, own)), "Q8_0") ==
           0;
}

static adz_tensor *find(models_weights *weights, const char *name, bool as_stored)
{
    gguf_model *m = weights->user;
    char own[MODELS_NAME];
    adzi_gguf_translate(m->kind, own, name, 1);
    const bool queries = strstr(name, ".q_proj.") != NULL, keys = strstr(name, ".k_proj.") != NULL;
    const bool pairs = strcmp(m->architecture, "llama") == 0 && (queries || keys);
    const bool transposed = is_transposed(m, name);
    if (!pairs && !transposed) {
        return adz_gguf_read(m->file, own, !as_stored);
    }
    adz_scope *scope = adz_scope_open(); /* both orders live in it */
    adz_tensor *t = adz_gguf_read(m->file, own, !as_stored || (transposed && in_blocks(m, own)));
    if (transposed && t != NULL && adz_tensor_rank(t) == 2) {
        t = adz_contiguous(adz_transpose(t, 0, 1));
    } else if (pairs) {
        t = in_halves(t, queries ? m->heads : m->key_heads);
    }
    return adz_scope_return(scope, t);
}

static bool each(
    models_weights *weights, bool (*visit)(models_weights *, const char *name, void *), void *user)
{
    const gguf_model *m = weights->user;
    for (size_t i = 0; i < adz_gguf_tensor_count(m->file); ++i) {
        const char *own = adz_gguf_tensor_name_at(m->file, i);
        char name[MODELS_NAME];
        if (strcmp(own, factors_name) == 0 && m->has_factors) {
            continue;
        }
        if (!adzi_gguf_translate(m->kind, name, own, 0)) {
            adz_error_format(weights->op, ADZ_ERR_UNSUPPORTED,
                "%s: tensor %s belongs to no part of the model", weights->file, own);
            return false;
        }
        if (!visit(weights, name, user)) {
            return false;
        }
    }
    return true;
}

/* ---- the configuration ---------------------------------------------------------------------- */

static const char *key_of(char *to, const gguf_model *m, const char *name)
{
    snprintf(to, MODELS_NAME, "%s.%s", m->architecture, name);
    return to;
}

/* Whether all values of the architecture are known. */
static bool check_known(const models_weights *w, const gguf_model *m)
{
    const size_t own = strlen(m->architecture);
    for (size_t i = 0; i < m->file->n_values; ++i) {
        const char *key = adzi_gguf_chars(m->file, m->file->values[i].key);
        if (strncmp(key, m->architecture, own) == 0 && key[own] == '.' &&
            !adzi_gguf_knows_value(m->kind, key + own + 1)) {
            adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
                "%s: value %s is one that adze does not know, and it might change the results",
                w->file, key);
            return false;
        }
    }
    return true;
}

/* An optional whole number; `fallback` if the file has none. */
static bool whole(const gguf_model *m, const char *name, int64_t fallback, int64_t *number)
{
    char key[MODELS_NAME];
    *number = fallback;
    return adz_gguf_kind_of(m->file, key_of(key, m, name)) == ADZ_GGUF_KIND_NONE ||
           adz_gguf_integer(m->file, key, number) == ADZ_OK;
}

/* A real number, which a configuration has only if it is finite. */
static bool finite_real(
    const models_weights *w, const gguf_model *m, const char *key, double *number)
{
    if (adz_gguf_real(m->file, key, number) != ADZ_OK) {
        return false;
    }
    if (!isfinite(*number)) {
        adz_error_format(w->op, ADZ_ERR_FORMAT, "%s: value %s is %g", w->file, key, *number);
        return false;
    }
    return true;
}

/* Frequencies that are divided by one factor each, which only files of Llama 3 have. The file does
 * not say how the factors were made. Those of Llama 3 follow from the largest one, and others are
 * refused, because a configuration cannot say them. */
static bool add_factors(
    const models_weights *w, const gguf_model *m, json_t *config, int64_t width, double theta)
{
    models_rope rope = { .theta = theta, .factor = 1 };
    adz_tensor *t = adz_gguf_read(m->file, factors_name, true);
    const bool fits =
        t != NULL && adz_tensor_rank(t) == 1 && width > 1 && adz_tensor_numel(t) == width / 2;
    adz_tensor *plain = adzi_models_rope_frequencies(&rope, fits ? width : 0, ADZ_F64);
    if (plain == NULL || t == NULL) {
        return false;
    }
    const float *factors = fits ? adz_tensor_data_constant(t) : NULL;
    for (int64_t i = 0; fits && i < width / 2; ++i) {
        rope.factor = factors[i] > rope.factor ? factors[i] : rope.factor;
    }
    rope.kind = MODELS_ROPE_LLAMA3;
    rope.low_freq_factor = 1;
    rope.high_freq_factor = 4;
    rope.original_max_position_embeddings = 8192;
    adz_tensor *scaled = adzi_models_rope_frequencies(&rope, fits ? width : 0, ADZ_F64);
    const double *before = adz_tensor_data_constant(plain);
    const double *after = scaled != NULL ? adz_tensor_data_constant(scaled) : NULL;
    bool good = fits && after != NULL && isfinite(rope.factor);
    for (int64_t i = 0; good && i < width / 2; ++i) {
        good = fabs((double)factors[i] * after[i] - before[i]) <= 1e-4 * before[i];
    }
    if (!good) {
        adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
            "%s: tensor %s has other factors than those of Llama 3 for heads of %lld features",
            w->file, factors_name, (long long)width);
        return false;
    }
    return json_object_set_new(config, "rope_scaling",
               json_pack("{s:s, s:f, s:f, s:f, s:i}", "rope_type", "llama3", "factor", rope.factor,
                   "low_freq_factor", rope.low_freq_factor, "high_freq_factor",
                   rope.high_freq_factor, "original_max_position_embeddings", 8192)) == 0;
}

/* Frequencies that are divided by factors, and heads that are rotated in part. */
static bool add_rope(const models_weights *w, gguf_model *m, json_t *config)
{
    char key[MODELS_NAME];
    int64_t width, rotated, hidden;
    const char *type = "none";
    double factor = 1, theta = 10000;
    if (!whole(m, "embedding_length", 0, &hidden) ||
        !whole(m, "attention.key_length", m->heads > 0 ? hidden / m->heads : 0, &width) ||
        !whole(m, "rope.dimension_count", width, &rotated)) {
        return false;
    }
    if (rotated != width) {
        adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
            "%s: value %s is %lld, but heads of %lld features are rotated whole only", w->file,
            key_of(key, m, "rope.dimension_count"), (long long)rotated, (long long)width);
        return false;
    }
    if (adz_gguf_kind_of(m->file, key_of(key, m, "rope.scaling.factor")) != ADZ_GGUF_KIND_NONE) {
        type = "linear"; /* the default of llama.cpp for files with a factor */
    }
    if (adz_gguf_kind_of(m->file, key_of(key, m, "rope.scaling.type")) != ADZ_GGUF_KIND_NONE &&
        (type = adz_gguf_text(m->file, key)) == NULL) {
        return false;
    }
    if (strcmp(type, "none") == 0 && has_tensor(m, factors_name)) {
        return (adz_gguf_kind_of(m->file, key_of(key, m, "rope.freq_base")) == ADZ_GGUF_KIND_NONE ||
                   finite_real(w, m, key, &theta)) &&
               (m->has_factors = add_factors(w, m, config, width, theta));
    }
    if (strcmp(type, "none") == 0) {
        return true;
    }
    if (strcmp(type, "linear") != 0) {
        adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
            "%s: value %s is \"%.60s\", but none and linear are known", w->file, key, type);
        return false;
    }
    return finite_real(w, m, key_of(key, m, "rope.scaling.factor"), &factor) &&
           json_object_set_new(config, "rope_scaling",
               json_pack("{s:s, s:f}", "rope_type", "linear", "factor", factor)) == 0;
}

/* Adds the entries that are values of the file. */
static bool add_values(const models_weights *w, gguf_model *m, json_t *config)
{
    char key[MODELS_NAME];
    for (size_t i = 0; i < m->kind->n_values; ++i) {
        const gguf_entry *of = &m->kind->values[i];
        int64_t number;
        double real;
        if (adz_gguf_kind_of(m->file, key_of(key, m, of->name)) == ADZ_GGUF_KIND_NONE) {
            if (of->number == GGUF_NEEDED_REAL) {
                adz_error_format(w->op, ADZ_ERR_FORMAT, "%s: there is no %s", w->file, key);
                return false;
            }
            continue;
        }
        if (of->number != GGUF_WHOLE ? !finite_real(w, m, key, &real)
                                     : adz_gguf_integer(m->file, key, &number) != ADZ_OK) {
            return false;
        }
        json_t *value = of->number != GGUF_WHOLE ? json_real(real) : json_integer(number);
        if (json_object_set_new(config, of->entry, value) != 0) {
            return false;
        }
    }
    return whole(m, "attention.head_count", 0, &m->heads) &&
           whole(m, "attention.head_count_kv", m->heads, &m->key_heads);
}

/* Adds what tensors say: the vocabulary, a head of its own, and biases. */
static bool add_shapes(const models_weights *w, const gguf_model *m, json_t *config)
{
    const size_t i = adz_gguf_tensor_index(m->file, "token_embd.weight");
    if (i == adz_gguf_tensor_count(m->file)) {
        adz_error_format(
            w->op, ADZ_ERR_FORMAT, "%s: there is no tensor token_embd.weight", w->file);
        return false;
    }
    const bool biased = m->kind->rotary && has_tensor(m, "blk.0.attn_output.bias");
    return json_object_set_new(config, "vocab_size",
               json_integer(adz_gguf_tensor_shape_at(m->file, i).sizes[0])) == 0 &&
           json_object_set_new(
               config, "tie_word_embeddings", json_boolean(!has_tensor(m, "output.weight"))) == 0 &&
           (!biased || json_object_set_new(config, "attention_bias", json_true()) == 0);
}

/* The id that ends a text. */
static bool add_end(const gguf_model *m, json_t *config)
{
    static const char name[] = "tokenizer.ggml.eos_token_id";
    int64_t id;
    return adz_gguf_kind_of(m->file, name) == ADZ_GGUF_KIND_NONE ||
           (adz_gguf_integer(m->file, name, &id) == ADZ_OK &&
               json_object_set_new(config, "eos_token_id", json_integer(id)) == 0);
}

/* What only encoders have: types of tokens, a row of padding, and a pooling. Files do not say
 * whether embeddings are normalised; the programs of llama.cpp do so by default, and so does this.
 */
static bool add_encoder(models_weights *w, gguf_model *m, json_t *config)
{
    static const char padding[] = "tokenizer.ggml.padding_token_id", types[] = "token_types.weight";
    char key[MODELS_NAME];
    int64_t pooling = 0, pad = 0;
    bool causal = false;
    if ((adz_gguf_kind_of(m->file, key_of(key, m, "attention.causal")) != ADZ_GGUF_KIND_NONE &&
            adz_gguf_bool(m->file, key, &causal) != ADZ_OK) ||
        !whole(m, "pooling_type", 0, &pooling)) {
        return false;
    }
    if (causal) {
        adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
            "%s: value %s is true, but tokens of encoders see each other", w->file,
            key_of(key, m, "attention.causal"));
        return false;
    }
    if (pooling < 0 || pooling >= (int64_t)COUNT(poolings)) {
        adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
            "%s: value %s is %lld, but adze knows 0 (none), 1 (mean) and 2 (cls)", w->file,
            key_of(key, m, "pooling_type"), (long long)pooling);
        return false;
    }
    m->sentence.pooling = poolings[pooling];
    m->sentence.normalize = m->sentence.pooling != MODELS_POOLING_NONE;
    w->sentence = &m->sentence;
    if (!has_tensor(m, types)) {
        adz_error_format(w->op, ADZ_ERR_UNSUPPORTED,
            "%s: there is no tensor %s, and models without types of tokens are not known", w->file,
            types);
        return false;
    }
    const adz_shape shape =
        adz_gguf_tensor_shape_at(m->file, adz_gguf_tensor_index(m->file, types));
    const bool padded = adz_gguf_kind_of(m->file, padding) != ADZ_GGUF_KIND_NONE;
    return (!padded || adz_gguf_integer(m->file, padding, &pad) == ADZ_OK) &&
           (!padded || json_object_set_new(config, "pad_token_id", json_integer(pad)) == 0) &&
           json_object_set_new(config, "type_vocab_size", json_integer(shape.sizes[0])) == 0;
}

/* The configuration without values; NULL with the error recorded. */
static json_t *config_of(const models_weights *w, gguf_model *m)
{
    m->architecture = adz_gguf_text(m->file, "general.architecture");
    if (m->architecture == NULL) {
        return NULL;
    }
    m->kind = adzi_gguf_architecture(m->architecture);
    return m->kind != NULL
               ? json_pack("{s:s, s:[s], s:s}", "model_type", m->kind->name, "architectures",
                     m->kind->class, m->kind->activation[0], m->kind->activation[1])
               : models_fail(w->op, ADZ_ERR_UNSUPPORTED,
                     "%s: general.architecture is \"%.60s\", but llama, qwen2, qwen3, gpt2 and bert are known",
                     w->file, m->architecture);
}

json_t *adzi_models_gguf_open(models_weights *weights, const char *path)
{
    gguf_model *m = weights->user = adzi_models_alloc(sizeof *m);
    weights->has = has;
    weights->find = find;
    weights->each = each;
    weights->blocks = true;
    if (m == NULL || (m->file = adz_gguf_open(path)) == NULL ||
        (weights->map && !adzi_gguf_map(m->file))) {
        return NULL;
    }
    json_t *config = config_of(weights, m);
    if (config != NULL && check_known(weights, m) && add_values(weights, m, config) &&
        (!m->kind->rotary || add_rope(weights, m, config)) && add_shapes(weights, m, config) &&
        (m->kind->encoder ? add_encoder(weights, m, config) : add_end(m, config))) {
        return config;
    }
    if (adz_error_code() == ADZ_OK) {
        adz_error_format(weights->op, ADZ_ERR_MEMORY, "memory for a configuration was refused");
    }
    json_decref(config);
    return NULL;
}

void adzi_models_gguf_close(models_weights *weights)
{
    gguf_model *m = weights->user;
    if (m != NULL) {
        adz_gguf_close(&m->file);
        adzi_models_free(m);
        weights->user = NULL;
    }
}
