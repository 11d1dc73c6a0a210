#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/arithmetic/add.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_BOOL
POINTWISE2(add, T, T, T, a | b)
POINTWISE2(add_scaled, T, T, T, a | (b && p[0] != 0))
#elif T_IS_FLOAT
POINTWISE2(add, T, T, T, a + b)
POINTWISE2(add_scaled, T, T, T, a + R(p[0]) * b)
#else
/* Through unsigned, where overflow wraps. */
POINTWISE2(add, T, T, T, (uint64_t)a + (uint64_t)b)
POINTWISE2(add_scaled, T, T, T, (uint64_t)a + (uint64_t)(int64_t)p[0] * (uint64_t)b)
#endif

#endif
