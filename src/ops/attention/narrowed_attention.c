#include "ops/attention/attention.h"

#include <math.h>

/* Attention with groups of queries for each key, and with sliding windows, by views of its operands
 * and a mask. The kernels see neither.
 *
 * Groups: q[..., H, L, E] becomes q[..., Hk, H/Hk, L, E]. k[..., Hk, S, E] becomes
 * k[..., Hk, 1, S, E], which broadcasts over the queries of its group, so no key is repeated in
 * memory.
 *
 * Windows: query i sees the keys after i + (S - L) - window. Keys that no query sees are cut off,
 * which leaves `window` keys for a single query. A mask hides the others. */

static const char name[] = "scaled_dot_product_attention";

/* The operands of a call. A mask that is left out is NULL or ADZ_NONE. */
typedef struct {
    adz_tensor *q, *k, *v;
    adz_attention_options o;
} operands;

static bool is_given(const adz_tensor *t)
{
    return t != NULL && !adzi_is_none(t);
}

/* ---- windows -------------------------------------------------------------------------------- */

/* Cuts off the first keys of a mask, unless it broadcasts over the keys. */
static void cut_mask(adz_tensor **mask, int64_t first, int64_t keys)
{
    if (is_given(*mask) && (*mask)->rank > 0 && (*mask)->sizes[(*mask)->rank - 1] == keys) {
        *mask = adz_narrow(*mask, -1, first, keys - first);
    }
}

/* Joins what the window shows, a bool[L, S], with the mask of the call. */
static adz_tensor *join(adz_tensor *mask, adz_tensor *shown)
{
    if (!is_given(mask)) {
        return shown;
    }
    return mask->dtype == ADZ_BOOL ? adz_logical_and(mask, shown)
                                   : adz_masked_fill(mask, adz_logical_not(shown), -INFINITY);
}

/* Cuts off the keys that no query sees, and hides by a mask those that some queries do not see. The
 * queries are the last L of S positions. False with the error recorded. */
static bool apply_window(operands *a)
{
    const int64_t l = a->q->sizes[a->q->rank - 2], s = a->k->sizes[a->k->rank - 2];
    /* The first key that the first query sees, and the keys that may be cut off before it. */
    const int64_t seen = s - l - a->o.sliding_window + 1, first = seen > 0 ? seen : 0;
    if (a->v->sizes[a->v->rank - 2] != s) {
        return true; /* the call without a window reports it */
    }
    if (first > 0) {
        a->k = adz_narrow(a->k, -2, first, s - first);
        a->v = adz_narrow(a->v, -2, first, s - first);
        cut_mask(&a->o.attn_mask, first, s);
        cut_mask(&a->o.dropout_mask, first, s);
    }
    if (l - 1 + seen - first > 0) { /* the last query does not see the first key that is left */
        adz_tensor *shown = adz_triu(adz_ones(ADZ_SHAPE(l, s - first), ADZ_BOOL), seen - first);
        a->o.attn_mask = join(a->o.attn_mask, shown);
        return a->o.attn_mask != NULL && a->k != NULL && a->v != NULL;
    }
    return a->k != NULL && a->v != NULL;
}

/* ---- groups --------------------------------------------------------------------------------- */

/* Splits the dimension of the heads: [..., H, L, E] to [..., groups, H / groups, L, E]. A size of 1
 * broadcasts. */
static adz_tensor *split(adz_tensor *t, int64_t groups)
{
    adz_shape shape = adz_tensor_shape(t);
    const int d = shape.rank - 3; /* of the heads */
    if (shape.sizes[d] == 1) {
        return adz_unsqueeze(t, d);
    }
    if (shape.rank == ADZ_MAX_RANK) {
        adzi_error(name, ADZ_ERR_SHAPE, "query%s leaves no dimension for groups with enable_gqa",
            adzi_text_shape(t));
        return NULL;
    }
    for (int i = shape.rank++; i > d + 1; --i) {
        shape.sizes[i] = shape.sizes[i - 1];
    }
    shape.sizes[d + 1] = shape.sizes[d] / groups;
    shape.sizes[d] = groups;
    return adz_reshape(t, shape);
}

