#ifndef T
#define THIS_FILE "autograd/ops/lt.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_type.h"
#else

POINTWISE2(lt, uint8_t, T, T, a < b)

#endif
