/* MultiheadAttention: projections, attention of each head, and a projection of the result.
 *
 *     q, k, v = query W_q^T + b_q,  key W_k^T + b_k,  value W_v^T + b_v
 *     p = dropout(softmax(q k^T / sqrt(E/H) + masks)),   y = concat(p v of each head) W_o^T + b_o
 *
 * query[L, B, E], key[S, B, kdim] and value[S, B, vdim], or with B first. Heads are split off by
 * views, [B, H, L, E/H] in either order of the dimensions, so no tensor is copied on the way to the
 * operator of attention, which gives its result the layout of the queries. */
#include "adze/nn/attention.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/options.h"
#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/attention.h"
#include "adze/ops/compare.h"
#include "adze/ops/dropout.h"
#include "adze/ops/linalg.h"
#include "adze/ops/reduction.h"
#include "adze/ops/shape.h"
#include "base/error.h"
#include "nn/layers/dropout.h"
#include "nn/layers/linear.h"
#include "nn/module.h"

/* Parameters in the order in which they are added. IN_WEIGHT is left out where Q_WEIGHT, K_WEIGHT
 * and V_WEIGHT exist. */
enum { IN_WEIGHT, Q_WEIGHT, K_WEIGHT, V_WEIGHT, IN_BIAS, BIAS_K, BIAS_V, PARAMETERS };
enum { OUT_PROJ }; /* the child */
enum { QUERY, KEY, VALUE, INPUTS };

typedef struct {
    adz_multihead_attention_options o;
    int64_t embed_dim, num_heads;
} attention_state;

