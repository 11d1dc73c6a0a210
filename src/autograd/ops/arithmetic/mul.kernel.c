#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/arithmetic/mul.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_BOOL
POINTWISE2(mul, T, T, T, a &b)
#elif T_IS_FLOAT
POINTWISE2(mul, T, T, T, a *b)
#else
POINTWISE2(mul, T, T, T, (uint64_t)a *(uint64_t)b) /* unsigned: overflow wraps */
#endif

#endif
