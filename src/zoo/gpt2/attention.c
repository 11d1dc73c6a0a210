/* GPT-2's Attention and Block. x[B, T, D] attends to itself and to `past`[2, B, H, P, D/H], the
 * keys and values of P earlier positions. */
#include <math.h>

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/dropout.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "gpt2/gpt2.h"
#include "heads.h"
#include "zoo.h"

/* ---- attention ------------------------------------------------------------------------------ */

enum { C_ATTN, C_PROJ, DROPOUT }; /* children; DROPOUT only where it may zero something */

typedef struct {
    int64_t features, heads, n_ctx;
    bool scale;
    double attn_pdrop;
    adz_generator *generator; /* for attn_pdrop */
} attention_state;

/* Adds to `odd` the number of elements in which the mask differs from a causal one. */
#define COUNT_ODD(T)                                           \
    for (int64_t i = 0; i < queries; ++i) {                    \
        const T *row = (const T *)rows + i * n_ctx;            \
        for (int64_t j = 0; j < keys; ++j) {                   \
            odd += (row[j] != 0) != (j <= i + keys - queries); \
        }                                                      \
    }

/* True if the part of the mask that these queries and keys use hides later keys and nothing else.
 * The mask is a buffer, so a loaded state can have brought another one. */
static bool is_causal(adz_tensor *mask, int64_t n_ctx, int64_t queries, int64_t keys)
{
    const adz_dtype dtype = adz_tensor_dtype(mask);
    if (adz_tensor_numel(mask) != n_ctx * n_ctx || adz_tensor_size(mask, -1) != n_ctx ||
        (dtype != ADZ_F32 && dtype != ADZ_F64)) {
        return false;
    }
    const char *rows = (const char *)adz_tensor_data_constant(mask) +
                       (keys - queries) * n_ctx * (int64_t)adz_dtype_size(dtype);
    int64_t odd = 0;
    if (dtype == ADZ_F32) {
        COUNT_ODD(float)
    } else {
        COUNT_ODD(double)
    }
    return odd == 0;
}

/* Attention under any mask of positions, computed as the original code does: hidden scores become
 * -1e10. A query whose keys are all hidden therefore weights all of them equally. Tokens that do
 * not count are hidden in the same way. */
static adz_tensor *attend_masked(
    adz_tensor *mask, adz_tensor *q, adz_tensor *k, adz_tensor *v, const adz_attention_options *o)
{
    int64_t queries = adz_tensor_size(q, 2), keys = adz_tensor_size(k, 2);
    adz_tensor *scores = adz_mul_number(adz_matmul(q, adz_transpose(k, 2, 3)), o->scale);
    mask = adz_narrow(adz_narrow(mask, 2, keys - queries, queries), 3, 0, keys);
    scores = adz_masked_fill(scores, adz_eq_number(mask, 0), -1e10);
    if (!zoo_is_none(o->attn_mask)) {
        adz_tensor *hidden = adz_expand(adz_logical_not(o->attn_mask), adz_tensor_shape(scores));
        scores = adz_masked_fill(scores, hidden, -1e10);
    }
    adz_tensor *p = adz_dropout(adz_softmax(scores, -1), o->dropout_p, o->training, o->generator);
    return adz_matmul(p, v);
}

/* dropout(softmax(q k^T * scale)) v under the mask of positions and that of tokens, `counts`. The
 * queries are the last positions of the keys, so they use the last rows of the mask of positions.
 */
static adz_tensor *attend(adz_module *self, adz_tensor *const *qkv, adz_tensor *counts)
{
    adz_tensor *q = qkv[0], *k = qkv[1], *v = qkv[2];
    const attention_state *state = zoo_state(self);
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    o.dropout_p = state->attn_pdrop;
    o.training = adz_module_is_training(self);
    o.generator = state->generator;
    o.scale = state->scale ? 1 / sqrt((double)adz_tensor_size(q, 3)) : 1;
    o.attn_mask = counts;
    adz_tensor *mask = adz_module_buffer_at(self, 0);
    return zoo_is_none(mask) ||
                   is_causal(mask, state->n_ctx, adz_tensor_size(q, 2), adz_tensor_size(k, 2))
               ? adz_scaled_dot_product_attention(q, k, v, &o)
               : attend_masked(mask, q, k, v, &o);
}

