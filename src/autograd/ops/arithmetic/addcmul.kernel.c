#ifndef T
#define THIS_FILE "autograd/ops/arithmetic/addcmul.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE3(addcmul, T, T, T, T, a + R(p[0]) * b * c)
#else
/* Through unsigned, where overflow wraps; never called for bool. */
POINTWISE3(addcmul, T, T, T, T, (uint64_t)a + (uint64_t)(int64_t)p[0] * (uint64_t)b * (uint64_t)c)
#endif

#endif
