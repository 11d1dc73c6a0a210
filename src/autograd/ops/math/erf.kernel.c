#ifndef T
#define THIS_FILE "autograd/ops/math/erf.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(erf, T, T, VM(erf)(x))

#endif
