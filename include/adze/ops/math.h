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

#ifdef __cplusplus
}
#endif

#endif
