#ifndef T
#define THIS_FILE "autograd/ops/compare/logical_not.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

POINTWISE1(logical_not, uint8_t, T, x == 0)

#endif
