#ifndef T
#define THIS_FILE "autograd/ops/math/pow_number.kernel.c"
#include <math.h>
#include "tensor/kernel/pointwise.kernel.h"
#include "autograd/ops/math/integer_power.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
POINTWISE1(cube, T, T, x *x *x)
#if T_IS_F32
POINTWISE1(pow_number, T, T, powf(x, R(p[0])))
#else
POINTWISE1(pow_number, T, T, pow(x, p[0]))
#endif
#else
POINTWISE1(
    pow_number, T, T, adzi_integer_power((int64_t)x, (int64_t)p[0])) /* never called for bool */
#endif

#endif
