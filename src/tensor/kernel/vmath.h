/* Elementary functions that the compiler can vectorise.
 *
 * The functions are plain C without branches. gcc and clang turn a loop that calls them into vector
 * code at every instruction set, without intrinsics and without a vector libm. Both sides of every
 * choice are computed and one is selected. So each side must be harmless for the arguments of the
 * other side, too.
 *
 * Largest error, in units of the last place of the result (tests/tensor/test_vmath.c asserts them,
 * with and without fused multiply-add):
 *
 *              exp    log    log1p  expm1  tanh   sigmoid  erf    sin, cos
 *     f32      1.1    1.1    1.5    2      2      2        2      1
 *     f64      1.1    1.1    1.5    2      2      2        2      1
 *
 * f32 of all functions of vmath_functions.h is within 0.6. f64 is within 2 for exp2, log2, log10,
 * cosh, acos, atan; 2.5 for sinh, asin; 3 for asinh, acosh, atanh, erfinv, sinc; 3.5 for tan.
 * erfc is within 4. lgamma is within 6 and digamma within 10 times 2^-53 (1.1 times 2^-24 in f32)
 * times the larger of 1 and |y|, and for x < 0 also of |f(1 - x)|, because reflected values cancel.
 *
 * softplus and logsigmoid are within 2.5. silu, gelu in both forms and their derivatives are within
 * 2^-22 max(1, |x|) absolutely (2^-51 in f64). Infinities, NaN, signed zeros and denormals give the
 * results of C11's Annex F. pow is within 1.0, with the special cases of Annex F. Loops over sin
 * and cos of an argument above 2^20 stay scalar.
 *
 * No function is libm's, because a C library has several variants of a function and chooses one by
 * the processor.
 *
 * A kernel file that is instantiated per type (each_float.h) calls VMATH(exp)(x).
 *
 * A file that defines ADZI_VMATH_SAME_BITS before the include gets functions without fused
 * multiply-adds. Every instruction set then computes the same bits, as random numbers need it.
 */
#ifndef ADZI_TENSOR_KERNEL_VMATH_H
#define ADZI_TENSOR_KERNEL_VMATH_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "base/isa.h"
#include "tensor/kernel/real.h"

#define VMATH(name) ADZI_PASTE3(adzi, name, ELEM_NAME)

#if (defined(__FMA__) || defined(__ARM_FEATURE_FMA)) && !defined(ADZI_VMATH_SAME_BITS)
#define ADZI_VMATH_FUSED      1
#define ADZI_FMA_F32(a, b, c) __builtin_fmaf(a, b, c)
#define ADZI_FMA_F64(a, b, c) __builtin_fma(a, b, c)
#else
#define ADZI_VMATH_FUSED      0
#define ADZI_FMA_F32(a, b, c) ((a) * (b) + (c))
#define ADZI_FMA_F64(a, b, c) ((a) * (b) + (c))
#endif

/* For functions that are too large for a compiler to inline everywhere. Loops over them have no
 * vectors otherwise. */
#define ADZI_VMATH_INLINE static inline __attribute__((always_inline))

static inline uint32_t adzi_bits_f32(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline float adzi_from_bits_f32(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

static inline uint64_t adzi_bits_f64(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static inline double adzi_from_bits_f64(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* adzi_abs is |x|. adzi_sign_of is the magnitude of one number with the sign of another. Both are
 * bit operations. */
static inline float adzi_abs_f32(float x)
{
    return adzi_from_bits_f32(adzi_bits_f32(x) & 0x7fffffffu);
}

static inline float adzi_sign_of_f32(float magnitude, float sign)
{
    return __builtin_copysignf(magnitude, sign);
}

static inline double adzi_abs_f64(double x)
{
    return adzi_from_bits_f64(adzi_bits_f64(x) & 0x7fffffffffffffffu);
}

static inline double adzi_sign_of_f64(double magnitude, double sign)
{
    return adzi_from_bits_f64((adzi_bits_f64(magnitude) & 0x7fffffffffffffffu) |
                              (adzi_bits_f64(sign) & 0x8000000000000000u));
}

/* min(x, limit) for x >= 0, compared as integers, which order floats of 0 and above correctly. NaN
 * becomes limit. With several choices between floats in a row, gcc would thread their branches into
 * copies of the code behind them, which do not vectorise. */
static inline float adzi_at_most_f32(float x, float limit)
{
    int32_t bits = (int32_t)adzi_bits_f32(x), limit_bits = (int32_t)adzi_bits_f32(limit);
    return adzi_from_bits_f32((uint32_t)(bits < limit_bits ? bits : limit_bits));
}

/* max(x, limit) for limit < 0. Negative floats have the larger bits the smaller they are. A
 * negative NaN becomes limit. */
static inline float adzi_at_least_f32(float x, float limit)
{
    uint32_t bits = adzi_bits_f32(x), limit_bits = adzi_bits_f32(limit);
    return adzi_from_bits_f32(bits < limit_bits ? bits : limit_bits);
}

static inline double adzi_at_most_f64(double x, double limit)
{
    return x < limit ? x : limit; /* floats, as SSE2 and AVX2 have no 64-bit integer minimum */
}

#include "tensor/kernel/vmath_f32.h"
#include "tensor/kernel/vmath_f64.h"
#include "tensor/kernel/vmath_pow.h"
#include "tensor/kernel/vmath_functions.h"
#include "tensor/kernel/vmath_gamma.h"

/* ---- activations and their derivatives ---------------------------------------------------- */

#define elem      float
#define ELEM_NAME f32
#include "tensor/kernel/vmath_activations.h"
#undef elem
#undef ELEM_NAME
#define elem      double
#define ELEM_NAME f64
#include "tensor/kernel/vmath_activations.h"
#undef elem
#undef ELEM_NAME

#endif
