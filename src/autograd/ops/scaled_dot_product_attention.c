#include <math.h>

#include "autograd/ops/attention.h"
#include "tensor/options.h"
#include "tensor/random.h"
#include "tensor/random_generator.h"

static const char name[] = "scaled_dot_product_attention";

void adz_attention_options_init(adz_attention_options *options, size_t size)
{
    adz_attention_options all = ADZ_ATTENTION_OPTIONS;
    adzi_options_fill(options, size, &all, sizeof all);
}

/* ---- checks -------------------------------------------------------------------------------- */

static bool check_numbers(const adz_attention_options *o)
{
    if (!isfinite(o->scale)) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "scale is %s, but must be finite, 0 for 1/sqrt(E)",
            adzi_text_number(o->scale));
        return false;
    }
    if (!(o->dropout_p >= 0 && o->dropout_p <= 1)) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "dropout_p is %s, but a probability lies in [0, 1]",
            adzi_text_number(o->dropout_p));
        return false;
    }
    if (o->dropout_mask != ADZ_NONE && o->dropout_p == 1) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "dropout_p is 1, which keeps nothing; a dropout_mask needs less");
        return false;
    }
    return true;
}

/* Broadcasts t's leading dimensions into the call's. */
static bool join_batch(adzi_attention *at, const adz_tensor *t)
{
    int lead = t->rank - 2, more = lead - at->batch_rank;
    for (int i = at->batch_rank - 1; i >= 0 && more > 0; --i) {
        at->batch[i + more] = at->batch[i];
    }
    for (int i = 0; i < more; ++i) {
        at->batch[i] = 1;
    }
    at->batch_rank += more > 0 ? more : 0;
    for (int i = 0; i < lead; ++i) {
        int64_t *size = &at->batch[at->batch_rank - lead + i], other = t->sizes[i];
        if (*size != other && *size != 1 && other != 1) {
            return false;
        }
        *size = *size == 1 ? other : *size;
    }
    return true;
}

static bool check_shapes(adzi_attention *at, adz_tensor *q, adz_tensor *k, adz_tensor *v)
{
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
            "query%s, key%s and value%s do not fit [..., L, E], [..., S, E] and [..., S, Ev] whose "
            "leading sizes broadcast",
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

/* Whether a mask broadcasts to [..., L, S]. */
static bool check_mask(const adzi_attention *at, const adz_tensor *mask, const char *which)
{
    int64_t sizes[ADZ_MAX_RANK + 2];
    int rank = at->batch_rank + 2;
    for (int i = 0; i < at->batch_rank; ++i) {
        sizes[i] = at->batch[i];
    }
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

/* Broadcast sizes, and how many words dropout draws, stay countable. */
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

/* ---- the call ------------------------------------------------------------------------------ */

static adz_tensor *given(adz_tensor *t)
{
    return t == NULL && adzi_pending() == ADZ_OK ? ADZ_NONE : t;
}

adz_tensor *adz_scaled_dot_product_attention(
    adz_tensor *query, adz_tensor *key, adz_tensor *value, const adz_attention_options *options)
{
    adz_attention_options o = ADZ_ATTENTION_OPTIONS;
    adzi_options_read(&o, sizeof o, options);
    adz_tensor *attn_mask = given(o.attn_mask), *dropout_mask = given(o.dropout_mask);
    o.dropout_mask = dropout_mask;
    if (!adzi_check_tensor(name, "query", query) || !adzi_check_tensor(name, "key", key) ||
        !adzi_check_tensor(name, "value", value) ||
        (attn_mask != ADZ_NONE && !adzi_check_tensor(name, "attn_mask", attn_mask)) ||
        (dropout_mask != ADZ_NONE && !adzi_check_tensor(name, "dropout_mask", dropout_mask))) {
        return NULL;
    }
    adzi_attention at = { .items = 1, .causal = o.is_causal };
    if (!adzi_is_float((adz_dtype)query->dtype)) {
        return adzi_fail(name, ADZ_ERR_DTYPE, "query%s is %s; float32 or float64 is needed",
            adzi_text_shape(query), adz_dtype_name((adz_dtype)query->dtype));
    }
    if (!check_numbers(&o) || !check_shapes(&at, query, key, value) || !check_size(&at) ||
        !check_masks(&at, query, attn_mask, dropout_mask)) {
        return NULL;
    }
    for (int i = 0; i < at.batch_rank; ++i) {
        at.items *= at.batch[i];
    }
    at.scale = o.scale != 0 ? o.scale : at.e > 0 ? 1 / sqrt((double)at.e) : 1;
    at.keep = 1 - o.dropout_p;
    at.drops = o.training && o.dropout_p > 0;
    bool draws = at.drops && adzi_is_none(dropout_mask) && at.keep > 0;
    adz_generator *generator = draws ? adzi_generator_or_default(o.generator) : NULL;
    if (draws && generator == NULL) {
        return NULL;
    }
    at.state = draws ? generator->state : at.state;
    adz_tensor *p = adzi_attention_probabilities(&at, query, key, attn_mask);
    adz_tensor *y = adz_matmul(adzi_attention_dropout(&at, p, dropout_mask), value);
    if (y != NULL && draws) { /* only now: a call that failed has drawn nothing */
        int64_t words = at.items * at.l * adzi_attention_row_words(&at);
        adzi_generator_take(generator, adzi_philox_counters(words, ADZI_DRAW_WORD));
    }
    return y;
}