static const adz_field fields[] = {
    ADZ_FIELD(attention_state, embed_dim, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(attention_state, num_heads, ADZ_SIZE_FROM(1)),
    ADZ_FIELD(adz_multihead_attention_options, dropout, .value = 0, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_multihead_attention_options, bias, .value = true),
    ADZ_FIELD(adz_multihead_attention_options, add_bias_kv, .value = false),
    ADZ_FIELD(adz_multihead_attention_options, add_zero_attn, .value = false),
    ADZ_FIELD(adz_multihead_attention_options, kdim, .value = 0, ADZ_SIZE_FROM(0),
        .hint = "0 stands for embed_dim"),
    ADZ_FIELD(adz_multihead_attention_options, vdim, .value = 0, ADZ_SIZE_FROM(0),
        .hint = "0 stands for embed_dim"),
    ADZ_FIELD(adz_multihead_attention_options, batch_first, .value = false),
    ADZ_FIELD_PARAMETER_DTYPE(adz_multihead_attention_options),
    ADZ_FIELD(adz_multihead_attention_options, need_weights, .value = true),
    ADZ_FIELD(adz_multihead_attention_options, average_attn_weights, .value = true),
    ADZ_FIELD(adz_multihead_attention_options, is_causal, .value = false),
};

ADZ_OPTIONS_TABLE(adz_multihead_attention_options, ADZ_MULTIHEAD_ATTENTION_OPTIONS, fields)

/* One call. */
typedef struct {
    adz_tensor *in[INPUTS];
    adz_tensor *padding, *mask; /* as given; ADZ_NONE if left out */
    bool batched;
    int time, batch;           /* which dimension of a tensor with a batch is which */
    int64_t l, s, items;       /* queries, keys as given, batch */
    int64_t appended;          /* keys behind the given ones */
    adz_tensor *heads[INPUTS]; /* [B, H, L or S + appended, E/H] */
} attention_call;

/* ---- arguments ------------------------------------------------------------------------------ */

static adz_tensor *or_else(adz_tensor *t, adz_tensor *other)
{
    return t == ADZ_NONE ? other : t;
}

/* Reads the arguments. False with the error recorded if one is no tensor. */
static bool take_arguments(const adz_module *self, const adz_values *in, attention_call *c)
{
    static const char *const names[] = { "query", "key", "value" };
    const char *op = self->type.name;
    for (size_t i = 0; i < INPUTS; ++i) {
        c->in[i] = adz_values_argument(in, i, names[i]);
        c->in[i] = i > QUERY ? or_else(c->in[i], c->in[i - 1]) : c->in[i];
        if (!adzi_check_tensor(op, names[i], c->in[i])) {
            return false;
        }
    }
    c->padding = adz_values_argument(in, INPUTS, "key_padding_mask");
    c->mask = adz_values_argument(in, INPUTS + 1, "attn_mask");
    return (c->padding == ADZ_NONE || adzi_check_tensor(op, "key_padding_mask", c->padding)) &&
           (c->mask == ADZ_NONE || adzi_check_tensor(op, "attn_mask", c->mask));
}

/* Features of input i. */
static int64_t width_of(const attention_state *state, int i)
{
    const int64_t given = i == KEY ? state->o.kdim : i == VALUE ? state->o.vdim : 0;
    return given > 0 ? given : state->embed_dim;
}

/* Checks query, key and value, and fills the sizes of the call. */
static bool check_inputs(const adz_module *self, attention_call *c)
{
    static const char *const forms[2][INPUTS] = { { "[L, B, %lld]", "[S, B, %lld]",
                                                      "[S, B, %lld]" },
        { "[B, L, %lld]", "[B, S, %lld]", "[B, S, %lld]" } };
    const attention_state *state = self->state;
    const adz_tensor *q = c->in[QUERY], *k = c->in[KEY], *v = c->in[VALUE];
    bool fits[INPUTS];
    c->batched = q->rank == 3;
    c->time = c->batched && state->o.batch_first ? 1 : 0;
    c->batch = c->time == 0 ? 1 : 0;
    for (int i = 0; i < INPUTS; ++i) {
        const adz_tensor *t = c->in[i];
        fits[i] = (t->rank == 2 || t->rank == 3) && t->rank == q->rank &&
                  t->sizes[t->rank - 1] == width_of(state, i);
    }
    if (fits[QUERY] && fits[KEY] && c->batched) {
        fits[KEY] = k->sizes[c->batch] == q->sizes[c->batch];
    }
    for (int d = 0; fits[KEY] && fits[VALUE] && d < k->rank - 1; ++d) {
        fits[VALUE] = v->sizes[d] == k->sizes[d];
    }
    if (!fits[QUERY] || !fits[KEY] || !fits[VALUE]) {
        char form[32];
        const int i = !fits[QUERY] ? QUERY : !fits[KEY] ? KEY : VALUE;
        snprintf(form, sizeof form, forms[state->o.batch_first][i], (long long)width_of(state, i));
        adzi_error(self->type.name, ADZ_ERR_SHAPE,
            "query%s, key%s and value%s do not fit: %s must be %s, or without B in all three",
            adzi_text_shape(q), adzi_text_shape(k), adzi_text_shape(v),
            i == QUERY ? "query"
            : i == KEY ? "key"
                       : "value",
            form);
        return false;
    }
    c->l = q->sizes[c->time];
    c->s = k->sizes[c->time];
    c->items = c->batched ? q->sizes[c->batch] : 1;
    c->appended = state->o.add_bias_kv + state->o.add_zero_attn;
    return true;
}

/* Checks the dtype of a mask: true hides a key, and numbers are added to the scores. */
static bool check_mask_dtype(
    const adz_module *self, const char *name, const adz_tensor *mask, const adz_tensor *query)
{
    const bool good = mask->dtype == ADZ_BOOL || mask->dtype == query->dtype;
    if (!good) {
        adzi_error(self->type.name, ADZ_ERR_DTYPE,
            "%s is %s, but must be bool, where true hides a key, or %s as query is", name,
            adz_dtype_name((adz_dtype)mask->dtype), adz_dtype_name((adz_dtype)query->dtype));
    }
    return good;
}

static bool check_masks(const adz_module *self, const attention_call *c)
{
    const char *op = self->type.name;
    const int64_t heads = ((const attention_state *)self->state)->num_heads;
    const adz_tensor *padding = c->padding, *mask = c->mask, *q = c->in[QUERY];
    if (padding != ADZ_NONE) {
        const int rank = c->batched ? 2 : 1;
        if (padding->rank != rank || padding->sizes[rank - 1] != c->s ||
            (c->batched && padding->sizes[0] != c->items)) {
            const int64_t sizes[] = { c->items, c->s };
            adzi_error(op, ADZ_ERR_SHAPE, "key_padding_mask%s must be %s", adzi_text_shape(padding),
                adzi_text_sizes(rank, sizes + 2 - rank));
            return false;
        }
        if (!check_mask_dtype(self, "key_padding_mask", padding, q)) {
            return false;
        }
    }
    if (mask == ADZ_NONE) {
        return true;
    }
    const int64_t sizes[] = { c->items * heads, c->l, c->s };
    bool fits = mask->rank == 2 || mask->rank == 3;
    for (int i = 1; fits && i <= mask->rank; ++i) {
        fits = mask->sizes[mask->rank - i] == sizes[3 - i];
    }
    if (!fits) {
        adzi_error(op, ADZ_ERR_SHAPE, "attn_mask%s must be %s or %s", adzi_text_shape(mask),
            adzi_text_sizes(2, sizes + 1), adzi_text_sizes(3, sizes));
    }
    return fits && check_mask_dtype(self, "attn_mask", mask, q);
}

/* ---- projections ---------------------------------------------------------------------------- */

/* Splits x[A, C, H E/H] into heads: [B, H, L, E/H], a view. */
static adz_tensor *split_heads(const attention_state *state, const attention_call *c, adz_tensor *x)
{
    if (x == NULL) {
        return NULL;
    }
    const int64_t length = c->batched ? x->sizes[c->time] : x->sizes[0];
    const int64_t width = state->embed_dim / state->num_heads;
    const bool batch_first = c->batch == 0;
    adz_tensor *t =
        adz_reshape(x, batch_first ? ADZ_SHAPE(c->items, length, state->num_heads, width)
                                   : ADZ_SHAPE(length, c->items, state->num_heads, width));
    return adz_permute(t, batch_first ? ADZ_DIMS(0, 2, 1, 3) : ADZ_DIMS(1, 2, 0, 3));
}

/* Projects one tensor to `count` inputs from number `first` on by one product, and splits the
 * heads. The weights of queries, keys and values lie below each other in in_proj_weight. */
static bool project_packed(const adz_module *self, attention_call *c, int first, int count)
{
    const attention_state *state = self->state;
    const int64_t e = state->embed_dim, widths[] = { e, e, e };
    adz_tensor *weight = adzi_parameter(self, IN_WEIGHT), *bias = adzi_parameter(self, IN_BIAS);
    adz_tensor *parts[INPUTS];
    if (count < INPUTS) {
        weight = adz_narrow(weight, 0, first * e, count * e);
        bias = bias == ADZ_NONE ? bias : adz_narrow(bias, 0, first * e, count * e);
    }
    adz_tensor *all = adz_linear(c->in[first], weight, bias);
    parts[0] = all;
    if (all == NULL ||
        (count > 1 && adz_split_sizes(all, widths, (size_t)count, -1, parts) != ADZ_OK)) {
        return false;
    }
    bool good = true;
    for (int i = 0; i < count && good; ++i) {
        c->heads[first + i] = split_heads(state, c, parts[i]);
        good = c->heads[first + i] != NULL;
    }
    return good;
}

/* Projects each input by its own weight. */
static bool project_each(const adz_module *self, attention_call *c)
{
    const attention_state *state = self->state;
    const int64_t e = state->embed_dim;
    bool good = true;
    for (int i = 0; i < INPUTS && good; ++i) {
        adz_tensor *bias = adzi_parameter(self, IN_BIAS);
        bias = bias == ADZ_NONE ? bias : adz_narrow(bias, 0, i * e, e);
        adz_tensor *x = adz_linear(c->in[i], adzi_parameter(self, (size_t)(Q_WEIGHT + i)), bias);
        c->heads[i] = split_heads(state, c, x);
        good = c->heads[i] != NULL;
    }
    return good;
}

/* Inputs that are one tensor are projected together. */
static bool project(const adz_module *self, attention_call *c)
{
    if (adzi_parameter(self, IN_WEIGHT) == ADZ_NONE) {
        return project_each(self, c);
    }
    if (c->in[KEY] != c->in[VALUE]) {
        return project_packed(self, c, QUERY, 1) && project_packed(self, c, KEY, 1) &&
               project_packed(self, c, VALUE, 1);
    }
    return c->in[QUERY] == c->in[KEY]
               ? project_packed(self, c, QUERY, 3)
               : project_packed(self, c, QUERY, 1) && project_packed(self, c, KEY, 2);
}

/* Appends the trained row and the row of zeros to keys or values [B, H, S, E/H]. */
static bool append_rows(const adz_module *self, const attention_call *c, int which, adz_tensor **t)
{
    const attention_state *state = self->state;
    const int64_t width = state->embed_dim / state->num_heads;
    adz_tensor *rows[INPUTS] = { *t };
    size_t n = 1;
    if (state->o.add_bias_kv) {
        adz_tensor *row = adzi_parameter(self, which == KEY ? BIAS_K : BIAS_V);
        row = adz_reshape(row, ADZ_SHAPE(1, state->num_heads, 1, width));
        rows[n++] = adz_expand(row, ADZ_SHAPE(c->items, state->num_heads, 1, width));
    }
    if (state->o.add_zero_attn) {
        rows[n++] =
            adz_zeros(ADZ_SHAPE(c->items, state->num_heads, 1, width), (adz_dtype)(*t)->dtype);
    }
    *t = n > 1 ? adz_cat(rows, n, 2) : *t;
    return *t != NULL;
}

/* ---- masks ---------------------------------------------------------------------------------- */

/* The mask with zeros, which hide nothing, for the keys that are appended. */
static adz_tensor *widen(const attention_call *c, adz_tensor *mask)
{
    const int64_t pads[] = { 0, c->appended };
    return c->appended > 0 && mask != NULL ? adz_pad(mask, pads, 2, 0) : mask;
}

/* The numbers that are added to scores to hide keys where `mask` is true. */
static adz_tensor *as_numbers(adz_tensor *mask, adz_dtype dtype)
{
    return mask == NULL || mask->dtype != ADZ_BOOL
               ? mask
               : adz_masked_fill(adz_zeros(adz_tensor_shape(mask), dtype), mask, -INFINITY);
}

/* Both masks in one. Two that are bool stay bool. */
static adz_tensor *join(adz_tensor *a, adz_tensor *b, adz_dtype dtype)
{
    if (a == NULL || b == NULL || a == ADZ_NONE || b == ADZ_NONE) {
        return a == NULL || b == NULL ? NULL : or_else(a, b);
    }
    return a->dtype == ADZ_BOOL && b->dtype == ADZ_BOOL
               ? adz_logical_or(a, b)
               : adz_add(as_numbers(a, dtype), as_numbers(b, dtype));
}

/* All masks in one, which broadcasts to the scores [B, H, L, S + appended]; ADZ_NONE if there is
 * none. `causal` says whether the mask of is_causal belongs to them. */
static adz_tensor *all_masks(const attention_state *state, const attention_call *c, bool causal)
{
    const adz_dtype dtype = (adz_dtype)c->in[QUERY]->dtype;
    adz_tensor *mask = ADZ_NONE;
    if (c->padding != ADZ_NONE) {
        mask = widen(c, adz_reshape(c->padding, ADZ_SHAPE(c->items, 1, 1, c->s)));
    }
    if (c->mask != ADZ_NONE) {
        const adz_shape shape = ADZ_SHAPE(c->items, state->num_heads, c->l, c->s);
        mask =
            join(mask, widen(c, c->mask->rank == 3 ? adz_reshape(c->mask, shape) : c->mask), dtype);
    }
    if (causal) {
        adz_tensor *hidden = adz_triu(adz_ones(ADZ_SHAPE(c->l, c->s), ADZ_BOOL), 1);
        mask = join(mask, widen(c, hidden), dtype);
    }
    return mask;
}

/* ---- attention ------------------------------------------------------------------------------ */

/* The mean of the values by the operator, which never holds all probabilities. Its causal mask
 * counts from the last key, so it serves where there are as many keys as queries. */
static adz_tensor *attend(adz_module *self, const attention_call *c)
{
    const attention_state *state = self->state;
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    o.dropout_p = state->o.dropout;
    o.training = self->training;
    o.generator = state->o.generator;
    o.is_causal = state->o.is_causal && c->s == c->l && c->appended == 0;
    adz_tensor *mask = all_masks(state, c, state->o.is_causal && !o.is_causal);
    if (o.training && o.dropout_p > 0) {
        o.dropout_mask = adz_module_next_mask(self);
    }
    /* The operator's masks are true where a query sees a key. */
    o.attn_mask =
        mask == NULL || mask == ADZ_NONE || mask->dtype != ADZ_BOOL ? mask : adz_logical_not(mask);
    return o.attn_mask == NULL ? NULL
                               : adz_scaled_dot_product_attention(
                                     c->heads[QUERY], c->heads[KEY], c->heads[VALUE], &o);
}

/* dropout(softmax(q k^T / sqrt(E/H) + masks)) [B, H, L, S + appended]. */
static adz_tensor *probabilities(adz_module *self, const attention_call *c)
{
    const attention_state *state = self->state;
    const double scale = sqrt((double)state->num_heads / (double)state->embed_dim);
    adz_tensor *mask = all_masks(state, c, state->o.is_causal);
    adz_tensor *scores =
        adz_matmul(adz_mul_number(c->heads[QUERY], scale), adz_transpose(c->heads[KEY], -2, -1));
    if (mask == NULL || scores == NULL) {
        return NULL;
    }
    if (mask != ADZ_NONE) {
        scores = mask->dtype == ADZ_BOOL ? adz_masked_fill(scores, mask, -INFINITY)
                                         : adz_add(scores, mask);
    }
    return adzi_module_drop(self, adz_softmax(scores, -1), state->o.dropout, state->o.generator);
}

/* The output projection of [B, H, L, E/H], shaped like query. */
static adz_tensor *put_out(const adz_module *self, const attention_call *c, adz_tensor *y)
{
    y = adz_permute(y, c->batch == 0 ? ADZ_DIMS(0, 2, 1, 3) : ADZ_DIMS(2, 0, 1, 3));
    return adz_module_forward(
        adzi_child_at(self, OUT_PROJ), adz_reshape(y, adz_tensor_shape(c->in[QUERY])));
}

/* Results: y, and "weights" with need_weights. */
static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const attention_state *state = self->state;
    attention_call c;
    if (!take_arguments(self, in, &c) || !check_inputs(self, &c) || !check_masks(self, &c) ||
        !project(self, &c) || !append_rows(self, &c, KEY, &c.heads[KEY]) ||
        !append_rows(self, &c, VALUE, &c.heads[VALUE])) {
        return adz_error_code();
    }
    if (!state->o.need_weights) {
        return adz_values_add(out, "", put_out(self, &c, attend(self, &c)));
    }
    adz_tensor *p = probabilities(self, &c);
    adz_tensor *y = put_out(self, &c, adz_matmul(p, c.heads[VALUE]));
    if (state->o.average_attn_weights) {
        p = adz_mean(p, ADZ_DIMS(1), ADZ_DROPDIM);
    }
    p = c.batched ? p : adz_squeeze(p, 0);
    const adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adz_values_add(out, "weights", p) : status;
}

