/* The f64 functions of vmath.h. They use the methods that vmath_f32.h explains, with Horner's
 * scheme. sin and cos of arguments above 2^20 are functions of real.c, one value at a time. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_F64_H
#define ADZI_TENSOR_KERNEL_VMATH_F64_H

#define ADZI_LN2_HI_F64 0x1.62e42fefa3p-1 /* 41 bits: times an exponent it is exact */
#define ADZI_LN2_LO_F64 0x1.3de6af278ece6p-42
#define ADZI_ROUND_F64  0x1.8p52

/* (e^r - 1 - r) / r^2 for |r| <= ln(2)/2 */
static inline double adzi_exp_rest_f64(double r)
{
    double q = 2.0976184956738313e-9;
    q = ADZI_FMA_F64(q, r, 2.5114480791023767e-8);
    q = ADZI_FMA_F64(q, r, 2.7557050417953954e-7);
    q = ADZI_FMA_F64(q, r, 2.7557228943398215e-6);
    q = ADZI_FMA_F64(q, r, 2.4801587561014601e-5);
    q = ADZI_FMA_F64(q, r, 0.00019841269902998098);
    q = ADZI_FMA_F64(q, r, 0.0013888888888777856);
    q = ADZI_FMA_F64(q, r, 0.0083333333333139442);
    q = ADZI_FMA_F64(q, r, 0.041666666666666824);
    q = ADZI_FMA_F64(q, r, 0.16666666666666688);
    return ADZI_FMA_F64(q, r, 0.5);
}

/* e^r - 1 for |r| <= ln(2)/2 */
static inline double adzi_exp_near_f64(double r)
{
    return ADZI_FMA_F64(r * r, adzi_exp_rest_f64(r), r);
}

/* x = n ln 2 + r with |r| <= ln(2)/2. Returns e^r - 1; the low bits of *shifted hold n. */
static inline double adzi_exp_reduce_f64(double x, uint64_t *shifted)
{
    double z = ADZI_FMA_F64(x, 1.4426950408889634, ADZI_ROUND_F64);
    double n = z - ADZI_ROUND_F64;
    double r = ADZI_FMA_F64(n, -ADZI_LN2_HI_F64, x);
    *shifted = adzi_bits_f64(z);
    return adzi_exp_near_f64(ADZI_FMA_F64(n, -ADZI_LN2_LO_F64, r));
}

/* 2^(n + offset), for an n in the low bits of `shifted`. n + offset must be a normal exponent. */
static inline double adzi_power_of_two_f64(uint64_t shifted, uint64_t offset)
{
    return adzi_from_bits_f64((shifted << 52) + ((1023u + offset) << 52));
}

/* y 2^n, where n has the sign of x, in two steps: 2^1024 and 2^-1074 are no normal numbers. */
static inline double adzi_exp_scaled_f64(double y, uint64_t n, double x)
{
    uint64_t last = 0x4ff0000000000000u - ((adzi_bits_f64(x) >> 2) & 0x2000000000000000u);
    uint64_t first = (n << 52) + (0x7fe0000000000000u - last);
    return y * adzi_from_bits_f64(first) * adzi_from_bits_f64(last);
}

/* e^x = 2^n e^r */
static inline double adzi_exp_f64(double x)
{
    x = x > 710.0 ? 710.0 : x;
    x = x < -746.0 ? -746.0 : x;
    uint64_t n;
    double y = 1.0 + adzi_exp_reduce_f64(x, &n);
    return adzi_exp_scaled_f64(y, n, x);
}

/* exp for x <= 0. For x <= -746 the last factor is 0, for the reason that
 * adzi_exp_nonpositive_f32 gives. */
static inline double adzi_exp_nonpositive_f64(double x)
{
    x = x < -746.0 ? -746.0 : x;
    uint64_t n;
    double y = 1.0 + adzi_exp_reduce_f64(x, &n);
    uint64_t above =
        ((adzi_bits_f64(x) | 0x8000000000000000u) - 0xc087500000000000u) >> 63; /* x > -746 */
    return y * adzi_power_of_two_f64(n, 256) *
           adzi_from_bits_f64((0u - above) & 0x2ff0000000000000u);
}

/* exp for arguments within [-708, 708], where no scaling step can leave the normal range. */
static inline double adzi_exp_inner_f64(double x)
{
    uint64_t n;
    double y = 1.0 + adzi_exp_reduce_f64(x, &n);
    return y * adzi_power_of_two_f64(n, 0);
}

