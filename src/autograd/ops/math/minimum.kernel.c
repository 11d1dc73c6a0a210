#ifndef T
#define THIS_FILE "autograd/ops/math/minimum.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE2(minimum, T, T, T, a < b || a != a ? a : b) /* NaN on either side stays */
/* a = x, b = the other, c = dy */
POINTWISE3(minimum_backward, T, T, T, T, a == b ? c * R(0.5) : a > b ? R(0) : c)
#else
POINTWISE2(minimum, T, T, T, a < b ? a : b)
#endif

#endif
