/* The plain composition, which holds the whole matrix of probabilities. */
#include "autograd/ops/attention.h"

#include <math.h>

#include "tensor/random.h"
#include "tensor/random_generator.h"

int64_t adzi_attention_row_words(const adzi_attention *at)
{
    return (at->s + ADZI_GROUP_WORDS - 1) / ADZI_GROUP_WORDS * ADZI_GROUP_WORDS;
}

/* Scores as they are before softmax: -inf where a query must not look. */
static adz_tensor *masked_scores(
    const adzi_attention *at, adz_tensor *q, adz_tensor *k, adz_tensor *mask)
{
    adz_tensor *scores = adz_mul_number(adz_matmul(q, adz_transpose(k, -2, -1)), at->scale);
    if (at->causal) {
        adz_tensor *all = adz_ones(ADZ_SHAPE(at->l, at->s), ADZ_BOOL);
        scores = adz_masked_fill(scores, adz_triu(all, at->s - at->l + 1), -INFINITY);
    }
    if (mask == NULL || adzi_is_none(mask)) {
        return mask == NULL ? NULL : scores;
    }
    return mask->dtype == ADZ_BOOL ? adz_masked_fill(scores, adz_logical_not(mask), -INFINITY)
                                   : adz_add(scores, mask);
}

adz_tensor *adzi_attention_probabilities(
    const adzi_attention *at, adz_tensor *q, adz_tensor *k, adz_tensor *mask)
{
    adz_tensor *scores = masked_scores(at, q, k, mask);
    bool may_be_blind = mask != ADZ_NONE || (at->causal && at->l > at->s);
    if (scores == NULL || scores->numel == 0 || !may_be_blind) {
        return scores == NULL ? NULL : adz_softmax(scores, -1);
    }
    /* Rows of -inf alone: any finite row in their place, and zeros in place of its softmax. */
    adz_tensor *most = adz_amax(adz_detach(scores), ADZ_DIMS(-1), ADZ_KEEPDIM);
    adz_tensor *blind = adz_eq_number(most, -INFINITY);
    return adz_masked_fill(adz_softmax(adz_masked_fill(scores, blind, 0), -1), blind, 0);
}

/* The mask that `at` draws: bool [..., L, S]. */
static adz_tensor *drawn_mask(const adzi_attention *at)
{
    adz_shape shape = adz_shape_of(at->batch_rank, at->batch);
    shape.sizes[shape.rank++] = at->l;
    shape.sizes[shape.rank++] = adzi_attention_row_words(at);
    adz_generator generator = { at->state };
    adz_tensor *rows = adz_generator_bernoulli(&generator, at->keep, shape, ADZ_BOOL);
    return adz_narrow(rows, -1, 0, at->s);
}

adz_tensor *adzi_attention_dropout(const adzi_attention *at, adz_tensor *p, adz_tensor *kept)
{
    if (!at->drops || p == NULL || kept == NULL) {
        return kept == NULL ? NULL : p;
    }
    if (at->keep == 0) {
        return adz_mul_number(p, 0);
    }
    kept = adzi_is_none(kept) ? drawn_mask(at) : adz_ne_number(adz_detach(kept), 0);
    return adz_dropout_mask(p, kept, at->keep);
}
