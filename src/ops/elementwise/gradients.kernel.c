/* Kernels of the fused backwards of the table. A unit is one element; a = dy, and b is the saved x
 * or y. */
#ifndef elem
#define THIS_FILE "ops/elementwise/gradients.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* The derivative of elu: 1 for x > 0, else alpha e^x. The exponential is computed for every
 * element, so that the loop has no branch. Positive elements take that of 0, which cannot
 * overflow. */
static inline elem KERNEL(elu_slope)(elem x, elem alpha)
{
    elem e = VMATH(exp)(x > 0 ? ELEM(0) : x);
    return x <= 0 ? alpha * e : ELEM(1);
}

#define GRADIENT_KERNEL(fn, saved, kernel) POINTWISE2(fn##_backward, elem, elem, elem, kernel)
#define UNROLLED_GRADIENT_KERNEL(fn, saved, kernel) \
    UNROLLED_POINTWISE2(fn##_backward, elem, elem, elem, kernel)
#define GRADIENT_KERNEL2(fn, kernel) POINTWISE3(fn##_backward, elem, elem, elem, elem, kernel)
#include "ops/elementwise/table.h"

#endif
