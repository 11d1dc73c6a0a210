/* Kernels of maximum, minimum and clamp, and of their derivatives.
 *
 *     maximum  max(a, b)      minimum  min(a, b)      clamp  min(max(x, p[0]), p[1])
 *
 * A unit is one element. NaN in any operand gives NaN, as in PyTorch. The derivative goes to the
 * operand that was chosen; where both are equal, each gets half of it. */
#ifndef elem
#define THIS_FILE "ops/math/extremes.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

/* A NaN a is chosen by the second condition. A NaN b fails the first one and is chosen too. */
POINTWISE2(maximum, elem, elem, elem, a > b || a != a ? a : b)
POINTWISE2(minimum, elem, elem, elem, a < b || a != a ? a : b)

/* a = the operand whose gradient is computed, b = the other one, c = dy. */
POINTWISE3(maximum_backward, elem, elem, elem, elem, a == b ? c * ELEM(0.5) : a < b ? ELEM(0) : c)
POINTWISE3(minimum_backward, elem, elem, elem, elem, a == b ? c * ELEM(0.5) : a > b ? ELEM(0) : c)

/* If min > max, the result is max. A NaN in x or in a bound gives NaN. */
static inline elem KERNEL(clamped)(elem x, elem min, elem max)
{
    elem y = x < min || min != min ? min : x;
    return y > max || max != max ? max : y;
}
POINTWISE1(clamp, elem, elem, KERNEL(clamped)(x, ELEM(p[0]), ELEM(p[1])))

/* a = dy, b = x. dx = dy where x is within the bounds, both included. */
POINTWISE2(clamp_backward, elem, elem, elem, b >= ELEM(p[0]) && b <= ELEM(p[1]) ? a : ELEM(0))

#else

POINTWISE2(maximum, elem, elem, elem, a > b ? a : b)
POINTWISE2(minimum, elem, elem, elem, a < b ? a : b)

/* A bound outside the integers' range becomes the end of the range, which no element is beyond. */
static inline int64_t KERNEL(bound)(double b)
{
    return b <= -0x1p63 ? INT64_MIN : b >= 0x1p63 ? INT64_MAX : (int64_t)b;
}
static inline int64_t KERNEL(clamped)(int64_t x, int64_t min, int64_t max)
{
    int64_t y = x < min ? min : x;
    return y > max ? max : y;
}
POINTWISE1(clamp, elem, elem, KERNEL(clamped)(x, KERNEL(bound)(p[0]), KERNEL(bound)(p[1])))

#endif