/* ---- making --------------------------------------------------------------------------------- */

/* The child has drawn its weight before; its bias becomes 0 here. */
static adz_status reset_parameters(adz_module *self)
{
    bool good = true;
    for (size_t i = 0; i < PARAMETERS && good; ++i) {
        adz_tensor *t = adzi_parameter(self, i);
        if (!adzi_is_none(t)) {
            good = (i < IN_BIAS      ? adz_init_xavier_uniform_(t, 1, NULL)
                       : i > IN_BIAS ? adz_init_xavier_normal_(t, 1, NULL)
                                     : adz_init_zeros_(t)) != NULL;
        }
    }
    adz_tensor *bias = adz_module_get_parameter(adzi_child_at(self, OUT_PROJ), "bias");
    return good && bias != NULL && (bias == ADZ_NONE || adz_init_zeros_(bias) != NULL)
               ? ADZ_OK
               : adz_error_code();
}

static const adz_module_type attention_type = {
    .size = sizeof(adz_module_type),
    .name = "MultiheadAttention",
    .call = call,
    .reset_parameters = reset_parameters,
};

/* Adds a parameter of this shape, or keeps its position if it is not wanted. */
static bool add(adz_module *self, const char *name, bool wanted, adz_shape shape)
{
    const attention_state *state = self->state;
    return adz_module_add_parameter(
               self, name, wanted ? adz_empty(shape, state->o.dtype) : ADZ_NONE) != NULL;
}

