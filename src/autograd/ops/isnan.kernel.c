#ifndef T
#define THIS_FILE "autograd/ops/isnan.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(isnan, uint8_t, T, x != x)
#else
POINTWISE1(isnan, uint8_t, T, ((void)x, 0))
#endif

#endif
