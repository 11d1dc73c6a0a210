#ifndef T
#define THIS_FILE "autograd/ops/cos.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(cos, T, T, VM(cos)(x))

#endif
