#include "ops/op.h"

/* Correlations, torch.corrcoef. A composition: deviations over their norm, and the products of all
 * pairs. Covariances could overflow where correlations do not. The first observation is subtracted,
 * so that a constant has no deviation, and deviations are divided by the largest one. Both change
 * no correlation and therefore have no gradient. */
adz_tensor *adz_corrcoef(adz_tensor *x)
{
    ADZI_COMPOSED();
    static const char op[] = "corrcoef";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "x is %s, not float32 or float64; convert it with adz_to",
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if (x->rank > 2) {
        return adzi_fail(op, ADZ_ERR_SHAPE, "x%s has more than two dimensions", adzi_text_shape(x));
    }
    const int64_t n = x->rank > 0 ? x->sizes[x->rank - 1] : 1,
                  rows = x->rank == 2 ? x->sizes[0] : 1;
    adz_tensor *variables = adz_reshape(x, ADZ_SHAPE(rows, n));
    adz_tensor *first =
        variables != NULL && n > 0 ? adz_narrow(adz_detach(variables), 1, 0, 1) : NULL;
    variables = n > 0 ? adz_sub(variables, first) : variables;
    adz_tensor *far = adz_sub(variables, adz_mean(variables, ADZ_DIMS(1), ADZ_KEEPDIM));
    adz_tensor *largest =
        far != NULL ? adz_amax(adz_abs(adz_detach(far)), ADZ_DIMS(1), ADZ_KEEPDIM) : NULL;
    far = adz_div(far, largest);
    adz_tensor *unit = adz_div(far, adz_norm(far, 2, ADZ_DIMS(1), ADZ_KEEPDIM));
    adz_tensor *products = unit != NULL ? adz_matmul(unit, adz_transpose(unit, 0, 1)) : NULL;
    /* Rounding may lead beyond 1. */
    adz_tensor *y = adz_clamp(products, -1, 1);
    return y == NULL || rows != 1 ? y : adz_reshape(y, (adz_shape){ 0 });
}
