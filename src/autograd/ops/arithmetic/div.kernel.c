#ifndef T
#define THIS_FILE "autograd/ops/arithmetic/div.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE2(div, T, T, T, a / b)

#endif
