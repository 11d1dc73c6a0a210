/* Kernels of choices between elements: where and masked_fill. A unit is one element. Operands are
 * named a, b and c in the order of the call; p[0] is the operator's number. */
#ifndef elem
#define THIS_FILE "ops/elementwise/choices.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

/* a = condition, b = the result where it is true, c = the result where it is false */
POINTWISE3(where, elem, uint8_t, elem, elem, a ? b : c)

#if ELEM_IS_FLOAT
/* a = dy, b = condition. p[0] is 1 for the gradient of the true side and 0 for the false side. */
POINTWISE2(where_backward, elem, elem, uint8_t, (b != 0) == (p[0] != 0) ? a : ELEM(0))
POINTWISE2(masked_fill, elem, elem, uint8_t, b ? ELEM(p[0]) : a) /* b = mask */
#else
#if ELEM_IS_BOOL
POINTWISE2(masked_fill, elem, elem, uint8_t, b ? p[0] != 0 : a) /* b = mask */
#else
POINTWISE2(masked_fill, elem, elem, uint8_t, b ? (int64_t)p[0] : a) /* b = mask */
#endif
#endif

#endif
