/* Activation functions that are compositions of other elementwise operators: the tape never sees
 * them. */
#include "ops/op.h"

static bool takes_float(const char *op, const adz_tensor *x)
{
    if (!adzi_check_tensor(op, "x", x)) {
        return false;
    }
    if (x->dtype != ADZ_F32 && x->dtype != ADZ_F64) {
        adzi_error(op, ADZ_ERR_DTYPE,
            "x%s is %s, but must be float32 or float64; convert it with adz_to", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
        return false;
    }
    return true;
}

/* The exponential linear unit whose slope is continuous, torch.nn.functional.celu.
 *
 *     y = x where x >= 0, else alpha (e^(x / alpha) - 1)
 *
 * The exponential is taken of min(x, 0), so that it cannot overflow where it is not used. At 0 and
 * NaN the gradient is 1. */
adz_tensor *adz_celu(adz_tensor *x, double alpha)
{
    ADZI_COMPOSED();
    if (!takes_float("celu", x)) {
        return NULL;
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

/* Hard shrinkage, torch.nn.functional.hardshrink.
 *
 *     y = 0 where |x| <= lambd, else x
 *
 * NaN stays, and its gradient is dy. */
adz_tensor *adz_hardshrink(adz_tensor *x, double lambd)
{
    ADZI_COMPOSED();
    return takes_float("hardshrink", x)
               ? adz_masked_fill(x, adz_le_number(adz_abs(adz_detach(x)), lambd), 0)
               : NULL;
}

/* The line between two bounds, torch.nn.functional.hardtanh.
 *
 *     y = min where x <= min, max where x >= max, else x
 *
 * The bounds are filled in, so that the gradient at a bound is 0, as in PyTorch, where that of
 * adz_clamp is 1. */
adz_tensor *adz_hardtanh(adz_tensor *x, double min, double max)
{
    ADZI_COMPOSED();
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
    ADZI_COMPOSED();
    return adz_hardtanh(x, 0, 6);
}

/* Soft shrinkage, torch.nn.functional.softshrink.
 *
 *     y = 0 where |x| <= lambd, else x moved by lambd towards 0
 *
 * NaN stays, and its gradient is dy. */
adz_tensor *adz_softshrink(adz_tensor *x, double lambd)
{
    ADZI_COMPOSED();
    if (!(lambd >= 0)) {
        return adzi_fail("softshrink", ADZ_ERR_ARGUMENT, "lambd is %s, but must be 0 or more",
            adzi_text_number(lambd));
    }
    if (!takes_float("softshrink", x)) {
        return NULL;
    }
    adz_tensor *constant = adz_detach(x), *inside = adz_le_number(adz_abs(constant), lambd);
    adz_tensor *moved = adz_sub(x, adz_mul_number(adz_sign(constant), lambd));
    return adz_masked_fill(moved, inside, 0);
}

/* torch.nn.functional.threshold. NaN stays, and its gradient is dy. */
adz_tensor *adz_threshold(adz_tensor *x, double threshold, double value)
{
    ADZI_COMPOSED();
    return adz_masked_fill(x, adz_le_number(x, threshold), value);
}
