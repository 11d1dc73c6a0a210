#ifndef T
#define THIS_FILE "autograd/ops/sin.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else
#include "autograd/ops/sin.kernel.h"

TRIGONOMETRIC(sin, 0)

#endif
