/* Kernels of a tensor and a number, p[0], for f32 and f64.
 *
 *     mul_number  x p[0]            add_number  x + p[0]            number_sub  p[0] - x
 *     div_number  x / p[0]          number_div  p[0] / x
 *
 * A unit is one element. The bits are those of the kernels of two tensors (arithmetic.kernel.c)
 * with the number as the second tensor. UNROLLED_ rows do so little per element that their loops
 * are unrolled. */
#ifndef elem
#define THIS_FILE "ops/elementwise/beside_number.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

UNROLLED_POINTWISE1(mul_number, elem, elem, x *ELEM(p[0]))
UNROLLED_POINTWISE1(add_number, elem, elem, x + ELEM(p[0]))
UNROLLED_POINTWISE1(number_sub, elem, elem, ELEM(p[0]) - x)
POINTWISE1(div_number, elem, elem, x / ELEM(p[0]))
POINTWISE1(number_div, elem, elem, ELEM(p[0]) / x)

#endif
