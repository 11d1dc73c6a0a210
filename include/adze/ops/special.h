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

#ifdef __cplusplus
}
#endif

#endif
