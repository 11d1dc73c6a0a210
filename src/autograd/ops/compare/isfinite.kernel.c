#ifndef T
#define THIS_FILE "autograd/ops/compare/isfinite.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(isfinite, uint8_t, T, x - x == 0) /* inf - inf is NaN */
#else
POINTWISE1(isfinite, uint8_t, T, ((void)x, 1))
#endif

#endif
