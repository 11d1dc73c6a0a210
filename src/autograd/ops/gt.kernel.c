#ifndef T
#define THIS_FILE "autograd/ops/gt.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_type.h"
#else

POINTWISE2(gt, uint8_t, T, T, a > b)

#endif