/* A mask without heads broadcasts over the groups as it is. */
static void split_mask(adz_tensor **mask, int64_t groups)
{
    if (is_given(*mask) && (*mask)->rank >= 3) {
        *mask = split(*mask, groups);
    }
}

/* y[..., Hk, H / Hk, L, Ev] to [..., H, L, Ev]. */
static adz_tensor *join_groups(adz_tensor *y)
{
    if (y == NULL) {
        return NULL;
    }
    adz_shape shape = adz_tensor_shape(y);
    const int d = shape.rank - 4;
    shape.sizes[d] *= shape.sizes[d + 1];
    shape.rank -= 1;
    for (int i = d + 1; i < shape.rank; ++i) {
        shape.sizes[i] = shape.sizes[i + 1];
    }
    return adz_reshape(y, shape);
}

/* Whether the operands have heads that form groups. False with the error recorded. */
static bool check_groups(const operands *a)
{
    const adz_tensor *q = a->q, *k = a->k, *v = a->v;
    bool fits = q->rank >= 3 && k->rank >= 3 && v->rank >= 3;
    if (fits) {
        const int64_t heads = q->sizes[q->rank - 3], groups = k->sizes[k->rank - 3];
        fits = groups > 0 && heads % groups == 0 && v->sizes[v->rank - 3] == groups;
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "with enable_gqa query%s must be [..., H, L, E], and key%s and value%s must have heads, at dimension -3, that divide H",
            adzi_text_shape(q), adzi_text_shape(k), adzi_text_shape(v));
    }
    return fits;
}

/* The mask of a head must broadcast to H, not to the groups. */
static bool check_mask(const operands *a, const adz_tensor *mask, const char *which)
{
    const int64_t heads = a->q->sizes[a->q->rank - 3];
    if (!is_given(mask) || mask->rank < 3 || mask->sizes[mask->rank - 3] == 1 ||
        mask->sizes[mask->rank - 3] == heads) {
        return true;
    }
    adzi_error(name, ADZ_ERR_SHAPE, "%s%s must have 1 or %lld heads at dimension -3", which,
        adzi_text_shape(mask), (long long)heads);
    return false;
}

/* Gives each operand a dimension for the queries of a group. Sizes that do not fit are refused
 * here, where the shapes are still those of the caller. */
static bool apply_groups(operands *a)
{
    if (!check_groups(a) || !check_mask(a, a->o.attn_mask, "attn_mask") ||
        !check_mask(a, a->o.dropout_mask, "dropout_mask")) {
        return false;
    }
    const int64_t groups = a->k->sizes[a->k->rank - 3];
    a->q = groups == 1 ? adz_unsqueeze(a->q, -4) : split(a->q, groups);
    a->k = adz_unsqueeze(a->k, -3);
    a->v = adz_unsqueeze(a->v, -3);
    split_mask(&a->o.attn_mask, groups);
    split_mask(&a->o.dropout_mask, groups);
    return a->q != NULL && a->k != NULL && a->v != NULL;
}

adz_tensor *adzi_attention_narrowed(
    adz_tensor *query, adz_tensor *key, adz_tensor *value, const adz_attention_options *options)
{
    operands a = { query, key, value, *options };
    if (!adzi_check_tensor(name, "query", query) || !adzi_check_tensor(name, "key", key) ||
        !adzi_check_tensor(name, "value", value)) {
        return NULL;
    }
    const bool window =
        a.o.sliding_window > 0 && query->rank >= 2 && key->rank >= 2 && value->rank >= 2;
    if (window && !apply_window(&a)) {
        return NULL;
    }
    if (a.o.enable_gqa && !apply_groups(&a)) {
        return NULL;
    }
    a.o.enable_gqa = false;
    a.o.sliding_window = 0;
    adz_tensor *y = adz_scaled_dot_product_attention(a.q, a.k, a.v, &a.o);
    return options->enable_gqa ? join_groups(y) : y;
}
