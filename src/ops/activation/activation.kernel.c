/* Kernels of elementwise activations and of their derivatives.
 *
 * Each row POINTWISE1(name, result type, operand type, VALUE) makes one kernel of one operand x.
 * POINTWISE2 makes one of two operands a and b. In a backward, a is dy and b is the saved x or y,
 * as its row says. p[0], p[1] and p[2] are the operator's numbers. A unit is one element; the walk
 * over strided operands is in tensor/kernel/pointwise.kernel.h. Only relu has integer kernels.
 *
 * Conditions are written so that NaN takes the branch that returns NaN.
 */
#ifndef elem
#define THIS_FILE "ops/activation/activation.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

UNROLLED_POINTWISE1(relu, elem, elem, x < 0 ? ELEM(0) : x) /* y = max(x, 0); NaN stays NaN */
/* a = dy, b = y. dx = dy where y > 0, else 0; where y is NaN, dx is dy. */
UNROLLED_POINTWISE2(relu_backward, elem, elem, elem, b <= 0 ? ELEM(0) : a)

/* p[0] = the slope of negative elements */
POINTWISE1(leaky_relu, elem, elem, x > 0 ? x : ELEM(p[0]) * x)
/* a = dy, b = x */
POINTWISE2(leaky_relu_backward, elem, elem, elem, b > 0 ? a : ELEM(p[0]) * a)

/* y = x for x > 0, else alpha (e^x - 1), with p[0] = alpha. NaN is not <= 0 and stays NaN. */
POINTWISE1(elu, elem, elem, x <= 0 ? ELEM(p[0]) * VMATH(expm1)(x) : x)

/* The derivative of elu: 1 for x > 0, else alpha e^x. The exponential is computed for every
 * element, so that the loop has no branch. Positive elements take that of 0, which cannot
 * overflow. */
static inline elem KERNEL(elu_slope)(elem x, elem alpha)
{
    elem e = VMATH(exp)(x > 0 ? ELEM(0) : x);
    return x <= 0 ? alpha * e : ELEM(1);
}
/* a = dy, b = x */
POINTWISE2(elu_backward, elem, elem, elem, a *KERNEL(elu_slope)(b, ELEM(p[0])))

/* gelu is x/2 (1 + erf(x / sqrt 2)); gelu_tanh is the approximation with tanh. */
POINTWISE1(gelu, elem, elem, VMATH(gelu)(x))
POINTWISE1(gelu_tanh, elem, elem, VMATH(gelu_tanh)(x))
/* a = dy, b = x */
POINTWISE2(gelu_backward, elem, elem, elem, a *VMATH(gelu_derivative)(b))
POINTWISE2(gelu_tanh_backward, elem, elem, elem, a *VMATH(gelu_tanh_derivative)(b))

/* y = x sigmoid(x) */
POINTWISE1(silu, elem, elem, VMATH(silu)(x))
POINTWISE2(silu_backward, elem, elem, elem, a *VMATH(silu_derivative)(b)) /* a = dy, b = x */

/* y = log(1 + e^(beta x)) / beta, and x itself where beta x exceeds the threshold, as in PyTorch.
 * p = beta, threshold, 1 / beta. */
POINTWISE1(softplus, elem, elem,
    x *ELEM(p[0]) > ELEM(p[1]) ? x : VMATH(softplus)(x * ELEM(p[0])) * ELEM(p[2]))
/* a = dy, b = x */
POINTWISE2(softplus_backward, elem, elem, elem,
    b *ELEM(p[0]) > ELEM(p[1]) ? a : a * VMATH(sigmoid)(b * ELEM(p[0])))

#else

/* Integers and bool. */
UNROLLED_POINTWISE1(relu, elem, elem, x > 0 ? x : 0)

#endif
