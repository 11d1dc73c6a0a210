#ifndef T
#define THIS_FILE "autograd/ops/math/reciprocal.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(reciprocal, T, T, R(1) / x)

#endif
