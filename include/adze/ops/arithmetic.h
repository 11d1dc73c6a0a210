/**
 * @file arithmetic.h
 * Elementwise arithmetic, with broadcasting.
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
 * @param alpha  a whole number if y is not a float
 * @return       y in the promoted dtype, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         a and b, to any order; saves nothing
 * @see          torch.add with alpha
 */
ADZ_API adz_tensor *adz_add_scaled(adz_tensor *a, adz_tensor *b, double alpha);

/**
 * Sum of a tensor and a number.
 *
 *     y = a + number
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
 *     a = a + b
 *
 * @param a  its dtype must hold the promoted one
 * @param b  broadcasts to a
 * @return   a, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves nothing
 * @see      torch.Tensor.add_
 */
ADZ_API adz_tensor *adz_add_(adz_tensor *a, adz_tensor *b);

/**
 * Adds a multiple in place.
 *
 *     a = a + alpha b
 *
 * @param a      its dtype must hold the promoted one
 * @param b      broadcasts to a
 * @param alpha  a whole number if a is not a float
 * @return       a, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         a and b, to any order; saves nothing
 * @see          torch.Tensor.add_ with alpha
 */
ADZ_API adz_tensor *adz_add_scaled_(adz_tensor *a, adz_tensor *b, double alpha);

/**
 * Adds a number in place.
 *
 *     a = a + number
 *
 * @param a       its dtype must hold the promoted one
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        a, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad          a, to any order; saves nothing
 * @see           torch.Tensor.add_
 */
ADZ_API adz_tensor *adz_add_number_(adz_tensor *a, double number);

/**
 * Difference of two tensors.
 *
 *     y = a - b
 *
 * @param a  any shape, any dtype but f16, bf16 and bool
 * @param b  broadcasts with a; any dtype but f16, bf16 and bool
 * @return   y in the promoted dtype (integers wrap), borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves nothing
 * @see      torch.sub
 */
ADZ_API adz_tensor *adz_sub(adz_tensor *a, adz_tensor *b);

/**
 * Difference with a factor.
 *
 *     y = a - alpha b
 *
 * @param a      any shape, any dtype but f16, bf16 and bool
 * @param b      broadcasts with a; any dtype but f16, bf16 and bool
 * @param alpha  a whole number if y is not a float
 * @return       y in the promoted dtype, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         a and b, to any order; saves nothing
 * @see          torch.sub with alpha
 */
ADZ_API adz_tensor *adz_sub_scaled(adz_tensor *a, adz_tensor *b, double alpha);

/**
 * Difference of a tensor and a number.
 *
 *     y = a - number
 *
 * @param a       any shape, any dtype but f16, bf16 and bool
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order; saves nothing
 * @see           torch.sub
 */
ADZ_API adz_tensor *adz_sub_number(adz_tensor *a, double number);

/**
 * Difference of a number and a tensor.
 *
 *     y = number - a
 *
 * @param number  counts as an integer when it is whole and a is not a float
 * @param a       any shape, any dtype but f16, bf16 and bool
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order; saves nothing
 * @see           torch.rsub
 */
ADZ_API adz_tensor *adz_number_sub(double number, adz_tensor *a);

/**
 * Subtracts in place.
 *
 *     a = a - b
 *
 * @param a  no bool; its dtype must hold the promoted one
 * @param b  broadcasts to a; no bool
 * @return   a, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves nothing
 * @see      torch.Tensor.sub_
 */
ADZ_API adz_tensor *adz_sub_(adz_tensor *a, adz_tensor *b);

/**
 * Subtracts a multiple in place.
 *
 *     a = a - alpha b
 *
 * @param a      no bool; its dtype must hold the promoted one
 * @param b      broadcasts to a; no bool
 * @param alpha  a whole number if a is not a float
 * @return       a, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         a and b, to any order; saves nothing
 * @see          torch.Tensor.sub_ with alpha
 */
ADZ_API adz_tensor *adz_sub_scaled_(adz_tensor *a, adz_tensor *b, double alpha);

/**
 * Subtracts a number in place.
 *
 *     a = a - number
 *
 * @param a       no bool; its dtype must hold the promoted one
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        a, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad          a, to any order; saves nothing
 * @see           torch.Tensor.sub_
 */
ADZ_API adz_tensor *adz_sub_number_(adz_tensor *a, double number);

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
 *     y = a number
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
 *     a = a number
 *
 * @param a       its dtype must hold the promoted one
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        a, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad          a, to any order
 * @see           torch.Tensor.mul_
 */
ADZ_API adz_tensor *adz_mul_number_(adz_tensor *a, double number);

