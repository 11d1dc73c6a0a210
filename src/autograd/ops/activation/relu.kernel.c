#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/activation/relu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(relu, T, T, x < 0 ? R(0) : x)              /* NaN stays NaN */
POINTWISE2(relu_backward, T, T, T, b <= 0 ? R(0) : a) /* a = dy, b = y; NaN lets dy through */
#else
POINTWISE1(relu, T, T, x > 0 ? x : 0)
#endif

#endif
