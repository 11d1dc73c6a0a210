/* GPT-2's attention and its blocks. */
#include <math.h>

#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"
#include "nn/zoo/gpt2/gpt2.h"
#include "nn/zoo/heads.h"
#include "nn/module.h"
#include "base/error.h"

/* ---- attention ------------------------------------------------------------------------------ */

enum { C_ATTN, C_PROJ };

typedef struct {
    int64_t features, heads, n_ctx;
    bool scale;
} attention_state;

/* Elements that a causal mask does not have. */
#define COUNT_ODD(T)                                           \
    for (int64_t i = 0; i < queries; ++i) {                    \
        const T *row = (const T *)rows + i * n_ctx;            \
        for (int64_t j = 0; j < keys; ++j) {                   \
            odd += (row[j] != 0) != (j <= i + keys - queries); \
        }                                                      \
    }

/* Whether the part of the mask that counts hides what comes later, and nothing else: a state may
 * hold another. */
static bool is_causal(const adz_tensor *mask, int64_t n_ctx, int64_t queries, int64_t keys)
{
    if (mask->numel != n_ctx * n_ctx || mask->sizes[mask->rank - 1] != n_ctx ||
        !adzi_is_float((adz_dtype)mask->dtype)) {
        return false;
    }
    const char *rows = mask->data + (keys - queries) * n_ctx * (int64_t)adzi_item_size(mask);
    int64_t odd = 0;
    if (mask->dtype == ADZ_F32) {
        COUNT_ODD(float)
    } else {
        COUNT_ODD(double)
    }
    return odd == 0;
}

/* The reference's way, for masks that are not causal: a query that may see nothing sees all. */
static adz_tensor *attend_masked(
    adz_tensor *mask, adz_tensor *q, adz_tensor *k, adz_tensor *v, double scale)
{
    int64_t queries = q->sizes[2], keys = k->sizes[2];
    adz_tensor *scores = adz_mul_number(adz_matmul(q, adz_transpose(k, 2, 3)), scale);
    mask = adz_narrow(adz_narrow(mask, 2, keys - queries, queries), 3, 0, keys);
    scores = adz_masked_fill(scores, adz_eq_number(mask, 0), -1e10);
    return adz_matmul(adz_softmax(scores, -1), v);
}

/* softmax(q k^T) v under the last rows of the mask: the queries are the last of the keys' times. */
static adz_tensor *attend(adz_module *self, adz_tensor *q, adz_tensor *k, adz_tensor *v)
{
    const attention_state *state = self->state;
    if (q == NULL || k == NULL || v == NULL) {
        return NULL;
    }
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.is_causal = true;
    o.scale = state->scale ? 1 / sqrt((double)q->sizes[3]) : 1;
    adz_tensor *mask = adz_module_buffer_at(self, 0);
    return is_causal(mask, state->n_ctx, q->sizes[2], k->sizes[2])
               ? adz_scaled_dot_product_attention(q, k, v, &o)
               : attend_masked(mask, q, k, v, o.scale);
}

static bool check_input(adz_module *self, const adz_tensor *x, const adz_tensor *past)
{
    const attention_state *state = self->state;
    const char *name = self->type.name;
    int64_t width = state->features / state->heads;
    if (x->rank != 3 || x->sizes[2] != state->features) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [B, T, %lld]", adzi_text_shape(x),
            (long long)state->features);
        return false;
    }
    bool first = adzi_is_none(past);
    if (!first && (past->rank != 5 || past->sizes[0] != 2 || past->sizes[1] != x->sizes[0] ||
                      past->sizes[2] != state->heads || past->sizes[4] != width)) {
        adzi_error(name, ADZ_ERR_SHAPE, "past%s must be [2, %lld, %lld, P, %lld] beside x%s",
            adzi_text_shape(past), (long long)x->sizes[0], (long long)state->heads,
            (long long)width, adzi_text_shape(x));
        return false;
    }
    int64_t length = x->sizes[1] + (first ? 0 : past->sizes[3]);
    if (length > state->n_ctx) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s after a past of %lld makes %lld positions, but n_ctx is %lld", adzi_text_shape(x),
            (long long)(length - x->sizes[1]), (long long)length, (long long)state->n_ctx);
        return false;
    }
    return true;
}

/* Keys and values of all[B, T, 3 D] as [2, B, H, T, D/H], without a copy: whoever trains never
 * reads them. */
static adz_tensor *keys_and_values(adz_tensor *all, int64_t heads)
{
    int64_t width = all->sizes[2] / 3 / heads;
    adz_tensor *parts = adz_reshape(all, ADZ_SHAPE(all->sizes[0], all->sizes[1], 3, heads, width));
    return adz_slice(adz_permute(parts, ADZ_DIMS(2, 0, 3, 1, 4)), 0, 1, 3, 1);
}

