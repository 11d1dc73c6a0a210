/**
 * @file trigonometry.h
 * Trigonometric and hyperbolic functions and their inverses. sin, cos and tanh are in math.h.
 */
#ifndef ADZE_OPS_TRIGONOMETRY_H
#define ADZE_OPS_TRIGONOMETRY_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * The tangent.
 *
 *     y = sin x / cos x
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves y
 * @see      torch.tan
 */
ADZ_API adz_tensor *adz_tan(adz_tensor *x);

/**
 * The inverse sine.
 *
 *     y = asin x, in [-pi/2, pi/2]; NaN for |x| > 1
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.asin
 */
ADZ_API adz_tensor *adz_asin(adz_tensor *x);

/**
 * The inverse cosine.
 *
 *     y = acos x, in [0, pi]; NaN for |x| > 1
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.acos
 */
ADZ_API adz_tensor *adz_acos(adz_tensor *x);

/**
 * The inverse tangent.
 *
 *     y = atan x, in [-pi/2, pi/2]
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.atan
 */
ADZ_API adz_tensor *adz_atan(adz_tensor *x);

/**
 * The angle of the point (b, a) with the first axis.
 *
 *     y = atan(a / b), in [-pi, pi] by the signs of both
 *
 * Zeros and infinities give the angles of C99. The gradients at the origin and of infinite inputs
 * are 0. ONNX files cannot contain it.
 *
 * @param a  any shape, any dtype but f16 and bf16: the second coordinate
 * @param b  broadcasts with a: the first coordinate
 * @return   y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both
 * @see      torch.atan2
 */
ADZ_API adz_tensor *adz_atan2(adz_tensor *a, adz_tensor *b);

/**
 * The hyperbolic sine.
 *
 *     y = (e^x - e^-x) / 2
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.sinh
 */
ADZ_API adz_tensor *adz_sinh(adz_tensor *x);

/**
 * The hyperbolic cosine.
 *
 *     y = (e^x + e^-x) / 2
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.cosh
 */
ADZ_API adz_tensor *adz_cosh(adz_tensor *x);

/**
 * The inverse hyperbolic sine.
 *
 *     y = log(x + sqrt(x^2 + 1))
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.asinh
 */
ADZ_API adz_tensor *adz_asinh(adz_tensor *x);

/**
 * The inverse hyperbolic cosine.
 *
 *     y = log(x + sqrt(x^2 - 1)), NaN for x < 1
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.acosh
 */
ADZ_API adz_tensor *adz_acosh(adz_tensor *x);

/**
 * The inverse hyperbolic tangent.
 *
 *     y = log((1 + x) / (1 - x)) / 2, infinite at -1 and 1, NaN beyond
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x, in x's dtype or f32 if that is not a float, borrowed from the
 *           scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves x
 * @see      torch.atanh
 */
ADZ_API adz_tensor *adz_atanh(adz_tensor *x);

/**
 * The length of a vector of two elements, without overflow.
 *
 *     y = sqrt(a^2 + b^2)
 *
 * An infinite element gives infinity, even if the other one is NaN. The gradients at the origin are
 * NaN.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves both
 * @see      torch.hypot
 */
ADZ_API adz_tensor *adz_hypot(adz_tensor *a, adz_tensor *b);

#ifdef __cplusplus
}
#endif

#endif
