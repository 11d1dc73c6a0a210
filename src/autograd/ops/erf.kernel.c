#ifndef T
#define THIS_FILE "autograd/ops/erf.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(erf, T, T, VM(erf)(x))

#endif