/* Checks the sizes of x and past, and that the mask of positions has room for both together. */
static bool check_input(adz_module *self, const adz_tensor *x, const adz_tensor *past)
{
    const attention_state *state = zoo_state(self);
    const char *name = adz_module_name(self);
    int64_t width = state->features / state->heads;
    if (adz_tensor_rank(x) != 3 || adz_tensor_size(x, 2) != state->features) {
        adz_error_format(name, ADZ_ERR_SHAPE, "x%s must be [B, T, %lld]", adz_text_shape(x),
            (long long)state->features);
        return false;
    }
    bool first = zoo_is_none(past);
    if (!first &&
        (adz_tensor_rank(past) != 5 || adz_tensor_size(past, 0) != 2 ||
            adz_tensor_size(past, 1) != adz_tensor_size(x, 0) ||
            adz_tensor_size(past, 2) != state->heads || adz_tensor_size(past, 4) != width)) {
        adz_error_format(name, ADZ_ERR_SHAPE, "past%s must be [2, %lld, %lld, P, %lld] for x%s",
            adz_text_shape(past), (long long)adz_tensor_size(x, 0), (long long)state->heads,
            (long long)width, adz_text_shape(x));
        return false;
    }
    int64_t length = adz_tensor_size(x, 1) + (first ? 0 : adz_tensor_size(past, 3));
    if (length > state->n_ctx && !zoo_is_none(adz_module_buffer_at(self, 0))) {
        adz_error_format(name, ADZ_ERR_SHAPE,
            "x%s after a past of %lld makes %lld positions, but n_ctx is %lld", adz_text_shape(x),
            (long long)(length - adz_tensor_size(x, 1)), (long long)length,
            (long long)state->n_ctx);
        return false;
    }
    return true;
}

/* Checks the dtype of a mask of tokens. Attention checks its shape. */
static bool check_mask(const adz_module *self, const adz_tensor *counts)
{
    if (zoo_is_none(counts)) {
        return true;
    }
    if (!adz_check_tensor(adz_module_name(self), "attention_mask", counts)) {
        return false;
    }
    if (adz_tensor_dtype(counts) != ADZ_BOOL) {
        adz_error_format(adz_module_name(self), ADZ_ERR_DTYPE,
            "attention_mask is %s, but must be bool", adz_dtype_name(adz_tensor_dtype(counts)));
    }
    return adz_tensor_dtype(counts) == ADZ_BOOL;
}

/* A view of the keys and values in all[B, T, 3 D], shaped [2, B, H, T, D/H]. It is no copy, because
 * in training nobody reads it. */
static adz_tensor *keys_and_values(adz_tensor *all, int64_t heads)
{
    int64_t width = adz_tensor_size(all, 2) / 3 / heads;
    adz_tensor *parts = adz_reshape(
        all, ADZ_SHAPE(adz_tensor_size(all, 0), adz_tensor_size(all, 1), 3, heads, width));
    return adz_slice(adz_permute(parts, ADZ_DIMS(2, 0, 3, 1, 4)), 0, 1, 3, 1);
}

/* Results: y[B, T, D] and "present", the keys and values of all P + T positions. */
static adz_status attention_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const attention_state *state = zoo_state(self);
    adz_tensor *x = adz_values_argument(in, 0, "x"), *past = adz_values_argument(in, 1, "past");
    adz_tensor *counts = adz_values_argument(in, 2, "attention_mask");
    if (!adz_check_tensor(adz_module_name(self), "x", x) || !check_input(self, x, past) ||
        !check_mask(self, counts)) {
        return adz_error_code();
    }
    adz_tensor *all = adz_module_forward(zoo_child(self, C_ATTN), x), *qkv[3];
    const int64_t widths[] = { state->features, state->features, state->features };
    if (adz_split_sizes(all, widths, 3, 2, qkv) != ADZ_OK) {
        return adz_error_code();
    }
    for (int i = 0; i < 3; ++i) {
        qkv[i] = adzi_zoo_split_heads(qkv[i], state->heads);
    }
    adz_tensor *present = keys_and_values(all, state->heads);
    if (!zoo_is_none(past)) {
        present = adz_cat((adz_tensor *[]){ past, present }, 2, 3);
        for (int i = 1; i < 3; ++i) {
            qkv[i] = adz_select(present, 0, i - 1);
        }
    }
    adz_tensor *y = adzi_zoo_merge_heads(attend(self, qkv, counts));
    y = adz_module_forward(zoo_child(self, C_PROJ), y);
    if (adz_module_child_count(self) > DROPOUT) {
        y = adz_module_forward(zoo_child(self, DROPOUT), y);
    }
    adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adz_values_add(out, "present", present) : status;
}

static const adz_field attention_fields[] = {
    ADZ_FIELD_AS(attention_state, heads, "n_head", ADZ_FIELD_I64, .value = 0),
    ADZ_FIELD(attention_state, scale, .value = 0),
    ADZ_FIELD(attention_state, attn_pdrop, .shown = ADZ_SHOWN_CHANGED),
};

