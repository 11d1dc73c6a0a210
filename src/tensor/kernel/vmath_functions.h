/* Trigonometric, hyperbolic and inverse functions of vmath.h, exp2, log2 and log10.
 *
 * They are computed in f64 for both dtypes, and f32 results are rounded once. All are branch-free C
 * without a call of libm, so their bits are the same on every processor with fused multiply-adds.
 * The one exception in form is tan of a far argument, which is reduced with integers. The
 * polynomials are fits at Chebyshev points, computed with 200 bits. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_FUNCTIONS_H
#define ADZI_TENSOR_KERNEL_VMATH_FUNCTIONS_H

#define ADZI_PI_F64      0x1.921fb54442d18p1
#define ADZI_HALF_PI_F64 0x1.921fb54442d18p0
#define ADZI_HALF_PI_LOW 0x1.1a62633145c07p-54 /* pi/2 minus its f64 */
#define ADZI_LN2_F64     0.69314718055994531

/* The upper half of a number: its first 21 bits, so that the product of two such numbers is exact.
 */
static inline double adzi_upper_f64(double x)
{
    return adzi_from_bits_f64(adzi_bits_f64(x) & 0xffffffff00000000u);
}

/* ---- exponentials ------------------------------------------------------------------------- */

/* 2^x = 2^n e^(r ln 2), scaled in two steps as adzi_exp_f64 does it. */
static inline double adzi_exp2_f64(double x)
{
    double held = x > 1025.0 ? 1025.0 : x;
    held = held < -1076.0 ? -1076.0 : held;
    double z = held + ADZI_ROUND_F64;
    double y = 1.0 + adzi_exp_near_f64((held - (z - ADZI_ROUND_F64)) * ADZI_LN2_F64);
    return adzi_exp_scaled_f64(y, adzi_bits_f64(z), held);
}

/* e^a / 2 for a >= 0. It overflows only where sinh and cosh do. */
static inline double adzi_half_exp_f64(double a)
{
    uint64_t n;
    double y = 1.0 + adzi_exp_reduce_f64(a > 712.0 ? 712.0 : a, &n);
    return y * adzi_power_of_two_f64(n, (uint64_t)-257) * 0x1p256;
}

/* An odd polynomial for |x| < 1, else e^|x| / 2 - e^-|x| / 2. */
static inline double adzi_sinh_f64(double x)
{
    double a = adzi_abs_f64(x), z = a < 1.0 ? a * a : 1.0;
    double e = adzi_half_exp_f64(a);
    double p = 7.746178593018827e-13;
    p = ADZI_FMA_F64(p, z, 1.6057679623801638e-10);
    p = ADZI_FMA_F64(p, z, 2.5052117695907823e-08);
    p = ADZI_FMA_F64(p, z, 2.7557319191381816e-06);
    p = ADZI_FMA_F64(p, z, 0.00019841269841324198);
    p = ADZI_FMA_F64(p, z, 0.008333333333333299);
    p = ADZI_FMA_F64(p, z, 0.16666666666666666);
    double y = a < 1.0 ? ADZI_FMA_F64(a * z, p, a) : e - 0.25 / e;
    return adzi_sign_of_f64(y, x);
}

static inline double adzi_cosh_f64(double x)
{
    double e = adzi_half_exp_f64(adzi_abs_f64(x));
    return e + 0.25 / e;
}

/* ---- logarithms --------------------------------------------------------------------------- */

/* log(1 + f) = f - f^2/2 + the result, for f in [-1/3, 1/3]. */
static inline double adzi_log_rest_f64(double f)
{
    double s = f / (2.0 + f);
    return s * ADZI_FMA_F64(adzi_log_poly_f64(s * s), s * s, 0.5 * f * f);
}

/* The logarithm whose base has the inverse natural logarithm high + low, where 2 has the logarithm
 * two_high + two_low. The upper half of log m is multiplied exactly, so that powers of the base get
 * whole numbers. */
