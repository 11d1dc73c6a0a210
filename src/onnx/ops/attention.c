/* Attention with its masks. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "run.h"

typedef struct attention {
    adz_tensor *q, *k, *v; /* [batch, heads, length, features] */
    adz_tensor *allowed;   /* bool, broadcasts with the scores; NULL if all are */
    adz_tensor *added;     /* floats, broadcast with the scores; NULL for none */
    int64_t past;          /* keys of the cache */
    double scale;
    bool packed; /* results are [batch, length, heads * features] */
} attention;

/** [batch, length, heads * features] as [batch, heads, length, features]. */
static adz_tensor *split_heads(adz_tensor *x, int64_t heads)
{
    adz_shape s = adz_tensor_shape(x);
    x = adz_reshape(x, ADZ_SHAPE(s.sizes[0], s.sizes[1], heads, s.sizes[2] / heads));
    return adz_permute(x, ADZ_DIMS(0, 2, 1, 3));
}

static bool operands(const reader_call *call, attention *a)
{
    adz_tensor **parts[] = { &a->q, &a->k, &a->v };
    for (size_t i = 0; i < 3; i++) {
        adz_tensor *x = adzi_reader_in(call, i);
        int rank = adz_tensor_rank(x);
        const char *name = i == 0 ? "q_num_heads" : "kv_num_heads";
        int64_t heads = adzi_reader_int(call, name, 0);
        if (x == NULL) {
            return false;
        }
        a->packed = rank == 3;
        if (rank == 3 && (heads < 1 || adz_tensor_size(x, 2) % heads != 0)) {
            adzi_reader_fail(call, ADZ_ERR_ARGUMENT,
                "input %zu%s cannot be split into %s = %lld heads", i, adz_text_shape(x), name,
                (long long)heads);
            return false;
        }
        if (rank != 3 && rank != 4) {
            adzi_reader_fail(call, ADZ_ERR_SHAPE, "input %zu%s must have 3 or 4 dimensions", i,
                adz_text_shape(x));
            return false;
        }
        *parts[i] = rank == 3 ? split_heads(x, heads) : x;
    }
    return true;
}

/** Puts the cache in front of keys and values, and hands both out. */
static bool cache(const reader_call *call, attention *a)
{
    if (adzi_reader_has(call, 4) != adzi_reader_has(call, 5)) {
        adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "past_key and past_value belong together");
        return false;
    }
    if (adzi_reader_has(call, 4)) {
        adz_tensor *past = adzi_reader_in(call, 4), *past_value = adzi_reader_in(call, 5);
        a->past = adz_tensor_size(past, 2);
        a->k = adz_cat((adz_tensor *[]){ past, a->k }, 2, 2);
        a->v = adz_cat((adz_tensor *[]){ past_value, a->v }, 2, 2);
    }
    if (adzi_reader_wants(call, 1)) {
        adzi_reader_set(call, 1, a->k);
    }
    if (adzi_reader_wants(call, 2)) {
        adzi_reader_set(call, 2, a->v);
    }
    int64_t heads = adz_tensor_size(a->q, 1), of_keys = adz_tensor_size(a->k, 1);
    if (of_keys < 1 || heads % of_keys != 0) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "%lld heads of queries for %lld of keys",
            (long long)heads, (long long)of_keys);
        return false;
    }
    if (heads != of_keys) {
        a->k = adz_repeat_interleave(a->k, heads / of_keys, 1);
        a->v = adz_repeat_interleave(a->v, heads / of_keys, 1);
    }
    return true;
}

static void allow(attention *a, adz_tensor *allowed)
{
    a->allowed = a->allowed == NULL ? allowed : adz_logical_and(a->allowed, allowed);
}

/** The position of a query minus that of a key: [queries, keys], or [batch, 1, queries, keys]. */
static adz_tensor *distances(const reader_call *call, const attention *a)
{
    int64_t queries = adz_tensor_size(a->q, 2);
    adz_tensor *query = adz_arange(0, (double)queries, 1, ADZ_I64);
    adz_tensor *key = adz_arange(0, (double)adz_tensor_size(a->k, 2), 1, ADZ_I64);
    query = adz_add_number(adz_unsqueeze(query, 1), (double)a->past);
    if (adzi_reader_has(call, 6)) {
        adz_tensor *valid = adz_add_number(adzi_reader_in(call, 6), (double)-queries);
        query = adz_add(adz_reshape(valid, ADZ_SHAPE(adz_tensor_numel(valid), 1, 1, 1)), query);
    }
    return adz_sub(query, key);
}

static void positions(const reader_call *call, attention *a)
{
    int64_t left = adzi_reader_int(call, "left_window_size", -1);
    int64_t right = adzi_reader_int(call, "right_window_size", -1);
    bool causal = adzi_reader_int(call, "is_causal", 0) != 0;
    if (causal || left >= 0 || right >= 0) {
        adz_tensor *distance = distances(call, a);
        if (causal) {
            allow(a, adz_ge_number(distance, 0));
        }
        if (left >= 0) {
            allow(a, adz_le_number(distance, (double)left));
        }
        if (right >= 0) {
            allow(a, adz_ge_number(distance, (double)-right));
        }
    }
    if (adzi_reader_has(call, 6)) {
        adz_tensor *key = adz_arange(0, (double)adz_tensor_size(a->k, 2), 1, ADZ_I64);
        adz_tensor *valid = adzi_reader_in(call, 6);
        valid = adz_reshape(valid, ADZ_SHAPE(adz_tensor_numel(valid), 1, 1, 1));
        allow(a, adz_lt(key, valid));
    }
}

