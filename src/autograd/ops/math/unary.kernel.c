/* Kernels of functions of one number, and of derivatives that have a kernel of their own.
 *
 * A unit is one element. POINTWISE1 computes from an operand x. POINTWISE2 computes a derivative
 * from a = dy and the saved b = x or y, as its row says. Derivatives that are missing here are
 * expressions of other operators. VMATH functions are branch-free and vectorise; their error bounds
 * are in tensor/kernel/vmath.h. */
#ifndef elem
#define THIS_FILE "autograd/ops/math/unary.kernel.c"
#include <math.h>

#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

#undef SQUARE_ROOT
#if ELEM_IS_F32
#define SQUARE_ROOT sqrtf
#else
#define SQUARE_ROOT sqrt
#endif
POINTWISE1(abs, elem, elem, VMATH(abs)(x))
POINTWISE1(square, elem, elem, x *x)
POINTWISE2(square_backward, elem, elem, elem, ELEM(2) * a * b) /* a = dy, b = x */
POINTWISE1(sqrt, elem, elem, SQUARE_ROOT(x))
POINTWISE1(rsqrt, elem, elem, ELEM(1) / SQUARE_ROOT(x))
POINTWISE1(reciprocal, elem, elem, ELEM(1) / x)

POINTWISE1(exp, elem, elem, VMATH(exp)(x))
POINTWISE1(expm1, elem, elem, VMATH(expm1)(x))
POINTWISE1(log, elem, elem, VMATH(log)(x))
POINTWISE1(log1p, elem, elem, VMATH(log1p)(x))
POINTWISE1(erf, elem, elem, VMATH(erf)(x))

POINTWISE1(tanh, elem, elem, VMATH(tanh)(x))
POINTWISE2(tanh_backward, elem, elem, elem, a *(ELEM(1) - b * b)) /* a = dy, b = y */
POINTWISE1(sigmoid, elem, elem, VMATH(sigmoid)(x))
POINTWISE2(sigmoid_backward, elem, elem, elem, a *(b *(ELEM(1) - b))) /* a = dy, b = y */
POINTWISE1(logsigmoid, elem, elem, VMATH(logsigmoid)(x))
POINTWISE2(logsigmoid_backward, elem, elem, elem, a *VMATH(sigmoid)(-b)) /* a = dy, b = x */

/* TRIGONOMETRIC(name, quarters) makes the kernel of sin(x + quarters * pi / 2): sin for 0 and cos
 * for 1. */
#undef TRIGONOMETRIC
/* Blocks of 64 elements. If no argument of a block is above 2^20 or not finite (`far`), the
 * block is vectorised. Otherwise its elements are computed one by one, and the far ones by
 * adzi_sin_far. Both loops compute the same bits of an element that is not far. */
#define TRIGONOMETRIC(name, quarters)                                       \
    static void KERNEL(name##_loop)(                                        \
        void *out, const void *const *in, int64_t n, const double *numbers) \
    {                                                                       \
        enum { BLOCK = 64 };                                                \
        const elem *x = in[0];                                              \
        elem *y = out;                                                      \
        (void)numbers;                                                      \
        for (int64_t m; n > 0; n -= m, x += m, y += m) {                    \
            m = n < BLOCK ? n : BLOCK;                                      \
            uint32_t far = 0;                                               \
            for (int64_t i = 0; i < m; ++i) {                               \
                far |= VMATH(is_far)(x[i]);                                 \
            }                                                               \
            POINTWISE_FOR(int64_t i = 0; far == 0 && i < m; ++i)            \
            {                                                               \
                y[i] = VMATH(sin_near)(x[i], quarters);                     \
            }                                                               \
            for (int64_t i = 0; far != 0 && i < m; ++i) {                   \
                y[i] = VMATH(name)(x[i]);                                   \
            }                                                               \
        }                                                                   \
    }                                                                       \
    POINTWISE_KERNEL(name, ADZI_ITEMS(sizeof(elem), sizeof(elem), 0, 0))
TRIGONOMETRIC(sin, 0)
TRIGONOMETRIC(cos, 1)

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