static inline double adzi_log_base_f64(
    double x, double high, double low, double two_high, double two_low)
{
    double k, f = adzi_log_reduce_f64(x, &k), half_square = 0.5 * f * f;
    double upper = adzi_upper_f64(f - half_square);
    double lower = ((f - upper) - half_square) + adzi_log_rest_f64(f);
    double product = upper * high, whole = k * two_high;
    double rest = ADZI_FMA_F64(upper + lower, low, ADZI_FMA_F64(lower, high, k * two_low));
    double sum = whole + product;
    return adzi_log_special_f64(x, sum + (rest + (product - (sum - whole))));
}

static inline double adzi_log2_f64(double x)
{
    return adzi_log_base_f64(x, 0x1.71547p+0, 0x1.94ae0bf85ddf4p-22, 1.0, 0.0);
}

static inline double adzi_log10_f64(double x)
{
    return adzi_log_base_f64(
        x, 0x1.bcb7bp-2, 0x1.526e50e32a6abp-26, 0x1.34413508p-2, 0x1.f79fef311f12bp-34);
}

/* log(a + sqrt(a^2 + 1)) = log(1 + (a + a^2 / (1 + sqrt(1 + a^2)))), and log(2 a) for large a. */
static inline double adzi_asinh_f64(double x)
{
    double a = adzi_abs_f64(x), held = a < 0x1p28 ? a : 0.0, z = held * held;
    double sum = held + z / (1.0 + sqrt(1.0 + z));
    double y = adzi_log1p_f64(a < 0x1p28 ? sum : a - 1.0) + (a < 0x1p28 ? 0.0 : ADZI_LN2_F64);
    return adzi_sign_of_f64(y, x);
}

/* log(x + sqrt(x^2 - 1)) by t = x - 1, in which nothing cancels, and log(2 x) for large x. */
static inline double adzi_acosh_f64(double x)
{
    double t = x < 0x1p28 ? x - 1.0 : 0.0, sum = t + sqrt(t * (2.0 + t));
    double y = adzi_log1p_f64(x < 0x1p28 ? sum : x - 1.0) + (x < 0x1p28 ? 0.0 : ADZI_LN2_F64);
    return x < 1.0 ? (double)NAN : y;
}

static inline double adzi_atanh_f64(double x)
{
    double a = adzi_abs_f64(x);
    return adzi_sign_of_f64(0.5 * adzi_log1p_f64(2.0 * a / (1.0 - a)), x);
}

/* log(e^a + e^b) = max(a, b) + log(1 + e^-|a - b|). Equal infinities have the difference 0. */
static inline double adzi_logaddexp_f64(double a, double b)
{
    double most = a > b || a != a ? a : b, apart = a == b ? 0.0 : adzi_abs_f64(a - b);
    return most + adzi_log1p_f64(adzi_exp_nonpositive_f64(-apart));
}

/* ---- inverse trigonometric functions ------------------------------------------------------ */

/* (asin(x) - x) / x^3 for z = x^2 in [0, 1/4] */
static inline double adzi_asin_poly_f64(double z)
{
    double p = 0.028757851367421566;
    p = ADZI_FMA_F64(p, z, -0.014851887071247204);
    p = ADZI_FMA_F64(p, z, 0.01740087944269402);
    p = ADZI_FMA_F64(p, z, 0.005457506718640358);
    p = ADZI_FMA_F64(p, z, 0.01032281435018578);
    p = ADZI_FMA_F64(p, z, 0.011479177415184906);
    p = ADZI_FMA_F64(p, z, 0.013971212973552933);
    p = ADZI_FMA_F64(p, z, 0.017352392720869973);
    p = ADZI_FMA_F64(p, z, 0.02237217294214989);
    p = ADZI_FMA_F64(p, z, 0.030381944138531247);
    p = ADZI_FMA_F64(p, z, 0.04464285714635543);
    p = ADZI_FMA_F64(p, z, 0.07499999999998433);
    p = ADZI_FMA_F64(p, z, 0.16666666666666669);
    return p;
}

