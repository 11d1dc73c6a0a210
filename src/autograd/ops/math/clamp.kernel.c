#ifndef T
#define THIS_FILE "autograd/ops/math/clamp.kernel.c"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_type.h"
#else

#if T_IS_FLOAT
/* max wins over min; NaN, be it x or a bound, stays. */
static inline T K(clamped)(T x, T min, T max)
{
    T y = x < min || min != min ? min : x;
    return y > max || max != max ? max : y;
}
POINTWISE1(clamp, T, T, K(clamped)(x, R(p[0]), R(p[1])))
/* a = dy, b = x */
POINTWISE2(clamp_backward, T, T, T, b >= R(p[0]) && b <= R(p[1]) ? a : R(0))
#else
/* Bounds outside the integers' range are never met. */
static inline int64_t K(bound)(double b)
{
    return b <= -0x1p63 ? INT64_MIN : b >= 0x1p63 ? INT64_MAX : (int64_t)b;
}
static inline int64_t K(clamped)(int64_t x, int64_t min, int64_t max)
{
    int64_t y = x < min ? min : x;
    return y > max ? max : y;
}
POINTWISE1(clamp, T, T, K(clamped)(x, K(bound)(p[0]), K(bound)(p[1])))
#endif

#endif