/* R(z) in log(1 + f) = f - f^2/2 + s (f^2/2 + z R(z)), s = f / (2 + f), z = s^2 */
static inline double adzi_log_poly_f64(double z)
{
    double p = 0.13848383838774322;
    p = ADZI_FMA_F64(p, z, 0.13172831308472349);
    p = ADZI_FMA_F64(p, z, 0.15391155888243468);
    p = ADZI_FMA_F64(p, z, 0.1818166460589688);
    p = ADZI_FMA_F64(p, z, 0.22222224315781589);
    p = ADZI_FMA_F64(p, z, 0.28571428555684181);
    p = ADZI_FMA_F64(p, z, 0.40000000000057079);
    return ADZI_FMA_F64(p, z, 0.66666666666666596);
}

/* log(2^k (1 + f + c)) for k as a double and a c far below f's last place, as
 *
 *     k ln 2 + f - f^2/2 + s (f^2/2 + z R(z)) + c / (1 + f),   s = f / (2 + f), z = s^2 */
static inline double adzi_log_join_f64(double k, double f, double c)
{
    double s = f / (2.0 + f);
    double z = s * s;
    double half_square = 0.5 * f * f;
    double rest =
        ADZI_FMA_F64(s, ADZI_FMA_F64(adzi_log_poly_f64(z), z, half_square), k * ADZI_LN2_LO_F64);
    double large = k * ADZI_LN2_HI_F64;
    double sum = large + f;
    double error = f - (sum - large);
    return sum + (error + (rest - half_square + c * (1.0 - f + f * f)));
}

/* The bits of x with 1023 + k as their exponent, for the k that leaves the mantissa x 2^-k in
 * [2/3, 4/3). */
static inline uint64_t adzi_log_biased_f64(uint64_t bits)
{
    return bits + (0x3ff0000000000000u - 0x3fe5555555555555u);
}

/* k of these bits as a double. The exponent becomes the low bits of 2^52, because AVX2 has no
 * conversion of 64-bit integers. */
