#ifndef T
#define THIS_FILE "autograd/ops/math/cos.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else
#include "autograd/ops/math/sin.kernel.h"

TRIGONOMETRIC(cos, 1)

#endif
