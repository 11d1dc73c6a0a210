/* First and second derivatives of elementwise functions against closed forms in long double, at
 * points where a formula can lose digits: near 0 and 1, near the borders of functions, and over the
 * whole range of a dtype. Both backwards must give the first derivative, but for the tails of
 * activations, whose kernels are bounded absolutely.
 *
 * The closed forms are written without cancellation, and squares of long doubles do not overflow
 * where those of doubles do. Where long double is double, numbers above 1e100 are left out. */
#include <float.h>

#include "ops/facts.h"

typedef long double real;

#define ROWS                                                                               \
    ROW(acos, -1, 1, -1 / sqrtl((1 - x) * (1 + x)), -x / powl((1 - x) * (1 + x), 1.5L))    \
    ROW(acosh, 1, INFINITY, 1 / (sqrtl(x - 1) * sqrtl(x + 1)),                             \
        -x / (powl(x - 1, 1.5L) * powl(x + 1, 1.5L)))                                      \
    ROW(asin, -1, 1, 1 / sqrtl((1 - x) * (1 + x)), x / powl((1 - x) * (1 + x), 1.5L))      \
    ROW(asinh, -INFINITY, INFINITY, 1 / hypotl(1, x), -x / powl(hypotl(1, x), 3))          \
    ROW(atan, -INFINITY, INFINITY, 1 / (1 + x * x), -2 * (x / (1 + x * x)) / (1 + x * x))  \
    ROW(atanh, -1, 1, 1 / ((1 - x) * (1 + x)), 2 * x / powl((1 - x) * (1 + x), 2))         \
    ROW(cosh, -INFINITY, INFINITY, sinhl(x), coshl(x))                                     \
    ROW(erfc, -9, 9, -1.12837916709551257390L * expl(-x * x),                              \
        x * (2.25675833419102514780L * expl(-x * x)))                                      \
    ROW(exp, -INFINITY, INFINITY, expl(x), expl(x))                                        \
    ROW(exp2, -INFINITY, INFINITY, 0.69314718055994530942L * exp2l(x),                     \
        0.48045301391820142467L * exp2l(x))                                                \
    ROW(expm1, -INFINITY, INFINITY, expl(x), expl(x))                                      \
    ROW(log, 0, INFINITY, 1 / x, -1 / x / x)                                               \
    ROW(log10, 0, INFINITY, 0.43429448190325182765L / x, -0.43429448190325182765L / x / x) \
    ROW(log1p, -1, INFINITY, 1 / (1 + x), -1 / (1 + x) / (1 + x))                          \
    ROW(reciprocal, -INFINITY, INFINITY, -1 / x / x, 2 / x / x / x)                        \
    ROW(rsqrt, 0, INFINITY, -0.5L / sqrtl(x) / x, 0.75L / sqrtl(x) / x / x)                \
    ROW(sinh, -INFINITY, INFINITY, coshl(x), sinhl(x))                                     \
    ROW(softsign, -INFINITY, INFINITY, 1 / (1 + fabsl(x)) / (1 + fabsl(x)),                \
        (x < 0      ? 2                                                                    \
            : x > 0 ? -2                                                                   \
                    : 0) /                                                                 \
            (1 + fabsl(x)) / (1 + fabsl(x)) / (1 + fabsl(x)))                              \
    ROW(sqrt, 0, INFINITY, 0.5L / sqrtl(x), -0.25L / sqrtl(x) / x)                         \
    ROW(square, -INFINITY, INFINITY, 2 * x, 2)                                             \
    ROW(tan, -1.6, 1.6, 1 / cosl(x) / cosl(x), 2 * sinl(x) / cosl(x) / cosl(x) / cosl(x))  \
    ROW(gelu_tail, -5, -1, erfcl(-x *HALF) / 2 + x * density(x), density(x) * (2 - x * x)) \
    ROW(gelu_tanh_tail, -8, -1, gelu_tanh_slope(x), gelu_tanh_curve(x))

#define HALF 0.70710678118654752440L /* sqrt(1 / 2) */

/* The density of the normal distribution. */
static real density(real x)
{
    return 0.39894228040143267794L * expl(-x * x / 2);
}

/* x s(v) with the sigmoid s and v = 2 sqrt(2 / pi) (x + k x^3), whose derivatives are v1 and v2 */
static const real K = 0.044715L, TWICE = 1.59576912160573071176L;

static real gelu_tanh_slope(real x)
{
    const real v = TWICE * (x + K * x * x * x), v1 = TWICE * (1 + 3 * K * x * x);
    const real s = 1 / (1 + expl(-v)), rest = 1 / (1 + expl(v));
    return s + x * v1 * s * rest;
}

