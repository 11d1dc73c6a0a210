/* Kernels of pow_number, x^p[0], and of its frequent exponent 3 as two products, cube.
 *
 * A unit is one element. Floats use vmath.h's pow with C's special cases. Integers use repeated
 * squaring with overflow that wraps (integer_power.h). The bool kernel is never called. */
#ifndef elem
#define THIS_FILE "ops/elementwise/pow_number.kernel.c"
#include "ops/elementwise/integer_power.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

POINTWISE1(pow_number, elem, elem, VMATH(pow)(x, ELEM(p[0])))
POINTWISE1(cube, elem, elem, x *x *x)

#else

POINTWISE1(pow_number, elem, elem, adzi_integer_power((int64_t)x, (int64_t)p[0]))

#endif
