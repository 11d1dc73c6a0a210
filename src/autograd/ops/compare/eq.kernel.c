#ifndef T
#define THIS_FILE "autograd/ops/compare/eq.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

POINTWISE2(eq, uint8_t, T, T, a == b)

#endif
