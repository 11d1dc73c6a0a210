#ifndef T
#define THIS_FILE "autograd/ops/ne.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_type.h"
#else

POINTWISE2(ne, uint8_t, T, T, a != b)

#endif
