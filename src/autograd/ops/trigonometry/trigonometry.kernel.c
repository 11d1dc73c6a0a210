/* Kernels of trigonometric and hyperbolic functions and their inverses.
 *
 * A unit is one element. The functions are branch-free and vectorise; their error bounds are in
 * tensor/kernel/vmath.h. */
#ifndef elem
#define THIS_FILE "autograd/ops/trigonometry/trigonometry.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

POINTWISE1(acos, elem, elem, VMATH(acos)(x))
POINTWISE1(acosh, elem, elem, VMATH(acosh)(x))
POINTWISE1(asin, elem, elem, VMATH(asin)(x))
POINTWISE1(asinh, elem, elem, VMATH(asinh)(x))
POINTWISE1(atan, elem, elem, VMATH(atan)(x))
POINTWISE2(atan2, elem, elem, elem, VMATH(atan2)(a, b))
POINTWISE1(atanh, elem, elem, VMATH(atanh)(x))
POINTWISE1(cosh, elem, elem, VMATH(cosh)(x))
POINTWISE2(hypot, elem, elem, elem, VMATH(hypot)(a, b))
POINTWISE1(sinh, elem, elem, VMATH(sinh)(x))

/* tan: blocks of 64 elements. A block is vectorised if no argument is far (adzi_tan_is_far). Both
 * loops compute the same bits of an element that is not far. */
static void KERNEL(tan_loop)(void *out, const void *const *in, int64_t n, const double *numbers)
{
    enum { BLOCK = 64 };
    const elem *x = in[0];
    elem *y = out;
    (void)numbers;
    for (int64_t m; n > 0; n -= m, x += m, y += m) {
        m = n < BLOCK ? n : BLOCK;
        uint32_t far = 0;
        for (int64_t i = 0; i < m; ++i) {
            far |= adzi_tan_is_far((double)x[i]);
        }
        POINTWISE_FOR(int64_t i = 0; far == 0 && i < m; ++i)
        {
            y[i] = VMATH(tan_near)(x[i]);
        }
        for (int64_t i = 0; far != 0 && i < m; ++i) {
            y[i] = VMATH(tan)(x[i]);
        }
    }
}
POINTWISE_KERNEL(tan, ADZI_ITEMS(sizeof(elem), sizeof(elem), 0, 0))

#endif
