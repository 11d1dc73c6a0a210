/* Kernels of activations that take one element at a time, and of their derivatives. */
#ifndef elem
#define THIS_FILE "autograd/ops/activation/activation.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

UNROLLED_POINTWISE1(relu, elem, elem, x < 0 ? ELEM(0) : x) /* NaN stays NaN */
/* a = dy, b = y; NaN lets dy through */
UNROLLED_POINTWISE2(relu_backward, elem, elem, elem, b <= 0 ? ELEM(0) : a)

POINTWISE1(leaky_relu, elem, elem, x > 0 ? x : ELEM(p[0]) * x)
/* a = dy, b = x */
POINTWISE2(leaky_relu_backward, elem, elem, elem, b > 0 ? a : ELEM(p[0]) * a)

/* p[0] = alpha. NaN is not <= 0 and passes through. */
POINTWISE1(elu, elem, elem, x <= 0 ? ELEM(p[0]) * VMATH(expm1)(x) : x)

/* The exponential is computed for every element, so that the loop has no jump; for positive
 * elements, whose slope does not need it, it is that of 0. */
static inline elem KERNEL(elu_slope)(elem x, elem alpha)
{
    elem e = VMATH(exp)(x > 0 ? ELEM(0) : x);
    return x <= 0 ? alpha * e : ELEM(1);
}
/* a = dy, b = x */
POINTWISE2(elu_backward, elem, elem, elem, a *KERNEL(elu_slope)(b, ELEM(p[0])))

POINTWISE1(gelu, elem, elem, VMATH(gelu)(x))
POINTWISE1(gelu_tanh, elem, elem, VMATH(gelu_tanh)(x))
/* a = dy, b = x */
POINTWISE2(gelu_backward, elem, elem, elem, a *VMATH(gelu_derivative)(b))
POINTWISE2(gelu_tanh_backward, elem, elem, elem, a *VMATH(gelu_tanh_derivative)(b))

POINTWISE1(silu, elem, elem, VMATH(silu)(x))
POINTWISE2(silu_backward, elem, elem, elem, a *VMATH(silu_derivative)(b)) /* a = dy, b = x */

/* p = beta, threshold, 1 / beta */
POINTWISE1(softplus, elem, elem,
    x *ELEM(p[0]) > ELEM(p[1]) ? x : VMATH(softplus)(x * ELEM(p[0])) * ELEM(p[2]))
/* a = dy, b = x */
POINTWISE2(softplus_backward, elem, elem, elem,
    b *ELEM(p[0]) > ELEM(p[1]) ? a : a * VMATH(sigmoid)(b * ELEM(p[0])))

#else

UNROLLED_POINTWISE1(relu, elem, elem, x > 0 ? x : 0)

#endif
