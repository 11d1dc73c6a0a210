#ifndef T
#define THIS_FILE "autograd/ops/math/abs.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(abs, T, T, VM(abs)(x))
#else
/* Through unsigned, where the least integer wraps to itself. */
static inline uint64_t K(magnitude)(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}
POINTWISE1(abs, T, T, K(magnitude)(x))
#endif

#endif
