/* Kernels of the functions of the table that are for f32 and f64 alone.
 *
 * A unit is one element. VMATH functions are branch-free and vectorise; their error bounds are in
 * tensor/kernel/vmath.h. Conditions are written so that NaN takes the branch that returns NaN.
 *
 * The kernels of the table are in several files. A compiler no longer inlines a function into all
 * loops of a file that is too large, and a loop that calls a function is not vectorised. */
#ifndef elem
#define THIS_FILE "ops/elementwise/table.kernel.c"
#include <math.h>

#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

#undef SQUARE_ROOT
#if ELEM_IS_F32
#define SQUARE_ROOT sqrtf
#else
#define SQUARE_ROOT sqrt
#endif

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

/* x held in [eps, 1 - eps], or x itself for an eps below 0. NaN stays. */
static inline elem KERNEL(held)(elem x, double eps)
{
    const elem low = ELEM(eps), high = ELEM(1 - eps);
    return eps < 0 ? x : x < low ? low : x > high ? high : x;
}

#define KERNEL1(fn, kernel) POINTWISE1(fn, elem, elem, kernel)
#define KERNEL2(fn, kernel) POINTWISE2(fn, elem, elem, elem, kernel)
#include "ops/elementwise/table.h"

#endif
