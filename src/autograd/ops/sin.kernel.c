#ifndef T
#define THIS_FILE "autograd/ops/sin.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(sin, T, T, VM(sin)(x))

#endif
