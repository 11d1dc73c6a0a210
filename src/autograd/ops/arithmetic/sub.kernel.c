#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/arithmetic/sub.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE2(sub, T, T, T, a - b)
POINTWISE2(sub_scaled, T, T, T, a - R(p[0]) * b)
#else
/* Through unsigned, where overflow wraps. The column for bool is never called. */
POINTWISE2(sub, T, T, T, (uint64_t)a - (uint64_t)b)
POINTWISE2(sub_scaled, T, T, T, (uint64_t)a - (uint64_t)(int64_t)p[0] * (uint64_t)b)
#endif

#endif
