/* x^y for vmath.h. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_POW_H
#define ADZI_TENSOR_KERNEL_VMATH_POW_H

/* x^y from z = |x|^y, with the special cases of C. z may be any number where |x| is 0, 1 or
 * infinite or y is NaN. The sign is that of x where y is an odd integer. All numbers of 2^52 and
 * more are integers, and those of 2^53 and more are even. Choices follow each other instead of
 * being joined, because gcc makes no vectors of loops that join them. */
ADZI_VMATH_INLINE double adzi_power_of_size_f64(double z, double x, double y)
{
    const double size = adzi_abs_f64(x), power = adzi_abs_f64(y);
    const double a = adzi_at_most_f64(power, 0x1p52), half = 0.5 * adzi_at_most_f64(power, 0x1p53);
    const double rounded = a + 0x1p52 - 0x1p52, rounded_half = half + 0x1p52 - 0x1p52;
    z = size == 0.0 ? (y < 0.0 ? (double)INFINITY : 0.0) : z;
    z = size == (double)INFINITY ? (y < 0.0 ? 0.0 : (double)INFINITY) : z;
    z = size == 1.0 ? 1.0 : z;
    double sign = rounded_half == half ? 1.0 : x;
    sign = rounded == a ? sign : 1.0;
    double without = rounded == a ? 0.0 : x; /* negative: there is no such power */
    without = size == (double)INFINITY ? 0.0 : without;
    z = adzi_sign_of_f64(z, sign);
    z = without < 0.0 ? (double)NAN : z;
    z = x != x ? x : z;
    z = y != y ? y : z;
    z = x == 1.0 ? 1.0 : z;
    return y == 0.0 ? 1.0 : z;
}

/* |x|^y = e^(y log |x|), computed in f64. The error of the exponent is below 2^-45, so the result
 * is the rounded one nearly everywhere. */
ADZI_VMATH_INLINE float adzi_pow_f32(float x, float y)
{
    const double base = (double)x, power = (double)y;
    const double z = adzi_exp_f64(power * adzi_log_f64(adzi_abs_f64(base)));
    return (float)adzi_power_of_size_f64(z, base, power);
}

/* log x for a normal or denormal x > 0, as the returned number plus *low, within 2^-66 of its size.
 * With the mantissa m of x, c from the row of m, and r = m / c - 1, which is kept with its rounding
 * error, it is
 *
 *     k ln 2 + log c + r - r^2/2 + r^3 P(r)
 *
 * For other x the result is some finite number. */
ADZI_VMATH_INLINE double adzi_precise_log_f64(double x, double *low)
{
    const double scale = x < 0x1p-1022 ? 0x1p52 : 1.0;
    const uint64_t bits = adzi_bits_f64(x * scale), offset = bits - 0x3fe6000000000000u;
    const uint64_t i = offset >> 46 & 63;
    /* The exponent becomes the low bits of 2^52, as in adzi_log_exponent_f64. */
    const uint64_t biased = (offset + 0x4000000000000000u) >> 52;
    const double above = x < 0x1p-1022 ? 0x1p52 + 1076.0 : 0x1p52 + 1024.0;
    const double k = adzi_from_bits_f64(biased | 0x4330000000000000u) - above;
    const double m = adzi_from_bits_f64(bits - (offset & 0xfff0000000000000u));
    const double m1 = adzi_from_bits_f64(adzi_bits_f64(m) & 0xfffffffff8000000u);
    const double inverse = adzi_log_table[0][i] * 0x1p-8, part = (m - m1) * inverse;
    double r;
    const double r_low = adzi_difference_f64(m1 * inverse - 1.0, -part, &r);
    double p = 0.09096179427299228;
    p = ADZI_FMA_F64(p, r, -0.10004671198288774);
    p = ADZI_FMA_F64(p, r, 0.1111110982821829);
    p = ADZI_FMA_F64(p, r, -0.12499999127384315);
    p = ADZI_FMA_F64(p, r, 0.14285714285844323);
    p = ADZI_FMA_F64(p, r, -0.16666666666727037);
    p = ADZI_FMA_F64(p, r, 0.19999999999999996);
    p = ADZI_FMA_F64(p, r, -0.25);
    p = ADZI_FMA_F64(p, r, 0.3333333333333333);
    const double square = r * r;
    const double square_low = adzi_product_error_f64(r, r, square);
    double sum;
    double rest = adzi_difference_f64(k * ADZI_LN2_HI_F64 + adzi_log_table[1][i], -r, &sum);
    rest += adzi_difference_f64(sum, 0.5 * square, &sum);
    rest += r_low - (0.5 * square_low + r * r_low) + adzi_log_table[2][i] + k * ADZI_LN2_LO_F64 +
            square * r * p;
    const double y = sum + rest;
    *low = (sum - y) + rest;
    return y;
}

/* e^(x + low), for |x| <= 800 */
ADZI_VMATH_INLINE double adzi_precise_exp_f64(double x, double low)
{
    const double z = ADZI_FMA_F64(x, 1.4426950408889634, ADZI_ROUND_F64), n = z - ADZI_ROUND_F64;
    double r, y;
    low += adzi_difference_f64(x - n * ADZI_LN2_HI_F64, n * ADZI_LN2_LO_F64, &r);
    const double above = r * r * adzi_exp_rest_f64(r);
    const double error = adzi_difference_f64(1.0, -r, &y);
    y = y + (error + above + low * (1.0 + r + above));
    return adzi_exp_scaled_f64(y, adzi_bits_f64(z), x);
}

/* |x|^y where |x| is neither 0, 1 nor infinite, and y is not NaN. */
ADZI_VMATH_INLINE double adzi_pow_size_f64(double size, double y)
{
    double low;
    const double log = adzi_precise_log_f64(size, &low);
    double exponent = y * log;
    low = adzi_product_error_f64(y, log, exponent) + y * low;
    const double far = exponent > 0.0 ? 800.0 : -800.0; /* e^far is infinite or 0 */
    low = adzi_abs_f64(exponent) <= 800.0 ? low : 0.0;
    exponent = adzi_abs_f64(exponent) <= 800.0 ? exponent : far;
    return adzi_precise_exp_f64(exponent, low);
}

ADZI_VMATH_INLINE double adzi_pow_f64(double x, double y)
{
    return adzi_power_of_size_f64(adzi_pow_size_f64(adzi_abs_f64(x), y), x, y);
}

#endif
