/* The functions of root_systems.h, and their starts. */
#include "solvers/equations/root_systems.h"

static adz_tensor *at(adz_tensor *x, int64_t i)
{
    return adz_narrow(x, 0, i, 1);
}

static adz_tensor *joined(adz_tensor *const *parts, size_t n)
{
    return adz_cat(parts, n, 0);
}

/* a x + b */
static adz_tensor *line(adz_tensor *x, double a, double b)
{
    return adz_add_number(adz_mul_number(x, a), b);
}

/* first, first + step, ... as f64 */
static adz_tensor *steps(double first, double step, int64_t n)
{
    return line(adz_arange(0, (double)n, 1, ADZ_F64), step, first);
}

static adz_tensor *rosenbrock(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *valley = adz_sub(at(x, 1), adz_square(at(x, 0)));
    adz_tensor *f[] = { line(at(x, 0), -1, 1), adz_mul_number(valley, 10) };
    return joined(f, 2);
}

static adz_tensor *powell_singular(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *f[] = { adz_add(at(x, 0), adz_mul_number(at(x, 1), 10)),
        adz_mul_number(adz_sub(at(x, 2), at(x, 3)), sqrt(5)),
        adz_square(adz_sub(at(x, 1), adz_mul_number(at(x, 2), 2))),
        adz_mul_number(adz_square(adz_sub(at(x, 0), at(x, 3))), sqrt(10)) };
    return joined(f, 4);
}

static adz_tensor *powell_badly_scaled(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *decay = adz_exp(adz_neg(x));
    adz_tensor *f[] = { line(adz_mul(at(x, 0), at(x, 1)), 1e4, -1),
        adz_add_number(adz_add(at(decay, 0), at(decay, 1)), -1.0001) };
    return joined(f, 2);
}

static adz_tensor *wood(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *a = adz_sub(at(x, 1), adz_square(at(x, 0)));
    adz_tensor *b = adz_sub(at(x, 3), adz_square(at(x, 2)));
    adz_tensor *u = line(at(x, 1), 1, -1), *v = line(at(x, 3), 1, -1);
    adz_tensor *f[] = { adz_add(adz_mul_number(adz_mul(at(x, 0), a), -200), line(at(x, 0), 1, -1)),
        adz_add(adz_mul_number(a, 200), adz_add(adz_mul_number(u, 20.2), adz_mul_number(v, 19.8))),
        adz_add(adz_mul_number(adz_mul(at(x, 2), b), -180), line(at(x, 2), 1, -1)),
        adz_add(
            adz_mul_number(b, 180), adz_add(adz_mul_number(v, 20.2), adz_mul_number(u, 19.8))) };
    return joined(f, 4);
}

static adz_tensor *helical_valley(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *turn = adz_atan(adz_div(at(x, 1), at(x, 0)));
    turn = adz_mul_number(turn, 0.5 / acos(-1));
    turn = adz_where(adz_lt_number(at(x, 0), 0), line(turn, 1, 0.5), turn);
    adz_tensor *radius = adz_sqrt(adz_add(adz_square(at(x, 0)), adz_square(at(x, 1))));
    adz_tensor *f[] = { adz_mul_number(adz_sub(at(x, 2), adz_mul_number(turn, 10)), 10),
        line(radius, 10, -10), at(x, 2) };
    return joined(f, 3);
}

/* The gradient of Watson's sum of squares. */
static adz_tensor *watson(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x);
    double slopes[29 * 9], powers[29 * 9];
    for (int i = 0; i < 29; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            powers[i * n + j] = pow((i + 1) / 29.0, (double)j);
            slopes[i * n + j] = j > 0 ? (double)j * pow((i + 1) / 29.0, (double)j - 1) : 0;
        }
    }
    adz_tensor *a = adz_tensor_from(slopes, ADZ_SHAPE(29, n), ADZ_F64);
    adz_tensor *b = adz_tensor_from(powers, ADZ_SHAPE(29, n), ADZ_F64);
    adz_tensor *p = adz_matmul(b, x);
    adz_tensor *r = adz_add_number(adz_sub(adz_matmul(a, x), adz_square(p)), -1);
    adz_tensor *f = adz_sub(adz_matmul(adz_transpose(a, 0, 1), r),
        adz_mul_number(adz_matmul(adz_transpose(b, 0, 1), adz_mul(r, p)), 2));
    adz_tensor *t = adz_add_number(adz_sub(at(x, 1), adz_square(at(x, 0))), -1);
    adz_tensor *last[] = { adz_mul(at(x, 0), line(t, -2, 1)), t,
        adz_zeros(ADZ_SHAPE(n - 2), ADZ_F64) };
    return adz_add(f, joined(last, 3));
}

