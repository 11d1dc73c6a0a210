#include "ops/op.h"

/* The sum of the elements that are not NaN, torch.nansum. A composition. */
adz_tensor *adz_nansum(adz_tensor *x, adz_dims dims, bool keepdim)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("nansum", "x", x)) {
        return NULL;
    }
    const bool floats = adzi_is_float((adz_dtype)x->dtype) && !adzi_is_half((adz_dtype)x->dtype);
    return adz_sum(floats ? adz_masked_fill(x, adz_isnan(x), 0) : x, dims, keepdim);
}
