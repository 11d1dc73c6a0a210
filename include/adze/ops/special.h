/**
 * @file special.h
 * Logarithms and powers to other bases, the error function, the gamma function, interpolation.
 */
#ifndef ADZE_OPS_SPECIAL_H
#define ADZE_OPS_SPECIAL_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Powers of 2.
 *
 *     y = 2^x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.exp2
 */
ADZ_API adz_tensor *adz_exp2(adz_tensor *x);

/**
 * The logarithm to base 2.
 *
 *     y = log x / log 2, -inf at 0, NaN for x < 0
 *
 * Powers of 2 give whole numbers.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.log2
 */
ADZ_API adz_tensor *adz_log2(adz_tensor *x);

/**
 * The logarithm to base 10.
 *
 *     y = log x / log 10, -inf at 0, NaN for x < 0
 *
 * Powers of 10 that the dtype holds give whole numbers.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.log10
 */
ADZ_API adz_tensor *adz_log10(adz_tensor *x);

/**
 * The logarithm of a sum of two exponentials, without overflow.
 *
 *     y = log(e^a + e^b)
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both
 * @see      torch.logaddexp
 */
ADZ_API adz_tensor *adz_logaddexp(adz_tensor *a, adz_tensor *b);

/**
 * The logarithm of a sum of two powers of 2, without overflow.
 *
 *     y = log2(2^a + 2^b)
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order
 * @see      torch.logaddexp2
 */
ADZ_API adz_tensor *adz_logaddexp2(adz_tensor *a, adz_tensor *b);

/**
 * A number times the logarithm of another.
 *
 *     y = a log b, and 0 where a = 0 unless b is NaN
 *
 * The gradient of a is 0 where a = 0 and b <= 0, as in PyTorch.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both
 * @see      torch.xlogy
 */
ADZ_API adz_tensor *adz_xlogy(adz_tensor *a, adz_tensor *b);

/**
 * The logarithm of the odds, the inverse of the sigmoid.
 *
 *     y = log(z / (1 - z)), NaN outside of [0, 1];   z = min(max(x, eps), 1 - eps)
 *
 * The gradient is 0 where x is beyond the limits. Without limits it is NaN outside of [0, 1].
 *
 * @param x    any shape, any dtype but f16 and bf16
 * @param eps  at most 0.5; below 0 (PyTorch's None, the default) nothing is limited, z = x
 * @return     y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *             scope, or NULL
 * @errors     ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves x
 * @see        torch.logit
 */
ADZ_API adz_tensor *adz_logit(adz_tensor *x, double eps);

/**
 * The complement of the error function, accurate where that is close to 1.
 *
 *     y = 1 - erf x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.erfc
 */
ADZ_API adz_tensor *adz_erfc(adz_tensor *x);

/**
 * The inverse of the error function.
 *
 *     y: erf y = x, infinite at -1 and 1, NaN beyond them
 *
 * The result is within 3 units of the last place. ONNX files cannot contain it.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.erfinv
 */
ADZ_API adz_tensor *adz_erfinv(adz_tensor *x);

/**
 * The logarithm of the absolute value of the gamma function.
 *
 *     y = log |gamma(x)|, inf at 0, -1, -2, ...
 *
 * For x < 0 the error is relative to the larger of 1, |y| and the result for 1 - x. ONNX files
 * cannot contain it.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.lgamma
 */
ADZ_API adz_tensor *adz_lgamma(adz_tensor *x);

/**
 * The derivative of the logarithm of the gamma function.
 *
 *     y = gamma'(x) / gamma(x), -inf at 0, inf at -0, NaN at -1, -2, ...
 *
 * For x < 0 the error is relative to the larger of 1, |y| and the result for 1 - x. Of exports,
 * C files of doubles can contain it.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.digamma
 */
ADZ_API adz_tensor *adz_digamma(adz_tensor *x);

/**
 * Derivatives of the logarithm of the gamma function.
 *
 *     y = derivative n of digamma(x)
 *
 * At 0, -1, -2, ... y is inf for odd n and -inf for even n. C files of doubles can contain it.
 *
 * @param n  0 to 100; 0 is adz_digamma
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_ARGUMENT, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, up to derivative 100 of digamma; saves x
 * @see      torch.polygamma
 */
ADZ_API adz_tensor *adz_polygamma(int n, adz_tensor *x);

/**
 * Linear interpolation.
 *
 *     y = start + weight (end - start)
 *
 * The weight 0 gives exactly start, and 1 exactly end.
 *
 * @param start   any shape, f32 or f64
 * @param end     broadcasts with start
 * @param weight  broadcasts with both
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          start, end and weight, to any order
 * @see           torch.lerp
 */
ADZ_API adz_tensor *adz_lerp(adz_tensor *start, adz_tensor *end, adz_tensor *weight);

/**
 * Linear interpolation with one weight.
 *
 * @param start   any shape, f32 or f64
 * @param end     broadcasts with start
 * @param weight  any number; 0 gives start, 1 gives end
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          start and end, to any order
 * @see           torch.lerp
 */
ADZ_API adz_tensor *adz_lerp_number(adz_tensor *start, adz_tensor *end, double weight);

/**
 * The normalised sine.
 *
 *     y = sin(pi x) / (pi x), 1 at 0, NaN at both infinities
 *
 * At whole numbers it is 0, where PyTorch's product pi x is rounded. Derivatives near 0 do not
 * cancel.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.sinc
 */
ADZ_API adz_tensor *adz_sinc(adz_tensor *x);

/**
 * A number times a power of 2.
 *
 *     y = x 2^other
 *
 * @param x      any shape, any dtype but f16 and bf16
 * @param other  broadcasts with x; the result is f64 if x or other is, else f32
 * @return       y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad         x and other, to any order
 * @see          torch.ldexp
 */
ADZ_API adz_tensor *adz_ldexp(adz_tensor *x, adz_tensor *other);

/**
 * A power in double precision.
 *
 *     y = a^b
 *
 * @param a  any shape and dtype
 * @param b  any dtype; broadcasts with a
 * @return   y, f64, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order
 * @see      torch.float_power
 */
ADZ_API adz_tensor *adz_float_power(adz_tensor *a, adz_tensor *b);

/**
 * Degrees as radians.
 *
 *     y = x pi / 180
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.deg2rad
 */
ADZ_API adz_tensor *adz_deg2rad(adz_tensor *x);

/**
 * Radians as degrees.
 *
 *     y = 180 x / pi
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.rad2deg
 */
ADZ_API adz_tensor *adz_rad2deg(adz_tensor *x);

/**
 * Replaces NaN and infinities by numbers.
 *
 *     y = nan where x is NaN, posinf where x = inf, neginf where x = -inf, else x
 *
 * @param x       any shape, any dtype but f16 and bf16; integers and bool are copied
 * @param nan     any number (PyTorch's default is 0)
 * @param posinf  any number; NaN stands for the largest finite number of x's dtype, the default
 * @param neginf  any number; NaN stands for the least finite number of x's dtype, the default
 * @return        y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x, to any order; 0 where it was replaced
 * @see           torch.nan_to_num
 */
ADZ_API adz_tensor *adz_nan_to_num(adz_tensor *x, double nan, double posinf, double neginf);

#ifdef __cplusplus
}
#endif

#endif
