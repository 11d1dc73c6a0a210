/* The expected results of vmath.h's functions in a wider type: f64 for f32, long double for f64. */
#ifndef ADZE_TESTS_VMATH_REFERENCE_H
#define ADZE_TESTS_VMATH_REFERENCE_H

#include <math.h>

#define SQRT_HALF    0.707106781186547524400844362104849039L
#define SQRT_2_PI    0.797884560802865355879892119868763737L
#define PI_WIDE      3.141592653589793238462643383279502884L
#define ROOT_PI_HALF 0.886226925452758013649083741670572591L
#define DENSITY_TOP  0.398942280401432677939946059934381868L

#define DEFINE_REFERENCES(W, M)                                                                  \
    static W reference_exp_##W(W x)                                                              \
    {                                                                                            \
        return exp##M(x);                                                                        \
    }                                                                                            \
    static W reference_log_##W(W x)                                                              \
    {                                                                                            \
        return log##M(x);                                                                        \
    }                                                                                            \
    static W reference_log1p_##W(W x)                                                            \
    {                                                                                            \
        return log1p##M(x);                                                                      \
    }                                                                                            \
    static W reference_expm1_##W(W x)                                                            \
    {                                                                                            \
        return expm1##M(x);                                                                      \
    }                                                                                            \
    static W reference_tanh_##W(W x)                                                             \
    {                                                                                            \
        return tanh##M(x);                                                                       \
    }                                                                                            \
    static W reference_erf_##W(W x)                                                              \
    {                                                                                            \
        return erf##M(x);                                                                        \
    }                                                                                            \
    static W reference_pow_of_##W(W x)                                                           \
    {                                                                                            \
        return pow##M(x, 2.625);                                                                 \
    }                                                                                            \
    static W reference_pow_by_##W(W x)                                                           \
    {                                                                                            \
        return pow##M(1.375, x);                                                                 \
    }                                                                                            \
    static W reference_sin_##W(W x)                                                              \
    {                                                                                            \
        return sin##M(x);                                                                        \
    }                                                                                            \
    static W reference_cos_##W(W x)                                                              \
    {                                                                                            \
        return cos##M(x);                                                                        \
    }                                                                                            \
    static W reference_exp2_##W(W x)                                                             \
    {                                                                                            \
        return exp2##M(x);                                                                       \
    }                                                                                            \
    static W reference_log2_##W(W x)                                                             \
    {                                                                                            \
        return log2##M(x);                                                                       \
    }                                                                                            \
    static W reference_log10_##W(W x)                                                            \
    {                                                                                            \
        return log10##M(x);                                                                      \
    }                                                                                            \
    static W reference_sinh_##W(W x)                                                             \
    {                                                                                            \
        return sinh##M(x);                                                                       \
    }                                                                                            \
    static W reference_cosh_##W(W x)                                                             \
    {                                                                                            \
        return cosh##M(x);                                                                       \
    }                                                                                            \
    static W reference_asinh_##W(W x)                                                            \
    {                                                                                            \
        return asinh##M(x);                                                                      \
    }                                                                                            \
    static W reference_acosh_##W(W x)                                                            \
    {                                                                                            \
        return acosh##M(x);                                                                      \
    }                                                                                            \
    static W reference_atanh_##W(W x)                                                            \
    {                                                                                            \
        return atanh##M(x);                                                                      \
    }                                                                                            \
    static W reference_tan_##W(W x)                                                              \
    {                                                                                            \
        return tan##M(x);                                                                        \
    }                                                                                            \
    static W reference_asin_##W(W x)                                                             \
    {                                                                                            \
        return asin##M(x);                                                                       \
    }                                                                                            \
    static W reference_acos_##W(W x)                                                             \
    {                                                                                            \
        return acos##M(x);                                                                       \
    }                                                                                            \
    static W reference_atan_##W(W x)                                                             \
    {                                                                                            \
        return atan##M(x);                                                                       \
    }                                                                                            \
    static W reference_erfc_##W(W x)                                                             \
    {                                                                                            \
        return erfc##M(x);                                                                       \
    }                                                                                            \
    /* The tangent of a concave function stays above it, so steps of Newton from below converge. \
     */                                                                                          \
    static W reference_erfinv_##W(W x)                                                           \
    {                                                                                            \
        W a = fabs##M(x), y = a * (W)0.886, step = 1;                                            \
        if (!(a < 1))                                                                            \
            return a == 1 ? x * (W)INFINITY : (W)NAN;                                            \
        for (int i = 0; i < 200 && step != 0; ++i) {                                             \
            W rest = a < (W)0.5 ? a - erf##M(y) : erfc##M(y) - (1 - a);                          \
            step = y + rest * (W)ROOT_PI_HALF * exp##M(y * y) - y;                               \
            y += step;                                                                           \
        }                                                                                        \
        return copysign##M(y, x);                                                                \
    }                                                                                            \
    static W reference_sinc_##W(W x)                                                             \
    {                                                                                            \
        W near = nearbyint##M(x), r = x - near;                                                  \
        if (x == 0 || r == 0)                                                                    \
            return x == 0;                                                                       \
        W sine = sin##M((W)PI_WIDE * r) / ((W)PI_WIDE * x);                                      \
        return fmod##M(near, 2) != 0 ? -sine : sine;                                             \
    }                                                                                            \
    static W reference_lgamma_##W(W x)                                                           \
    {                                                                                            \
        return lgamma##M(x);                                                                     \
    }                                                                                            \
    static W reference_digamma_##W(W x)                                                          \
    {                                                                                            \
        if (x == 0 || (x < 0 && x == floor##M(x)))                                               \
            return x == 0 ? copysign##M((W)INFINITY, -x) : (W)NAN;                               \
        if (x < 0)                                                                               \
            return reference_digamma_##W(1 - x) -                                                \
                   (W)PI_WIDE / tan##M((W)PI_WIDE * (x - nearbyint##M(x)));                      \
        W sum = 0;                                                                               \
        for (; x < 40; x += 1)                                                                   \
            sum += 1 / x;                                                                        \
        W z = 1 / (x * x);                                                                       \
        W series =                                                                               \
            z * (1 / (W)12 -                                                                     \
                    z * (1 / (W)120 -                                                            \
                            z * (1 / (W)252 -                                                    \
                                    z * (1 / (W)240 - z * (1 / (W)132 - z * 691 / (W)32760))))); \
        return log##M(x) - 1 / (2 * x) - series - sum;                                           \
    }                                                                                            \
    static W reference_sigmoid_##W(W x)                                                          \
    {                                                                                            \
        return x < 0 ? exp##M(x) / (1 + exp##M(x)) : 1 / (1 + exp##M(-x));                       \
    }                                                                                            \
    static W reference_silu_##W(W x)                                                             \
    {                                                                                            \
        return x * reference_sigmoid_##W(x);                                                     \
    }                                                                                            \
    static W reference_silu_derivative_##W(W x)                                                  \
    {                                                                                            \
        W s = reference_sigmoid_##W(x);                                                          \
        return s * (1 + x * reference_sigmoid_##W(-x));                                          \
    }                                                                                            \
    static W reference_softplus_##W(W x)                                                         \
    {                                                                                            \
        return (x > 0 ? x : 0) + log1p##M(exp##M(-fabs##M(x)));                                  \
    }                                                                                            \
    static W reference_logsigmoid_##W(W x)                                                       \
    {                                                                                            \
        return (x < 0 ? x : 0) - log1p##M(exp##M(-fabs##M(x)));                                  \
    }                                                                                            \
    static W reference_gelu_##W(W x)                                                             \
    {                                                                                            \
        return x / 2 * erfc##M(-x * (W)SQRT_HALF);                                               \
    }                                                                                            \
    static W reference_gelu_derivative_##W(W x)                                                  \
    {                                                                                            \
        return erfc##M(-x * (W)SQRT_HALF) / 2 + x * (W)DENSITY_TOP * exp##M(-x * x / 2);         \
    }                                                                                            \
    static W reference_gelu_tanh_##W(W x)                                                        \
    {                                                                                            \
        return x / 2 * (1 + tanh##M((W)SQRT_2_PI * (x + (W)0.044715L * x * x * x)));             \
    }                                                                                            \
    static W reference_gelu_tanh_derivative_##W(W x)                                             \
    {                                                                                            \
        if (fabs##M(x) > 40)                                                                     \
            return x > 0;                                                                        \
        W slope = (W)SQRT_2_PI * (1 + (W)0.134145L * x * x);                                     \
        W t = tanh##M((W)SQRT_2_PI * (x + (W)0.044715L * x * x * x));                            \
        return (1 + t) / 2 + x / 2 * (1 - t * t) * slope;                                        \
    }

typedef long double wide;
DEFINE_REFERENCES(double, )
DEFINE_REFERENCES(wide, l)

#endif
