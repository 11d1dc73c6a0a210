/* The decoder block of Llama, Qwen2 and Qwen3: attention with rotary embeddings and grouped
 * queries, and a gated feed-forward network, each behind an RMSNorm and beside a residual
 * connection. */
#include "pretrained/decoder.h"

#include "adze/autograd.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/convert.h"
#include "adze/ops/shape.h"

/* ---- attention ------------------------------------------------------------------------------ */

enum { Q_PROJ, K_PROJ, V_PROJ, O_PROJ, Q_NORM, K_NORM }; /* children; the norms with qk_norm only */

typedef struct {
    int64_t heads, key_heads, head_dim, window;
    double dropout;
    bool qk_norm;
} attention_state;

/* The arguments of a call, which attention and block share. */
typedef struct {
    adz_tensor *x, *cos, *sin, *mask, *cache, *past;
} arguments;

static arguments read_arguments(const adz_values *in)
{
    return (arguments){ adz_values_argument(in, 0, "x"), adz_values_argument(in, 1, "cos"),
        adz_values_argument(in, 2, "sin"), adz_values_argument(in, 3, "mask"),
        adz_values_argument(in, 4, "cache"), adz_values_argument(in, 5, "past") };
}

/* The heads of queries or keys [B, H, T, E], normalised if the model does so, and rotated. They are
 * a view of [B, T, H, E], which attention reads without a copy. */
static adz_tensor *rotated(
    adz_module *self, const arguments *a, size_t projection, size_t norm, int64_t heads)
{
    const attention_state *state = models_state(self);
    adz_tensor *t = adzi_models_split_heads(adzi_models_forward(self, projection, a->x), heads);
    if (state->qk_norm) {
        t = adzi_models_forward(self, norm, t);
    }
    return adz_permute(adz_rotary_embedding(t, a->cos, a->sin, false), ADZ_DIMS(0, 2, 1, 3));
}

/* Writes the new keys or values, t[B, Hk, T, E], behind the `past` positions of the cache, and
 * returns a view of all of them. */
static adz_tensor *remember(adz_tensor *cache, int64_t which, int64_t past, adz_tensor *t)
{
    adz_tensor *all = adz_select(cache, 0, which);
    if (t == NULL || adz_copy_(adz_narrow(all, 2, past, adz_tensor_size(t, 2)), t) == NULL) {
        return NULL;
    }
    return adz_narrow(all, 2, 0, past + adz_tensor_size(t, 2));
}

static adz_status attention_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const attention_state *state = models_state(self);
    const arguments a = read_arguments(in);
    adz_tensor *q = rotated(self, &a, Q_PROJ, Q_NORM, state->heads);
    adz_tensor *k = rotated(self, &a, K_PROJ, K_NORM, state->key_heads);
    adz_tensor *v = adz_permute(
        adzi_models_split_heads(adzi_models_forward(self, V_PROJ, a.x), state->key_heads),
        ADZ_DIMS(0, 2, 1, 3));
    if (!models_is_none(a.cache)) {
        const int64_t past = models_is_none(a.past) ? 0 : adz_item_i64(a.past);
        k = remember(a.cache, 0, past, k);
        v = remember(a.cache, 1, past, v);
    }
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.attn_mask = a.mask;
    o.is_causal = true;
    o.enable_gqa = state->heads != state->key_heads;
    o.sliding_window = state->window;
    o.dropout_p = state->dropout;
    o.training = adz_module_is_training(self);
    adz_tensor *y = adzi_models_merge_heads(adz_scaled_dot_product_attention(q, k, v, &o));
    return adz_values_add(out, "", adzi_models_forward(self, O_PROJ, y));
}

static const adz_field attention_fields[] = {
    ADZ_FIELD(attention_state, heads, .value = 0),
    ADZ_FIELD(attention_state, key_heads, .value = 0),
    ADZ_FIELD(attention_state, head_dim, .value = 0),
    ADZ_FIELD_AS(
        attention_state, window, "sliding_window", ADZ_FIELD_I64, .shown = ADZ_SHOWN_CHANGED),
};

static const adz_module_type attention_type = { .size = sizeof(adz_module_type),
    .name = "Attention",
    .call = attention_call,
    .fields = attention_fields,
    .n_fields = sizeof attention_fields / sizeof *attention_fields };

