#ifndef T
#define THIS_FILE "autograd/ops/math/log.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(log, T, T, VM(log)(x))

#endif
