/* Kernels of functions of one number, and of derivatives that have their own kernel.
 *
 * A unit is one element. POINTWISE1 computes from an operand x. POINTWISE2 computes a derivative
 * from a = dy and the saved b = x or y, as its row says. Derivatives that are missing here are
 * expressions of other operators. VMATH functions are branch-free and vectorise; their error bounds
 * are in tensor/kernel/vmath.h. */
#ifndef elem
#define THIS_FILE "ops/math/unary.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

POINTWISE1(abs, elem, elem, VMATH(abs)(x))
POINTWISE1(square, elem, elem, x *x)
POINTWISE2(square_backward, elem, elem, elem, ELEM(2) * a * b) /* a = dy, b = x */

POINTWISE1(logsigmoid, elem, elem, VMATH(logsigmoid)(x))
POINTWISE2(logsigmoid_backward, elem, elem, elem, a *VMATH(sigmoid)(-b)) /* a = dy, b = x */

/* A sum of terms whose number depends on x. */
POINTWISE1(polygamma, elem, elem, VMATH(polygamma)((int)p[0], x))

#else

/* |x| of an integer, by unsigned arithmetic: the least integer is its own magnitude, as it wraps.
 */
static inline uint64_t KERNEL(magnitude)(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}
POINTWISE1(abs, elem, elem, KERNEL(magnitude)(x))
POINTWISE1(square, elem, elem, (uint64_t)x *(uint64_t)x) /* unsigned: overflow wraps */

#endif
