#ifndef T
#define THIS_FILE "autograd/ops/math/sqrt.kernel.c"
#include <math.h>
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#if T_IS_F32
POINTWISE1(sqrt, T, T, sqrtf(x))
#else
POINTWISE1(sqrt, T, T, sqrt(x))
#endif

#endif
