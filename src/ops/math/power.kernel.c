/* Kernels of powers: pow a^b, pow_number x^p[0], and cube x^3 for floats.
 *
 * A unit is one element. Floats use vmath.h's pow with C's special cases. cube is the frequent
 * exponent 3 as two products. Integers use repeated squaring with overflow that wraps
 * (integer_power.h). The bool kernels are never called. */
#ifndef elem
#define THIS_FILE "ops/math/power.kernel.c"
#include "ops/math/integer_power.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

POINTWISE2(pow, elem, elem, elem, VMATH(pow)(a, b))
POINTWISE1(pow_number, elem, elem, VMATH(pow)(x, ELEM(p[0])))
POINTWISE1(cube, elem, elem, x *x *x)

#else

POINTWISE2(pow, elem, elem, elem, adzi_integer_power((int64_t)a, (int64_t)b))
POINTWISE1(pow_number, elem, elem, adzi_integer_power((int64_t)x, (int64_t)p[0]))

#endif
