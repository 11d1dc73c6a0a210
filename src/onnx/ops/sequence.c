/* Functions of sequences: rotary positions, causal convolution, linear attention. */
#include <math.h>
#include <string.h>

#include "adze/ops.h"
#include "run.h"

/* ---- rotary positions ----------------------------------------------------------------------- */

/** The cosines or sines of each position, [batch, 1, length, half] or, packed, [batch, length, 1,
 * half]. */
static adz_tensor *angles(const reader_call *call, size_t input, bool packed)
{
    adz_tensor *cached = adzi_reader_in(call, input);
    if (adzi_reader_has(call, 3)) {
        adz_tensor *ids = adzi_reader_in(call, 3);
        adz_shape shape = adz_tensor_shape(ids);
        if (shape.rank != 2 || adz_tensor_rank(cached) != 2) {
            return adzi_reader_fail(call, ADZ_ERR_SHAPE, "position_ids%s do not fit a cache%s",
                adz_text_shape(ids), adz_text_shape(cached));
        }
        shape.sizes[shape.rank++] = adz_tensor_size(cached, 1);
        ids = adz_to(adz_flatten(ids, 0, -1), ADZ_I64);
        cached = adz_reshape(adz_index_select(cached, 0, ids), shape);
    }
    return adz_unsqueeze(cached, packed ? 2 : 1);
}

/** Turns each pair of features (a, b) by its angle. */
static adz_tensor *turned(adz_tensor *x, adz_tensor *cosine, adz_tensor *sine, bool interleaved)
{
    int64_t size = adz_tensor_size(x, -1), half = size / 2;
    adz_tensor *a = interleaved ? adz_slice(x, -1, 0, size, 2) : adz_narrow(x, -1, 0, half);
    adz_tensor *b = interleaved ? adz_slice(x, -1, 1, size, 2) : adz_narrow(x, -1, half, half);
    adz_tensor *real = adz_sub(adz_mul(cosine, a), adz_mul(sine, b));
    adz_tensor *imaginary = adz_add(adz_mul(sine, a), adz_mul(cosine, b));
    adz_tensor *both[] = { real, imaginary };
    return interleaved ? adz_flatten(adz_stack(both, 2, -1), -2, -1) : adz_cat(both, 2, -1);
}

static adz_tensor *rotary_embedding(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0);
    adz_shape shape = adz_tensor_shape(x);
    int64_t heads = adzi_reader_int(call, "num_heads", 0);
    bool packed = shape.rank == 3;
    if (x == NULL) {
        return NULL;
    }
    if (packed ? heads < 1 || shape.sizes[2] % heads != 0 : shape.rank != 4) {
        return adzi_reader_fail(
            call, ADZ_ERR_SHAPE, "x%s has no %lld heads", adz_text_shape(x), (long long)heads);
    }
    if (packed) {
        x = adz_reshape(
            x, ADZ_SHAPE(shape.sizes[0], shape.sizes[1], heads, shape.sizes[2] / heads));
    }
    int64_t size = adz_tensor_size(x, -1), part = adzi_reader_int(call, "rotary_embedding_dim", 0);
    part = part == 0 ? size : part;
    if (part < 2 || part % 2 != 0 || part > size) {
        return adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "%lld of %lld features cannot be turned",
            (long long)part, (long long)size);
    }
    adz_tensor *y = part < size ? adz_narrow(x, -1, 0, part) : x;
    bool interleaved = adzi_reader_int(call, "interleaved", 0) != 0;
    y = turned(y, angles(call, 1, packed), angles(call, 2, packed), interleaved);
    if (part < size) {
        y = adz_cat((adz_tensor *[]){ y, adz_narrow(x, -1, part, size - part) }, 2, -1);
    }
    return packed ? adz_reshape(y, shape) : y;
}

/* ---- causal convolution --------------------------------------------------------------------- */

static adz_tensor *causal_conv(const reader_call *call)
{
    adz_tensor *x = adzi_reader_in(call, 0), *weight = adzi_reader_in(call, 1);
    adz_tensor *bias = adzi_reader_in(call, 2);
    if (x == NULL || weight == NULL || adz_tensor_rank(x) != 3 || adz_tensor_rank(weight) != 3) {
        return x == NULL || weight == NULL
                   ? NULL
                   : adzi_reader_fail(call, ADZ_ERR_SHAPE, "input and weight have 3 dimensions");
    }
    int64_t past = adz_tensor_size(weight, 2) - 1, length = adz_tensor_size(x, 2);
    adz_tensor *state = adzi_reader_in(call, 3);
    if (state != ADZ_NONE && adz_tensor_size(state, 2) != past) {
        return adzi_reader_fail(call, ADZ_ERR_SHAPE, "past_state%s must have %lld elements last",
            adz_text_shape(state), (long long)past);
    }
    x = state != ADZ_NONE ? adz_cat((adz_tensor *[]){ state, x }, 2, 2)
                          : adz_pad(x, (const int64_t[]){ past, 0 }, 2, 0);
    if (adzi_reader_wants(call, 1)) {
        adzi_reader_set(call, 1, adz_narrow(x, 2, length, past));
    }
    adz_conv_options options = ADZ_CONV_OPTIONS;
    options.groups = adz_tensor_size(x, 1);
    adz_tensor *y = adz_conv1d(x, weight, bias, &options);
    return strcmp(adzi_reader_string(call, "activation", "none"), "none") == 0 ? y : adz_silu(y);
}

/* ---- linear attention ----------------------------------------------------------------------- */

