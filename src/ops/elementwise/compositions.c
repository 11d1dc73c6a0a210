/* Elementwise functions that are compositions of other operators: the tape never sees them. Those
 * of composed_activations.c are activation functions. */
#include <float.h>
#include <math.h>

#include "ops/op.h"
#include "tensor/range.h"

/* The fraction, torch.frac: y = x - trunc(x), with the sign of x. The gradient is 1. */
adz_tensor *adz_frac(adz_tensor *x)
{
    ADZI_COMPOSED();
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

/* Integers and bool as f32, so that their differences do not wrap. */
static adz_tensor *as_float(const char *op, const char *name, adz_tensor *x)
{
    if (!adzi_check_tensor(op, name, x)) {
        return NULL;
    }
    const adz_dtype dtype = (adz_dtype)x->dtype;
    return dtype == ADZ_BOOL || adzi_is_integer(dtype) ? adz_to(x, ADZ_F32) : x;
}

/* torch.addcdiv. Integers are divided as floats, which PyTorch refuses. */
adz_tensor *adz_addcdiv(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value)
{
    ADZI_COMPOSED();
    return adz_add(x, adz_div(adz_mul_number(as_float("addcdiv", "a", a), value), b));
}

/* The quotient is made first, so x is unchanged if that fails. */
adz_tensor *adz_addcdiv_(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value)
{
    ADZI_COMPOSED();
    return adz_add_(x, adz_div(adz_mul_number(as_float("addcdiv_", "a", a), value), b));
}

/* torch.bitwise_not, the exclusive or with bits that are all 1. */
adz_tensor *adz_bitwise_not(adz_tensor *x)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("bitwise_not", "x", x)) {
        return NULL;
    }
    if (x->dtype == ADZ_BOOL) {
        return adz_logical_not(x);
    }
    if (x->dtype != ADZ_U8 && x->dtype != ADZ_I32 && x->dtype != ADZ_I64) {
        return adzi_fail("bitwise_not", ADZ_ERR_DTYPE,
            "x%s is %s, but must be an integer or bool; convert it with adz_to", adzi_text_shape(x),
            adz_dtype_name((adz_dtype)x->dtype));
    }
    return adz_bitwise_xor(x, adz_scalar(x->dtype == ADZ_U8 ? 255 : -1, (adz_dtype)x->dtype));
}

/* Angles in radians from degrees, torch.deg2rad. Integers become f32. */
adz_tensor *adz_deg2rad(adz_tensor *x)
{
    ADZI_COMPOSED();
    return adz_mul_number(x, 0.017453292519943295);
}

/* Angles in degrees from radians, torch.rad2deg. Integers become f32. */
adz_tensor *adz_rad2deg(adz_tensor *x)
{
    ADZI_COMPOSED();
    return adz_mul_number(x, 57.295779513082323);
}

/* torch.float_power: a power in f64. */
adz_tensor *adz_float_power(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    return adz_pow(adz_to(a, ADZ_F64), adz_to(b, ADZ_F64));
}

/* torch.fmax and torch.fmin. NaN loses against a number. Where both are equal, each has half of dy;
 * where both are NaN, a has all of it. */
adz_tensor *adz_fmax(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    return adz_where(adz_isnan(b), a, adz_where(adz_isnan(a), b, adz_maximum(a, b)));
}

adz_tensor *adz_fmin(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    return adz_where(adz_isnan(b), a, adz_where(adz_isnan(a), b, adz_minimum(a, b)));
}

/* torch.heaviside: 0 below 0, 1 above 0, `values` at 0. That of NaN is 0, as in PyTorch. */
adz_tensor *adz_heaviside(adz_tensor *x, adz_tensor *values)
{
    ADZI_COMPOSED();
    adz_tensor *above = adz_gt_number(x, 0);
    return above != NULL
               ? adz_where(adz_eq_number(x, 0), values, adz_to(above, (adz_dtype)x->dtype))
               : NULL;
}

static bool is_tolerance(const char *name, double tolerance)
{
    if (tolerance >= 0) {
        return true;
    }
    adzi_error("isclose", ADZ_ERR_ARGUMENT, "%s is %s, but must be 0 or more", name,
        adzi_text_number(tolerance));
    return false;
}

/* torch.isclose. Differences of integers are computed in f64. A difference that is not finite is
 * close only between equals. */
