/* Kernels of the functions of the table.
 *
 * A unit is one element. VMATH functions are branch-free and vectorise; their error bounds are in
 * tensor/kernel/vmath.h. Results of rounding and of remainders are exact, so all processors give
 * the same bits. Integers are computed as unsigned integers of 64 bits, in which overflow wraps as
 * it does in PyTorch. Most bool kernels exist only because the tables have a column for them.
 *
 * Conditions are written so that NaN takes the branch that returns NaN. A comparison follows IEEE
 * 754 and writes bytes of 0 or 1. */
#ifndef elem
#define THIS_FILE "ops/elementwise/table.kernel.c"
#include <math.h>

#include "ops/elementwise/integer_power.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_type.h"
#elif ELEM_IS_FLOAT

#undef SQUARE_ROOT
#undef FMOD
#undef WHOLE
#if ELEM_IS_F32
#define SQUARE_ROOT sqrtf
#define FMOD        fmodf
#define WHOLE       0x1p23f
#else
#define SQUARE_ROOT sqrt
#define FMOD        fmod
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

/* The derivative of elu: 1 for x > 0, else alpha e^x. The exponential is computed for every
 * element, so that the loop has no branch. Positive elements take that of 0, which cannot
 * overflow. */
static inline elem KERNEL(elu_slope)(elem x, elem alpha)
{
    elem e = VMATH(exp)(x > 0 ? ELEM(0) : x);
    return x <= 0 ? alpha * e : ELEM(1);
}

/* The remainder moves by b if its sign is not that of b. */
static inline elem KERNEL(rest)(elem a, elem b)
{
    const elem y = FMOD(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}

#define KERNEL1(fn, kernel)                    POINTWISE1(fn, elem, elem, kernel)
#define KERNEL1_ALL(fn, kernel, of_integers)   POINTWISE1(fn, elem, elem, kernel)
#define KERNEL2(fn, kernel)                    POINTWISE2(fn, elem, elem, elem, kernel)
#define KERNEL2_ALL(fn, kernel, of_integers)   POINTWISE2(fn, elem, elem, elem, kernel)
#define UNROLLED1_ALL(fn, kernel, of_integers) UNROLLED_POINTWISE1(fn, elem, elem, kernel)
#define TRUTH1(fn, kernel, of_integers)        POINTWISE1(fn, uint8_t, elem, kernel)
#define TRUTH2(fn, kernel)                     POINTWISE2(fn, uint8_t, elem, elem, kernel)
#define GRADIENT_KERNEL(fn, saved, kernel)     POINTWISE2(fn##_backward, elem, elem, elem, kernel)
#define UNROLLED_GRADIENT_KERNEL(fn, saved, kernel) \
    UNROLLED_POINTWISE2(fn##_backward, elem, elem, elem, kernel)
#define GRADIENT_KERNEL2(fn, kernel) POINTWISE3(fn##_backward, elem, elem, elem, elem, kernel)
#include "ops/elementwise/table.h"

#else

/* |x| of an integer, by unsigned arithmetic: the least integer is its own magnitude, as it wraps.
 */
static inline uint64_t KERNEL(magnitude)(int64_t x)
{
    return x < 0 ? 0 - (uint64_t)x : (uint64_t)x;
}

/* A divisor of -1 could overflow, and has no remainder. One of 0 was refused before the launch; a
 * trap would end the program if it were not. */
static inline int64_t KERNEL(modulo)(int64_t a, int64_t b)
{
    return b == -1 || b == 0 ? 0 : a % b;
}
static inline int64_t KERNEL(rest)(int64_t a, int64_t b)
{
    const int64_t y = KERNEL(modulo)(a, b);
    return y != 0 && (b < 0) != (y < 0) ? y + b : y;
}

#define KERNEL1(fn, kernel)
#define KERNEL1_ALL(fn, kernel, of_integers) POINTWISE1(fn, elem, elem, of_integers)
#define KERNEL2(fn, kernel)
#define KERNEL2_ALL(fn, kernel, of_integers)   POINTWISE2(fn, elem, elem, elem, of_integers)
#define UNROLLED1_ALL(fn, kernel, of_integers) UNROLLED_POINTWISE1(fn, elem, elem, of_integers)
#define TRUTH1(fn, kernel, of_integers)        POINTWISE1(fn, uint8_t, elem, of_integers)
#define TRUTH2(fn, kernel)                     POINTWISE2(fn, uint8_t, elem, elem, kernel)
#include "ops/elementwise/table.h"

#endif