/* asin a for a <= 1/2; else pi/2 - 2 asin s, s = sqrt((1 - a) / 2). */
static inline double adzi_asin_f64(double x)
{
    double a = adzi_abs_f64(x), far = 0.5 * (1.0 - a);
    double z = a < 0.5 ? a * a : far, s = a < 0.5 ? a : sqrt(far);
    double y = ADZI_FMA_F64(s * z, adzi_asin_poly_f64(z), s);
    y = a < 0.5 ? y : ADZI_HALF_PI_F64 - (2.0 * y - ADZI_HALF_PI_LOW);
    return adzi_sign_of_f64(y, x);
}

/* pi/2 - asin x for |x| <= 1/2, else 2 asin s or pi - 2 asin s. */
static inline double adzi_acos_f64(double x)
{
    double a = adzi_abs_f64(x), far = 0.5 * (1.0 - a);
    double z = a < 0.5 ? a * a : far, s = a < 0.5 ? x : sqrt(far);
    double rest = s * z * adzi_asin_poly_f64(z);
    double near = ADZI_HALF_PI_F64 - (s - (ADZI_HALF_PI_LOW - rest));
    double y = 2.0 * (s + rest);
    y = x < 0.0 ? ADZI_PI_F64 - (y - 2.0 * ADZI_HALF_PI_LOW) : y;
    return a < 0.5 ? near : y;
}

/* atan q for q = a / b with a, b >= 0. Above tan(pi/8) it is pi/4 + atan((a - b) / (a + b)), and
 * above tan(3 pi/8) it is pi/2 - atan(b / a). */
static inline double adzi_atan_quotient_f64(double a, double b)
{
    double middle = a > 0.41421356237309503 * b ? 1.0 : 0.0;
    double upper = a > 2.414213562373095 * b ? 1.0 : 0.0;
    double top = upper != 0.0 ? -b : middle != 0.0 ? a - b : a;
    double bottom = upper != 0.0 ? a : middle != 0.0 ? a + b : b;
    double q = top / bottom, z = q * q;
    double p = 0.016284375050043393;
    p = ADZI_FMA_F64(p, z, -0.03456931506332609);
    p = ADZI_FMA_F64(p, z, 0.045515447340221615);
    p = ADZI_FMA_F64(p, z, -0.05230443640686948);
    p = ADZI_FMA_F64(p, z, 0.05878927554473807);
    p = ADZI_FMA_F64(p, z, -0.0666642476020052);
    p = ADZI_FMA_F64(p, z, 0.07692296368042296);
    p = ADZI_FMA_F64(p, z, -0.09090908753259112);
    p = ADZI_FMA_F64(p, z, 0.11111111105150588);
    p = ADZI_FMA_F64(p, z, -0.14285714285659779);
    p = ADZI_FMA_F64(p, z, 0.19999999999999804);
    p = ADZI_FMA_F64(p, z, -0.3333333333333333);
    double quarters = (middle + upper) * 0.5;
    double low = ADZI_FMA_F64(q * z, p, quarters * ADZI_HALF_PI_LOW);
    return quarters * ADZI_HALF_PI_F64 + (q + low);
}

static inline double adzi_atan_f64(double x)
{
    return adzi_sign_of_f64(adzi_atan_quotient_f64(adzi_abs_f64(x), 1.0), x);
}

/* The angle of the point (x, y). Operands of extreme size are scaled, so that neither sum nor
 * quotient leaves the range. Two zeros or infinities count as equal numbers, as in C99. */
