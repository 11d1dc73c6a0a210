/* Kernels of gelu: x/2 (1 + erf(x / sqrt 2)), or the approximation with tanh. A unit is one
 * element. In a derivative, a = dy and b = x. */
#ifndef elem
#define THIS_FILE "ops/elementwise/gelu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(gelu, elem, elem, VMATH(gelu)(x))
POINTWISE1(gelu_tanh, elem, elem, VMATH(gelu_tanh)(x))
POINTWISE2(gelu_backward, elem, elem, elem, a *VMATH(gelu_derivative)(b))
POINTWISE2(gelu_tanh_backward, elem, elem, elem, a *VMATH(gelu_tanh_derivative)(b))

#endif
