#ifndef T
#define THIS_FILE "autograd/ops/activation/silu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(silu, T, T, VM(silu)(x))
POINTWISE2(silu_backward, T, T, T, a *VM(silu_derivative)(b)) /* a = dy, b = x */

#endif
