/* Kernels of comparisons, of choices between elements, and of tests for NaN and infinity.
 *
 * A unit is one element. Comparisons write bools, which are bytes of 0 or 1. They follow IEEE 754:
 * every comparison with NaN is false except `ne`. Operands are named a, b and c in the order of
 * the call, or x where there is one; p[0] is the operator's number. Comparisons have no
 * derivative; the derivative of `where` goes to the side that was chosen. */
#ifndef elem
#define THIS_FILE "ops/compare/compare.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

POINTWISE2(eq, uint8_t, elem, elem, a == b)
POINTWISE2(ne, uint8_t, elem, elem, a != b)
POINTWISE2(lt, uint8_t, elem, elem, a < b)
POINTWISE2(le, uint8_t, elem, elem, a <= b)
POINTWISE2(gt, uint8_t, elem, elem, a > b)
POINTWISE2(ge, uint8_t, elem, elem, a >= b)
POINTWISE1(logical_not, uint8_t, elem, x == 0)

/* a = condition, b = the result where it is true, c = the result where it is false */
POINTWISE3(where, elem, uint8_t, elem, elem, a ? b : c)

#if ELEM_IS_FLOAT
/* a = dy, b = condition. p[0] is 1 for the gradient of the true side and 0 for the false side. */
POINTWISE2(where_backward, elem, elem, uint8_t, (b != 0) == (p[0] != 0) ? a : ELEM(0))
POINTWISE2(masked_fill, elem, elem, uint8_t, b ? ELEM(p[0]) : a) /* b = mask */
POINTWISE1(isnan, uint8_t, elem, x != x)
POINTWISE1(isfinite, uint8_t, elem, x - x == 0) /* inf - inf is NaN */
#else
#if ELEM_IS_BOOL
POINTWISE2(masked_fill, elem, elem, uint8_t, b ? p[0] != 0 : a) /* b = mask */
#else
POINTWISE2(masked_fill, elem, elem, uint8_t, b ? (int64_t)p[0] : a) /* b = mask */
#endif
/* Integers are never NaN and always finite. */
POINTWISE1(isnan, uint8_t, elem, ((void)x, 0))
POINTWISE1(isfinite, uint8_t, elem, ((void)x, 1))
#endif

#endif
