/* The gamma function and its derivatives in vmath.h. As in vmath_functions.h they are computed in
 * f64 for both dtypes, without a call of libm. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_GAMMA_H
#define ADZI_TENSOR_KERNEL_VMATH_GAMMA_H

/* x minus the integer next to it; 0 for NaN and from 2^52 on, where all numbers are integers. */
static inline double adzi_fraction_f64(double x)
{
    double held = adzi_abs_f64(x) < 0x1p52 ? x : 0.0, shift = adzi_sign_of_f64(0x1p52, held);
    return held - ((held + shift) - shift);
}

/* sin(pi r) / pi for |r| <= 1/2 */
static inline double adzi_sine_of_turn_f64(double r)
{
    double z = r * r;
    double p = -7.114052818770147e-09;
    p = ADZI_FMA_F64(p, z, 2.5303274566671434e-07);
    p = ADZI_FMA_F64(p, z, -6.975851212142348e-06);
    p = ADZI_FMA_F64(p, z, 0.00014842878972770888);
    p = ADZI_FMA_F64(p, z, -0.002346081035170168);
    p = ADZI_FMA_F64(p, z, 0.026147847817640922);
    p = ADZI_FMA_F64(p, z, -0.19075182412208389);
    p = ADZI_FMA_F64(p, z, 0.8117424252833536);
    p = ADZI_FMA_F64(p, z, -1.6449340668482264);
    return ADZI_FMA_F64(r * z, p, r);
}

/* sin(pi x) / (pi x), and 1 at 0. The sine changes its sign from one integer to the next. At
 * infinity it is NaN, as in PyTorch. */
static inline double adzi_sinc_f64(double x)
{
    double a = adzi_abs_f64(x), r = adzi_fraction_f64(a);
    double odd = adzi_fraction_f64(0.5 * (a - r)), sine = adzi_sine_of_turn_f64(r);
    double y = (odd != 0.0 ? -sine : sine) / (a == 0.0 ? 1.0 : a);
    return a == 0.0 ? 1.0 : y + (a - a);
}

/* log gamma(x) for x > 0. From 8 on it is Stirling's series. Below, x is k + t with a whole k and
 * |t| <= 1/2, and gamma(x) is gamma(2 + t) times or divided by the factors between. */
static inline double adzi_lgamma_positive_f64(double x)
{
    double series, part, held = x < 8.0 ? x : 8.0;
    double k = (held + ADZI_ROUND_F64) - ADZI_ROUND_F64, t = held - k;
    {
        double p = -5.72865310850801e-07;
        p = ADZI_FMA_F64(p, t, 1.2159620602745015e-06);
        p = ADZI_FMA_F64(p, t, -1.982565620739196e-06);
        p = ADZI_FMA_F64(p, t, 4.2553702843110484e-06);
        p = ADZI_FMA_F64(p, t, -9.452938473714576e-06);
        p = ADZI_FMA_F64(p, t, 2.0535581020500523e-05);
        p = ADZI_FMA_F64(p, t, -4.492443535898787e-05);
        p = ADZI_FMA_F64(p, t, 9.945371368841632e-05);
        p = ADZI_FMA_F64(p, t, -0.00022315489463809116);
        p = ADZI_FMA_F64(p, t, 0.0005096698119432116);
        p = ADZI_FMA_F64(p, t, -0.0011927539062598581);
        p = ADZI_FMA_F64(p, t, 0.0028905103192621994);
        p = ADZI_FMA_F64(p, t, -0.0073855510287714685);
        p = ADZI_FMA_F64(p, t, 0.02058080842799012);
        p = ADZI_FMA_F64(p, t, -0.06735230105319759);
        p = ADZI_FMA_F64(p, t, 0.32246703342411215);
        p = ADZI_FMA_F64(p, t, 0.42278433509846713);
        part = t * p;
    }
    double factors = k == 0.0 ? x * (x + 1.0) : k == 1.0 ? x : 1.0;
    for (int i = 1; i <= 6; ++i) {
        factors *= (double)i <= k - 2.0 ? held - (double)i : 1.0;
    }
    double inverse = 1.0 / x, z = inverse * inverse;
    {
        double p = -0.029550653594771242;
        p = ADZI_FMA_F64(p, z, 0.00641025641025641);
        p = ADZI_FMA_F64(p, z, -0.0019175269175269176);
        p = ADZI_FMA_F64(p, z, 0.0008417508417508417);
        p = ADZI_FMA_F64(p, z, -0.0005952380952380953);
        p = ADZI_FMA_F64(p, z, 0.0007936507936507937);
        p = ADZI_FMA_F64(p, z, -0.002777777777777778);
        p = ADZI_FMA_F64(p, z, 0.08333333333333333);
        series = ADZI_FMA_F64(p, inverse, 0.4189385332046727); /* log(2 pi) / 2 - 1/2 */
    }
    double log = adzi_log_f64(x < 8.0 ? factors : x);
    double near = k < 2.0 ? part - log : part + log;
    return x < 8.0 ? near : ADZI_FMA_F64(x - 0.5, log - 1.0, series);
}

