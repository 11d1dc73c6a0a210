#include "autograd/ops/norm/normalise.h"

#include <math.h>

adzi_normalised adzi_normalise(adz_tensor *x, adz_dims dims, double eps)
{
    adz_tensor *d = adz_sub(x, adz_mean(x, dims, ADZ_KEEPDIM));
    adz_tensor *variance = adz_mean(adz_mul(d, d), dims, ADZ_KEEPDIM);
    adz_tensor *rstd = adz_rsqrt(adz_add_number(variance, eps));
    rstd = adz_masked_fill(rstd, adz_eq_number(rstd, 0), NAN); /* an infinite variance */
    return (adzi_normalised){ adz_mul(d, rstd), rstd };
}

/* Moving all of x by the same amount, or scaling it about its mean, leaves unit as it is (but for
 * eps): these two directions carry no gradient. */
adz_tensor *adzi_normalise_gradient(adzi_normalised normalised, adz_tensor *g, adz_dims dims)
{
    adz_tensor *along = adz_mean(adz_mul(g, normalised.unit), dims, ADZ_KEEPDIM);
    adz_tensor *level = adz_sub(g, adz_mean(g, dims, ADZ_KEEPDIM));
    adz_tensor *rest = adz_sub(level, adz_mul(normalised.unit, along));
    return adz_mul(normalised.rstd, rest);
}
