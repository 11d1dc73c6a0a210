#ifndef T
#define THIS_FILE "autograd/ops/math/square.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(square, T, T, x *x)
POINTWISE2(square_backward, T, T, T, R(2) * a * b) /* a = dy, b = x */
#else
POINTWISE1(square, T, T, (uint64_t)x *(uint64_t)x) /* unsigned: overflow wraps */
#endif

#endif
