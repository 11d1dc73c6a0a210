#ifndef T
#define THIS_FILE "autograd/ops/div.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_float.h"
#else

POINTWISE2(div, T, T, T, a / b)

#endif
