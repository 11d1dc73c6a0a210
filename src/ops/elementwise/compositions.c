/* Elementwise functions that are compositions of other operators: the tape never sees them. */
#include "ops/op.h"

/* The exponential linear unit whose slope is continuous, torch.nn.functional.celu.
 *
 *     y = x where x >= 0, else alpha (e^(x / alpha) - 1)
 *
 * The exponential is taken of min(x, 0), so that it cannot overflow where it is not used. At 0 and
 * NaN the gradient is 1. */
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

/* The fraction, torch.frac: y = x - trunc(x), with the sign of x. The gradient is 1. */
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

/* The line between two bounds, torch.nn.functional.hardtanh.
 *
 *     y = min where x <= min, max where x >= max, else x
 *
 * The bounds are filled in, so that the gradient at a bound is 0, as in PyTorch, where that of
 * adz_clamp is 1. */
adz_tensor *adz_hardtanh(adz_tensor *x, double min, double max)
{
    if (!(min <= max)) {
        return adzi_fail("hardtanh", ADZ_ERR_ARGUMENT,
            "min is %g and max %g, but min must not be above max", min, max);
    }
    adz_tensor *held = adz_masked_fill(x, adz_le_number(x, min), min);
    return adz_masked_fill(held, adz_ge_number(x, max), max);
}

/* The rectified linear unit that ends at 6, torch.nn.functional.relu6. */
adz_tensor *adz_relu6(adz_tensor *x)
{
    return adz_hardtanh(x, 0, 6);
}
