/* Kernels of tanh and sigmoid, and of their derivatives.
 *
 * A unit is one element. In a derivative a = dy, and b is the saved y. In the derivative of tanh's
 * gradient by y, a is the gradient of that gradient, b = dy and c = y. These functions wait for
 * arithmetic and not for memory, so their f64 has kernels at all levels (base/isa.h). */
#ifndef elem
#define THIS_FILE "ops/math/sigmoids.kernel.c"
#define F64_AT_ALL_LEVELS
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(tanh, elem, elem, VMATH(tanh)(x))
POINTWISE2(tanh_backward, elem, elem, elem, a *(ELEM(1) - b * b))
POINTWISE3(tanh_curvature, elem, elem, elem, elem, ELEM(-2) * ((a * b) * c))
POINTWISE1(sigmoid, elem, elem, VMATH(sigmoid)(x))
POINTWISE2(sigmoid_backward, elem, elem, elem, a *(b *(ELEM(1) - b)))

#endif
