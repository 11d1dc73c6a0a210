#ifndef T
#define THIS_FILE "autograd/ops/reciprocal.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_float.h"
#else

POINTWISE1(reciprocal, T, T, R(1) / x)

#endif
