#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/mul.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_type.h"
#else

#if T_IS_BOOL
POINTWISE2(mul, T, T, T, a &b)
#elif T_IS_FLOAT
POINTWISE2(mul, T, T, T, a *b)
#else
POINTWISE2(mul, T, T, T, (uint64_t)a *(uint64_t)b) /* unsigned: overflow wraps */
#endif

#endif
