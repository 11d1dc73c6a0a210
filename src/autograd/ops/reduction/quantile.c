#include <math.h>

#include "autograd/op.h"

/* The quantile along a dimension, torch.quantile.
 *
 *     position = q (n - 1) in the sorted lane x,   w = position - floor(position)
 *     linear: x[floor] + w (x[ceil] - x[floor])
 *
 * A composition: the lanes are sorted, and NaN comes last, so that a lane has a NaN if its last
 * element is one. */

/* The positions in a sorted lane of n elements, and the weight of the upper one. As in PyTorch the
 * position is computed in the dtype of x. */
static void positions_of(adz_dtype dtype, double q, int64_t n, adz_quantile_rule rule, int64_t *low,
    int64_t *high, double *weight)
{
    const double position =
        dtype == ADZ_F32 ? (double)((float)q * (float)(n - 1)) : q * (double)(n - 1);
    *low = (int64_t)floor(position);
    *high = (int64_t)ceil(position);
    *high = *high < n ? *high : n - 1;
    *weight = position - (double)*low;
    switch (rule) {
    case ADZ_QUANTILE_LOWER:
        *high = *low;
        break;
    case ADZ_QUANTILE_HIGHER:
        *low = *high;
        break;
    case ADZ_QUANTILE_NEAREST: /* ties go to the even position */
        *low = *high = (int64_t)nearbyint(position);
        break;
    case ADZ_QUANTILE_MIDPOINT:
        *weight = 0.5;
        break;
    case ADZ_QUANTILE_LINEAR:
        break;
    }
}

static bool check(const char *op, const adz_tensor *x, double q, adz_quantile_rule rule, int64_t n)
{
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE, "x is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    if (!(q >= 0 && q <= 1)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "q is %s, but must be from 0 to 1", adzi_text_number(q));
        return false;
    }
    if ((unsigned)rule > ADZ_QUANTILE_NEAREST) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "rule is %d, which is no adz_quantile_rule; ADZ_QUANTILE_LINEAR is usual", (int)rule);
        return false;
    }
    if (n == 0) {
        adzi_error(
            op, ADZ_ERR_SHAPE, "a lane of x%s has no elements and no quantile", adzi_text_shape(x));
    }
    return n > 0;
}

adz_tensor *adz_quantile(adz_tensor *x, double q, int dim, bool keepdim, adz_quantile_rule rule)
{
    static const char op[] = "quantile";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    const int d = adzi_dim(op, x, dim);
    const int64_t n = d < 0 ? 0 : x->rank > 0 ? x->sizes[d] : 1;
    if (d < 0 || !check(op, x, q, rule, n)) {
        return NULL;
    }
    if (x->rank == 0) {
        return adz_clone(x);
    }
    int64_t low, high;
    double weight;
    positions_of((adz_dtype)x->dtype, q, n, rule, &low, &high, &weight);
    adz_tensor *sorted = adz_sort(x, d, false, NULL), *y = adz_narrow(sorted, d, low, 1);
    if (high != low) {
        adz_tensor *upper = adz_narrow(sorted, d, high, 1), *step = adz_sub(upper, y);
        step = adz_masked_fill(step, adz_eq(upper, y), 0); /* also between equal infinities */
        y = adz_add_scaled(y, step, weight);
    }
    adz_tensor *last = adz_narrow(sorted, d, n - 1, 1);
    y = adz_where(adz_isnan(last), last, y);
    return keepdim ? y : adz_squeeze(y, d);
}
