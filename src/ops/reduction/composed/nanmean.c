#include "ops/op.h"

/* The mean of the elements that are not NaN, torch.nanmean. A composition: NaN where there is none.
 *
 *     y = mean(x with 0 for NaN) * n / count,   n = number of elements per result
 *
 * The sum of the elements, which PyTorch divides by the count, may overflow although y fits. */
adz_tensor *adz_nanmean(adz_tensor *x, adz_dims dims, bool keepdim)
{
    ADZI_COMPOSED();
    static const char op[] = "nanmean";
    if (!adzi_check_tensor(op, "x", x)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail(op, ADZ_ERR_DTYPE,
            "x%s is %s, but must be float32 or float64; use adz_mean", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    adz_tensor *none = adz_isnan(x);
    adz_tensor *count = adz_sum(adz_logical_not(none), dims, keepdim);
    adz_tensor *mean = adz_mean(adz_masked_fill(x, none, 0), dims, keepdim);
    if (count == NULL || mean == NULL) {
        return NULL;
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    const double n = mean->numel > 0 ? (double)(x->numel / mean->numel) : 1;
    count = adz_to(count, dtype);
    /* onnxruntime 1.32 cannot load a file that multiplies a scalar's mean by 1 / count. */
    return n == 1 ? adz_div(mean, count) : adz_mul(mean, adz_number_div(n, count));
}
