#ifndef T
#define THIS_FILE "autograd/ops/math/sigmoid.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(sigmoid, T, T, VM(sigmoid)(x))
POINTWISE2(sigmoid_backward, T, T, T, a *(b *(R(1) - b))) /* a = dy, b = y */

#endif
