#ifndef T
#define THIS_FILE "autograd/ops/activation/softplus.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* p = beta, threshold, 1 / beta */
POINTWISE1(softplus, T, T, x *R(p[0]) > R(p[1]) ? x : VM(softplus)(x * R(p[0])) * R(p[2]))
/* a = dy, b = x */
POINTWISE2(softplus_backward, T, T, T, b *R(p[0]) > R(p[1]) ? a : a * VM(sigmoid)(b * R(p[0])))

#endif
