#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/linalg/linear_relu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

/* a = dy, b = y, p[0] = dropout's factor; NaN lets dy through */
POINTWISE2(linear_relu_backward, T, T, T, b <= 0 ? R(0) : R(p[0]) * a)

#endif