typedef struct recurrence {
    adz_tensor *q, *k, *v; /* [batch, length, heads, features] */
    adz_tensor *decay;     /* [batch, length, heads, features or 1]; NULL for none */
    adz_tensor *beta;      /* [batch, length, heads or 1, 1]; NULL for none */
    adz_tensor *state;     /* [batch, heads, features, features of values] */
    int64_t heads, shared; /* heads of keys, and queries that share one */
    double scale;
} recurrence;

static adz_tensor *split(adz_tensor *x, int64_t heads)
{
    adz_shape s = adz_tensor_shape(x);
    return s.rank == 3 && s.sizes[2] % heads == 0
               ? adz_reshape(x, ADZ_SHAPE(s.sizes[0], s.sizes[1], heads, s.sizes[2] / heads))
               : NULL;
}

static bool recurrence_of(const reader_call *call, recurrence *r)
{
    const char *rule = adzi_reader_string(call, "update_rule", "gated_delta");
    int64_t queries = adzi_reader_int(call, "q_num_heads", 0);
    r->heads = adzi_reader_int(call, "kv_num_heads", 0);
    if (r->heads < 1 || queries < 1 || queries % r->heads != 0) {
        adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "%lld heads of queries for %lld of keys",
            (long long)queries, (long long)r->heads);
        return false;
    }
    r->shared = queries / r->heads;
    r->q = split(adzi_reader_in(call, 0), queries);
    r->k = split(adzi_reader_in(call, 1), r->heads);
    r->v = split(adzi_reader_in(call, 2), r->heads);
    if (r->q == NULL || r->k == NULL || r->v == NULL) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "inputs 0 to 2 do not split into heads");
        return false;
    }
    const bool gated = strncmp(rule, "gated", 5) == 0, delta = strstr(rule, "delta") != NULL;
    if ((gated && !adzi_reader_has(call, 4)) || (delta && !adzi_reader_has(call, 5))) {
        adzi_reader_fail(call, ADZ_ERR_ARGUMENT, "update_rule \"%s\" needs %s%s%s", rule,
            gated ? "decay" : "", gated && delta ? " and " : "", delta ? "beta" : "");
        return false;
    }
    if (gated) {
        r->decay = adz_exp(split(adzi_reader_in(call, 4), r->heads));
    }
    if (delta) {
        r->beta = adz_unsqueeze(adzi_reader_in(call, 5), 3);
    }
    int64_t features = adz_tensor_size(r->k, 3);
    r->state = adzi_reader_has(call, 3) ? adzi_reader_in(call, 3)
                                        : adz_zeros(ADZ_SHAPE(adz_tensor_size(r->k, 0), r->heads,
                                                        features, adz_tensor_size(r->v, 3)),
                                              adz_tensor_dtype(r->k));
    r->scale = adzi_reader_float(call, "scale", 0);
    r->scale = r->scale == 0 ? 1 / sqrt((double)features) : r->scale;
    return r->state != NULL;
}

/** Updates the state by token t; returns its output [batch, 1, heads * features]. */
static adz_tensor *token(recurrence *r, int64_t t)
{
    adz_tensor *k = adz_unsqueeze(adz_select(r->k, 1, t), 3);
    adz_tensor *v = adz_unsqueeze(adz_select(r->v, 1, t), 2);
    if (r->decay != NULL) {
        r->state = adz_mul(r->state, adz_unsqueeze(adz_select(r->decay, 1, t), 3));
    }
    if (r->beta != NULL) {
        adz_tensor *known = adz_matmul(adz_transpose(k, 2, 3), r->state);
        v = adz_mul(adz_sub(v, known), adz_unsqueeze(adz_select(r->beta, 1, t), 3));
    }
    r->state = adz_add(r->state, adz_mul(k, v));
    int64_t batch = adz_tensor_size(r->q, 0), features = adz_tensor_size(r->q, 3);
    adz_tensor *q =
        adz_reshape(adz_select(r->q, 1, t), ADZ_SHAPE(batch, r->heads, r->shared, features));
    adz_tensor *y = adz_matmul(adz_mul_number(q, r->scale), r->state);
    return adz_reshape(y, ADZ_SHAPE(batch, 1, r->heads * r->shared * adz_tensor_size(r->v, 3)));
}

static adz_tensor *linear_attention(const reader_call *call)
{
    recurrence r = { .decay = NULL };
    if (!recurrence_of(call, &r)) {
        return NULL;
    }
    size_t length = (size_t)adz_tensor_size(r.q, 1);
    adz_tensor **tokens = adzi_reader_alloc(&call->run->arena, length + 1, sizeof(*tokens));
    if (tokens == NULL) {
        return NULL;
    }
    for (size_t t = 0; t < length; t++) {
        tokens[t] = token(&r, (int64_t)t);
    }
    adzi_reader_set(call, 1, r.state);
    return adz_cat(tokens, length, 1);
}

const reader_operator adzi_reader_sequences[] = {
    ROW("CausalConvWithState", 27, 0, 2, 4, 2, "activation:s=none|silu|swish", 0, causal_conv),
    ROW("LinearAttention", 27, 0, 3, 6, 2,
        "chunk_size:i kv_num_heads:i q_num_heads:i scale:f "
        "update_rule:s=linear|gated|delta|gated_delta",
        0, linear_attention),
    ROW("RotaryEmbedding", 23, 0, 3, 4, 1, "interleaved:i num_heads:i rotary_embedding_dim:i", 8,
        rotary_embedding),
    { .name = NULL },
};