static inline double adzi_log_exponent_f64(uint64_t biased)
{
    return adzi_from_bits_f64((biased >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0);
}

static inline double adzi_log_mantissa_f64(uint64_t bits, uint64_t biased)
{
    return adzi_from_bits_f64(bits - (biased & 0xfff0000000000000u) + 0x3ff0000000000000u);
}

/* x = 2^k m with m in [2/3, 4/3), for a positive finite x. Returns m - 1. Denormals are scaled by
 * 2^52 first. */
static inline double adzi_log_reduce_f64(double x, double *k)
{
    double lift = x < 0x1p-1022 ? 0x1p52 : 1.0;
    double lifted = x < 0x1p-1022 ? -52.0 : 0.0;
    uint64_t bits = adzi_bits_f64(x * lift);
    uint64_t biased = adzi_log_biased_f64(bits);
    *k = adzi_log_exponent_f64(biased) + lifted;
    return adzi_log_mantissa_f64(bits, biased) - 1.0;
}

/* What a logarithm gives for arguments that are no positive finite numbers; y for all others. */
static inline double adzi_log_special_f64(double x, double y)
{
    y = x < (double)INFINITY ? y : x;
    y = x < 0.0 ? (double)NAN : y;
    return x == 0.0 ? -(double)INFINITY : y;
}

/* log x = k ln 2 + log(1 + f) */
static inline double adzi_log_f64(double x)
{
    double k, f = adzi_log_reduce_f64(x, &k);
    return adzi_log_special_f64(x, adzi_log_join_f64(k, f, 0.0));
}

/* log(1 + x). The sum u = 1 + x is rounded; its rounding error c enters the logarithm as a
 * correction. */
static inline double adzi_log1p_f64(double x)
{
    double u = 1.0 + x;
    double c = x < 1.0 ? x - (u - 1.0) : 1.0 - (u - x);
    uint64_t bits = adzi_bits_f64(u);
    uint64_t biased = adzi_log_biased_f64(bits);
    c = c * adzi_from_bits_f64(0x7fe0000000000000u - (biased & 0x7ff0000000000000u));
    c = x > 0x1p55 ? 0.0 : c;
    double y = adzi_log_join_f64(
        adzi_log_exponent_f64(biased), adzi_log_mantissa_f64(bits, biased) - 1.0, c);
    y = x < (double)INFINITY ? y : x;
    y = x < -1.0 ? (double)NAN : y;
    y = x == -1.0 ? -(double)INFINITY : y;
    return adzi_abs_f64(x) < 0x1p-54 ? x : y;
}

/* log1p for x in [0, 1] */
static inline double adzi_log1p_unit_f64(double x)
{
    double u = 1.0 + x;
    double c = x - (u - 1.0);
    double k = u >= 4.0 / 3.0 ? 1.0 : 0.0;
    double scale = 1.0 - 0.5 * k;
    return adzi_log_join_f64(k, u * scale - 1.0, c * scale);
}

/* e^x - 1 = 2 (2^(n-1) (e^r - 1) + 2^(n-1) - 1/2). For n = 0 that is e^r - 1 itself, and for tiny x
 * it is x. */
static inline double adzi_expm1_f64(double x)
{
    double held = x > 710.0 ? 710.0 : x;
    held = held < -38.0 ? -38.0 : held;
    uint64_t n;
    double t = adzi_exp_reduce_f64(held, &n);
    double half_power = adzi_power_of_two_f64(n, (uint64_t)-1);
    double y = 2.0 * ADZI_FMA_F64(half_power, t, half_power - 0.5);
    y = half_power == 0.5 ? t : y;
    return adzi_abs_f64(x) < 0x1p-54 ? x : y;
}

/* An odd polynomial for |x| < 0.55, else 1 - 2 / (e^(2|x|) + 1); both are computed and one is
 * selected.
 */
static inline double adzi_tanh_f64(double x)
{
    double a = adzi_abs_f64(x);
    double z = a * a;
    double p = -1.927646899862432e-5;
    p = ADZI_FMA_F64(p, z, 8.2970563427070448e-5);
    p = ADZI_FMA_F64(p, z, -0.00023314577459012406);
    p = ADZI_FMA_F64(p, z, 0.00058835408398641366);
    p = ADZI_FMA_F64(p, z, -0.0014555214487833087);
    p = ADZI_FMA_F64(p, z, 0.003592088800893096);
    p = ADZI_FMA_F64(p, z, -0.0088632322914072616);
    p = ADZI_FMA_F64(p, z, 0.021869488367553924);
    p = ADZI_FMA_F64(p, z, -0.053968253963144017);
    p = ADZI_FMA_F64(p, z, 0.133333333333256);
    p = ADZI_FMA_F64(p, z, -0.33333333333333293);
    double small = ADZI_FMA_F64(a * z, p, a);
    double held = adzi_at_most_f64(a, 20.0); /* tanh is 1 from 19.1 on */
    double large = 1.0 - 2.0 / (adzi_exp_inner_f64(2.0 * held) + 1.0);
    return adzi_sign_of_f64(a >= 0.55 ? large : small, x);
}

/* e / (1 + e) for x < 0 and 1 / (1 + e) otherwise, e = e^-|x|, which cannot overflow. The rounding
 * errors of e and of 1 + e are kept, and one correction of the quotient removes them. Without it
 * the error would be up to 2.4 units of the last place. */
static inline double adzi_sigmoid_f64(double x)
{
    double a = -adzi_abs_f64(x);
    a = a < -746.0 ? -746.0 : a;
    uint64_t n;
    double t = adzi_exp_reduce_f64(a, &n);
    double power = adzi_power_of_two_f64(n, 256);
    double y = 1.0 + t;
    double e = y * power * 0x1p-256;
    double e_error = (t - (y - 1.0)) * power * 0x1p-256;
    double sum = 1.0 + e;
    double sum_error = e - (sum - 1.0) + e_error;
    double quotient = (x < 0.0 ? e : 1.0) / sum;
    double inverse = x < 0.0 ? 1.0 - quotient : quotient;
    return quotient + ((x < 0.0 ? e_error : 0.0) - quotient * sum_error) * inverse;
}

/* x y - product, exactly, for a product = x y of ordinary size. Without fused multiply-adds each
 * factor is split into two halves whose products are exact (Dekker 1971). */
static inline double adzi_product_error_f64(double x, double y, double product)
{
#if ADZI_VMATH_FUSED
    return ADZI_FMA_F64(x, y, -product);
#else
    double spread_x = 134217729.0 * x, spread_y = 134217729.0 * y;
    double x1 = spread_x - (spread_x - x), y1 = spread_y - (spread_y - y);
    double x2 = x - x1, y2 = y - y1;
    return ((x1 * y1 - product) + x1 * y2 + x2 * y1) + x2 * y2;
#endif
}

/* erfc x = e^(-x^2) p(t) / (1 + 2x) for x in [0.84, 28], with t = (x - 3) / (x + 3). */
static inline double adzi_erfc_tail_f64(double x)
{
    double t = (x - 3.0) / (x + 3.0);
    double p = -1.9310352200039836e-8;
    p = ADZI_FMA_F64(p, t, 1.2917183152028227e-7);
    p = ADZI_FMA_F64(p, t, -7.317554573808321e-8);
    p = ADZI_FMA_F64(p, t, -6.747840946270571e-7);
    p = ADZI_FMA_F64(p, t, 3.2687444287554866e-7);
    p = ADZI_FMA_F64(p, t, 3.513114618341136e-6);
    p = ADZI_FMA_F64(p, t, -7.269499684685119e-7);
    p = ADZI_FMA_F64(p, t, -2.0115514761596887e-5);
    p = ADZI_FMA_F64(p, t, 4.9502226915149485e-6);
    p = ADZI_FMA_F64(p, t, 0.000125102589935134);
    p = ADZI_FMA_F64(p, t, -0.0001051602037290935);
    p = ADZI_FMA_F64(p, t, -0.0007798326986621255);
    p = ADZI_FMA_F64(p, t, 0.0018886904250959243);
    p = ADZI_FMA_F64(p, t, 0.00252939184961866);
    p = ADZI_FMA_F64(p, t, -0.02377051492375759);
    p = ADZI_FMA_F64(p, t, 0.06830802734251216);
    p = ADZI_FMA_F64(p, t, -0.1192736634151253);
    p = ADZI_FMA_F64(p, t, 0.12964515870279075);
    p = ADZI_FMA_F64(p, t, -0.047562294353453154);
    p = ADZI_FMA_F64(p, t, -0.13562110612458136);
    p = ADZI_FMA_F64(p, t, 1.2530080582697296);
    double square = x * x;
    double y = p / (1.0 + 2.0 * x);
    y = y - y * adzi_product_error_f64(x, x, square);
    return adzi_exp_nonpositive_f64(-square) * y;
}

/* erf a for a in [0, 0.85] */
static inline double adzi_erf_near_f64(double a)
{
    double z = a * a;
    double p = -8.772271460953329e-10;
    p = ADZI_FMA_F64(p, z, 1.4164721682999162e-8);
    p = ADZI_FMA_F64(p, z, -1.6296395530642544e-7);
    p = ADZI_FMA_F64(p, z, 1.6457295388880801e-6);
    p = ADZI_FMA_F64(p, z, -1.4925428164997183e-5);
    p = ADZI_FMA_F64(p, z, 0.00012055326124558504);
    p = ADZI_FMA_F64(p, z, -0.0008548326883863701);
    p = ADZI_FMA_F64(p, z, 0.005223977623638678);
    p = ADZI_FMA_F64(p, z, -0.026866170644993664);
    p = ADZI_FMA_F64(p, z, 0.11283791670954584);
    p = ADZI_FMA_F64(p, z, -0.3761263890318374);
    p = ADZI_FMA_F64(p, z, 0.1283791670955126);
    return ADZI_FMA_F64(a, p, a);
}

/* A polynomial for |x| < 0.85, else 1 - erfc |x|; both are computed and one is selected. */
static inline double adzi_erf_f64(double x)
{
    double a = adzi_abs_f64(x);
    double large = 1.0 - adzi_erfc_tail_f64(adzi_at_most_f64(a, 6.0)); /* 1 from 5.93 on */
    return adzi_sign_of_f64(a >= 0.85 ? large : adzi_erf_near_f64(a), x);
}

/* 1 - erf x, for |x| >= 0.85 from the tail, in which nothing cancels. */
static inline double adzi_erfc_f64(double x)
{
    double a = adzi_abs_f64(x);
    double tail = adzi_erfc_tail_f64(adzi_at_most_f64(a, 28.0)); /* 0 from 27.3 on */
    double far = x < 0.0 ? 2.0 - tail : tail;
    return a >= 0.85 ? far : 1.0 - adzi_sign_of_f64(adzi_erf_near_f64(a), x);
}

/** x Phi(x), with Phi the normal distribution function: PyTorch's gelu with approximate "none". */
static inline double adzi_gelu_f64(double x)
{
    return 0.5 * x * (1.0 + adzi_erf_f64(x * 0.7071067811865475244));
}

/** Phi(x) + x phi(x), the derivative of gelu, with phi the normal density. */
static inline double adzi_gelu_derivative_f64(double x)
{
    double distribution = 0.5 * (1.0 + adzi_erf_f64(x * 0.7071067811865475244));
    double density = 0.39894228040143267794 * adzi_exp_nonpositive_f64(-0.5 * x * x);
    return distribution + x * density;
}

/* *sum = a - b, rounded. Returns the rounding error, a - b - *sum. */
static inline double adzi_difference_f64(double a, double b, double *sum)
{
    double s = a - b;
    double v = s - a;
    *sum = s;
    return (a - (s - v)) - (b + v);
}

/* sin(r + rest + quarter pi/2) for |r| <= pi/4 and a rest below r's last place. */
static inline double adzi_sin_reduced_f64(double r, double rest, uint64_t quarter)
{
    double z = r * r;
    double s = -7.586580487904591e-13;
    s = ADZI_FMA_F64(s, z, 1.605852964458105e-10);
    s = ADZI_FMA_F64(s, z, -2.5052106220024738e-8);
    s = ADZI_FMA_F64(s, z, 2.755731921930353e-6);
    s = ADZI_FMA_F64(s, z, -0.0001984126984126502);
    s = ADZI_FMA_F64(s, z, 0.008333333333333331);
    s = ADZI_FMA_F64(s, z, -0.16666666666666666);
    s = r + ADZI_FMA_F64(r * z, s, rest * (1.0 - 0.5 * z));
    double c = -1.1382464188417552e-11;
    c = ADZI_FMA_F64(c, z, 2.0876143942503467e-9);
    c = ADZI_FMA_F64(c, z, -2.755731726062817e-7);
    c = ADZI_FMA_F64(c, z, 2.4801587298744435e-5);
    c = ADZI_FMA_F64(c, z, -0.0013888888888887382);
    c = ADZI_FMA_F64(c, z, 0.041666666666666664);
    double half = 0.5 * z;
    double above = 1.0 - half;
    c = above + (((1.0 - above) - half) + (z * z * c - r * rest));
    double y = (quarter & 1) != 0 ? c : s;
    return adzi_from_bits_f64(adzi_bits_f64(y) ^ (quarter & 2) << 62);
}

/* 1 if |x| > 2^20 or x is NaN, like adzi_is_far_f32. */
static inline uint32_t adzi_is_far_f64(double x)
{
    return (adzi_bits_f64(x) & 0x7fffffffffffffffu) > 0x4130000000000000u;
}

/* sin(x + quarters pi/2) for |x| <= 2^20, with x = k pi/2 + r, |r| <= pi/4. pi/2 is split into
 * three parts of 33 bits, whose products with k are exact, and a rest. */
static inline double adzi_sin_near_f64(double x, uint64_t quarters)
{
    double z = ADZI_FMA_F64(x, 0x1.45f306dc9c883p-1, ADZI_ROUND_F64);
    double k = z - ADZI_ROUND_F64;
    double r = x - k * 0x1.921fb544p0;
    double rest = adzi_difference_f64(r, k * 0x1.0b4611a6p-34, &r);
    rest += adzi_difference_f64(r, k * 0x1.3198a2e0p-69, &r) - k * 0x1.b839a252049c1p-104;
    double sum = r + rest;
    double y = adzi_sin_reduced_f64(sum, (r - sum) + rest, adzi_bits_f64(z) + quarters);
    return quarters == 0 && adzi_abs_f64(x) < 0x1p-27 ? x : y; /* keeps the sign of zero */
}

static inline double adzi_sin_f64(double x)
{
    return adzi_is_far_f64(x) ? adzi_sin_far(x, 0) : adzi_sin_near_f64(x, 0);
}

static inline double adzi_cos_f64(double x)
{
    return adzi_is_far_f64(x) ? adzi_sin_far(x, 1) : adzi_sin_near_f64(x, 1);
}

#endif
