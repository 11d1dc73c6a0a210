#ifndef T
#define THIS_FILE "autograd/ops/activation/elu.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* p[0] = alpha. NaN is not <= 0 and passes through. */
POINTWISE1(elu, T, T, x <= 0 ? R(p[0]) * VM(expm1)(x) : x)

/* The exponential of positive numbers, which nobody needs, is that of 0: computed for every
 * element, it leaves no jump. */
static inline T K(elu_slope)(T x, T alpha)
{
    T e = VM(exp)(x > 0 ? R(0) : x);
    return x <= 0 ? alpha * e : R(1);
}
POINTWISE2(elu_backward, T, T, T, a *K(elu_slope)(b, R(p[0]))) /* a = dy, b = x */

#endif
