#ifndef T
#define THIS_FILE "autograd/ops/math/expm1.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(expm1, T, T, VM(expm1)(x))

#endif
