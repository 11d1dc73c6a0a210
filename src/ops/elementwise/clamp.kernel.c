/* Kernels of clamp, min(max(x, p[0]), p[1]), and of its derivative. A unit is one element. */
#ifndef elem
#define THIS_FILE "ops/elementwise/clamp.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

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
