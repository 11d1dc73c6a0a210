#include "ops/attention/attention.h"

#include <math.h>

#include "tensor/random/random.h"
#include "base/random_generator.h"

/* Checks of scaled dot-product attention, and the expression that its backward differentiates
 * again.
 *
 *     scores = scale * q k^T + mask,   p = softmax(scores) over the keys,   y = dropout(p) v
 *
 * q[..., L, E], k[..., S, E], v[..., S, Ev], y[..., L, Ev]; leading dimensions broadcast. The
 * functions here hold the whole p[..., L, S] in memory. The kernels (attention.kernel.c) hold one
 * block of it at a time. */

static const char name[] = "scaled_dot_product_attention";

/* ---- checks -------------------------------------------------------------------------------- */

/* Broadcasts the leading dimensions of t into those of the call. Returns false if they do not fit.
 * Sizes are aligned at the last leading dimension, and a size of 1 takes the size of the other
 * operand. */
static bool join_batch(adzi_attention *at, const adz_tensor *t)
{
    int batch_rank = t->rank - 2, more = batch_rank - at->batch_rank;
    /* A tensor of higher rank adds dimensions of size 1 in front. */
    for (int i = at->batch_rank - 1; i >= 0 && more > 0; --i) {
        at->batch[i + more] = at->batch[i];
    }
    for (int i = 0; i < more; ++i) {
        at->batch[i] = 1;
    }
    at->batch_rank += more > 0 ? more : 0;
    for (int i = 0; i < batch_rank; ++i) {
        int64_t *size = &at->batch[at->batch_rank - batch_rank + i], other = t->sizes[i];
        if (*size != other && *size != 1 && other != 1) {
            return false;
        }
        *size = *size == 1 ? other : *size;
    }
    return true;
}

/* Reads L, E, S and Ev from the inputs and checks that they agree. Sizes are read only if every
 * rank is 2 or more. The batch of the call grows by one tensor after the other. */
static bool check_shapes(
    adzi_attention *at, const adz_tensor *q, const adz_tensor *k, const adz_tensor *v)
{
    /* Queries and keys share E, keys and values share S. */
    bool fits = q->rank >= 2 && k->rank >= 2 && v->rank >= 2;
    if (fits) {
        at->l = q->sizes[q->rank - 2];
        at->e = q->sizes[q->rank - 1];
        at->s = k->sizes[k->rank - 2];
        at->ev = v->sizes[v->rank - 1];
        fits = k->sizes[k->rank - 1] == at->e && v->sizes[v->rank - 2] == at->s &&
               join_batch(at, q) && join_batch(at, k) && join_batch(at, v);
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "query%s, key%s and value%s do not fit [..., L, E], [..., S, E] and [..., S, Ev] whose leading sizes broadcast",
            adzi_text_shape(q), adzi_text_shape(k), adzi_text_shape(v));
        return false;
    }
    if (q->dtype != k->dtype || q->dtype != v->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE, "query is %s, key %s, value %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)q->dtype), adz_dtype_name((adz_dtype)k->dtype),
            adz_dtype_name((adz_dtype)v->dtype));
        return false;
    }
    return true;
}

/* Returns true if a mask broadcasts to the shape [..., L, S] of the scores. A mask cannot enlarge
 * the batch: query, key and value alone decide on the leading dimensions. */
static bool check_mask(const adzi_attention *at, const adz_tensor *mask, const char *which)
{
    int64_t sizes[ADZ_MAX_RANK + 2];
    int rank = at->batch_rank + 2;
    for (int i = 0; i < at->batch_rank; ++i) {
        sizes[i] = at->batch[i];
    }
    /* The last two dimensions of the scores are queries and keys. */
    sizes[rank - 2] = at->l;
    sizes[rank - 1] = at->s;
    bool fits = adzi_is_none(mask) || mask->rank <= rank;
    for (int i = 0; fits && !adzi_is_none(mask) && i < mask->rank; ++i) {
        int64_t size = mask->sizes[i];
        fits = size == 1 || size == sizes[rank - mask->rank + i];
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE, "%s%s does not broadcast to the scores' shape %s", which,
            adzi_text_shape(mask), adzi_text_sizes(rank, sizes));
    }
    return fits;
}