/* log |gamma(x)|. For x < 0 by gamma(x) gamma(1 - x) = pi / sin(pi x). */
static inline double adzi_lgamma_f64(double x)
{
    double sine = adzi_abs_f64(adzi_sine_of_turn_f64(adzi_fraction_f64(x)));
    double y = adzi_lgamma_positive_f64(x < 0.0 ? 1.0 - x : x);
    y = x < 0.0 ? -adzi_log_f64(sine) - y : y;
    y = x <= 0.0 && sine == 0.0 ? (double)INFINITY : y;
    return adzi_abs_f64(x) == (double)INFINITY ? (double)INFINITY : y;
}

/* The derivative of log gamma(x) for x > 0: a series from 8 on. Below, 1/x + 1/(x + 1) + ... is
 * subtracted, which is summed from its smallest term on. */
static inline double adzi_digamma_positive_f64(double x)
{
    double sum = 0.0, at = x;
    for (int i = 7; i >= 0; --i) {
        double next = x + (double)i, more = next < 8.0 ? 1.0 : 0.0;
        sum += more / next;
        at += more;
    }
    double inverse = 1.0 / at, z = inverse * inverse;
    double p = 3.0539543302701198;
    p = ADZI_FMA_F64(p, z, -0.4432598039215686);
    p = ADZI_FMA_F64(p, z, 0.08333333333333333);
    p = ADZI_FMA_F64(p, z, -0.021092796092796094);
    p = ADZI_FMA_F64(p, z, 0.007575757575757576);
    p = ADZI_FMA_F64(p, z, -0.004166666666666667);
    p = ADZI_FMA_F64(p, z, 0.003968253968253968);
    p = ADZI_FMA_F64(p, z, -0.008333333333333333);
    p = ADZI_FMA_F64(p, z, 0.08333333333333333);
    return (adzi_log_f64(at) - ADZI_FMA_F64(z, p, 0.5 * inverse)) - sum;
}

/* The derivative of log |gamma(x)|. For x < 0 it is that of 1 - x minus pi / tan(pi x). At 0 it is
 * infinite, with the sign of -x. At other poles, whose sides have different signs, it is NaN. */
static inline double adzi_digamma_f64(double x)
{
    double r = adzi_fraction_f64(x), sine = adzi_sine_of_turn_f64(r);
    double cosine = ADZI_PI_F64 * adzi_sine_of_turn_f64(0.5 - adzi_abs_f64(r));
    double y = adzi_digamma_positive_f64(x < 0.0 ? 1.0 - x : x);
    y = x < 0.0 ? y - cosine / sine : y;
    y = x < 0.0 && r == 0.0 ? (double)NAN : y;
    return x == 0.0 ? adzi_sign_of_f64((double)INFINITY, -x) : y;
}

static inline double adzi_whole_power_f64(double x, int n)
{
    double power = 1.0;
    for (double square = x; n > 0; n >>= 1, square *= square) {
        power *= (n & 1) != 0 ? square : 1.0;
    }
    return power;
}

/* The sum of (x + k)^-s over k = 0, 1, ... for x > 0 and s >= 2, without the factor (s - 1)!: terms
 * up to x + s + 9, and an integral for the rest with its corrections (Euler and Maclaurin). */
static inline double adzi_zeta_f64(int s, double x)
{
    static const double bernoulli[] = { 1.0 / 12, -1.0 / 720, 1.0 / 30240, -1.0 / 1209600,
        1.0 / 47900160, -691.0 / 1307674368000, 1.0 / 74724249600, -3617.0 / 10670622842880000 };
    double sum = 0.0, at = x;
    for (int k = 0; k < s + 9 && at < 2 * s + 20; ++k, at += 1.0) {
        sum += 1.0 / adzi_whole_power_f64(at, s);
    }
    const double lower = 1.0 / adzi_whole_power_f64(at, s - 1), power = lower / at;
    double rest = lower / (s - 1) + 0.5 * power, term = power * s / at;
    for (int j = 0; j < 8; ++j) {
        rest += term * bernoulli[j];
        term *= (s + 2 * j + 1) * (double)(s + 2 * j + 2) / (at * at);
    }
    return sum + rest;
}

/* Derivative n >= 1 of the derivative of log |gamma(x)|, (-1)^(n+1) n! times the sum of (x +
 * k)^-(n+1) over k = 0, 1, ... For x < 1/2 it is the sum over all integers, in which x counts
 * modulo 1, minus the one on the other side. */
static inline double adzi_polygamma_f64(int n, double x)
{
    const double sign = n % 2 != 0 ? 1.0 : -1.0, r = adzi_fraction_f64(x) + 0.0;
    double factor = sign, sum;
    for (int i = 2; i <= n; ++i) {
        factor *= i;
    }
    if (x >= 0.5) {
        sum = adzi_zeta_f64(n + 1, x);
    } else if (x > -(double)INFINITY) {
        sum = adzi_zeta_f64(n + 1, 1.0 + r) +
              sign * (adzi_zeta_f64(n + 1, 1.0 - r) - adzi_zeta_f64(n + 1, 1.0 - x));
        sum += 1.0 / adzi_whole_power_f64(r, n + 1);
    } else {
        sum = (double)NAN;
    }
    return factor * sum;
}

ADZI_BY_F64(lgamma)
ADZI_BY_F64(digamma)
ADZI_BY_F64(sinc)

static inline float adzi_polygamma_f32(int n, float x)
{
    return (float)adzi_polygamma_f64(n, (double)x);
}

#endif
