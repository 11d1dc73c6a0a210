#include "ops/order/quantile.h"

#include <math.h>

/* The quantile along a dimension, torch.quantile.
 *
 *     position = q (n - 1) in the sorted slice x,   w = position - floor(position)
 *     linear: x[floor] + w (x[ceil] - x[floor])
 *
 * A composition: the slices are sorted, and NaN comes last, so that a slice has a NaN if its last
 * element is one. */

static const adzi_rounding down = { floor, adz_floor }, up = { ceil, adz_ceil },
                           even = { nearbyint, adz_round }; /* ties go to the even position */

static const adzi_quantile_method methods[] = {
    [ADZ_QUANTILE_LINEAR] = { &down, &up, false },
    [ADZ_QUANTILE_LOWER] = { &down, NULL, false },
    [ADZ_QUANTILE_HIGHER] = { &up, NULL, false },
    [ADZ_QUANTILE_MIDPOINT] = { &down, &up, true },
    [ADZ_QUANTILE_NEAREST] = { &even, NULL, false },
};

const adzi_quantile_method *adzi_quantile_check(
    const char *op, const adz_tensor *x, adz_quantile_rule rule, int *dim)
{
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    *dim = adzi_dim(op, x, *dim);
    if (*dim < 0) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "x is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if ((unsigned)rule >= sizeof methods / sizeof *methods) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "rule is %d, which is no adz_quantile_rule; ADZ_QUANTILE_LINEAR is usual", (int)rule);
    }
    if (x->rank > 0 && x->sizes[*dim] == 0) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "a slice of x%s has no elements and no quantile",
            adzi_text_shape(x));
    }
    return &methods[rule];
}

adz_tensor *adzi_quantile_between(
    adz_tensor *sorted, int dim, adz_tensor *low, adz_tensor *high, adz_tensor *weight)
{
    adz_tensor *y = low;
    if (high != NULL) {
        y = adz_lerp(low, high, weight); /* also between infinities and far ends */
    }
    adz_tensor *last = sorted != NULL ? adz_narrow(sorted, dim, sorted->sizes[dim] - 1, 1) : NULL;
    return adz_where(adz_isnan(last), last, y);
}

bool adzi_quantile_in_single(const adz_tensor *x, int64_t n)
{
    return x->dtype == ADZ_F32 && n <= INT64_C(1) << 24;
}

/* The position at most n - 1, above which single precision may round it. */
static int64_t rounded(const adzi_rounding *rounding, double position, int64_t n)
{
    const double at = rounding->number(position);
    return at < (double)n ? (int64_t)at : n - 1;
}

/* One quantile, torch.quantile. */
adz_tensor *adz_quantile(adz_tensor *x, double q, int dim, bool keepdim, adz_quantile_rule rule)
{
    ADZI_COMPOSED();
    static const char op[] = "quantile";
    const adzi_quantile_method *method = adzi_quantile_check(op, x, rule, &dim);
    if (method == NULL) {
        return NULL;
    }
    if (!(q >= 0 && q <= 1)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "q is %s, but must be from 0 to 1", adzi_text_number(q));
    }
    if (x->rank == 0) {
        return adz_clone(x);
    }
    const int64_t n = x->sizes[dim];
    const double position =
        adzi_quantile_in_single(x, n) ? (double)((float)q * (float)(n - 1)) : q * (double)(n - 1);
    const int64_t low = rounded(method->low, position, n);
    const int64_t high = method->high != NULL ? rounded(method->high, position, n) : low;
    adz_tensor *sorted = adz_sort(x, dim, false, NULL), *weight = NULL, *upper = NULL;
    if (high != low) {
        weight = adz_scalar(method->middle ? 0.5 : position - (double)low, (adz_dtype)x->dtype);
        upper = adz_narrow(sorted, dim, high, 1);
    }
    adz_tensor *y =
        adzi_quantile_between(sorted, dim, adz_narrow(sorted, dim, low, 1), upper, weight);
    return keepdim ? y : adz_squeeze(y, dim);
}
