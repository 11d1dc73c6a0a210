/* Language models in GGUF files: llama, qwen2, qwen3 and gpt2.
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
#include "gguf/gguf.h"
#include "pretrained/rope.h"

/* Names in transformers and in GGUF files. */
typedef const char *const name_pair[2];

/* A value ARCHITECTURE.NAME, and the entry of config.json that it is. */
typedef struct gguf_entry {
    const char *name, *entry;
    bool real;
} gguf_entry;

/* An architecture: what its parts and values are called. */
typedef struct gguf_architecture {
    const char *name, *class; /* in GGUF files, and in config.json */
    const char *layers;       /* before the number of a layer, in transformers */
    const name_pair *outer, *inner;
    const gguf_entry *values;
    const char *const *others; /* values that need a look of their own, or that change nothing */
    size_t n_outer, n_inner, n_values;
    bool rotary;
} gguf_architecture;

typedef struct gguf_model {
    adz_gguf *file;
    const gguf_architecture *kind;
    const char *architecture; /* its name */
    int64_t heads, key_heads;
    bool has_factors; /* the configuration says what is in rope_freqs.weight */
} gguf_model;

static const char factors_name[] = "rope_freqs.weight";

/* ---- architectures -------------------------------------------------------------------------- */

#define COUNT(table) (sizeof(table) / sizeof *(table))

static const name_pair outer_names[] = { { "model.embed_tokens.", "token_embd." },
    { "model.norm.", "output_norm." }, { "lm_head.", "output." } };

static const name_pair layer_names[] = { { "self_attn.q_proj.", "attn_q." },
    { "self_attn.k_proj.", "attn_k." }, { "self_attn.v_proj.", "attn_v." },
    { "self_attn.o_proj.", "attn_output." }, { "self_attn.q_norm.", "attn_q_norm." },
    { "self_attn.k_norm.", "attn_k_norm." }, { "mlp.gate_proj.", "ffn_gate." },
    { "mlp.up_proj.", "ffn_up." }, { "mlp.down_proj.", "ffn_down." },
    { "input_layernorm.", "attn_norm." }, { "post_attention_layernorm.", "ffn_norm." } };

static const name_pair gpt2_outer[] = { { "transformer.wte.", "token_embd." },
    { "transformer.wpe.", "position_embd." }, { "transformer.ln_f.", "output_norm." },
    { "lm_head.", "output." } };

static const name_pair gpt2_layer[] = { { "ln_1.", "attn_norm." }, { "attn.c_attn.", "attn_qkv." },
    { "attn.c_proj.", "attn_output." }, { "ln_2.", "ffn_norm." }, { "mlp.c_fc.", "ffn_up." },
    { "mlp.c_proj.", "ffn_down." } };

static const gguf_entry values[] = { { "embedding_length", "hidden_size", false },
    { "feed_forward_length", "intermediate_size", false },
    { "block_count", "num_hidden_layers", false },
    { "attention.head_count", "num_attention_heads", false },
    { "attention.head_count_kv", "num_key_value_heads", false },
    { "attention.key_length", "head_dim", false },
    { "context_length", "max_position_embeddings", false },
    { "attention.layer_norm_rms_epsilon", "rms_norm_eps", true },
    { "rope.freq_base", "rope_theta", true } };

static const gguf_entry gpt2_values[] = { { "embedding_length", "n_embd", false },
    { "feed_forward_length", "n_inner", false }, { "block_count", "n_layer", false },
    { "attention.head_count", "n_head", false }, { "context_length", "n_positions", false },
    { "attention.layer_norm_epsilon", "layer_norm_epsilon", true } };

static const char *const others[] = { "attention.value_length", "rope.dimension_count",
    "rope.scaling.type", "rope.scaling.factor", "vocab_size", NULL };

static const char *const gpt2_others[] = { "vocab_size", NULL };

#define DECODER(its_name, its_class)                                                               \
    {                                                                                              \
        .name = (its_name), .class = (its_class), .layers = "model.layers.", .outer = outer_names, \
        .n_outer = COUNT(outer_names), .inner = layer_names, .n_inner = COUNT(layer_names),        \
        .values = values, .n_values = COUNT(values), .others = others, .rotary = true              \
    }

