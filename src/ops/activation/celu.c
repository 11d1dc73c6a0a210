#include "ops/op.h"

/* The exponential linear unit whose slope is continuous, torch.nn.functional.celu.
 *
 *     y = x where x >= 0, else alpha (e^(x / alpha) - 1)
 *
 * A composition. The exponential is taken of min(x, 0), so that it cannot overflow where it is not
 * used. At 0 and NaN the gradient is 1. */
adz_tensor *adz_celu(adz_tensor *x, double alpha)
{
    if (!adzi_check_tensor("celu", "x", x)) {
        return NULL;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        return adzi_fail("celu", ADZ_ERR_DTYPE,
            "x%s is %s, but must be float32 or float64; convert it with adz_to", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    if (alpha == 0 || alpha != alpha) {
        return adzi_fail(
            "celu", ADZ_ERR_ARGUMENT, "alpha is %g, but must be a number other than 0", alpha);
    }
    adz_tensor *below = adz_lt_number(x, 0);
    adz_tensor *low = adz_masked_fill(x, adz_logical_not(below), 0);
    adz_tensor *curve = adz_mul_number(adz_expm1(adz_div_number(low, alpha)), alpha);
    return adz_where(below, curve, x);
}
