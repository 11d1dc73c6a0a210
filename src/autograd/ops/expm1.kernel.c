#ifndef T
#define THIS_FILE "autograd/ops/expm1.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(expm1, T, T, VM(expm1)(x))

#endif
