/* Kernels of rounding, signs and remainders.
 *
 * A unit is one element. Every result is exact, so all processors give the same bits. fmod of the C
 * library is exact as well. Integers are rounded already. The bool kernels are called for sign
 * only.
 */
#ifndef elem
#define THIS_FILE "autograd/ops/rounding/rounding.kernel.c"
#include <math.h>

#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

#undef WHOLE
#undef FMOD
#if ELEM_IS_F32
#define WHOLE 0x1p23f
#define FMOD  fmodf
#else
#define WHOLE 0x1p52
#define FMOD  fmod
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
POINTWISE1(round, elem, elem, KERNEL(nearest)(x))
POINTWISE1(floor, elem, elem, KERNEL(below)(x))
POINTWISE1(ceil, elem, elem, KERNEL(above)(x))
POINTWISE1(trunc, elem, elem, VMATH(sign_of)(KERNEL(below)(VMATH(abs)(x)), x))
POINTWISE1(sign, elem, elem, (elem)((x > 0) - (x < 0)))
POINTWISE2(copysign, elem, elem, elem, VMATH(sign_of)(a, b))

POINTWISE2(fmod, elem, elem, elem, FMOD(a, b))

/* The remainder moves by b if its sign is not that of b. */
static inline elem KERNEL(rest)(elem a, elem b)
{
    const elem y = FMOD(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}
POINTWISE2(remainder, elem, elem, elem, KERNEL(rest)(a, b))

#else

POINTWISE1(round, elem, elem, x)
POINTWISE1(floor, elem, elem, x)
POINTWISE1(ceil, elem, elem, x)
POINTWISE1(trunc, elem, elem, x)
POINTWISE1(sign, elem, elem, x > 0 ? 1 : x == 0 ? 0 : -1)

/* A divisor of -1 could overflow, and has no remainder. One of 0 was refused before the launch; a
 * trap would end the program if it were not. */
static inline int64_t KERNEL(modulo)(int64_t a, int64_t b)
{
    return b == -1 || b == 0 ? 0 : a % b;
}
static inline int64_t KERNEL(rest)(int64_t a, int64_t b)
{
    const int64_t y = KERNEL(modulo)(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}
POINTWISE2(fmod, elem, elem, elem, KERNEL(modulo)(a, b))
POINTWISE2(remainder, elem, elem, elem, KERNEL(rest)(a, b))

#endif