static adz_module *attention_new(
    models_weights *w, const char *path, const models_decoder *d, int64_t window)
{
    char at[MODELS_NAME];
    const int64_t queries = d->heads * d->head_dim, keys = d->key_heads * d->head_dim;
    adz_module *self = adz_module_new(&attention_type, sizeof(attention_state));
    if (self == NULL) {
        return NULL;
    }
    *(attention_state *)models_state(self) =
        (attention_state){ d->heads, d->key_heads, d->head_dim, window, d->dropout, d->qk_norm };
    bool good = adzi_models_add(self, "q_proj",
                    adzi_models_linear(w, adzi_models_join(at, path, "q_proj"), d->hidden, queries,
                        d->qkv_bias)) &&
                adzi_models_add(self, "k_proj",
                    adzi_models_linear(
                        w, adzi_models_join(at, path, "k_proj"), d->hidden, keys, d->qkv_bias)) &&
                adzi_models_add(self, "v_proj",
                    adzi_models_linear(
                        w, adzi_models_join(at, path, "v_proj"), d->hidden, keys, d->qkv_bias)) &&
                adzi_models_add(self, "o_proj",
                    adzi_models_linear(
                        w, adzi_models_join(at, path, "o_proj"), queries, d->hidden, d->o_bias));
    if (good && d->qk_norm) {
        good = adzi_models_add(self, "q_norm",
                   adzi_models_rms_norm(
                       w, adzi_models_join(at, path, "q_norm"), d->head_dim, d->norm_eps)) &&
               adzi_models_add(self, "k_norm",
                   adzi_models_rms_norm(
                       w, adzi_models_join(at, path, "k_norm"), d->head_dim, d->norm_eps));
    }
    return adzi_models_or_free(good, self);
}

/* ---- the gated feed-forward network --------------------------------------------------------- */

enum { GATE_PROJ, UP_PROJ, DOWN_PROJ }; /* children */

typedef struct {
    adz_activation activation;
} mlp_state;

static adz_tensor *mlp_forward(adz_module *self, adz_tensor *x)
{
    adz_bias_activation_options o = ADZ_BIAS_ACTIVATION_OPTIONS;
    o.activation = ((const mlp_state *)models_state(self))->activation;
    adz_tensor *gate = adzi_models_forward(self, GATE_PROJ, x);
    adz_tensor *h =
        adz_bias_activation(gate, ADZ_NONE, adzi_models_forward(self, UP_PROJ, x), ADZ_NONE, &o);
    return adzi_models_forward(self, DOWN_PROJ, h);
}

static const adz_module_type mlp_type = {
    .size = sizeof(adz_module_type), .name = "MLP", .forward = mlp_forward
};

static adz_module *mlp_new(models_weights *w, const char *path, const models_decoder *d)
{
    char at[MODELS_NAME];
    adz_module *self = adz_module_new(&mlp_type, sizeof(mlp_state));
    if (self == NULL) {
        return NULL;
    }
    ((mlp_state *)models_state(self))->activation = d->activation;
    const int64_t n = d->hidden, inner = d->intermediate;
    const bool good =
        adzi_models_add(self, "gate_proj",
            adzi_models_linear(
                w, adzi_models_join(at, path, "gate_proj"), n, inner, d->mlp_bias)) &&
        adzi_models_add(self, "up_proj",
            adzi_models_linear(w, adzi_models_join(at, path, "up_proj"), n, inner, d->mlp_bias)) &&
        adzi_models_add(self, "down_proj",
            adzi_models_linear(w, adzi_models_join(at, path, "down_proj"), inner, n, d->mlp_bias));
    return adzi_models_or_free(good, self);
}

/* ---- the block ------------------------------------------------------------------------------ */

enum { SELF_ATTN, MLP, INPUT_NORM, POST_NORM }; /* children */

static adz_status block_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const arguments a = read_arguments(in);
    if (!adz_check_tensor(adz_module_name(self), "x", a.x)) {
        return adz_error_code();
    }
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_tensor *const values[] = { adzi_models_forward(self, INPUT_NORM, a.x), a.cos, a.sin, a.mask,
        a.cache, a.past };
    adz_status status = ADZ_OK;
    for (size_t i = 0; i < sizeof values / sizeof *values && status == ADZ_OK; ++i) {
        status = adz_values_add(to, "", values[i]);
    }
    if (status == ADZ_OK) {
        status = adz_module_call(models_child(self, SELF_ATTN), to, from);
    }
    if (status == ADZ_OK) {
        adz_tensor *h = adz_add(a.x, adz_values_at(from, 0));
        adz_tensor *inner = adzi_models_forward(self, MLP, adzi_models_forward(self, POST_NORM, h));
        status = adz_values_add(out, "", adz_add(h, inner));
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

static const adz_module_type block_type = {
    .size = sizeof(adz_module_type), .name = "DecoderLayer", .call = block_call
};

adz_module *adzi_models_decoder_new(
    models_weights *weights, const char *path, const models_decoder *d, int64_t window)
{
    char at[MODELS_NAME];
    adz_module *self = adz_module_new(&block_type, 0);
    const bool good =
        self != NULL &&
        adzi_models_add(self, "self_attn",
            attention_new(weights, adzi_models_join(at, path, "self_attn"), d, window)) &&
        adzi_models_add(self, "mlp", mlp_new(weights, adzi_models_join(at, path, "mlp"), d)) &&
        adzi_models_add(self, "input_layernorm",
            adzi_models_rms_norm(
                weights, adzi_models_join(at, path, "input_layernorm"), d->hidden, d->norm_eps)) &&
        adzi_models_add(self, "post_attention_layernorm",
            adzi_models_rms_norm(weights, adzi_models_join(at, path, "post_attention_layernorm"),
                d->hidden, d->norm_eps));
    return adzi_models_or_free(good, self);
}
