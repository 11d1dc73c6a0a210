/* Kernels of powers. The integers' kernels are never called for bool. */
#ifndef elem
#define THIS_FILE "autograd/ops/math/power.kernel.c"
#include <math.h>

#include "autograd/ops/math/integer_power.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

#undef POWER
#if ELEM_IS_F32
#define POWER powf
#else
#define POWER pow
#endif
POINTWISE2(pow, elem, elem, elem, POWER(a, b))
POINTWISE1(pow_number, elem, elem, POWER(x, ELEM(p[0])))
POINTWISE1(cube, elem, elem, x *x *x)

#else

POINTWISE2(pow, elem, elem, elem, adzi_integer_power((int64_t)a, (int64_t)b))
POINTWISE1(pow_number, elem, elem, adzi_integer_power((int64_t)x, (int64_t)p[0]))

#endif