static inline double adzi_atan2_f64(double y, double x)
{
    double a = adzi_abs_f64(y), b = adzi_abs_f64(x);
    double scale = a > 0x1p1000 || b > 0x1p1000 ? 0x1p-60 : a + b < 0x1p-900 ? 0x1p60 : 1.0;
    double one = a == b && (a == 0.0 || a == (double)INFINITY) ? 1.0 : 0.0;
    double top = one != 0.0 ? a == 0.0 ? 0.0 : 1.0 : a * scale;
    double angle = adzi_atan_quotient_f64(top, one != 0.0 ? 1.0 : b * scale);
    angle = adzi_bits_f64(x) >> 63 != 0 ? ADZI_PI_F64 - (angle - 2.0 * ADZI_HALF_PI_LOW) : angle;
    return a != a || b != b ? (double)NAN : adzi_sign_of_f64(angle, y);
}

/* sqrt(a^2 + b^2), with operands scaled so that no square leaves the range. An infinite operand
 * gives infinity, even if the other one is NaN, as in C99. */
static inline double adzi_hypot_f64(double a, double b)
{
    double x = adzi_abs_f64(a), y = adzi_abs_f64(b);
    double most = x > y ? x : y, least = x > y ? y : x;
    double scale = most > 0x1p500 ? 0x1p-600 : most < 0x1p-400 ? 0x1p600 : 1.0;
    most *= scale;
    least *= scale;
    double root = sqrt(ADZI_FMA_F64(most, most, least * least)) / scale;
    return x == (double)INFINITY || y == (double)INFINITY ? (double)INFINITY : root;
}

/* ---- inverse of the error function -------------------------------------------------------- */

/* The number whose erf is x. With w = -log(1 - x^2) it is x times a polynomial of w, or of the root
 * of w where that is large: within 3e-7. Halley's step corrects it by the error of erf, near 1 by
 * that of erfc, in which nothing cancels. */
static inline double adzi_erfinv_f64(double x)
{
    double a = adzi_abs_f64(x), held = a < 1.0 ? a : 0.5, rest = 1.0 - held;
    double w = -adzi_log_f64(rest * (1.0 + held)), c = w - 3.0, s = sqrt(w) - 4.0;
    double p = -5.48098659e-9;
    p = ADZI_FMA_F64(p, c, -4.16120063e-9);
    p = ADZI_FMA_F64(p, c, 4.48573425e-7);
    p = ADZI_FMA_F64(p, c, -1.88846364e-6);
    p = ADZI_FMA_F64(p, c, -1.27098537e-5);
    p = ADZI_FMA_F64(p, c, 0.000195493967);
    p = ADZI_FMA_F64(p, c, -0.000836190162);
    p = ADZI_FMA_F64(p, c, -0.00573861244);
    p = ADZI_FMA_F64(p, c, 0.241630406);
    p = ADZI_FMA_F64(p, c, 1.62354209);
    double q = -4.25162125e-6;
    q = ADZI_FMA_F64(q, s, 2.50940568e-5);
    q = ADZI_FMA_F64(q, s, -5.16504457e-5);
    q = ADZI_FMA_F64(q, s, 5.11022865e-5);
    q = ADZI_FMA_F64(q, s, -8.95636721e-5);
    q = ADZI_FMA_F64(q, s, 0.000321783274);
    q = ADZI_FMA_F64(q, s, -0.000886309892);
    q = ADZI_FMA_F64(q, s, 0.00125961182);
    q = ADZI_FMA_F64(q, s, 1.00949641);
    q = ADZI_FMA_F64(q, s, 3.83978386);
    double y = held * (w < 6.0 ? p : q);
    double slope = 1.1283791670955126 * adzi_exp_nonpositive_f64(-y * y);
    double error = (held < 0.5 ? adzi_erf_near_f64(y) - held : rest - adzi_erfc_f64(y)) / slope;
    y -= error / (1.0 + y * error);
    y = a < 1.0 ? y : a == 1.0 ? (double)INFINITY : (double)NAN;
    return adzi_sign_of_f64(y, x);
}

