/* x^y in f32, for vmath.h. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_POW_H
#define ADZI_TENSOR_KERNEL_VMATH_POW_H

/* x^y = e^(y log |x|), computed in f64, with the sign of x where y is an odd integer. The error of
 * the exponent is below 2^-45, so the result is the rounded one nearly everywhere. */
static inline float adzi_pow_f32(float x, float y)
{
    const double power = (double)y;
    double size = adzi_exp_f64(power * adzi_log_f64((double)adzi_abs_f32(x)));
    /* y is rounded to an integer, whose last bit is in `rounded`. From 2^24 on every y is even. */
    const double rounded = power + ADZI_ROUND_F64;
    const double large = adzi_abs_f32(y) >= 0x1p24f ? 1.0 : 0.0;
    const double whole = rounded - ADZI_ROUND_F64 == power ? 1.0 : large;
    const uint64_t odd = large != 0.0 || whole == 0.0 ? 0 : adzi_bits_f64(rounded) & 1;
    size = x == -1.0f && large != 0.0 ? 1.0 : size; /* y may be infinite */
    size = x < 0.0f && whole == 0.0 && x > -INFINITY ? (double)NAN : size;
    size = x == 1.0f || y == 0.0f ? 1.0 : size;
    const uint64_t sign = adzi_bits_f32(x) >> 31;
    return (float)adzi_from_bits_f64(adzi_bits_f64(size) ^ (sign & odd) << 63);
}

#endif
