#ifndef T
#define THIS_FILE "autograd/ops/log.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(log, T, T, VM(log)(x))

#endif
