#ifndef T
#define THIS_FILE "autograd/ops/elu.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

/* p[0] = alpha. NaN is not <= 0 and passes through. */
POINTWISE1(elu, T, T, x <= 0 ? R(p[0]) * VM(expm1)(x) : x)
POINTWISE2(elu_backward, T, T, T, b <= 0 ? a * (R(p[0]) * VM(exp)(b)) : a) /* a = dy, b = x */

#endif