/* ---- tangent ------------------------------------------------------------------------------ */

/* True if |x| > 2^20 or x is NaN: adzi_tan_near_f64 is not for such arguments. */
static inline uint32_t adzi_tan_is_far(double x)
{
    return (adzi_bits_f64(x) & 0x7fffffffffffffffu) > 0x4130000000000000u;
}

/* tan(r + low) for |r| <= pi/4, or -1 / tan(r + low) in odd quarters. */
static inline double adzi_tan_reduced_f64(double r, double low, uint64_t quarter)
{
    double z = r * r;
    double s = 1.5918115263265974e-10;
    s = ADZI_FMA_F64(s, z, -2.505113165023518e-08);
    s = ADZI_FMA_F64(s, z, 2.7557316101617874e-06);
    s = ADZI_FMA_F64(s, z, -0.00019841269836756774);
    s = ADZI_FMA_F64(s, z, 0.008333333333330948);
    s = ADZI_FMA_F64(s, z, -0.16666666666666666);
    s = r + ADZI_FMA_F64(r * z, s, low);
    double c = -1.1382623647474604e-11;
    c = ADZI_FMA_F64(c, z, 2.087614614655861e-09);
    c = ADZI_FMA_F64(c, z, -2.7557317271145144e-07);
    c = ADZI_FMA_F64(c, z, 2.480158729876456e-05);
    c = ADZI_FMA_F64(c, z, -0.0013888888888887398);
    c = ADZI_FMA_F64(c, z, 0.041666666666666664);
    c = 1.0 - (0.5 * z - ADZI_FMA_F64(z * z, c, -r * low));
    double top = (quarter & 1) != 0 ? -c : s;
    return top / ((quarter & 1) != 0 ? s : c);
}

/* x = k pi/2 + r. pi/2 has three parts; the products of k with the first two are exact. */
static inline double adzi_tan_near_f64(double x)
{
    double z = ADZI_FMA_F64(x, 0x1.45f306dc9c883p-1, ADZI_ROUND_F64), k = z - ADZI_ROUND_F64;
    double first = x - k * 0x1.921fb544p0, second = k * 0x1.0b4611a6p-34;
    double r = first - second, error = (first - r) - second;
    double third = k * 0x1.3198a2e037073p-69;
    double sum = r - third;
    double y = adzi_tan_reduced_f64(sum, ((r - sum) - third) + error, adzi_bits_f64(z));
    return x == 0.0 ? x : y;
}

/* The first 1344 bits of 2/pi. */
static const uint32_t adzi_two_over_pi[42] = { 0xa2f9836eu, 0x4e441529u, 0xfc2757d1u, 0xf534ddc0u,
    0xdb629599u, 0x3c439041u, 0xfe5163abu, 0xdebbc561u, 0xb7246e3au, 0x424dd2e0u, 0x06492eeau,
    0x09d1921cu, 0xfe1deb1cu, 0xb129a73eu, 0xe88235f5u, 0x2ebb4484u, 0xe99c7026u, 0xb45f7e41u,
    0x3991d639u, 0x835339f4u, 0x9c845f8bu, 0xbdf9283bu, 0x1ff897ffu, 0xde05980fu, 0xef2f118bu,
    0x5a0a6d1fu, 0x6d367ecfu, 0x27cb09b7u, 0x4f463f66u, 0x9e5fea2du, 0x7527bac7u, 0xebe5f17bu,
    0x3d0739f7u, 0x8a5292eau, 0x6bfb5fb1u, 0x1f8d5d08u, 0x56033046u, 0xfc7b6babu, 0xf0cfbc20u,
    0x9af4361du, 0xa9e39161u, 0x5ee61b08u };

/* tan of a far argument. x is m 2^e with a whole m of 53 bits. m is multiplied with those seven
 * words of 2/pi that decide over x 2/pi modulo 4, in integers (the method of Payne and Hanek). */
