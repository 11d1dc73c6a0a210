/* Kernels of the functions of the table that are for all six dtypes.
 *
 * A unit is one element. Results of rounding and of remainders are exact, so all processors give
 * the same bits. Integers are computed as unsigned integers of 64 bits, in which overflow wraps as
 * it does in PyTorch. Most bool kernels exist only because the tables have a column for them.
 *
 * Conditions are written so that NaN takes the branch that returns NaN. A comparison follows IEEE
 * 754 and writes bytes of 0 or 1. */
#ifndef elem
#define THIS_FILE "ops/elementwise/all_types.kernel.c"
#include <math.h>

#include "ops/elementwise/integer_power.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#else

#if ELEM_IS_FLOAT
#define OF_TYPE(kernel, of_integers) kernel

#undef FMOD
#undef WHOLE
#if ELEM_IS_F32
#define FMOD  fmodf
#define WHOLE 0x1p23f
#else
#define FMOD  fmod
#define WHOLE 0x1p52
#endif

/* The nearest integer, by a sum that has no room for a fraction. From 2^23 (2^52) on all numbers
 * are integers. A result of 0 has the sign of x. */
static inline elem KERNEL(nearest)(elem x)
{
    const elem shift = VMATH(sign_of)(WHOLE, x), near = (x + shift) - shift;
    return VMATH(abs)(x) < WHOLE ? VMATH(sign_of)(near, x) : x;
}
static inline elem KERNEL(below)(elem x)
{
    const elem near = KERNEL(nearest)(x), y = near > x ? near - 1 : near;
    return x == 0 ? x : y;
}
static inline elem KERNEL(above)(elem x)
{
    const elem near = KERNEL(nearest)(x), y = near < x ? near + 1 : near;
    return x != x ? x : VMATH(sign_of)(y, x);
}

/* The quotient of a without its remainder, rounded down. Its rounding errors are below 1/2. */
static inline elem KERNEL(whole_quotient)(elem a, elem b)
{
    const elem rest = FMOD(a, b), q = KERNEL(nearest)((a - rest) / b);
    const elem y = rest != 0 && (b < 0) != (rest < 0) ? q - 1 : q;
    return b == 0 ? a / b : y == 0 ? VMATH(sign_of)(ELEM(0), a / b) : y;
}

/* The remainder moves by b if its sign is not that of b. */
static inline elem KERNEL(rest)(elem a, elem b)
{
    const elem y = FMOD(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}

#else
#define OF_TYPE(kernel, of_integers) of_integers

/* |x| of an integer, by unsigned arithmetic: the least integer is its own magnitude, as it wraps.
 */
static inline uint64_t KERNEL(magnitude)(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* A divisor of -1 could overflow, and has no remainder. One of 0 was refused before the launch; a
 * trap would end the program if it were not. */
static inline int64_t KERNEL(modulo)(int64_t a, int64_t b)
{
    return b == -1 || b == 0 ? 0 : a % b;
}
static inline int64_t KERNEL(whole_quotient)(int64_t a, int64_t b)
{
    const int64_t rest = KERNEL(modulo)(a, b);
    const int64_t q = b == -1 ? (int64_t)(0 - (uint64_t)a) : b == 0 ? 0 : a / b;
    return rest != 0 && (b < 0) != (rest < 0) ? q - 1 : q;
}
static inline int64_t KERNEL(rest)(int64_t a, int64_t b)
{
    const int64_t y = KERNEL(modulo)(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}

/* Euclid's algorithm. That of 0 and 0 is 0. */
static inline int64_t KERNEL(common_divisor)(int64_t a, int64_t b)
{
    uint64_t x = KERNEL(magnitude)(a), y = KERNEL(magnitude)(b);
    while (y != 0) {
        const uint64_t rest = x % y;
        x = y;
        y = rest;
    }
    return (int64_t)x;
}

/* A shift below 0 or by all bits leaves none but copies of the sign. */
static inline int64_t KERNEL(shift_left)(int64_t a, int64_t b)
{
    return b < 0 || b >= 8 * (int64_t)sizeof(elem) ? 0 : (int64_t)((uint64_t)a << b);
}
static inline int64_t KERNEL(shift_right)(int64_t a, int64_t b)
{
    return a >> (b < 0 || b > 63 ? 63 : b);
}
static inline int KERNEL(is_negative)(int64_t x)
{
    return x < 0;
}

#endif

#define KERNEL1_ALL(fn, kernel, of_integers) \
    POINTWISE1(fn, elem, elem, OF_TYPE(kernel, of_integers))
#define KERNEL2_ALL(fn, kernel, of_integers) \
    POINTWISE2(fn, elem, elem, elem, OF_TYPE(kernel, of_integers))
#define UNROLLED1_ALL(fn, kernel, of_integers) \
    UNROLLED_POINTWISE1(fn, elem, elem, OF_TYPE(kernel, of_integers))
#define TRUTH1(fn, kernel, of_integers) POINTWISE1(fn, uint8_t, elem, OF_TYPE(kernel, of_integers))
#define TRUTH2(fn, kernel)              POINTWISE2(fn, uint8_t, elem, elem, kernel)
#include "ops/elementwise/table.h"

#undef OF_TYPE

#endif