adz_tensor *adz_isclose(adz_tensor *a, adz_tensor *b, double rtol, double atol, bool equal_nan)
{
    ADZI_COMPOSED();
    a = adz_detach(a);
    b = adz_detach(b);
    adz_tensor *close = adz_eq(a, b);
    if (close == NULL || !is_tolerance("rtol", rtol) || !is_tolerance("atol", atol)) {
        return NULL;
    }
    const bool whole = adzi_is_integer((adz_dtype)a->dtype) && adzi_is_integer((adz_dtype)b->dtype);
    adz_tensor *difference = NULL; /* of two integers without rounding: f64 has 53 bits */
    if (whole) {
        difference = adz_to(adz_sub(adz_maximum(a, b), adz_minimum(a, b)), ADZ_F64);
    }
    a = whole || adzi_is_float((adz_dtype)a->dtype) ? a : adz_to(a, ADZ_F64);
    b = adzi_is_float((adz_dtype)b->dtype) ? b : adz_to(b, ADZ_F64);
    adz_tensor *error = adz_abs(whole ? difference : adz_sub(a, b));
    adz_tensor *allowed = adz_add_number(adz_mul_number(adz_abs(b), rtol), atol);
    close = adz_logical_or(close, adz_logical_and(adz_isfinite(error), adz_le(error, allowed)));
    return equal_nan && !whole ? adz_logical_or(close, adz_logical_and(adz_isnan(a), adz_isnan(b)))
                               : close;
}

/* torch.lcm: |a / gcd(a, b) b|, and 0 where both are 0. */
adz_tensor *adz_lcm(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    adz_tensor *divisor = adz_gcd(a, b);
    if (divisor == NULL) {
        return NULL;
    }
    divisor = adz_masked_fill(divisor, adz_eq_number(divisor, 0), 1);
    return adz_abs(adz_mul(adz_floor_divide(a, divisor), b));
}

/* torch.ldexp: x 2^other. The power is multiplied in three parts, because 2^other alone may
 * overflow or vanish where x 2^other does not. Beyond `most` every result is 0, infinite or NaN
 * anyway. */
adz_tensor *adz_ldexp(adz_tensor *x, adz_tensor *other)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("ldexp", "x", x) || !adzi_check_tensor("ldexp", "other", other)) {
        return NULL;
    }
    if (adzi_is_half((adz_dtype)other->dtype)) {
        return adz_exp2(other); /* which refuses it */
    }
    const bool wide = x->dtype == ADZ_F64 || other->dtype == ADZ_F64;
    const double most = wide ? 2200 : 300;
    adz_tensor *e = adz_clamp(adz_to(other, wide ? ADZ_F64 : ADZ_F32), -most, most);
    adz_tensor *third = adz_trunc(adz_div_number(adz_detach(e), 3)), *power = adz_exp2(third);
    adz_tensor *rest = adz_exp2(adz_sub(adz_sub(e, third), third));
    return adz_mul(adz_mul(adz_mul(x, power), power), rest);
}

/* torch.logaddexp2: log2(2^a + 2^b). The larger one is added to the logarithm of what is left, as a
 * constant, so that large numbers keep their digits. */
adz_tensor *adz_logaddexp2(adz_tensor *a, adz_tensor *b)
{
    ADZI_COMPOSED();
    const double log_2 = 0.69314718055994530942;
    a = as_float("logaddexp2", "a", a);
    b = as_float("logaddexp2", "b", b);
    adz_tensor *most = adz_maximum(adz_detach(a), adz_detach(b));
    most = adz_masked_fill(most, adz_isinf(most), 0);
    adz_tensor *p = adz_mul_number(adz_sub(a, most), log_2);
    adz_tensor *q = adz_mul_number(adz_sub(b, most), log_2);
    return adz_add(most, adz_div_number(adz_logaddexp(p, q), log_2));
}

/* torch.nan_to_num. The gradient is 0 where an element was replaced. */
adz_tensor *adz_nan_to_num(adz_tensor *x, double nan, double posinf, double neginf)
{
    ADZI_COMPOSED();
    adz_tensor *nans = adz_isnan(x);
    if (nans == NULL) {
        return NULL;
    }
    if (!adzi_is_float((adz_dtype)x->dtype)) {
        return adz_clone(x);
    }
    const double most = x->dtype == ADZ_F32 ? (double)FLT_MAX : DBL_MAX;
    adz_tensor *above = adz_isposinf(x), *below = adz_isneginf(x);
    adz_tensor *y = adz_masked_fill(x, nans, nan);
    y = adz_masked_fill(y, above, isnan(posinf) ? most : posinf);
    return adz_masked_fill(y, below, isnan(neginf) ? -most : neginf);
}