static adz_tensor *chebyquad(adz_tensor *x, void *user)
{
    (void)user;
    const int n = (int)adz_tensor_numel(x);
    adz_tensor *before = adz_ones_like(x), *now = line(x, 2, -1), *f[MOST_UNKNOWNS];
    adz_tensor *twice = line(x, 4, -2);
    for (int k = 1; k <= n; ++k) {
        const double integral = k % 2 == 0 ? 1 / ((double)k * k - 1) : 0;
        f[k - 1] = adz_add_number(adz_mean(now, ADZ_DIMS(0), ADZ_KEEPDIM), integral);
        adz_tensor *next = adz_sub(adz_mul(twice, now), before);
        before = now;
        now = next;
    }
    return joined(f, (size_t)n);
}

static adz_tensor *brown_almost_linear(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x);
    adz_tensor *sum = adz_sum(x, ADZ_DIMS(0), ADZ_KEEPDIM), *product = at(x, 0);
    for (int64_t i = 1; i < n; ++i) {
        product = adz_mul(product, at(x, i));
    }
    adz_tensor *f[] = { adz_add_number(adz_add(adz_narrow(x, 0, 0, n - 1), sum), -(double)(n + 1)),
        adz_add_number(product, -1) };
    return joined(f, 2);
}

static adz_tensor *boundary_value(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x), one[] = { 1, 1 };
    const double h = 1 / (double)(n + 1);
    adz_tensor *wide = adz_pad(x, one, 2, 0);
    adz_tensor *sides = adz_add(adz_narrow(wide, 0, 0, n), adz_narrow(wide, 0, 2, n));
    adz_tensor *cube = adz_pow_number(adz_add(x, steps(1 + h, h, n)), 3);
    return adz_add(adz_sub(adz_mul_number(x, 2), sides), adz_mul_number(cube, h * h / 2));
}

static adz_tensor *integral_equation(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x);
    const double h = 1 / (double)(n + 1);
    double kernel[100];
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            const double s = h * (double)(i + 1), t = h * (double)(j + 1);
            kernel[i * n + j] = h / 2 * (j <= i ? (1 - s) * t : s * (1 - t));
        }
    }
    adz_tensor *cube = adz_pow_number(adz_add(x, steps(1 + h, h, n)), 3);
    return adz_add(x, adz_matmul(adz_tensor_from(kernel, ADZ_SHAPE(n, n), ADZ_F64), cube));
}

static adz_tensor *trigonometric(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x);
    adz_tensor *c = line(adz_cos(x), -1, 1);
    adz_tensor *own = adz_sub(adz_mul(c, steps(1, 1, n)), adz_sin(x));
    return adz_add(own, adz_sum(c, ADZ_DIMS(0), ADZ_KEEPDIM));
}

static adz_tensor *variably_dimensioned(adz_tensor *x, void *user)
{
    (void)user;
    adz_tensor *away = line(x, 1, -1), *k = steps(1, 1, adz_tensor_numel(x));
    adz_tensor *sum = adz_sum(adz_mul(away, k), ADZ_DIMS(0), ADZ_KEEPDIM);
    return adz_add(away, adz_mul(k, adz_mul(sum, line(adz_square(sum), 2, 1))));
}

static adz_tensor *broyden_tridiagonal(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x), one[] = { 1, 1 };
    adz_tensor *wide = adz_pad(x, one, 2, 0);
    adz_tensor *sides =
        adz_add(adz_narrow(wide, 0, 0, n), adz_mul_number(adz_narrow(wide, 0, 2, n), 2));
    return adz_add_number(adz_sub(adz_mul(line(x, -2, 3), x), sides), 1);
}

