#ifndef T
#define THIS_FILE "autograd/ops/activation/leaky_relu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(leaky_relu, T, T, x > 0 ? x : R(p[0]) * x)
POINTWISE2(leaky_relu_backward, T, T, T, b > 0 ? a : R(p[0]) * a) /* a = dy, b = x */

#endif
