#ifndef T
#define THIS_FILE "autograd/ops/log1p.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(log1p, T, T, VM(log1p)(x))

#endif
