#ifndef T
#define THIS_FILE "autograd/ops/math/tanh.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(tanh, T, T, VM(tanh)(x))
POINTWISE2(tanh_backward, T, T, T, a *(R(1) - b * b)) /* a = dy, b = y */

#endif
