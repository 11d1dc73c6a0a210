#include "ops/norm/normalise.h"

#include <math.h>

/* Normalisation as an expression, for batch_norm, layer_norm and rms_norm, and its gradient for
 * batch_norm.
 *
 *     unit = (x - m) * rstd,   rstd = 1 / sqrt(v + eps)
 *     dx   = rstd * (g - mean(g) - unit * mean(g * unit)),   g = gradient of unit */

/* NaN where `mask` is true, also in derivatives. rstd is 0 there. */
static adz_tensor *unknown_where(adz_tensor *rstd, adz_tensor *mask)
{
    adz_tensor *ones = rstd != NULL ? adz_ones_like(rstd) : NULL;
    return adz_mul(rstd, adz_masked_fill(ones, mask, NAN));
}

/* x minus the first element of each slice along dims, as a constant. What is normalised does not
 * change, and the mean of the differences keeps the digits that a large mean would round away. */
static adz_tensor *from_first(adz_tensor *x, adz_dims dims)
{
    unsigned mask;
    if (x == NULL || x->numel == 0 || !adzi_dims_mask("normalise", x, dims, &mask)) {
        return x;
    }
    adz_tensor *first = adz_detach(x);
    for (int d = 0; d < x->rank; ++d) {
        first = (mask >> d & 1) != 0 ? adz_narrow(first, d, 0, 1) : first;
    }
    return adz_sub(x, first);
}

/* Computes unit and rstd from x. m and v are means over `dims`, so v is the biased variance. */
adzi_normalised adzi_normalise(adz_tensor *x, adz_dims dims, double eps)
{
    adz_tensor *level = from_first(x, dims);
    adz_tensor *d = adz_sub(level, adz_mean(level, dims, ADZ_KEEPDIM));
    adz_tensor *variance = adz_mean(adz_mul(d, d), dims, ADZ_KEEPDIM);
    adz_tensor *rstd = adz_rsqrt(adz_add_number(variance, eps));
    /* A variance that overflowed gives NaN, as in the kernels, and not a unit of 0. */
    rstd = unknown_where(rstd, adz_eq_number(rstd, 0));
    return (adzi_normalised){ adz_mul(d, rstd), rstd };
}

/* Shifting x, or scaling it about its mean, leaves unit unchanged except for eps. So the components
 * of g in these two directions are subtracted: its mean, and its projection on unit. */
adz_tensor *adzi_normalise_gradient(adzi_normalised normalised, adz_tensor *g, adz_dims dims)
{
    adz_tensor *along = adz_mean(adz_mul(g, normalised.unit), dims, ADZ_KEEPDIM);
    adz_tensor *level = adz_sub(g, adz_mean(g, dims, ADZ_KEEPDIM));
    adz_tensor *rest = adz_sub(level, adz_mul(normalised.unit, along));
    return adz_mul(normalised.rstd, rest);
}

adzi_normalised adzi_scale(adz_tensor *x, adz_dims dims, double eps)
{
    adz_tensor *square = adz_mean(adz_mul(x, x), dims, ADZ_KEEPDIM);
    adz_tensor *rstd = adz_rsqrt(adz_add_number(square, eps));
    /* An infinite element leaves 0 for the finite ones. A square that overflowed gives NaN. */
    adz_tensor *finite = adz_all(adz_isfinite(x), dims, ADZ_KEEPDIM);
    rstd = unknown_where(rstd, adz_logical_and(adz_eq_number(rstd, 0), finite));
    return (adzi_normalised){ adz_mul(x, rstd), rstd };
}
