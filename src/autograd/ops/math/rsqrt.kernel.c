#ifndef T
#define THIS_FILE "autograd/ops/math/rsqrt.kernel.c"
#include <math.h>
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#if T_IS_F32
POINTWISE1(rsqrt, T, T, R(1) / sqrtf(x))
#else
POINTWISE1(rsqrt, T, T, R(1) / sqrt(x))
#endif

#endif
