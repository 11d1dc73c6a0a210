#ifndef T
#define THIS_FILE "autograd/ops/silu.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(silu, T, T, VM(silu)(x))
POINTWISE2(silu_backward, T, T, T, a *VM(silu_derivative)(b)) /* a = dy, b = x */

#endif
