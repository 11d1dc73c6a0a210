#ifndef T
#define THIS_FILE "autograd/ops/exp.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(exp, T, T, VM(exp)(x))

#endif