static inline double adzi_tan_far_f64(double x)
{
    const uint64_t bits = adzi_bits_f64(x), m = (bits & 0xfffffffffffffu) | 0x10000000000000u;
    const int e = (int)(bits >> 52 & 0x7ff) - 1075;
    if (e > 971) {
        return (double)NAN; /* infinite, or NaN */
    }
    enum { WORDS = 7 };
    const int from = e > 2 ? (e - 2) / 32 : 0, point = 32 * (from + WORDS) - e;
    uint32_t product[WORDS + 4] = { 0 }; /* from the lowest word */
    for (int half = 0; half < 2; ++half) {
        const uint64_t factor = half == 0 ? m & 0xffffffffu : m >> 32;
        uint64_t carry = 0;
        for (int i = 0; i < WORDS; ++i) {
            const uint64_t word = adzi_two_over_pi[from + WORDS - 1 - i];
            carry += word * factor + product[i + half];
            product[i + half] = (uint32_t)carry;
            carry >>= 32;
        }
        product[WORDS + half] = (uint32_t)carry;
    }
    /* The two bits before the point and 126 behind it, in two words. */
    uint64_t part[2];
    for (int i = 0; i < 2; ++i) {
        const int at = point + 2 - 64 * (i + 1), word = at / 32, bit = at % 32;
        const uint64_t low = product[word] | (uint64_t)product[word + 1] << 32;
        part[i] = bit == 0 ? low : low >> bit | (uint64_t)product[word + 2] << (64 - bit);
    }
    const int above = part[0] >> 61 & 1; /* the fraction is above 1/2: 1 minus it is subtracted */
    const uint64_t flip = above ? ~(uint64_t)0 : 0;
    const uint64_t high = (part[0] << 2 | part[1] >> 62) ^ flip, low = (part[1] << 2) ^ flip;
    const double one = (double)(high >> 32) * 0x1p-32;
    const double two = (double)(high & 0xffffffffu) * 0x1p-64 + (double)low * 0x1p-128;
    const double turn = one + two, lost = (one - turn) + two, sign = above ? -1.0 : 1.0;
    const double rest = ADZI_FMA_F64(lost, ADZI_HALF_PI_F64, turn * ADZI_HALF_PI_LOW);
    const double y = adzi_tan_reduced_f64(
        sign * turn * ADZI_HALF_PI_F64, sign * rest, (part[0] >> 62) + (above ? 1 : 0));
    return x < 0.0 ? -y : y;
}

static inline double adzi_tan_f64(double x)
{
    return adzi_tan_is_far(x) ? adzi_tan_far_f64(x) : adzi_tan_near_f64(x);
}

/* ---- f32 ---------------------------------------------------------------------------------- */

#define ADZI_BY_F64(name)                           \
    static inline float adzi_##name##_f32(float x)  \
    {                                               \
        return (float)adzi_##name##_f64((double)x); \
    }

ADZI_BY_F64(exp2)
ADZI_BY_F64(sinh)
ADZI_BY_F64(cosh)
ADZI_BY_F64(log2)
ADZI_BY_F64(log10)
ADZI_BY_F64(asinh)
ADZI_BY_F64(acosh)
ADZI_BY_F64(atanh)
ADZI_BY_F64(asin)
ADZI_BY_F64(acos)
ADZI_BY_F64(atan)
ADZI_BY_F64(tan)
ADZI_BY_F64(tan_near)
ADZI_BY_F64(erfc)
ADZI_BY_F64(erfinv)

#define ADZI_BY_F64_OF_TWO(name)                               \
    static inline float adzi_##name##_f32(float a, float b)    \
    {                                                          \
        return (float)adzi_##name##_f64((double)a, (double)b); \
    }

ADZI_BY_F64_OF_TWO(atan2)
ADZI_BY_F64_OF_TWO(hypot)
ADZI_BY_F64_OF_TWO(logaddexp)

#endif
