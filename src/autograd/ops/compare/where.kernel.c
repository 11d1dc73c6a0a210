#ifndef T
#define THIS_FILE "autograd/ops/compare/where.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

POINTWISE3(where, T, uint8_t, T, T, a ? b : c)
#if T_IS_FLOAT
/* a = dy, b = cond; p[0] is the side that the gradient belongs to. */
POINTWISE2(where_backward, T, T, uint8_t, (b != 0) == (p[0] != 0) ? a : R(0))
#endif

#endif