/**
 * Quotient of two tensors (true division).
 *
 *     y = a / b
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y in the promoted dtype, f32 if that is not a float, borrowed from the scope, or NULL;
 *           a division by 0 gives an infinity or NaN
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves b, and a where b wants a gradient
 * @see      torch.div
 */
ADZ_API adz_tensor *adz_div(adz_tensor *a, adz_tensor *b);

/**
 * A tensor divided by a number.
 *
 *     y = a / number
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  any
 * @return        y in a's dtype, f32 if that is not a float, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order
 * @see           torch.div
 */
ADZ_API adz_tensor *adz_div_number(adz_tensor *a, double number);

/**
 * A number divided by a tensor.
 *
 *     y = number / a
 *
 * @param number  any
 * @param a       any shape, any dtype but f16 and bf16
 * @return        y in a's dtype, f32 if that is not a float, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          a, to any order; saves a
 * @see           torch.div
 */
ADZ_API adz_tensor *adz_number_div(double number, adz_tensor *a);

/**
 * Divides in place.
 *
 *     a = a / b
 *
 * @param a  a float; its dtype must hold the promoted one
 * @param b  broadcasts to a
 * @return   a, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves b, and a copy of a from before where b wants a gradient
 * @see      torch.Tensor.div_
 */
ADZ_API adz_tensor *adz_div_(adz_tensor *a, adz_tensor *b);

/**
 * Divides by a number in place.
 *
 *     a = a / number
 *
 * @param a       a float
 * @param number  any
 * @return        a, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad          a, to any order
 * @see           torch.Tensor.div_
 */
ADZ_API adz_tensor *adz_div_number_(adz_tensor *a, double number);

/**
 * The negative of a tensor.
 *
 *     y = -x
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.neg
 */
ADZ_API adz_tensor *adz_neg(adz_tensor *x);

/**
 * Negates in place.
 *
 *     x = -x
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   x, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.Tensor.neg_
 */
ADZ_API adz_tensor *adz_neg_(adz_tensor *x);

/**
 * Adds a product of two tensors to a third.
 *
 *     y = x + value a b
 *
 * @param x      any shape, any dtype but f16, bf16 and bool
 * @param a      broadcasts with x and b
 * @param b      broadcasts with x and a
 * @param value  a whole number if y is not a float; 1 in PyTorch's default
 * @return       y in the promoted dtype, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         x, a and b, to any order; saves each of a and b where the other wants a gradient
 * @see          torch.addcmul
 */
ADZ_API adz_tensor *adz_addcmul(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value);

/**
 * Adds a product in place.
 *
 *     x = x + value a b
 *
 * @param x      no bool; its dtype must hold the promoted one
 * @param a      broadcasts to x
 * @param b      broadcasts to x
 * @param value  a whole number if x is not a float; 1 in PyTorch's default
 * @return       x, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         x, a and b, to any order; saves each of a and b where the other wants a gradient
 * @see          torch.Tensor.addcmul_
 */
ADZ_API adz_tensor *adz_addcmul_(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value);

/**
 * Adds a quotient.
 *
 *     y = x + value a / b
 *
 * Integers are divided as floats, which PyTorch refuses.
 *
 * @param x      any shape, any dtype but f16, bf16 and bool
 * @param a      broadcasts with x and b
 * @param b      broadcasts with x and a
 * @param value  any number; 1 in PyTorch's default
 * @return       y in the promoted dtype, f32 for integers; borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad         x, a and b, to any order
 * @see          torch.addcdiv
 */
ADZ_API adz_tensor *adz_addcdiv(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value);

/**
 * Adds a quotient in place.
 *
 *     x = x + value a / b
 *
 * @param x      its dtype must hold the promoted one
 * @param a      broadcasts to x
 * @param b      broadcasts to x
 * @param value  any number; 1 in PyTorch's default
 * @return       x, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         x, a and b, to any order
 * @see          torch.Tensor.addcdiv_
 */
ADZ_API adz_tensor *adz_addcdiv_(adz_tensor *x, adz_tensor *a, adz_tensor *b, double value);

/**
 * Writes a number to every element.
 *
 * @param x      any shape and dtype
 * @param value  a whole number in range when x is an integer; for bool every value but 0 is true
 * @return       x, or NULL
 * @errors       ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         the gradient of the old values of x is zero
 * @see          torch.Tensor.fill_
 */
ADZ_API adz_tensor *adz_fill_(adz_tensor *x, double value);

/**
 * Writes 0 to every element.
 *
 * @param x  any shape and dtype
 * @return   x, or NULL
 * @errors   ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad     the gradient of the old values of x is zero
 * @see      torch.Tensor.zero_
 */
ADZ_API adz_tensor *adz_zero_(adz_tensor *x);

#ifdef __cplusplus
}
#endif

#endif
