/* Kernels of sums, differences, products and quotients, for all six dtypes of arithmetic.
 *
 *     add         a + b             sub         a - b
 *     add_scaled  a + p[0] b        sub_scaled  a - p[0] b
 *     mul         a b               div         a / b            addcmul  a + p[0] b c
 *     div_slope   -dy a / b^2
 *
 * A unit is one element. UNROLLED_ rows do so little per element that their loops are unrolled
 * (tensor/kernel/pointwise.kernel.h). A product and a sum are rounded one after the other, also
 * where the processor has fused multiply-adds, so that bits do not depend on it.
 *
 * Integers are computed as unsigned integers of 64 bits, in which overflow wraps as it does in
 * PyTorch. For bool, add is "or" and mul is "and". The bool kernels of addcmul and of the
 * differences exist only because the tables have a column for them; nothing calls them. */
#ifndef elem
#define THIS_FILE "ops/elementwise/arithmetic.kernel.c"
#include <float.h>
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if ELEM_IS_BOOL
UNROLLED_POINTWISE2(add, elem, elem, elem, a | b)
UNROLLED_POINTWISE2(add_scaled, elem, elem, elem, a | (b && p[0] != 0))
UNROLLED_POINTWISE2(mul, elem, elem, elem, a &b)
#elif ELEM_IS_FLOAT
UNROLLED_POINTWISE2(add, elem, elem, elem, a + b)
UNROLLED_POINTWISE2(add_scaled, elem, elem, elem, a + ELEM(p[0]) * b)
UNROLLED_POINTWISE2(mul, elem, elem, elem, a *b)
#else
UNROLLED_POINTWISE2(add, elem, elem, elem, (uint64_t)a + (uint64_t)b)
UNROLLED_POINTWISE2(
    add_scaled, elem, elem, elem, (uint64_t)a + (uint64_t)(int64_t)p[0] * (uint64_t)b)
UNROLLED_POINTWISE2(mul, elem, elem, elem, (uint64_t)a *(uint64_t)b)
#endif

#if ELEM_IS_FLOAT
UNROLLED_POINTWISE2(sub, elem, elem, elem, a - b)
UNROLLED_POINTWISE2(sub_scaled, elem, elem, elem, a - ELEM(p[0]) * b)
POINTWISE2(div, elem, elem, elem, a / b)

/* The gradient of a / b by b from the upstream gradient c: -c (a / b^2), or -(c / b) (a / b) where
 * a / b^2 is not a normal number. For a = 0 the latter may be infinity times 0. */
static inline elem KERNEL(slope_of_quotient)(elem c, elem a, elem b)
{
    const elem least = ELEM(ELEM_IS_F32 ? (double)FLT_MIN : DBL_MIN);
    const elem most = ELEM(ELEM_IS_F32 ? (double)FLT_MAX : DBL_MAX);
    const elem y = a / b, slope = y / b, size = slope < 0 ? -slope : slope;
    const elem usual = c * slope, other = (c / b) * y;
    return -((size >= least && size <= most) || a == 0 ? usual : other);
}
POINTWISE3(div_slope, elem, elem, elem, elem, KERNEL(slope_of_quotient)(a, b, c))
POINTWISE3(addcmul, elem, elem, elem, elem, a + ELEM(p[0]) * b * c)
#else
UNROLLED_POINTWISE2(sub, elem, elem, elem, (uint64_t)a - (uint64_t)b)
UNROLLED_POINTWISE2(
    sub_scaled, elem, elem, elem, (uint64_t)a - (uint64_t)(int64_t)p[0] * (uint64_t)b)
POINTWISE3(addcmul, elem, elem, elem, elem,
    (uint64_t)a + (uint64_t)(int64_t)p[0] * (uint64_t)b * (uint64_t)c)
#endif

#endif
