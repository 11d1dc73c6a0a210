/**
 * @file math.h
 * Mathematical functions, elementwise.
 */
#ifndef ADZE_OPS_MATH_H
#define ADZE_OPS_MATH_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * One divided by a tensor.
 *
 *     y = 1 / x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.reciprocal
 */
ADZ_API adz_tensor *adz_reciprocal(adz_tensor *x);

/**
 * The square.
 *
 *     y = x^2
 *
 * @param x  any shape, any dtype but f16 and bf16; bool counts as i64
 * @return   y, shaped like x (integers wrap), borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.square
 */
ADZ_API adz_tensor *adz_square(adz_tensor *x);

/**
 * The square root.
 *
 *     y = sqrt(x);  NaN below 0
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.sqrt
 */
ADZ_API adz_tensor *adz_sqrt(adz_tensor *x);

/**
 * One divided by the square root.
 *
 *     y = 1 / sqrt(x);  inf at 0, NaN below
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.rsqrt
 */
ADZ_API adz_tensor *adz_rsqrt(adz_tensor *x);

/**
 * Powers, a tensor to a tensor.
 *
 *     y = a^b
 *
 * The gradient of a is 0 where b is 0; that of b is 0 where a is 0 and b is not negative.
 *
 * @param a  any shape, any dtype but f16, bf16 and bool
 * @param b  broadcasts with a. Between integers a negative exponent gives 0, or 1 or -1 where a is
 *           one of these
 * @return   y in the promoted dtype (integers wrap), borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both, and y where b wants a gradient
 * @see      torch.pow
 */
ADZ_API adz_tensor *adz_pow(adz_tensor *a, adz_tensor *b);

/**
 * Powers, a tensor to a number.
 *
 *     y = x^exponent;  1 for exponent 0, with gradient 0
 *
 * @param x         any shape, any dtype but f16 and bf16; bool counts as i64
 * @param exponent  not negative for an integer x, unless it is no whole number
 * @return          y, shaped like x, f32 for an integer x and an exponent that is no whole number,
 *                  borrowed from the scope, or NULL
 * @errors          ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad            x, to any order; saves x
 * @see             torch.pow
 */
ADZ_API adz_tensor *adz_pow_number(adz_tensor *x, double exponent);

/**
 * Powers, a number to a tensor.
 *
 *     y = number^x
 *
 * @param number  counts as an integer when it is whole and x is not a float
 * @param x       any shape, any dtype but f16, bf16 and bool
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          x, to any order; saves x and y
 * @see           torch.pow
 */
ADZ_API adz_tensor *adz_number_pow(double number, adz_tensor *x);

/**
 * The magnitude.
 *
 *     y = |x|;  the gradient at exactly 0 is 0
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.abs
 */
ADZ_API adz_tensor *adz_abs(adz_tensor *x);

/**
 * The exponential function.
 *
 *     y = e^x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.exp
 */
ADZ_API adz_tensor *adz_exp(adz_tensor *x);

/**
 * The natural logarithm.
 *
 *     y = log x;  -inf at 0, NaN below
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.log
 */
ADZ_API adz_tensor *adz_log(adz_tensor *x);

/**
 * The logarithm of 1 + x, exact for small x.
 *
 *     y = log(1 + x);  -inf at -1, NaN below
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.log1p
 */
ADZ_API adz_tensor *adz_log1p(adz_tensor *x);

/**
 * The exponential function less 1, exact for small x.
 *
 *     y = e^x - 1
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.expm1
 */
ADZ_API adz_tensor *adz_expm1(adz_tensor *x);

/**
 * The sine.
 *
 *     y = sin x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.sin
 */
ADZ_API adz_tensor *adz_sin(adz_tensor *x);

/**
 * The cosine.
 *
 *     y = cos x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.cos
 */
ADZ_API adz_tensor *adz_cos(adz_tensor *x);

/**
 * The hyperbolic tangent.
 *
 *     y = (e^x - e^-x) / (e^x + e^-x)
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.tanh
 */
ADZ_API adz_tensor *adz_tanh(adz_tensor *x);

/**
 * The logistic function.
 *
 *     y = 1 / (1 + e^-x)
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.sigmoid
 */
ADZ_API adz_tensor *adz_sigmoid(adz_tensor *x);

/**
 * The logarithm of the logistic function, without overflow.
 *
 *     y = log(1 / (1 + e^-x))
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.nn.functional.logsigmoid
 */
ADZ_API adz_tensor *adz_logsigmoid(adz_tensor *x);

/**
 * The error function.
 *
 *     y = 2 / sqrt(pi) * integral of e^(-t^2) over t = 0 .. x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 where that is no float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.erf
 */
ADZ_API adz_tensor *adz_erf(adz_tensor *x);

/**
 * Holds values within bounds.
 *
 *     y = min(max(x, min), max)
 *
 * The gradient passes where x lies between the bounds or on one of them. NaN stays NaN, and a NaN
 * bound makes every element NaN.
 *
 * @param x    any shape, any dtype but f16 and bf16; bool counts as i64
 * @param min  lower bound, -INFINITY for none
 * @param max  upper bound, INFINITY for none; it wins where it is below min
 * @return     y, shaped like x, in x's dtype, or f32 for an integer x with a bound that is no whole
 *             number; borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a bound beyond an integer dtype), ADZ_ERR_MEMORY
 * @grad       x, to any order; saves x
 * @see        torch.clamp
 */
ADZ_API adz_tensor *adz_clamp(adz_tensor *x, double min, double max);

/**
 * adz_clamp in place.
 *
 * @param x    any shape, any dtype but f16, bf16 and bool
 * @param min  lower bound, -INFINITY for none
 * @param max  upper bound, INFINITY for none; it wins where it is below min
 * @return     x, or NULL
 * @errors     ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves a copy of x from before
 * @see        torch.clamp_
 */
ADZ_API adz_tensor *adz_clamp_(adz_tensor *x, double min, double max);

/**
 * The larger of two tensors, element by element.
 *
 *     y = max(a, b);  NaN where either is NaN
 *
 * Where both are equal, each gets half of the gradient.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both
 * @see      torch.maximum
 */
ADZ_API adz_tensor *adz_maximum(adz_tensor *a, adz_tensor *b);

/**
 * The smaller of two tensors, element by element.
 *
 *     y = min(a, b);  NaN where either is NaN
 *
 * Where both are equal, each gets half of the gradient.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both
 * @see      torch.minimum
 */
ADZ_API adz_tensor *adz_minimum(adz_tensor *a, adz_tensor *b);

#ifdef __cplusplus
}
#endif

#endif