static real gelu_tanh_curve(real x)
{
    const real v = TWICE * (x + K * x * x * x), v1 = TWICE * (1 + 3 * K * x * x);
    const real v2 = TWICE * 6 * K * x, s = 1 / (1 + expl(-v)), rest = 1 / (1 + expl(v));
    return s * rest * (2 * v1 + x * (v2 + v1 * v1 * (rest - s)));
}

static adz_tensor *adz_gelu_tail(adz_tensor *x)
{
    return adz_gelu(x, ADZ_GELU_NONE);
}

static adz_tensor *adz_gelu_tanh_tail(adz_tensor *x)
{
    return adz_gelu(x, ADZ_GELU_TANH);
}

#define ROW(name, low, high, first, second) \
    static real name##_first(real x)        \
    {                                       \
        return first;                       \
    }                                       \
    static real name##_second(real x)       \
    {                                       \
        (void)x;                            \
        return second;                      \
    }
ROWS
#undef ROW

    typedef struct {
    const char *name;
    adz_tensor *(*f)(adz_tensor *);
    real (*first)(real), (*second)(real);
    double low, high; /* the domain, without its ends */
} row;

#define ROW(name, low, high, first, second) \
    { #name, adz_##name, name##_first, name##_second, low, high },
static const row rows[] = { ROWS };
#undef ROW

/* ---- the points ------------------------------------------------------------------------------ */

enum { MOST = 128 };

/* Numbers of the dtype in the domain of the function. */
static int points_of(const row *r, adz_dtype dtype, double *x)
{
    const bool single = dtype == ADZ_F32, wide = !single && LDBL_MAX_EXP > DBL_MAX_EXP;
    const double eps = single ? FLT_EPSILON : DBL_EPSILON;
    const double at[] = { 0, 1e-300, 1e-200, 1e-150, 1e-30, 1e-18, 1e-10, 1e-5, 1e-3, 0.1, 0.5, 0.7,
        0.9, 0.99, 0.9999, 1 - 8 * eps, 1 - eps, 1 - eps / 2, 1, 1 + eps, 1 + 2 * eps, 1.0001, 1.1,
        1.5, 1.5707963267948966, 2, 3, 4, 4.9, 6, 8.5, 12, 15, 17, 20, 30, 40, 80, 300, 700, 1e4,
        1e6, 1e10, 1e12, 1e18, 1e25, 1e37, 1e60, 1e150, 1e160, 1e200, 1e300 };
    int n = 0;
    for (size_t i = 0; i < 2 * (sizeof at / sizeof *at); ++i) {
        double y = i % 2 == 0 ? at[i / 2] : -at[i / 2];
        y = single ? (double)(float)y : y;
        if (y > r->low && y < r->high && isfinite(y) && (wide || (fabs(y) < 1e100)) &&
            (wide || y == 0 || fabs(y) > 1e-100)) {
            x[n++] = y;
        }
    }
    return n;
}

static void expect(
    adz_tensor *got, real (*wanted)(real), const row *r, const double *x, int n, const char *what)
{
    const bool single = adz_tensor_dtype(got) == ADZ_F32;
    const real most = single ? FLT_MAX : DBL_MAX, least = single ? FLT_MIN : DBL_MIN;
    const real eps = single ? FLT_EPSILON : DBL_EPSILON;
    for (int64_t i = 0; i < n; ++i) {
        const double y = adz_tensor_at(got, &i);
        const real w = wanted((real)x[i]), size = fabsl(w);
        /* e^(-x^2) and powers pass an error on that grows with their logarithm. */
        const real factor = 16 + 2 * fabsl(logl(size > least ? size : 1));
        const bool near = fabsl((real)y - w) <= factor * eps * (size > least ? size : least);
        if (!(near || (size > most * (1 - 4 * eps) && fabs(y) > (double)(most / 2)) ||
                (isinf(y) && isinf(w) && signbit(y) == signbit(w)))) {
            fail_msg("%s, %s in %s at %.17g: %.17g instead of %.17Lg", r->name, what,
                single ? "f32" : "f64", x[i], y, w);
        }
    }
}

static void check(const row *r, adz_dtype dtype)
{
    double at[MOST];
    const int n = points_of(r, dtype, at);
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_requires_grad_(values_of(dtype, n, at), true), *y = r->f(x);
    if (strstr(r->name, "_tail") == NULL) {
        expect(gradient_of(y, x), r->first, r, at, n, "gradient");
    }
    adz_tensor *slope = gradient_by_expression(y, x);
    expect(slope, r->first, r, at, n, "gradient by the expression");
    expect(gradient_of(slope, x), r->second, r, at, n, "second derivative");
    adz_scope_close(scope);
}

static void functions_of_one(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k) {
        check(&rows[k], ADZ_F64);
        check(&rows[k], ADZ_F32);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(functions_of_one) };
    return cmocka_run_group_tests_name("slopes", tests, NULL, NULL);
}
