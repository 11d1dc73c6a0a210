#ifndef elem
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/linalg/linear_relu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

/* a = dy, b = y, p[0] = dropout's factor; NaN lets dy through */
POINTWISE2(linear_relu_backward, elem, elem, elem, b <= 0 ? ELEM(0) : ELEM(p[0]) * a)

#endif
