#ifndef T
#define THIS_FILE "autograd/ops/sqrt.kernel.c"
#include <math.h>
#include "tensor/pointwise.kernel.h"
#include "tensor/each_float.h"
#else

#if T_IS_F32
POINTWISE1(sqrt, T, T, sqrtf(x))
#else
POINTWISE1(sqrt, T, T, sqrt(x))
#endif

#endif
