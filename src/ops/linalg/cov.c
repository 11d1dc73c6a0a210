#include "ops/demand.h"

/* Covariances, torch.cov. A composition; include/adze/ops/linalg.h has the formula.
 *
 * Each observation, a column of x, has a weight w: how often it was seen (fweights) times how much
 * it counts (aweights). The mean is weighted too. Gradients flow to x and to aweights. */

/* Whether the weights fit the observations. */
static bool check_weights(const char *name, adz_tensor *w, int64_t observations, bool right_dtype)
{
    if (adzi_is_none(w)) {
        return true;
    }
    if (!adzi_check_tensor("cov", name, w)) {
        return false;
    }
    if (!right_dtype) {
        adzi_error("cov", ADZ_ERR_DTYPE,
            "%s are %s; fweights are int64 or int32, and aweights have the dtype of x", name,
            adz_dtype_name((adz_dtype)w->dtype));
        return false;
    }
    if (w->rank != 1 || w->sizes[0] != observations) {
        adzi_error("cov", ADZ_ERR_SHAPE, "%s%s must be a vector of %lld observations", name,
            adzi_text_shape(w), (long long)observations);
        return false;
    }
    adz_tensor *below = adz_any(adz_lt_number(adz_detach(w), 0), ADZ_ALL_DIMS, ADZ_DROPDIM);
    return adzi_demand("cov", adz_logical_not(below), ADZ_ERR_ARGUMENT,
        "a weight is below 0; weights are 0 or more");
}

/* Checks all arguments. A vector x is one variable, and a scalar one observation of one variable.
 */
static bool check(const adz_tensor *x, adz_tensor *fweights, adz_tensor *aweights)
{
    if (!adzi_check_tensor("cov", "x", x)) {
        return false;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        adzi_error("cov", ADZ_ERR_DTYPE, "x is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    if (x->rank > 2) {
        adzi_error("cov", ADZ_ERR_SHAPE, "x%s has more than two dimensions", adzi_text_shape(x));
        return false;
    }
    const int64_t n = x->rank > 0 ? x->sizes[x->rank - 1] : 1;
    const bool whole = adzi_is_none(fweights) || fweights == NULL || fweights->dtype == ADZ_I64 ||
                       fweights->dtype == ADZ_I32;
    const bool same = adzi_is_none(aweights) || aweights == NULL || aweights->dtype == x->dtype;
    return check_weights("fweights", fweights, n, whole) &&
           check_weights("aweights", aweights, n, same);
}

/* What the squares are divided by: the sum of the weights, less the correction. Weights that say
 * how much an observation counts (aweights) do not say how many there were, so the correction is
 * scaled by their mean. A divisor below 0 becomes 0, and the covariances infinite or NaN, as in
 * PyTorch. */
static adz_tensor *divisor(adz_tensor *w, adz_tensor *sum, adz_tensor *aweights, int64_t correction)
{
    adz_tensor *less = NULL;
    if (adzi_is_none(aweights) || correction == 0) {
        less = adz_sub_number(sum, (double)correction);
    } else {
        adz_tensor *squares = adz_sum(adz_mul(w, aweights), ADZ_ALL_DIMS, ADZ_DROPDIM);
        less = adz_sub(sum, adz_mul_number(adz_div(squares, sum), (double)correction));
    }
    return adz_clamp(less, 0, (double)INFINITY);
}

/* Squares are computed as far * (w far)^T, one product whose result is symmetric. */
adz_tensor *adz_cov(adz_tensor *x, adz_tensor *fweights, adz_tensor *aweights, int64_t correction)
{
    ADZI_COMPOSED();
    if (!check(x, fweights, aweights)) {
        return NULL;
    }
    const int64_t n = x->rank > 0 ? x->sizes[x->rank - 1] : 1,
                  rows = x->rank == 2 ? x->sizes[0] : 1;
    const adz_dtype dtype = (adz_dtype)x->dtype;
    adz_tensor *rows_of = adz_reshape(x, ADZ_SHAPE(rows, n)), *w = adz_ones(ADZ_SHAPE(n), dtype);
    if (!adzi_is_none(fweights)) {
        w = adz_to(fweights, dtype);
    }
    if (!adzi_is_none(aweights)) {
        w = adzi_is_none(fweights) ? aweights : adz_mul(w, aweights);
    }
    if (rows_of == NULL || w == NULL) {
        return NULL;
    }
    adz_tensor *sum = adz_sum(w, ADZ_ALL_DIMS, ADZ_DROPDIM);
    if ((!adzi_is_none(fweights) || !adzi_is_none(aweights)) &&
        !adzi_demand("cov", adz_ne_number(sum != NULL ? adz_detach(sum) : NULL, 0),
            ADZ_ERR_ARGUMENT, "the weights sum to 0, so there is no mean")) {
        return NULL;
    }
    adz_tensor *mean = adz_div(adz_sum(adz_mul(rows_of, w), ADZ_DIMS(1), ADZ_KEEPDIM), sum);
    adz_tensor *far = adz_sub(rows_of, mean), *weighted = adz_mul(far, w);
    adz_tensor *transposed = weighted != NULL ? adz_transpose(weighted, 0, 1) : NULL;
    adz_tensor *squares = adz_matmul(far, transposed);
    adz_tensor *y = adz_div(squares, divisor(w, sum, aweights, correction));
    return y == NULL || rows != 1 ? y : adz_reshape(y, (adz_shape){ 0 });
}
