#ifndef T
#define THIS_FILE "autograd/ops/math/logsigmoid.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(logsigmoid, T, T, VM(logsigmoid)(x))
POINTWISE2(logsigmoid_backward, T, T, T, a *VM(sigmoid)(-b)) /* a = dy, b = x */

#endif