static const gguf_architecture architectures[] = {
    DECODER("llama", "LlamaForCausalLM"),
    DECODER("qwen2", "Qwen2ForCausalLM"),
    DECODER("qwen3", "Qwen3ForCausalLM"),
    { .name = "gpt2",
        .class = "GPT2LMHeadModel",
        .layers = "transformer.h.",
        .outer = gpt2_outer,
        .n_outer = COUNT(gpt2_outer),
        .inner = gpt2_layer,
        .n_inner = COUNT(gpt2_layer),
        .values = gpt2_values,
        .n_values = COUNT(gpt2_values),
        .others = gpt2_others },
};

/* ---- names ---------------------------------------------------------------------------------- */

/* Replaces the beginning of a name by that in column `to` of a table. False if no row fits. */
static bool replace(
    char *out, const char *before, const char *name, const name_pair *table, size_t rows, int to)
{
    for (size_t i = 0; i < rows; ++i) {
        const char *own = table[i][1 - to];
        if (strncmp(name, own, strlen(own)) == 0) {
            return snprintf(out, MODELS_NAME, "%s%s%s", before, table[i][to], name + strlen(own)) <
                   MODELS_NAME;
        }
    }
    return false;
}

/* Translates a name between transformers (column 0) and GGUF (column 1). */
static bool translate(const gguf_architecture *kind, char *out, const char *name, int to)
{
    const char *const prefixes[2] = { kind->layers, "blk." };
    const char *own = prefixes[1 - to];
    if (strncmp(name, own, strlen(own)) != 0) {
        return replace(out, "", name, kind->outer, kind->n_outer, to);
    }
    const char *number = name + strlen(own);
    const size_t digits = strspn(number, "0123456789");
    char before[64];
    if (digits == 0 || digits > 6 || number[digits] != '.') {
        return false;
    }
    snprintf(before, sizeof before, "%s%.*s.", prefixes[to], (int)digits, number);
    return replace(out, before, number + digits + 1, kind->inner, kind->n_inner, to);
}

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
    return translate(m->kind, own, name, 1) && has_tensor(m, own);
}

/* Whether a tensor of gpt2 is one of its projections, which files have transposed. */
static bool is_transposed(const gguf_model *m, const char *name)
{
    return !m->kind->rotary && strstr(name, ".c_") != NULL && strstr(name, ".weight") != NULL;
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
    translate(m->kind, own, name, 1);
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
        if (!translate(m->kind, name, own, 0)) {
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

static bool is_known(const gguf_architecture *kind, const char *name)
{
    for (size_t i = 0; i < kind->n_values; ++i) {
        if (strcmp(name, kind->values[i].name) == 0) {
            return true;
        }
    }
    for (size_t i = 0; kind->others[i] != NULL; ++i) {
        if (strcmp(name, kind->others[i]) == 0) {
            return true;
        }
    }
    return false;
}

/* Whether all values of the architecture are known. */
static bool check_known(const models_weights *w, const gguf_model *m)
{
    const size_t own = strlen(m->architecture);
    for (size_t i = 0; i < m->file->n_values; ++i) {
        const char *key = adzi_gguf_chars(m->file, m->file->values[i].key);
        if (strncmp(key, m->architecture, own) == 0 && key[own] == '.' &&
            !is_known(m->kind, key + own + 1)) {
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
    rope.llama3 = true;
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
            continue;
        }
        if (of->real ? !finite_real(w, m, key, &real)
                     : adz_gguf_integer(m->file, key, &number) != ADZ_OK) {
            return false;
        }
        json_t *value = of->real ? json_real(real) : json_integer(number);
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

/* The configuration without values; NULL with the error recorded. */
static json_t *config_of(const models_weights *w, gguf_model *m)
{
    m->architecture = adz_gguf_text(m->file, "general.architecture");
    for (size_t i = 0; m->architecture != NULL && i < COUNT(architectures); ++i) {
        if (strcmp(m->architecture, architectures[i].name) == 0) {
            m->kind = &architectures[i];
            return json_pack("{s:s, s:[s], s:s}", "model_type", m->kind->name, "architectures",
                m->kind->class, m->kind->rotary ? "hidden_act" : "activation_function",
                m->kind->rotary ? "silu" : "gelu_new");
        }
    }
    return m->architecture == NULL
               ? NULL
               : models_fail(w->op, ADZ_ERR_UNSUPPORTED,
                     "%s: general.architecture is \"%.60s\", but llama, qwen2, qwen3 and gpt2 are known",
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
        (!m->kind->rotary || add_rope(weights, m, config)) && add_shapes(weights, m, config)) {
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