static const adz_module_type attention_type = {
    .size = sizeof(adz_module_type),
    .name = "Attention",
    .call = attention_call,
    .fields = attention_fields,
    .n_fields = sizeof attention_fields / sizeof *attention_fields,
};

/* Adds the causal mask[1, 1, n_ctx, n_ctx], a lower triangle of ones, which GPT-2 calls "bias".
 * With skip_init its position stays empty. */
static bool add_mask(adz_module *self, int64_t n_ctx, const adz_gpt2_options *o)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *mask =
        o->skip_init ? ADZ_NONE : adz_tril(adz_ones(ADZ_SHAPE(1, 1, n_ctx, n_ctx), o->dtype), 0);
    bool good = adz_module_add_buffer(self, "bias", mask, true) != NULL;
    adz_scope_close(scope);
    return good;
}

bool adzi_gpt2_check_heads(const char *op, int64_t features, int64_t heads)
{
    if (heads < 1 || features % heads != 0) {
        adz_error_format(op, ADZ_ERR_ARGUMENT, "n_head is %lld, but must divide the %lld features",
            (long long)heads, (long long)features);
        return false;
    }
    return true;
}

adz_module *adz_gpt2_attention_new(
    int64_t nx, int64_t n_ctx, bool scale, const adz_gpt2_options *options)
{
    static const char op[] = "adz_gpt2_attention_new";
    adz_gpt2_options o;
    if (!adzi_gpt2_options(op, &o, options) || !adz_check_size(op, "nx", nx, 1) ||
        !adz_check_size(op, "n_ctx", n_ctx, 1) || !adzi_gpt2_check_heads(op, nx, o.n_head)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&attention_type, sizeof(attention_state));
    bool good = self != NULL;
    if (good) {
        *(attention_state *)zoo_state(self) =
            (attention_state){ nx, o.n_head, n_ctx, scale, o.attn_pdrop, o.generator };
        good = add_mask(self, n_ctx, &o) && adzi_gpt2_add_conv1d(self, "c_attn", 3 * nx, nx, &o) &&
               adzi_gpt2_add_conv1d(self, "c_proj", nx, nx, &o) &&
               adzi_gpt2_add_dropout(self, o.resid_pdrop, o.generator);
    }
    return adzi_zoo_or_free(good, self);
}

/* ---- blocks --------------------------------------------------------------------------------- */

enum { LN_1, ATTN, LN_2, MLP }; /* children */

/* x = x + attn(ln_1(x)), then x + mlp(ln_2(x)). */
static adz_status block_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adz_values_argument(in, 0, "x");
    if (!adz_check_tensor(adz_module_name(self), "x", x)) {
        return adz_error_code();
    }
    adz_values *to = adz_values_new(), *from = adz_values_new();
    adz_status status = adz_values_add(to, "", adz_module_forward(zoo_child(self, LN_1), x));
    static const char *const names[] = { "past", "attention_mask" };
    for (size_t i = 0; i < 2 && status == ADZ_OK; ++i) {
        status = adz_values_add(to, names[i], adz_values_argument(in, i + 1, names[i]));
    }
    if (status == ADZ_OK) {
        status = adz_module_call(zoo_child(self, ATTN), to, from);
    }
    if (status == ADZ_OK) {
        x = adz_add(x, adz_values_at(from, 0));
        adz_tensor *h = adz_module_forward(zoo_child(self, LN_2), x);
        x = adz_add(x, adz_module_forward(zoo_child(self, MLP), h));
        status = adz_values_add(out, "", x);
    }
    if (status == ADZ_OK) {
        status = adz_values_add(out, "present", adz_values_at(from, 1));
    }
    adz_values_free(&to);
    adz_values_free(&from);
    return status;
}

static const adz_module_type block_type = {
    .size = sizeof(adz_module_type),
    .name = "Block",
    .call = block_call,
};

adz_module *adz_gpt2_block_new(int64_t n_ctx, bool scale, const adz_gpt2_options *options)
{
    static const char op[] = "adz_gpt2_block_new";
    adz_gpt2_options o;
    if (!adzi_gpt2_options(op, &o, options) || !adz_check_size(op, "n_ctx", n_ctx, 1) ||
        !adzi_gpt2_check_heads(op, o.n_embd, o.n_head)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&block_type, 0);
    bool good = self != NULL && adzi_gpt2_add_norm(self, "ln_1", &o) &&
                adz_module_add_child(
                    self, "attn", adz_gpt2_attention_new(o.n_embd, n_ctx, scale, &o)) != NULL &&
                adzi_gpt2_add_norm(self, "ln_2", &o) &&
                adz_module_add_child(self, "mlp", adz_gpt2_mlp_new(4 * o.n_embd, &o)) != NULL;
    return adzi_zoo_or_free(good, self);
}
