#ifndef T
#define THIS_FILE "autograd/ops/sigmoid.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

POINTWISE1(sigmoid, T, T, VM(sigmoid)(x))
POINTWISE2(sigmoid_backward, T, T, T, a *(b *(R(1) - b))) /* a = dy, b = y */

#endif
