#ifndef T
#define THIS_FILE "autograd/ops/tanh.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(tanh, T, T, VM(tanh)(x))
POINTWISE2(tanh_backward, T, T, T, a *(R(1) - b * b)) /* a = dy, b = y */

#endif
