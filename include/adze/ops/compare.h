/**
 * @file compare.h
 * Comparisons, operators on truth values and bits, and choices by a mask, elementwise, with
 * broadcasting.
 */
#ifndef ADZE_OPS_COMPARE_H
#define ADZE_OPS_COMPARE_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Where two tensors are equal.
 *
 *     y = a == b, false where either is NaN
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; both are compared in the promoted dtype
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.eq
 */
ADZ_API adz_tensor *adz_eq(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor equals a number.
 *
 *     y = a == number, false where a is NaN
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y, bool, shaped like a, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.eq
 */
ADZ_API adz_tensor *adz_eq_number(adz_tensor *a, double number);

/**
 * Where two tensors differ.
 *
 *     y = a != b, true where either is NaN
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; both are compared in the promoted dtype
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.ne
 */
ADZ_API adz_tensor *adz_ne(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor differs from a number.
 *
 *     y = a != number, true where a is NaN
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y, bool, shaped like a, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.ne
 */
ADZ_API adz_tensor *adz_ne_number(adz_tensor *a, double number);

/**
 * Where one tensor is less than another.
 *
 *     y = a < b, false where either is NaN
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; both are compared in the promoted dtype
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.lt
 */
ADZ_API adz_tensor *adz_lt(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor is less than a number.
 *
 *     y = a < number, false where a is NaN
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y, bool, shaped like a, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.lt
 */
ADZ_API adz_tensor *adz_lt_number(adz_tensor *a, double number);

/**
 * Where one tensor is less than or equal to another.
 *
 *     y = a <= b, false where either is NaN
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; both are compared in the promoted dtype
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.le
 */
ADZ_API adz_tensor *adz_le(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor is less than or equal to a number.
 *
 *     y = a <= number, false where a is NaN
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y, bool, shaped like a, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.le
 */
ADZ_API adz_tensor *adz_le_number(adz_tensor *a, double number);

/**
 * Where one tensor is greater than another.
 *
 *     y = a > b, false where either is NaN
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; both are compared in the promoted dtype
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.gt
 */
ADZ_API adz_tensor *adz_gt(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor is greater than a number.
 *
 *     y = a > number, false where a is NaN
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y, bool, shaped like a, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.gt
 */
ADZ_API adz_tensor *adz_gt_number(adz_tensor *a, double number);

/**
 * Where one tensor is greater than or equal to another.
 *
 *     y = a >= b, false where either is NaN
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; both are compared in the promoted dtype
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.ge
 */
ADZ_API adz_tensor *adz_ge(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor is greater than or equal to a number.
 *
 *     y = a >= number, false where a is NaN
 *
 * @param a       any shape, any dtype but f16 and bf16
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y, bool, shaped like a, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          none
 * @see           torch.ge
 */
ADZ_API adz_tensor *adz_ge_number(adz_tensor *a, double number);

/**
 * Where two tensors are both true.
 *
 *     y = a and b
 *
 * Every value but 0 counts as true, NaN included.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.logical_and
 */
ADZ_API adz_tensor *adz_logical_and(adz_tensor *a, adz_tensor *b);

/**
 * Where at least one of two tensors is true.
 *
 *     y = a or b
 *
 * Every value but 0 counts as true, NaN included.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.logical_or
 */
ADZ_API adz_tensor *adz_logical_or(adz_tensor *a, adz_tensor *b);

/**
 * Where exactly one of two tensors is true.
 *
 *     y = a xor b
 *
 * Every value but 0 counts as true, NaN included.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a
 * @return   y, bool, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.logical_xor
 */
ADZ_API adz_tensor *adz_logical_xor(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor is 0 (false).
 *
 *     y = x == 0
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.logical_not
 */
ADZ_API adz_tensor *adz_logical_not(adz_tensor *x);

/**
 * The bits that two integers have in common.
 *
 *     y = a & b
 *
 * ONNX files of opset 17 have no such operation on integers.
 *
 * @param a  any shape, an integer dtype or bool
 * @param b  broadcasts with a; an integer dtype or bool
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.bitwise_and
 */
ADZ_API adz_tensor *adz_bitwise_and(adz_tensor *a, adz_tensor *b);

/**
 * The bits that at least one of two integers has.
 *
 *     y = a | b
 *
 * ONNX files of opset 17 have no such operation on integers.
 *
 * @param a  any shape, an integer dtype or bool
 * @param b  broadcasts with a; an integer dtype or bool
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.bitwise_or
 */
ADZ_API adz_tensor *adz_bitwise_or(adz_tensor *a, adz_tensor *b);

/**
 * The bits that one of two integers has and the other has not.
 *
 *     y = a ^ b
 *
 * ONNX files of opset 17 have no such operation on integers.
 *
 * @param a  any shape, an integer dtype or bool
 * @param b  broadcasts with a; an integer dtype or bool
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.bitwise_xor
 */
ADZ_API adz_tensor *adz_bitwise_xor(adz_tensor *a, adz_tensor *b);

/**
 * The bits that an integer does not have.
 *
 *     y = ~x, which is -1 - x for a dtype with a sign; adz_logical_not for bool
 *
 * ONNX files of opset 17 have no such operation on integers.
 *
 * @param x  any shape, an integer dtype or bool
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.bitwise_not
 */
ADZ_API adz_tensor *adz_bitwise_not(adz_tensor *x);

/**
 * Moves the bits of an integer to higher places. Those that leave the dtype are lost.
 *
 *     y = a 2^b, and 0 where b is below 0 or not below the number of bits
 *
 * ONNX files of opset 17 have no such operation on integers.
 *
 * @param a  any shape, an integer dtype
 * @param b  broadcasts with a; an integer dtype
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.bitwise_left_shift
 */
ADZ_API adz_tensor *adz_bitwise_left_shift(adz_tensor *a, adz_tensor *b);

/**
 * Moves the bits of an integer to lower places. The sign fills the upper ones.
 *
 *     y = a / 2^b, rounded down; 0 or -1 where b is below 0 or not below the number of bits
 *
 * ONNX files of opset 17 have no such operation on integers.
 *
 * @param a  any shape, an integer dtype
 * @param b  broadcasts with a; an integer dtype
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.bitwise_right_shift
 */
ADZ_API adz_tensor *adz_bitwise_right_shift(adz_tensor *a, adz_tensor *b);

/**
 * Where a tensor is NaN.
 *
 *     y = x != x;  false for integers and bool
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.isnan
 */
ADZ_API adz_tensor *adz_isnan(adz_tensor *x);

/**
 * Where a tensor is neither NaN nor infinite.
 *
 *     y = |x| < inf;  true for integers and bool
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.isfinite
 */
ADZ_API adz_tensor *adz_isfinite(adz_tensor *x);

/**
 * Where a tensor is infinite.
 *
 *     y = |x| == inf;  false for integers and bool
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.isinf
 */
ADZ_API adz_tensor *adz_isinf(adz_tensor *x);

/**
 * Where a tensor is positive infinity.
 *
 *     y = x == inf;  false for integers and bool
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.isposinf
 */
ADZ_API adz_tensor *adz_isposinf(adz_tensor *x);

/**
 * Where a tensor is negative infinity.
 *
 *     y = x == -inf;  false for integers and bool
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.isneginf
 */
ADZ_API adz_tensor *adz_isneginf(adz_tensor *x);

/**
 * Where two tensors are close to each other.
 *
 *     y = a == b or |a - b| <= atol + rtol |b|, of which the latter must be finite
 *
 * Differences of two integers are exact.
 *
 * @param a          any shape, any dtype but f16 and bf16
 * @param b          broadcasts with a; other dtypes are promoted, which PyTorch refuses
 * @param rtol       relative tolerance, 0 or more (PyTorch's default is 1e-5)
 * @param atol       absolute tolerance, 0 or more (PyTorch's default is 1e-8)
 * @param equal_nan  whether NaN is close to NaN (PyTorch's default is false)
 * @return           y, bool, borrowed from the scope, or NULL
 * @errors           ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad             none
 * @see              torch.isclose
 */
ADZ_API adz_tensor *adz_isclose(
    adz_tensor *a, adz_tensor *b, double rtol, double atol, bool equal_nan);

/**
 * Chooses between two tensors, element by element.
 *
 *     y = cond ? a : b
 *
 * @param cond  bool; broadcasts with a and b
 * @param a     any dtype but f16 and bf16
 * @param b     broadcasts with a
 * @return      y in the dtype that a and b promote to, borrowed from the scope, or NULL
 * @errors      ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad        a and b, to any order; saves cond; the side that was not chosen gets 0
 * @see         torch.where
 */
ADZ_API adz_tensor *adz_where(adz_tensor *cond, adz_tensor *a, adz_tensor *b);

/**
 * Writes a number where a mask is true.
 *
 *     y = mask ? value : x
 *
 * @param x      any shape, any dtype but f16 and bf16
 * @param mask   bool; broadcasts with x
 * @param value  a whole number in range if x is an integer; for bool every value but 0 is true
 * @return       y in x's dtype, borrowed from the scope, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves the mask
 * @see          torch.masked_fill
 */
ADZ_API adz_tensor *adz_masked_fill(adz_tensor *x, adz_tensor *mask, double value);

/**
 * Writes a number where a mask is true, in place.
 *
 *     x = mask ? value : x
 *
 * @param x      any shape, any dtype but f16 and bf16
 * @param mask   bool; broadcasts to x
 * @param value  a whole number in range if x is an integer; for bool every value but 0 is true
 * @return       x, or NULL
 * @errors       ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT, ADZ_ERR_INPLACE, ADZ_ERR_MEMORY
 * @grad         x, to any order; saves the mask
 * @see          torch.Tensor.masked_fill_
 */
ADZ_API adz_tensor *adz_masked_fill_(adz_tensor *x, adz_tensor *mask, double value);

#ifdef __cplusplus
}
#endif

#endif