static void given_mask(const reader_call *call, attention *a)
{
    if (!adzi_reader_has(call, 3)) {
        return;
    }
    adz_tensor *mask = adzi_reader_in(call, 3);
    int64_t missing = adz_tensor_size(a->k, 2) - adz_tensor_size(mask, -1);
    bool flags = adz_tensor_dtype(mask) == ADZ_BOOL;
    if (missing > 0) {
        mask = adz_pad(mask, (const int64_t[]){ 0, missing }, 2, flags ? 0 : -INFINITY);
    }
    if (flags) {
        allow(a, mask);
    } else {
        a->added = mask;
    }
}

/** What is added to the scores; NULL for nothing. */
static adz_tensor *bias_of(const attention *a)
{
    adz_dtype dtype = adz_tensor_dtype(a->q);
    if (a->allowed == NULL) {
        return a->added;
    }
    adz_tensor *zero = a->added != NULL ? a->added : adz_scalar(0, dtype);
    return adz_where(a->allowed, zero, adz_scalar(-INFINITY, dtype));
}

/** A query that may attend to no key has probabilities of 0. */
static adz_tensor *probabilities(const reader_call *call, adz_tensor *scores, adz_tensor *bias)
{
    adz_dtype dtype = adz_tensor_dtype(scores);
    bool wide = adzi_reader_int(call, "softmax_precision", 0) == ELEMENT_DOUBLE;
    if (bias == NULL) {
        return adz_to(adz_softmax(wide ? adz_to(scores, ADZ_F64) : scores, -1), dtype);
    }
    adz_tensor *largest = adz_amax(adz_detach(bias), ADZ_DIMS(-1), ADZ_KEEPDIM);
    adz_tensor *none = adz_eq_number(largest, -INFINITY);
    scores = adz_masked_fill(scores, none, 0); /* a softmax of such scores alone would be NaN */
    adz_tensor *p = adz_softmax(wide ? adz_to(scores, ADZ_F64) : scores, -1);
    return adz_to(adz_masked_fill(p, none, 0), dtype);
}

/** Output 3 is one of the stages: the scores, those after the cap, with the mask, or p. */
static adz_tensor *by_stages(const reader_call *call, const attention *a)
{
    int64_t mode = adzi_reader_int(call, "qk_matmul_output_mode", 0);
    double cap = adzi_reader_float(call, "softcap", 0);
    double root = sqrt(a->scale);
    adz_tensor *stage[4], *bias = bias_of(a);
    adz_tensor *keys = adz_transpose(adz_mul_number(a->k, root), -2, -1);
    stage[0] = adz_matmul(adz_mul_number(a->q, root), keys);
    stage[1] = stage[0];
    if (cap > 0) {
        stage[1] = adz_mul_number(adz_tanh(adz_div_number(stage[0], cap)), cap);
    }
    stage[2] = bias != NULL ? adz_add(stage[1], bias) : stage[1];
    stage[3] = probabilities(call, stage[2], bias);
    if (adzi_reader_wants(call, 3)) {
        if (mode < 0 || mode > 3) {
            return adzi_reader_fail(
                call, ADZ_ERR_ARGUMENT, "qk_matmul_output_mode is %lld", (long long)mode);
        }
        adzi_reader_set(call, 3, stage[mode]);
    }
    return adz_matmul(stage[3], a->v);
}

static adz_tensor *fused(const attention *a)
{
    adz_attention_options options = ADZ_ATTENTION_OPTIONS;
    options.scale = a->scale;
    options.attn_mask = a->added != NULL ? bias_of(a) : a->allowed;
    return adz_scaled_dot_product_attention(a->q, a->k, a->v, &options);
}

static adz_tensor *attend(const reader_call *call)
{
    attention a = { .allowed = NULL };
    if (!operands(call, &a) || !cache(call, &a)) {
        return NULL;
    }
    given_mask(call, &a);
    positions(call, &a);
    double root = sqrt((double)adz_tensor_size(a.q, 3));
    a.scale = adzi_reader_float(call, "scale", 1 / root);
    if (!(a.scale > 0)) {
        return adzi_reader_fail(
            call, ADZ_ERR_UNSUPPORTED, "a scale of %s is not supported", adz_text_number(a.scale));
    }
    bool stages = adzi_reader_wants(call, 3) || adzi_reader_float(call, "softcap", 0) > 0 ||
                  adzi_reader_int(call, "softmax_precision", 0) == ELEMENT_DOUBLE;
    adz_tensor *y = stages ? by_stages(call, &a) : fused(&a);
    return a.packed ? adz_flatten(adz_permute(y, ADZ_DIMS(0, 2, 1, 3)), 2, 3) : y;
}

#define ATTENTION                                                                                 \
    "qk_matmul_output_mode:i softcap:f softmax_precision:i kv_num_heads:i q_num_heads:i scale:f " \
    "is_causal:i"

const reader_operator adzi_reader_attention[] = {
    ROW("Attention", 23, 23, 3, 6, 4, ATTENTION, 0, attend),
    ROW("Attention", 24, 24, 3, 7, 4, ATTENTION, 1 << 6, attend),
    ROW("Attention", 25, 0, 3, 7, 4, ATTENTION " left_window_size:i right_window_size:i", 1 << 6,
        attend),
    { .name = NULL },
};
