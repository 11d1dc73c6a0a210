/* Kernels of the functions of the table.
 *
 * A unit is one element. VMATH functions are branch-free and vectorise; their error bounds are in
 * tensor/kernel/vmath.h. Results of rounding are exact, so all processors give the same bits. The
 * bool kernels are called for sign only. */
#ifndef elem
#define THIS_FILE "ops/functions/functions.kernel.c"
#include <math.h>

#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

#undef SQUARE_ROOT
#undef WHOLE
#if ELEM_IS_F32
#define SQUARE_ROOT sqrtf
#define WHOLE       0x1p23f
#else
#define SQUARE_ROOT sqrt
#define WHOLE       0x1p52
#endif

/* The nearest integer, by a sum that has no room for a fraction. From 2^23 (2^52) on all numbers
 * are integers. A result of 0 has the sign of x. */
static inline elem KERNEL(nearest)(elem x)
{
    const elem shift = VMATH(sign_of)(WHOLE, x), near = (x + shift) - shift;
    return VMATH(abs)(x) < WHOLE ? VMATH(sign_of)(near, x) : x;
}
static inline elem KERNEL(below)(elem x)
{
    const elem near = KERNEL(nearest)(x), y = near > x ? near - 1 : near;
    return x == 0 ? x : y;
}
static inline elem KERNEL(above)(elem x)
{
    const elem near = KERNEL(nearest)(x), y = near < x ? near + 1 : near;
    return x != x ? x : VMATH(sign_of)(y, x);
}

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

#define FUNCTION(fn, saved, kernel, ...) POINTWISE1(fn, elem, elem, kernel)
#define FUNCTION_BY_LOOP(...)
#define DERIVED(fn, kernel, ...)             POINTWISE1(fn, elem, elem, kernel)
#define FUNCTION2(fn, kernel, ...)           POINTWISE2(fn, elem, elem, elem, kernel)
#define FUNCTION_EXPRESSED(fn, kernel, ...)  POINTWISE1(fn, elem, elem, kernel)
#define FUNCTION2_EXPRESSED(fn, kernel, ...) POINTWISE2(fn, elem, elem, elem, kernel)
#define DERIVED2(fn, kernel, ...)            POINTWISE2(fn, elem, elem, elem, kernel)
#define STEPS(fn, kernel, of_integers, ...)  POINTWISE1(fn, elem, elem, kernel)
#include "ops/functions/table.h"

#else

#define FUNCTION(...)
#define FUNCTION_BY_LOOP(...)
#define DERIVED(...)
#define FUNCTION2(...)
#define FUNCTION_EXPRESSED(...)
#define FUNCTION2_EXPRESSED(...)
#define DERIVED2(...)
#define STEPS(fn, kernel, of_integers, ...) POINTWISE1(fn, elem, elem, of_integers)
#include "ops/functions/table.h"

#endif
