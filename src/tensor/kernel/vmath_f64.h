/* The f64 functions of vmath.h. exp, log, tanh and sigmoid are branch-free and vectorise. They use
 * the methods that vmath_f32.h explains, with Horner's scheme. libm computes the other functions,
 * one value at a time. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_F64_H
#define ADZI_TENSOR_KERNEL_VMATH_F64_H

#define ADZI_LN2_HI_F64 0x1.62e42fefa3p-1 /* 41 bits: times an exponent it is exact */
#define ADZI_LN2_LO_F64 0x1.3de6af278ece6p-42
#define ADZI_ROUND_F64  0x1.8p52

/* e^r - 1 for |r| <= ln(2)/2 */
static inline double adzi_exp_near_f64(double r)
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
    q = ADZI_FMA_F64(q, r, 0.5);
    return ADZI_FMA_F64(r * r, q, r);
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

/* x = 2^k m with m in [2/3, 4/3), for a positive finite x. Returns m - 1. Denormals are scaled by
 * 2^52 first. */
static inline double adzi_log_reduce_f64(double x, double *k)
{
    double lift = x < 0x1p-1022 ? 0x1p52 : 1.0;
    double lifted = x < 0x1p-1022 ? -52.0 : 0.0;
    uint64_t bits = adzi_bits_f64(x * lift);
    /* The biased exponent of the power of two that leaves the mantissa in [2/3, 4/3). It becomes a
     * double as the low bits of 2^52, because AVX2 has no conversion of 64-bit integers. */
    uint64_t biased = bits + (0x3ff0000000000000u - 0x3fe5555555555555u);
    *k = adzi_from_bits_f64((biased >> 52) | 0x4330000000000000u) - (0x1p52 + 1023.0) + lifted;
    return adzi_from_bits_f64(bits - (biased & 0xfff0000000000000u) + 0x3ff0000000000000u) - 1.0;
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
    double s = f / (2.0 + f);
    double z = s * s;
    double half_square = 0.5 * f * f;
    double rest =
        ADZI_FMA_F64(s, ADZI_FMA_F64(adzi_log_poly_f64(z), z, half_square), k * ADZI_LN2_LO_F64);
    double large = k * ADZI_LN2_HI_F64;
    double sum = large + f;
    double error = f - (sum - large);
    return adzi_log_special_f64(x, sum + (error + (rest - half_square)));
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

static inline double adzi_log1p_f64(double x)
{
    return log1p(x);
}

/* log1p for x in [0, 1] */
static inline double adzi_log1p_unit_f64(double x)
{
    return log1p(x);
}

static inline double adzi_expm1_f64(double x)
{
    return expm1(x);
}

static inline double adzi_erf_f64(double x)
{
    return erf(x);
}

/** x Phi(x), with Phi the normal distribution function: PyTorch's gelu with approximate "none". */
static inline double adzi_gelu_f64(double x)
{
    return 0.5 * x * (1.0 + erf(x * 0.7071067811865475244));
}

/** Phi(x) + x phi(x), the derivative of gelu, with phi the normal density. */
static inline double adzi_gelu_derivative_f64(double x)
{
    double distribution = 0.5 * (1.0 + erf(x * 0.7071067811865475244));
    double density = 0.39894228040143267794 * adzi_exp_nonpositive_f64(-0.5 * x * x);
    return distribution + x * density;
}

static inline double adzi_sin_f64(double x)
{
    return sin(x);
}

static inline double adzi_cos_f64(double x)
{
    return cos(x);
}

#endif
