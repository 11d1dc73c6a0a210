#ifndef T
#define THIS_FILE "autograd/ops/compare/isnan.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(isnan, uint8_t, T, x != x)
#else
POINTWISE1(isnan, uint8_t, T, ((void)x, 0))
#endif

#endif