static bool add_all(adz_module *self)
{
    const attention_state *state = self->state;
    const adz_multihead_attention_options *o = &state->o;
    const int64_t e = state->embed_dim, k = width_of(state, KEY), v = width_of(state, VALUE);
    const bool packed = k == e && v == e;
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    linear.bias = o->bias;
    linear.dtype = o->dtype;
    return add(self, "in_proj_weight", packed, ADZ_SHAPE(3 * e, e)) &&
           add(self, "q_proj_weight", !packed, ADZ_SHAPE(e, e)) &&
           add(self, "k_proj_weight", !packed, ADZ_SHAPE(e, k)) &&
           add(self, "v_proj_weight", !packed, ADZ_SHAPE(e, v)) &&
           add(self, "in_proj_bias", o->bias, ADZ_SHAPE(3 * e)) &&
           add(self, "bias_k", o->add_bias_kv, ADZ_SHAPE(1, 1, e)) &&
           add(self, "bias_v", o->add_bias_kv, ADZ_SHAPE(1, 1, e)) &&
           adz_module_add_child(self, "out_proj", adzi_attention_projection_new(e, &linear)) !=
               NULL;
}

adz_module *adz_multihead_attention_new(
    int64_t embed_dim, int64_t num_heads, const adz_multihead_attention_options *options)
{
    static const char op[] = "adz_multihead_attention_new";
    attention_state s = { .embed_dim = embed_dim, .num_heads = num_heads };
    if (!adz_options_take(op, &adz_multihead_attention_options_table, &s, options)) {
        return NULL;
    }
    if (embed_dim % num_heads != 0) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "num_heads is %lld, but must divide embed_dim, %lld",
            (long long)num_heads, (long long)embed_dim);
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&attention_type, &s, sizeof s);
    return adzi_build_end(
        build, self, self != NULL && add_all(self) && reset_parameters(self) == ADZ_OK);
}