static adz_status attention_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const attention_state *state = self->state;
    adz_tensor *x = adz_values_argument(in, 0, "x"), *past = adz_values_argument(in, 1, "past");
    if (!adzi_check_tensor(self->type.name, "x", x) || !check_input(self, x, past)) {
        return adz_error_code();
    }
    adz_tensor *all = adz_module_forward(adzi_child_at(self, C_ATTN), x), *qkv[3];
    const int64_t widths[] = { state->features, state->features, state->features };
    if (adz_split_sizes(all, widths, 3, 2, qkv) != ADZ_OK) {
        return adz_error_code();
    }
    for (int i = 0; i < 3; ++i) {
        qkv[i] = adzi_split_heads(qkv[i], state->heads);
    }
    adz_tensor *present = keys_and_values(all, state->heads);
    if (!adzi_is_none(past)) {
        present = adz_cat((adz_tensor *[]){ past, present }, 2, 3);
        for (int i = 1; i < 3; ++i) {
            qkv[i] = adz_select(present, 0, i - 1);
        }
    }
    adz_tensor *y = adzi_merge_heads(attend(self, qkv[0], qkv[1], qkv[2]));
    y = adz_module_forward(adzi_child_at(self, C_PROJ), y);
    adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adz_values_add(out, "present", present) : status;
}

static size_t attention_repr(adz_module *self, char *buffer, size_t size)
{
    const attention_state *state = self->state;
    return (size_t)snprintf(buffer, size, "n_head=%lld, scale=%s", (long long)state->heads,
        adzi_text_bool(state->scale));
}

static const adz_module_type attention_type = {
    .size = sizeof(adz_module_type),
    .name = "Attention",
    .call = attention_call,
    .extra_repr = attention_repr,
};

static bool add_mask(adz_module *self, int64_t n_ctx, adz_dtype dtype)
{
    adzi_build build = adzi_build_begin();
    adz_tensor *mask = adz_tril(adz_ones(ADZ_SHAPE(1, 1, n_ctx, n_ctx), dtype), 0);
    bool good = adz_module_add_buffer(self, "bias", mask, true) != NULL;
    adzi_scope_unwind(build.thread, build.mark);
    return good;
}

bool adzi_gpt2_check_heads(const char *op, int64_t features, int64_t heads)
{
    if (heads < 1 || features % heads != 0) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "n_head is %lld, but must divide the %lld features",
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
    if (!adzi_gpt2_options(op, &o, options) || !adzi_check_module_dtype(op, o.dtype) ||
        !adzi_gpt2_check_size(op, "nx", nx) || !adzi_gpt2_check_size(op, "n_ctx", n_ctx) ||
        !adzi_gpt2_check_heads(op, nx, o.n_head)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&attention_type, sizeof(attention_state));
    bool good = self != NULL;
    if (good) {
        *(attention_state *)self->state = (attention_state){ nx, o.n_head, n_ctx, scale };
        good = add_mask(self, n_ctx, o.dtype) &&
               adzi_gpt2_add_conv1d(self, "c_attn", 3 * nx, nx, o.dtype) &&
               adzi_gpt2_add_conv1d(self, "c_proj", nx, nx, o.dtype);
    }
    if (!good) {
        adz_module_free(&self);
    }
    return self;
}

/* ---- blocks --------------------------------------------------------------------------------- */

enum { LN_1, ATTN, LN_2, MLP };

static adz_status block_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_tensor *x = adz_values_argument(in, 0, "x");
    if (!adzi_check_tensor(self->type.name, "x", x)) {
        return adz_error_code();
    }
    adz_values to, from;
    adzi_values_begin(&to);
    adzi_values_begin(&from);
    adz_status status = adz_values_add(&to, "", adz_module_forward(adzi_child_at(self, LN_1), x));
    if (status == ADZ_OK) {
        status = adz_values_add(&to, "past", adz_values_argument(in, 1, "past"));
    }
    if (status == ADZ_OK) {
        status = adz_module_call(adzi_child_at(self, ATTN), &to, &from);
    }
    if (status == ADZ_OK) {
        x = adz_add(x, adz_values_at(&from, 0));
        adz_tensor *h = adz_module_forward(adzi_child_at(self, LN_2), x);
        x = adz_add(x, adz_module_forward(adzi_child_at(self, MLP), h));
        status = adz_values_add(out, "", x);
    }
    if (status == ADZ_OK) {
        status = adz_values_add(out, "present", adz_values_at(&from, 1));
    }
    adzi_values_end(&to);
    adzi_values_end(&from);
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
    if (!adzi_gpt2_options(op, &o, options) || !adzi_gpt2_check_size(op, "n_embd", o.n_embd) ||
        !adzi_gpt2_check_size(op, "n_ctx", n_ctx) ||
        !adzi_gpt2_check_heads(op, o.n_embd, o.n_head)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&block_type, 0);
    bool good = self != NULL && adzi_gpt2_add_norm(self, "ln_1", &o) &&
                adz_module_add_child(
                    self, "attn", adz_gpt2_attention_new(o.n_embd, n_ctx, scale, &o)) != NULL &&
                adzi_gpt2_add_norm(self, "ln_2", &o) &&
                adz_module_add_child(self, "mlp", adz_gpt2_mlp_new(4 * o.n_embd, &o)) != NULL;
    if (!good) {
        adz_module_free(&self);
    }
    return self;
}
