#ifndef T
#define THIS_FILE "autograd/ops/activation/gelu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(gelu, T, T, VM(gelu)(x))
POINTWISE1(gelu_tanh, T, T, VM(gelu_tanh)(x))
POINTWISE2(gelu_backward, T, T, T, a *VM(gelu_derivative)(b)) /* a = dy, b = x */
POINTWISE2(gelu_tanh_backward, T, T, T, a *VM(gelu_tanh_derivative)(b))

#endif
