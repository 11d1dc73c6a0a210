/* Functions of doubles that C files bring along for the numbers of an optimizer's step. They are
 * smaller than those of elementary_f64.h, and slower. */
#include <stdint.h>

#include "adze/optim.h"

/* The root by Newton's method, which begins with that of x / 4^n between 1 / 2 and 2. */
static double net_wide_sqrt(double x)
{
    double y = 1, scale = 1;
    if (!(x > 0) || x - x != 0) {
        return x < 0 ? 0.0 / 0.0 : x;
    }
    for (; x > 2; x *= 0.25) {
        scale *= 2;
    }
    for (; x < 0.5; x *= 4) {
        scale *= 0.5;
    }
    for (int i = 0; i < 6; ++i) {
        y = 0.5 * (y + x / y);
    }
    return y * scale;
}

/* e^x = 2^n e^r, with |r| at most log(2) / 2. */
static double net_wide_exp(double x)
{
    double term = 1, sum = 1, power = 1;
    if (x != x || x > 709.78 || x < -745.2) {
        return x != x ? x : x > 0 ? 1.0 / 0.0 : 0;
    }
    const int n = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));
    const double r = (x - n * 0.693147180369123816) - n * 1.90821492927058770e-10;
    for (int i = 1; i < 18; ++i) {
        term *= r / i;
        sum += term;
    }
    for (int i = 0; i < (n < 0 ? -n : n); ++i) {
        power *= n < 0 ? 0.5 : 2;
        if (i == 1000) {
            sum *= power;
            power = 1;
        }
    }
    return sum * power;
}

/* log(m 2^n) = n log(2) + 2 artanh((m - 1) / (m + 1)), with m between sqrt(1 / 2) and sqrt(2). */
static double net_wide_log(double x)
{
    int n = 0;
    if (!(x > 0) || x - x != 0) {
        return x == 0 ? -1.0 / 0.0 : x < 0 ? 0.0 / 0.0 : x;
    }
    for (; x > 1.4142135623730951; x *= 0.5) {
        ++n;
    }
    for (; x < 0.70710678118654757; x *= 2) {
        --n;
    }
    const double s = (x - 1) / (x + 1);
    double sum = 0;
    for (int i = 23; i > 1; i -= 2) {
        sum = (sum + 1.0 / i) * s * s;
    }
    return n * 0.693147180369123816 + (n * 1.90821492927058770e-10 + 2 * s * (1 + sum));
}

/* x^n for n of at least 0. */
static double net_wide_powi(double x, int64_t n)
{
    double power = 1;
    for (; n > 0; n /= 2) {
        power = n % 2 != 0 ? power * x : power;
        x *= x;
    }
    return power;
}

/* x^y by squaring for whole exponents, else e^(y log x). */
static double net_wide_pow(double x, double y)
{
    if (!(y > -9007199254740992.0 && y < 9007199254740992.0) || (double)(int64_t)y != y) {
        return x == 1 ? 1 : net_wide_exp(y * net_wide_log(x));
    }
    const double power = net_wide_powi(x, (int64_t)(y < 0 ? -y : y));
    return y < 0 ? 1 / power : power;
}

static double net_wide_min(double a, double b)
{
    return b < a || a != a ? b : a;
}

static double net_wide_max(double a, double b)
{
    return b > a || a != a ? b : a;
}

/* base^step; an optimizer uses it for its i-th decay. */
static double net_moment_power(const adz_step_context *at, int i, double base)
{
    (void)i;
    return net_wide_powi(base, at->step);
}