/* Checks the shapes of both masks and the dtype of attn_mask. A bool mask says which keys a query
 * sees; a floating-point mask is added to the scores. The dropout mask may have another dtype,
 * because the operator compares it with 0. */
static bool check_masks(
    const adzi_attention *at, const adz_tensor *q, const adz_tensor *mask, const adz_tensor *kept)
{
    if (!check_mask(at, mask, "attn_mask") || !check_mask(at, kept, "dropout_mask")) {
        return false;
    }
    if (!adzi_is_none(mask) && mask->dtype != ADZ_BOOL && mask->dtype != q->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE, "attn_mask is %s, but must be bool or %s as query is",
            adz_dtype_name((adz_dtype)mask->dtype), adz_dtype_name((adz_dtype)q->dtype));
        return false;
    }
    return true;
}

/* Limits the number of probabilities to 2^60, so that no count of elements or of random words
 * overflows. A row counts one group of Philox more than its keys, because drawn rows are rounded up
 * to whole groups. The product is computed in f64, which does not overflow on the way. */
static bool check_size(const adzi_attention *at)
{
    double count = (double)at->l * (double)(at->s + ADZI_GROUP_WORDS);
    for (int i = 0; i < at->batch_rank; ++i) {
        count *= (double)at->batch[i];
    }
    if (count > 0x1p60) {
        adzi_error(name, ADZ_ERR_SHAPE, "%s probabilities are more than can be counted",
            adzi_text_number(count));
    }
    return count <= 0x1p60;
}

/* Everything that can be wrong with the arguments of a call is found here, before memory is taken.
 * The members of `at` are plain numbers, so the node can keep them as its attributes. */
bool adzi_attention_check(adzi_attention *at, const adz_attention_options *options,
    adz_tensor *const *in, const adz_tensor *kept)
{
    const adz_tensor *q = in[ADZI_QUERY];
    if (!adzi_is_float((adz_dtype)q->dtype)) {
        adzi_error(name, ADZ_ERR_DTYPE, "query%s is %s; float32 or float64 is needed",
            adzi_text_shape(q), adz_dtype_name((adz_dtype)q->dtype));
        return false;
    }
    /* All other members are filled in by the checks below or stay 0. */
    *at = (adzi_attention){ .batch_size = 1, .causal = options->is_causal };
    if (!adzi_is_none(kept) && options->dropout_p == 1) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "dropout_p is 1, which keeps nothing; a dropout_mask needs less");
        return false;
    }
    if (!check_shapes(at, q, in[ADZI_KEY], in[ADZI_VALUE]) || !check_size(at) ||
        !check_masks(at, q, in[ADZI_MASK], kept)) {
        return false;
    }
    for (int i = 0; i < at->batch_rank; ++i) {
        at->batch_size *= at->batch[i];
    }
    /* Scale 0 stands for the usual 1 / sqrt(E). */
    at->scale = options->scale != 0 ? options->scale : at->e > 0 ? 1 / sqrt((double)at->e) : 1;
    /* Outside training dropout is switched off, and a given dropout mask is not applied. */
    at->dropout_p = options->training ? options->dropout_p : 0;
    at->drops = at->dropout_p > 0;
    at->masked = !adzi_is_none(in[ADZI_MASK]);
    at->replays = at->drops && !adzi_is_none(kept);
    return true;
}

/* ---- the plain composition, which holds the whole matrix of probabilities ------------------- */

/* Rows start with their own group, so that kernels can draw any row without the ones before
 * it. */
int64_t adzi_attention_row_words(const adzi_attention *at)
{
    return (at->s + ADZI_GROUP_WORDS - 1) / ADZI_GROUP_WORDS * ADZI_GROUP_WORDS;
}

/* The scores before the softmax, with -infinity where a query does not see a key. is_causal aligns
 * the last query with the last key: query i sees keys 0 .. i + S - L. */
static adz_tensor *masked_scores(
    const adzi_attention *at, adz_tensor *q, adz_tensor *k, adz_tensor *mask)
{
    adz_tensor *scores = adz_mul_number(adz_matmul(q, adz_transpose(k, -2, -1)), at->scale);
    /* The mask is true above the diagonal that ends at the last query and the last key. */
    if (at->causal) {
        adz_tensor *all = adz_ones(ADZ_SHAPE(at->l, at->s), ADZ_BOOL);
        scores = adz_masked_fill(scores, adz_triu(all, at->s - at->l + 1), -INFINITY);
    }
    /* A NULL mask is passed on as a failure; ADZ_NONE means that there is no mask. */
    if (mask == NULL || adzi_is_none(mask)) {
        return mask == NULL ? NULL : scores;
    }
    return mask->dtype == ADZ_BOOL ? adz_masked_fill(scores, adz_logical_not(mask), -INFINITY)
                                   : adz_add(scores, mask);
}

