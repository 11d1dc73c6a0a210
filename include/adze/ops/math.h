/**
 * @file math.h
 * Elementwise mathematical functions.
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
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.reciprocal
 */
ADZ_API adz_tensor *adz_reciprocal(adz_tensor *x);

/**
 * The square of a tensor.
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
 * The square root of a tensor.
 *
 *     y = sqrt(x), NaN for x < 0
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.sqrt
 */
ADZ_API adz_tensor *adz_sqrt(adz_tensor *x);

/**
 * One divided by the square root.
 *
 *     y = 1 / sqrt(x), inf at 0, NaN for x < 0
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.rsqrt
 */
ADZ_API adz_tensor *adz_rsqrt(adz_tensor *x);

/**
 * Powers of a tensor with a tensor of exponents.
 *
 *     y = a^b
 *
 * The gradient of a is 0 where b is 0. The gradient of b is 0 where a is 0 and b is not negative.
 *
 * @param a  any shape, any dtype but f16, bf16 and bool
 * @param b  broadcasts with a; between integers a negative exponent gives 1 or -1 where a is 1 or
 *           -1, and 0 elsewhere
 * @return   y in the promoted dtype (integers wrap), borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both, and y where b wants a gradient
 * @see      torch.pow
 */
ADZ_API adz_tensor *adz_pow(adz_tensor *a, adz_tensor *b);

/**
 * Powers of a tensor with one exponent.
 *
 *     y = x^exponent
 *
 * For exponent 0 the result is 1 and the gradient is 0.
 *
 * @param x         any shape, any dtype but f16 and bf16; bool counts as i64
 * @param exponent  for an integer x: 0 or more, or not a whole number
 * @return          y, shaped like x; f32 for an integer x and an exponent that is not a whole
 *                  number; borrowed from the scope, or NULL
 * @errors          ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad            x, to any order; saves x
 * @see             torch.pow
 */
ADZ_API adz_tensor *adz_pow_number(adz_tensor *x, double exponent);

/**
 * Powers of a number with a tensor of exponents.
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
 * The absolute value.
 *
 *     y = |x|
 *
 * The gradient at exactly 0 is 0.
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
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.exp
 */
ADZ_API adz_tensor *adz_exp(adz_tensor *x);

/**
 * The natural logarithm.
 *
 *     y = log x, -inf at 0, NaN for x < 0
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.log
 */
ADZ_API adz_tensor *adz_log(adz_tensor *x);

/**
 * The logarithm of 1 + x, accurate for small x.
 *
 *     y = log(1 + x), -inf at -1, NaN for x < -1
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.log1p
 */
ADZ_API adz_tensor *adz_log1p(adz_tensor *x);

/**
 * The exponential function minus 1, accurate for small x.
 *
 *     y = e^x - 1
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order, e^x also where y is next to -1; saves x
 * @see      torch.expm1
 */
ADZ_API adz_tensor *adz_expm1(adz_tensor *x);

/**
 * The sine.
 *
 *     y = sin x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
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
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
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
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order, by 1 - y^2, to an error of eps where y is next to 1 or -1; saves y
 * @see      torch.tanh
 */
ADZ_API adz_tensor *adz_tanh(adz_tensor *x);

/**
 * The logistic function.
 *
 *     y = 1 / (1 + e^-x)
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order, by y (1 - y), to an error of eps where y is next to 1; saves y
 * @see      torch.sigmoid
 */
ADZ_API adz_tensor *adz_sigmoid(adz_tensor *x);

/**
 * The logarithm of the logistic function, without overflow.
 *
 *     y = log(1 / (1 + e^-x))
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
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
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.erf
 */
ADZ_API adz_tensor *adz_erf(adz_tensor *x);

/**
 * Limits values to a range.
 *
 *     y = min(max(x, min), max)
 *
 * The gradient passes where x is between the bounds or equal to one of them. NaN stays NaN. A bound
 * of NaN makes every element NaN.
 *
 * @param x    any shape, any dtype but f16 and bf16; bool counts as i64
 * @param min  lower bound, -INFINITY for none
 * @param max  upper bound, INFINITY for none; if it is below min, every element becomes max
 * @return     y, shaped like x, in x's dtype, or f32 for an integer x with a bound that is not a
 *             whole number; borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (a bound beyond an integer dtype), ADZ_ERR_MEMORY
 * @grad       x, to any order; saves x
 * @see        torch.clamp
 */
ADZ_API adz_tensor *adz_clamp(adz_tensor *x, double min, double max);

/**
 * Limits values to a range, in place.
 *
 *     x = min(max(x, min), max)
 *
 * @param x    any shape, any dtype but f16, bf16 and bool
 * @param min  lower bound, -INFINITY for none
 * @param max  upper bound, INFINITY for none; if it is below min, every element becomes max
 * @return     x, or NULL
 * @errors     ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad       x, to any order; saves a copy of x from before
 * @see        torch.clamp_
 */
ADZ_API adz_tensor *adz_clamp_(adz_tensor *x, double min, double max);

/**
 * The larger of two tensors, element by element.
 *
 *     y = max(a, b), NaN where either is NaN
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
 *     y = min(a, b), NaN where either is NaN
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

/**
 * The larger of two tensors, in which a number wins against NaN.
 *
 *     y = max(a, b), NaN where both are NaN
 *
 * Where both are equal, each gets half of the gradient; where both are NaN, a gets all of it.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order
 * @see      torch.fmax
 */
ADZ_API adz_tensor *adz_fmax(adz_tensor *a, adz_tensor *b);

/**
 * The smaller of two tensors, in which a number wins against NaN.
 *
 *     y = min(a, b), NaN where both are NaN
 *
 * Where both are equal, each gets half of the gradient; where both are NaN, a gets all of it.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order
 * @see      torch.fmin
 */
ADZ_API adz_tensor *adz_fmin(adz_tensor *a, adz_tensor *b);

/**
 * Differences of neighbours along one dimension.
 *
 *     y_i = x_(i + 1) - x_i, n times; for bool: whether the two differ
 *
 * @param x    rank 1 or more, any dtype but f16 and bf16
 * @param n    how many times, 0 or more (PyTorch's default is 1)
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last
 * @return     y, shorter by n in dim but not below 0, borrowed from the scope, or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad       x, to any order
 * @see        torch.diff
 */
ADZ_API adz_tensor *adz_diff(adz_tensor *x, int64_t n, int dim);

/**
 * The integral along one dimension by the trapezoidal rule.
 *
 *     result = sum over i of (y_i + y_(i + 1)) / 2 (x_(i + 1) - x_i)
 *
 * @param y    rank 1 or more, f32 or f64
 * @param x    the positions: a vector for those along dim, or a tensor that broadcasts with y;
 *             ADZ_NONE for positions with the distance dx
 * @param dx   the distance of neighbours (PyTorch's default is 1); must be 1 if x is given
 * @param dim  0 .. rank-1, or -rank .. -1 counted from the last (PyTorch's default is -1)
 * @return     the integral, without dim; 0 for fewer than two positions; borrowed from the scope,
 *             or NULL
 * @errors     ADZ_ERR_DIM, ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad       y and x, to any order
 * @see        torch.trapezoid
 */
ADZ_API adz_tensor *adz_trapezoid(adz_tensor *y, adz_tensor *x, double dx, int dim);

#ifdef __cplusplus
}
#endif

#endif
