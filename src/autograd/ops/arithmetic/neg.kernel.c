#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/arithmetic/neg.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(neg, T, T, -x)
#else
POINTWISE1(neg, T, T, 0 - (uint64_t)x) /* unsigned: overflow wraps; never called for bool */
#endif

#endif
