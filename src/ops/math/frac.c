#include "ops/op.h"

/* The fraction, torch.frac: y = x - trunc(x), with the sign of x. A composition, so that the
 * gradient is 1. */
adz_tensor *adz_frac(adz_tensor *x)
{
    if (!adzi_check_tensor("frac", "x", x)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail("frac", ADZ_ERR_DTYPE,
            "x%s is %s, which has no fraction to compute with; convert it with adz_to",
            adzi_text_shape(x), adz_dtype_name((adz_dtype)x->dtype));
    }
    return adz_sub(x, adz_trunc(x));
}