/* The whole matrix of probabilities p[..., L, S], computed by operators. The backward as an
 * expression needs it, and can be differentiated through it. */
adz_tensor *adzi_attention_probabilities(
    const adzi_attention *at, adz_tensor *q, adz_tensor *k, adz_tensor *mask)
{
    /* The softmax is that of the operator, so second derivatives need no code here. */
    adz_tensor *scores = masked_scores(at, q, k, mask);
    /* Only a mask, or fewer keys than queries under is_causal, can hide all keys. */
    bool may_be_blind = mask != ADZ_NONE || (at->causal && at->l > at->s);
    if (scores == NULL || scores->numel == 0 || !may_be_blind) {
        return scores == NULL ? NULL : adz_softmax(scores, -1);
    }
    /* A query that sees no key has scores of -infinity only, whose softmax would be NaN. Such a row
     * is replaced by zeros before the softmax and set to 0 after it, which also stops its gradient.
     * The comparison has no gradient of its own, so the scores are detached. */
    adz_tensor *most = adz_amax(adz_detach(scores), ADZ_DIMS(-1), ADZ_KEEPDIM);
    adz_tensor *blind = adz_eq_number(most, -INFINITY);
    return adz_masked_fill(adz_softmax(adz_masked_fill(scores, blind, 0), -1), blind, 0);
}

/* The attributes of the operator that draws a mask. */
typedef struct {
    double p; /* of the dropout */
} mask_attr;

static const adz_field mask_fields[] = { ADZI_FIELD(mask_attr, p) };

/* What a call of it gets. The node would keep the attributes alone; a bool has none. */
typedef struct {
    mask_attr at;
    const adzi_attention *attention;
} mask_call;

static adz_status mask_shape(adz_result *rows, adz_tensor *const *in, void *block)
{
    const adzi_attention *at = ((const mask_call *)block)->attention;
    (void)in;
    rows->dtype = ADZ_BOOL;
    rows->shape = adz_shape_of(at->batch_rank, at->batch);
    rows->shape.sizes[rows->shape.rank++] = at->l;
    rows->shape.sizes[rows->shape.rank++] = adzi_attention_row_words(at);
    return ADZ_OK;
}

static void draw_mask(adz_tensor *const *rows, adz_tensor *const *in, const void *block)
{
    const mask_call *c = block;
    adzi_bernoulli_draw(
        rows[0], 1 - c->at.p, (const adz_generator_state *)(const void *)in[0]->data);
}

static const adzi_op adzi_op_mask = {
    .name = "attention_mask", ADZI_ATTRIBUTES(mask_attr, mask_fields), .shape_rule = mask_shape
};

/* The dropout mask that a generator draws from a state, bool [..., L, S]. Rows are drawn with whole
 * groups of random numbers and cut to S, as the kernels do. It is an operator, so that a trace
 * knows what the mask depends on. */
static adz_tensor *drawn_mask(const adzi_attention *at, adz_tensor *state)
{
    mask_call c = { .at = { at->dropout_p }, .attention = at };
    return adz_narrow(ADZI_RUN(mask, draw_mask, &c, state), -1, 0, at->s);
}

/* Dropout on the probabilities: p is multiplied by the mask and divided by the probability of
 * keeping an element. The mask is constant, so the operator is linear in p. The backward applies it
 * to the gradient of p. */
adz_tensor *adzi_attention_dropout(
    const adzi_attention *at, adz_tensor *p, adz_tensor *kept, adz_tensor *state)
{
    if (!at->drops || p == NULL || kept == NULL) {
        return kept == NULL ? NULL : p;
    }
    /* Everything is dropped. A product with 0 keeps the graph and gives a gradient of 0. */
    if (at->dropout_p == 1) {
        return adz_mul_number(p, 0);
    }
    return adz_dropout_mask(p, at->replays ? kept : drawn_mask(at, state), 1 - at->dropout_p);
}
