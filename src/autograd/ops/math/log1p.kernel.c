#ifndef T
#define THIS_FILE "autograd/ops/math/log1p.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(log1p, T, T, VM(log1p)(x))

#endif
