/**
 * @file rounding.h
 * Rounding, signs, and remainders of divisions.
 */
#ifndef ADZE_OPS_ROUNDING_H
#define ADZE_OPS_ROUNDING_H

#include "adze/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

/**
 * Rounds down to an integer.
 *
 *     y = the largest integer <= x
 *
 * The gradient is 0 everywhere. Integers stay as they are.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.floor
 */
ADZ_API adz_tensor *adz_floor(adz_tensor *x);

/**
 * Rounds up to an integer.
 *
 *     y = the smallest integer >= x
 *
 * The gradient is 0 everywhere. Integers stay as they are.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.ceil
 */
ADZ_API adz_tensor *adz_ceil(adz_tensor *x);

/**
 * Rounds to the nearest integer.
 *
 *     y = the nearest integer, the even one of two
 *
 * The gradient is 0 everywhere. Integers stay as they are.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.round
 */
ADZ_API adz_tensor *adz_round(adz_tensor *x);

/**
 * Rounds towards 0 to an integer.
 *
 *     y = x without its fraction
 *
 * The gradient is 0 everywhere. Integers stay as they are.
 *
 * @param x  any shape, any dtype but f16, bf16 and bool
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.trunc
 */
ADZ_API adz_tensor *adz_trunc(adz_tensor *x);

/**
 * The fraction of a tensor, with its sign.
 *
 *     y = x - trunc(x)
 *
 * @param x  any shape, f32 or f64
 * @return   y, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order
 * @see      torch.frac
 */
ADZ_API adz_tensor *adz_frac(adz_tensor *x);

/**
 * The sign.
 *
 *     y = 1 where x > 0, -1 where x < 0, else 0
 *
 * The gradient is 0 everywhere. NaN has the sign 0.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, shaped like x and of its dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     x, to any order; saves nothing
 * @see      torch.sign
 */
ADZ_API adz_tensor *adz_sign(adz_tensor *x);

/**
 * Where a number has a sign.
 *
 *     y = x < 0 or x is -0
 *
 * NaN has none here. In PyTorch its sign bit counts, in which processors differ.
 *
 * @param x  any shape, any dtype but f16 and bf16
 * @return   y, bool, shaped like x, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.signbit
 */
ADZ_API adz_tensor *adz_signbit(adz_tensor *x);

/**
 * The step function.
 *
 *     y = 0 where x < 0 or x is NaN, 1 where x > 0, values where x = 0
 *
 * @param x       any shape, any dtype but f16 and bf16
 * @param values  broadcasts with x; other dtypes are promoted, which PyTorch refuses
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad          values, which PyTorch does not differentiate; x gets none
 * @see           torch.heaviside
 */
ADZ_API adz_tensor *adz_heaviside(adz_tensor *x, adz_tensor *values);

/**
 * The magnitudes of one tensor with the signs of another.
 *
 *     y = |a| where b has no sign, else -|a|
 *
 * The gradient of a is 0 where a is 0, and b gets none.
 *
 * @param a  any shape, any dtype but f16 and bf16
 * @param b  broadcasts with a; the sign of -0 counts
 * @return   y in the promoted dtype, f32 for two integers; borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     a, to any order; saves both
 * @see      torch.copysign
 */
ADZ_API adz_tensor *adz_copysign(adz_tensor *a, adz_tensor *b);

/**
 * The remainder of a division, with the sign of the dividend.
 *
 *     y = a - b trunc(a / b)
 *
 * @param a  any shape, any dtype but f16, bf16 and bool
 * @param b  broadcasts with a; 0 gives NaN for floats and an error for integers
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (an integer divided by 0),
 * ADZ_ERR_MEMORY
 * @grad     a and b (whose is -(a - y) / b), to any order; saves both, and y, where b wants one
 * @see      torch.fmod
 */
ADZ_API adz_tensor *adz_fmod(adz_tensor *a, adz_tensor *b);

/**
 * adz_fmod with a number as the divisor.
 *
 * @param a       any shape, any dtype but f16, bf16 and bool
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (an integer divided by 0), ADZ_ERR_MEMORY
 * @grad          a, to any order; saves a
 * @see           torch.fmod
 */
ADZ_API adz_tensor *adz_fmod_number(adz_tensor *a, double number);

/**
 * The remainder of a division, with the sign of the divisor, as % of Python.
 *
 *     y = a - b floor(a / b)
 *
 * @param a  any shape, any dtype but f16, bf16 and bool
 * @param b  broadcasts with a; 0 gives NaN for floats and an error for integers
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (an integer divided by 0),
 * ADZ_ERR_MEMORY
 * @grad     a and b (whose is -(a - y) / b), to any order; saves both, and y, where b wants one
 * @see      torch.remainder
 */
ADZ_API adz_tensor *adz_remainder(adz_tensor *a, adz_tensor *b);

/**
 * adz_remainder with a number as the divisor.
 *
 * @param a       any shape, any dtype but f16, bf16 and bool
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (an integer divided by 0), ADZ_ERR_MEMORY
 * @grad          a, to any order; saves a
 * @see           torch.remainder
 */
ADZ_API adz_tensor *adz_remainder_number(adz_tensor *a, double number);

/**
 * The quotient of a division, rounded down.
 *
 *     y = (a - remainder(a, b)) / b
 *
 * It belongs to the remainder: 1 / 0.1 gives 9, as in Python. The gradient is 0, as that of
 * PyTorch's div with the rounding mode "floor".
 *
 * @param a  any shape, any dtype but f16, bf16 and bool
 * @param b  broadcasts with a; a float divided by 0 gives what adz_div gives
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (an integer divided by 0),
 * ADZ_ERR_MEMORY
 * @grad     a and b, to any order; saves nothing
 * @see      torch.floor_divide
 */
ADZ_API adz_tensor *adz_floor_divide(adz_tensor *a, adz_tensor *b);

/**
 * The quotient of a division by a number, rounded down.
 *
 * @param a       any shape, any dtype but f16, bf16 and bool
 * @param number  counts as an integer when it is whole and a is not a float
 * @return        y in the promoted dtype, borrowed from the scope, or NULL
 * @errors        ADZ_ERR_DTYPE, ADZ_ERR_ARGUMENT (an integer divided by 0), ADZ_ERR_MEMORY
 * @grad          a, to any order; saves nothing
 * @see           torch.floor_divide
 */
ADZ_API adz_tensor *adz_floor_divide_number(adz_tensor *a, double number);

/**
 * The greatest common divisor of two integers, 0 or more. That of 0 and 0 is 0.
 *
 * ONNX files cannot contain it.
 *
 * @param a  any shape, an integer dtype
 * @param b  broadcasts with a; an integer dtype
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.gcd
 */
ADZ_API adz_tensor *adz_gcd(adz_tensor *a, adz_tensor *b);

/**
 * The least common multiple of two integers, 0 or more. That of 0 and any other is 0.
 *
 * ONNX files cannot contain it.
 *
 * @param a  any shape, an integer dtype
 * @param b  broadcasts with a; an integer dtype
 * @return   y in the promoted dtype, borrowed from the scope, or NULL
 * @errors   ADZ_ERR_SHAPE, ADZ_ERR_DTYPE, ADZ_ERR_MEMORY
 * @grad     none
 * @see      torch.lcm
 */
ADZ_API adz_tensor *adz_lcm(adz_tensor *a, adz_tensor *b);

#ifdef __cplusplus
}
#endif

#endif
