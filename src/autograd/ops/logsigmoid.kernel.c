#ifndef T
#define THIS_FILE "autograd/ops/logsigmoid.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(logsigmoid, T, T, VM(logsigmoid)(x))
POINTWISE2(logsigmoid_backward, T, T, T, a *VM(sigmoid)(-b)) /* a = dy, b = x */

#endif
