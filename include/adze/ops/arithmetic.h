/**
 * @file arithmetic.h
 * Arithmetic, elementwise, with broadcasting.
 */
#ifndef ADZE_OPS_ARITHMETIC_H
#define ADZE_OPS_ARITHMETIC_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Sum of two tensors.
 *
 *     y = a + b
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype (bool counts as or), borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves nothing
 * @see      torch.add
 */
ADZ_API adz_tensor *adz_add(adz_tensor *a, adz_tensor *b);

/**
 * Sum with a factor.
 *
 *     y = a + alpha b
 *
 * @param a      any shape, any dtype but f16 and bf16
 * @param b      broadcasts with a
 * @param alpha  a whole number when y is no float
 * @return       y in the promoted dtype, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         a and b, to any order; saves nothing
 * @see          torch.add with alpha
 */
ADZ_API adz_tensor *adz_add_scaled(adz_tensor *a, adz_tensor *b, double alpha);

/**
 * Sum of a tensor and a number.
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order; saves nothing
 * @see           torch.add
 */
ADZ_API adz_tensor *adz_add_number(adz_tensor *a, double number);

/**
 * Adds in place.
 *
 *     a = a + alpha b
 *
 * @param a      its dtype must hold the promoted one
 * @param b      broadcasts to a
 * @param alpha  a whole number when a is no float
 * @return       a, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         a and b, to any order; saves nothing
 * @see          torch.Tensor.add_
 */
ADZ_API adz_tensor *adz_add_(adz_tensor *a, adz_tensor *b, double alpha);

/**
 * Product of two tensors.
 *
 *     y = a b
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype (bool counts as and), borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves each where the other wants a gradient
 * @see      torch.mul
 */
ADZ_API adz_tensor *adz_mul(adz_tensor *a, adz_tensor *b);

/**
 * Product of a tensor and a number.
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order
 * @see           torch.mul
 */
ADZ_API adz_tensor *adz_mul_number(adz_tensor *a, double number);

/**
 * Multiplies in place.
 *
 *     a = a b
 *
 * @param a  its dtype must hold the promoted one
 * @param b  broadcasts to a
 * @return   a, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves b, and a copy of a from before where b wants a gradient
 * @see      torch.Tensor.mul_
 */
ADZ_API adz_tensor *adz_mul_(adz_tensor *a, adz_tensor *b);

/**
 * Multiplies by a number in place.
 *
 * @param a       its dtype must hold the promoted one
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        a, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad          a, to any order
 * @see           torch.Tensor.mul_
 */
ADZ_API adz_tensor *adz_mul_number_(adz_tensor *a, double number);

#ifdef __cplusplus
}
#endif

#endif
