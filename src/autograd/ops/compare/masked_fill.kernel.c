#ifndef T
#define THIS_FILE "autograd/ops/compare/masked_fill.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

/* b = mask. */
#if T_IS_FLOAT
POINTWISE2(masked_fill, T, T, uint8_t, b ? R(p[0]) : a)
#elif T_IS_BOOL
POINTWISE2(masked_fill, T, T, uint8_t, b ? p[0] != 0 : a)
#else
POINTWISE2(masked_fill, T, T, uint8_t, b ? (int64_t)p[0] : a)
#endif

#endif
