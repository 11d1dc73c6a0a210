#ifndef T
#define THIS_FILE "autograd/ops/logical_not.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_type.h"
#else

POINTWISE1(logical_not, uint8_t, T, x == 0)

#endif
