/* Kernel of the backward of linear_relu: the upstream gradient, masked by the ReLU.
 *
 *     dz = p[0] dy where y > 0, else 0
 *
 * p[0] is the factor 1 / (1 - p) of a dropout after the ReLU, or 1. A dropped element has y = 0, so
 * one comparison masks for the ReLU and for the dropout. A unit is one element.
 */
#ifndef elem
#define THIS_FILE "ops/linalg/linear_relu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

/* a = dy, b = y. Where y is NaN, dy passes with its factor. */
POINTWISE2(linear_relu_backward, elem, elem, elem, b <= 0 ? ELEM(0) : ELEM(p[0]) * a)

#endif