static adz_tensor *broyden_banded(adz_tensor *x, void *user)
{
    (void)user;
    const int64_t n = adz_tensor_numel(x), around[] = { 5, 1 };
    adz_tensor *g = adz_pad(adz_mul(x, line(x, 1, 1)), around, 2, 0);
    adz_tensor *f = adz_add_number(adz_mul(x, line(adz_square(x), 5, 2)), 1);
    for (int64_t k = 0; k < 7; ++k) {
        f = k == 5 ? f : adz_sub(f, adz_narrow(g, 0, k, n));
    }
    return f;
}

/* ---- starts ---------------------------------------------------------------------------------- */

#define FROM(name, ...)                         \
    static void name(double *x, int n)          \
    {                                           \
        const double start[] = { __VA_ARGS__ }; \
        for (int i = 0; i < n; ++i) {           \
            x[i] = start[i];                    \
        }                                       \
    }
#define FORMULA(name, formula)         \
    static void name(double *x, int n) \
    {                                  \
        for (int j = 1; j <= n; ++j) { \
            x[j - 1] = (formula);      \
        }                              \
    }

FROM(of_rosenbrock, -1.2, 1)
FROM(of_singular, 3, -1, 0, 1)
FROM(of_badly_scaled, 0, 1)
FROM(of_wood, -3, -1, -3, -1)
FROM(of_helix, -1, 0, 0)
FORMULA(zeros, 0)
FORMULA(halves, 0.5)
FORMULA(minus_ones, -1)
FORMULA(equal_parts, (double)j / (n + 1))
FORMULA(parabola, (double)j / (n + 1) * ((double)j / (n + 1) - 1))
FORMULA(of_trigonometric, 1.0 / n)
FORMULA(falling, 1 - (double)j / n)

const root_system root_systems[N_SYSTEMS] = {
    { "Rosenbrock", rosenbrock, 2, of_rosenbrock, { 1, 1 }, 2 },
    { "Powell, singular", powell_singular, 4, of_singular, { 0 }, 0 },
    { "Powell, badly scaled", powell_badly_scaled, 2, of_badly_scaled, { 0 }, 0 },
    { "Wood", wood, 4, of_wood, { 0 }, 0 },
    { "helical valley", helical_valley, 3, of_helix, { 1, 0, 0 }, 3 },
    { "Watson", watson, 6, zeros, { 0 }, 0 },
    { "Watson", watson, 9, zeros, { 0 }, 0 },
    { "Chebyquad", chebyquad, 5, equal_parts, { 0 }, 0 },
    { "Chebyquad", chebyquad, 6, equal_parts, { 0 }, 0 },
    { "Chebyquad", chebyquad, 7, equal_parts, { 0 }, 0 },
    { "Chebyquad", chebyquad, 8, equal_parts, { 0 }, 0 }, /* it has no root */
    { "Chebyquad", chebyquad, 9, equal_parts, { 0 }, 0 },
    { "Brown, almost linear", brown_almost_linear, 10, halves, { 0 }, 0 },
    { "Brown, almost linear", brown_almost_linear, 30, halves, { 0 }, 0 },
    { "Brown, almost linear", brown_almost_linear, 40, halves, { 0 }, 0 },
    { "boundary value", boundary_value, 10, parabola, { 0 }, 0 },
    { "integral equation", integral_equation, 1, parabola, { 0 }, 0 },
    { "integral equation", integral_equation, 10, parabola, { 0 }, 0 },
    { "trigonometric", trigonometric, 10, of_trigonometric, { 0 }, 0 },
    { "variably dimensioned", variably_dimensioned, 10, falling, { 1, 1, 1, 1 }, 4 },
    { "Broyden, tridiagonal", broyden_tridiagonal, 10, minus_ones, { 0 }, 0 },
    { "Broyden, banded", broyden_banded, 10, minus_ones, { 0 }, 0 },
};
