#ifndef T
#define THIS_FILE "autograd/ops/math/pow.kernel.c"
#include <math.h>
#include "tensor/kernel/pointwise.kernel.h"
#include "autograd/ops/math/integer_power.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
#if T_IS_F32
POINTWISE2(pow, T, T, T, powf(a, b))
#else
POINTWISE2(pow, T, T, T, pow(a, b))
#endif
#else
POINTWISE2(pow, T, T, T, adzi_integer_power((int64_t)a, (int64_t)b)) /* never called for bool */
#endif

#endif
