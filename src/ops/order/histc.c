#include <math.h>

#include "ops/demand.h"

/* How many elements lie in each of some bins, torch.histc.
 *
 *     bin = floor((x - min) bins / (max - min)),   the last one for x = max
 *
 * A composition. The ends are tensors where the elements decide on them, so that plans and exports
 * follow new elements. */

/* The ends of the bins as scalars of x's dtype. */
typedef struct {
    adz_tensor *low, *high;
} ends;

/* The smallest and the largest element. Where they are equal, one less and one more. */
static bool find_ends(adz_tensor *x, ends *e)
{
    adz_tensor *low = adz_min(x), *high = adz_max(x);
    adz_tensor *finite = adz_logical_and(adz_isfinite(low), adz_isfinite(high));
    if (!adzi_demand("histc", finite, ADZ_ERR_NUMERIC,
            "min equals max, so the ends come from x, which has an element that is not finite; give min and max")) {
        return false;
    }
    adz_tensor *one = adz_eq(low, high);
    e->low = adz_where(one, adz_sub_number(low, 1), low);
    e->high = adz_where(one, adz_add_number(high, 1), high);
    return e->low != NULL && e->high != NULL;
}

/* Halves of f64, whose differences do not overflow. */
static adz_tensor *half(adz_tensor *t)
{
    return t != NULL ? adz_mul_number(adz_to(t, ADZ_F64), 0.5) : NULL;
}

/* The bin of each element as an f64, before it is rounded. Halves of f64 give it where the product
 * or the distance of the ends overflows. */
static adz_tensor *position(adz_tensor *x, const ends *e, int64_t bins)
{
    adz_tensor *product = adz_mul_number(adz_sub(x, e->low), (double)bins);
    adz_tensor *size = adz_sub(e->high, e->low);
    adz_tensor *near = adz_div(product, size), *low = half(e->low);
    adz_tensor *far = adz_div(adz_sub(half(x), low), adz_sub(half(e->high), low));
    adz_tensor *sound = adz_logical_and(adz_isfinite(product), adz_isfinite(size));
    if (near == NULL) {
        return NULL;
    }
    return adz_where(sound, adz_to(near, ADZ_F64), adz_mul_number(far, (double)bins));
}

static bool check(const adz_tensor *x, int64_t bins, double min, double max)
{
    static const char op[] = "histc";
    if (!adzi_check_tensor(op, "x", x)) {
        return false;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    if (bins < 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "bins is %lld, but must be 1 or more", (long long)bins);
        return false;
    }
    if (!isfinite(min) || !isfinite(max) || min > max) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "min is %s and max %s, but they must be finite, and min not above max",
            adzi_text_number(min), adzi_text_number(max));
        return false;
    }
    return true;
}

/* Elements outside the range count nowhere. */
adz_tensor *adz_histc(adz_tensor *x, int64_t bins, double min, double max)
{
    ADZI_COMPOSED();
    if (!check(x, bins, min, max)) {
        return NULL;
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    ends e = { NULL, NULL };
    adz_tensor *flat = adz_reshape(adz_detach(x), ADZ_SHAPE(x->numel));
    if (flat == NULL) {
        return NULL;
    }
    if (min == max && x->numel > 0) {
        if (!find_ends(flat, &e)) {
            return NULL;
        }
    } else {
        e.low = adz_scalar(min == max ? min - 1 : min, dtype);
        e.high = adz_scalar(min == max ? max + 1 : max, dtype);
    }
    adz_tensor *inside = adz_logical_and(adz_ge(flat, e.low), adz_le(flat, e.high));
    adz_tensor *bin = position(flat, &e, bins);
    bin = adz_masked_fill(bin, adz_logical_not(inside), 0); /* NaN is no index */
    bin = adz_clamp(adz_to(bin, ADZ_I64), 0, (double)(bins - 1));
    adz_tensor *zeros = adz_zeros(ADZ_SHAPE(bins), ADZ_I64);
    adz_tensor *ones = adz_to(inside, ADZ_I64);
    adz_tensor *counts =
        zeros != NULL && bin != NULL && ones != NULL ? adz_scatter_add(zeros, 0, bin, ones) : NULL;
    return counts != NULL ? adz_to(counts, dtype) : NULL;
}
