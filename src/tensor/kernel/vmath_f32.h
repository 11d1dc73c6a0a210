/* The f32 functions of vmath.h. The polynomials are minimax fits (Remez) of the reduced functions.
 * The leading terms are added last, so that nearly all of the rounding happens in that addition.
 * Polynomials that are used often are evaluated in pairs of coefficients (Estrin's scheme). The
 * chain of dependent steps in Horner's scheme is too long to overlap with other vectors. */
#ifndef ADZI_TENSOR_KERNEL_VMATH_F32_H
#define ADZI_TENSOR_KERNEL_VMATH_F32_H

#define ADZI_LN2_HI_F32 0.693145751953125f /* 16 bits: times an exponent it is exact */
#define ADZI_LN2_LO_F32 1.42860682031e-6f

/* 1.5 * 2^23. Adding it to a float of magnitude below 2^22 rounds the float to an integer, which
 * the low bits of the sum then hold. */
#define ADZI_ROUND_F32 12582912.0f

/* x = n ln 2 + r with |r| <= ln(2)/2. Returns e^r - 1; the low bits of *shifted hold n. */
static inline float adzi_exp_reduce_f32(float x, uint32_t *shifted)
{
    float z = ADZI_FMA_F32(x, 1.44269504f, ADZI_ROUND_F32);
    float n = z - ADZI_ROUND_F32;
    float r = ADZI_FMA_F32(n, -ADZI_LN2_HI_F32, x);
    r = ADZI_FMA_F32(n, -ADZI_LN2_LO_F32, r);
    float square = r * r;
    float q01 = ADZI_FMA_F32(0.166665092f, r, 0.49999994f);
    float q23 = ADZI_FMA_F32(0.00836998969f, r, 0.041668009f);
    float q = ADZI_FMA_F32(ADZI_FMA_F32(0.00138470344f, square, q23), square, q01);
    *shifted = adzi_bits_f32(z);
    return ADZI_FMA_F32(square, q, r);
}

/* 2^(n + offset), for an n in the low bits of `shifted`. n + offset must be a normal exponent. */
static inline float adzi_power_of_two_f32(uint32_t shifted, uint32_t offset)
{
    return adzi_from_bits_f32((shifted << 23) + ((127u + offset) << 23));
}

/* e^x = 2^n e^r, with n and r from adzi_exp_reduce_f32. */
static inline float adzi_exp_f32(float x)
{
    /* Outside of these limits the result is infinity or 0. Inside, 2^n fits the scaling below. The
     * limits are compared as integers, which loses NaN; the last line puts it back. */
    const float given = x;
    x = adzi_at_least_f32(adzi_at_most_f32(x, 89.0f), -104.0f);
    uint32_t n;
    float y = 1.0f + adzi_exp_reduce_f32(x, &n);
    /* The result is scaled in two steps, because 2^128 and 2^-149 are no normal floats. The first
     * step is exact. The last is by 2^32 or, for negative x, by 2^-32. It is selected by bit
     * operations, because gcc turns another choice on x into two copies of the code behind it. */
    uint32_t last = 0x4f800000u - ((adzi_bits_f32(x) >> 2) & 0x20000000u);
    uint32_t first = (n << 23) + (0x7f000000u - last);
    y = y * adzi_from_bits_f32(first) * adzi_from_bits_f32(last);
    return given == given ? y : given;
}

/* exp for x <= 0. For x <= -104, such as the -inf of masked logits, the last factor is 0 and not
 * 2^-32. With 2^-32 the product would be a denormal, which costs some processors 150 cycles. */
static inline float adzi_exp_nonpositive_f32(float x)
{
    x = x < -104.0f ? -104.0f : x;
    uint32_t n;
    float y = 1.0f + adzi_exp_reduce_f32(x, &n);
    uint32_t above = ((adzi_bits_f32(x) | 0x80000000u) - 0xc2d00000u) >> 31; /* x > -104 */
    return y * adzi_power_of_two_f32(n, 32) * adzi_from_bits_f32((0u - above) & 0x2f800000u);
}

/* exp for arguments within [-87, 87], where no scaling step can leave the normal range. */
static inline float adzi_exp_inner_f32(float x)
{
    uint32_t n;
    float y = 1.0f + adzi_exp_reduce_f32(x, &n);
    return y * adzi_power_of_two_f32(n, 0);
}

/* e^x - 1 = 2 (2^(n-1) (e^r - 1) + 2^(n-1) - 1/2). For n = 0 that is e^r - 1 itself, and for tiny x
 * it is x. */
static inline float adzi_expm1_f32(float x)
{
    float held = x > 89.0f ? 89.0f : x;
    held = held < -18.0f ? -18.0f : held;
    uint32_t n;
    float t = adzi_exp_reduce_f32(held, &n);
    float half_power = adzi_power_of_two_f32(n, (uint32_t)-1);
    float y = 2.0f * ADZI_FMA_F32(half_power, t, half_power - 0.5f);
    y = half_power == 0.5f ? t : y;
    return adzi_abs_f32(x) < 0x1p-25f ? x : y;
}

/* (log(1 + f) - f + f^2/2) / f^3 for f in [-1/3, 1/3] */
static inline float adzi_log_poly_f32(float f)
{
    float p = 0.120282069f;
    p = ADZI_FMA_F32(p, f, -0.128653243f);
    p = ADZI_FMA_F32(p, f, 0.107493646f);
    p = ADZI_FMA_F32(p, f, -0.121916622f);
    p = ADZI_FMA_F32(p, f, 0.143048301f);
    p = ADZI_FMA_F32(p, f, -0.166798338f);
    p = ADZI_FMA_F32(p, f, 0.199995875f);
    p = ADZI_FMA_F32(p, f, -0.249998152f);
    return ADZI_FMA_F32(p, f, 0.333333373f);
}

/* log(2^k (1 + f + c)) for k as a float and a c far below f's last place. The large part, k ln 2
 * + f, is kept with its rounding error. */
static inline float adzi_log_join_f32(float k, float f, float c)
{
    float square = f * f;
    float rest = ADZI_FMA_F32(square * f, adzi_log_poly_f32(f), -0.5f * square);
    rest = ADZI_FMA_F32(k, ADZI_LN2_LO_F32, rest) + c * (1.0f - f);
    float large = k * ADZI_LN2_HI_F32;
    float sum = large + f;
    float error = f - (sum - large);
    return sum + (error + rest);
}

/* The exponent k that leaves the mantissa in [2/3, 4/3). */
static inline int32_t adzi_log_exponent_f32(uint32_t bits)
{
    return (int32_t)(bits - 0x3f2aaaabu) >> 23;
}

/* log x = k ln 2 + log(1 + f) with the mantissa 1 + f in [2/3, 4/3). Denormals are scaled by 2^23
 * first.
 */
static inline float adzi_log_f32(float x)
{
    float lift = x < 0x1p-126f ? 0x1p23f : 1.0f;
    float lifted = x < 0x1p-126f ? -23.0f : 0.0f;
    uint32_t bits = adzi_bits_f32(x * lift);
    int32_t k = adzi_log_exponent_f32(bits);
    float mantissa = adzi_from_bits_f32(bits - ((uint32_t)k << 23));
    float y = adzi_log_join_f32((float)k + lifted, mantissa - 1.0f, 0.0f);
    y = x < INFINITY ? y : x;
    y = x < 0.0f ? NAN : y;
    return x == 0.0f ? -INFINITY : y;
}

/* log(1 + x). The sum u = 1 + x is rounded; its rounding error c enters the logarithm as a
 * correction. */
static inline float adzi_log1p_f32(float x)
{
    /* u + c = 1 + x exactly, wherever c is large enough to change the result. */
    float u = 1.0f + x;
    float c = x < 1.0f ? x - (u - 1.0f) : 1.0f - (u - x);
    uint32_t bits = adzi_bits_f32(u);
    int32_t k = adzi_log_exponent_f32(bits);
    float mantissa = adzi_from_bits_f32(bits - ((uint32_t)k << 23));
    c = c * adzi_from_bits_f32(0x3f800000u - ((uint32_t)k << 23));
    c = x > 0x1p26f ? 0.0f : c;
    float y = adzi_log_join_f32((float)k, mantissa - 1.0f, c);
    y = x < INFINITY ? y : x;
    y = x < -1.0f ? NAN : y;
    y = x == -1.0f ? -INFINITY : y;
    return adzi_abs_f32(x) < 0x1p-25f ? x : y;
}

/* log1p for x in [0, 1] */
static inline float adzi_log1p_unit_f32(float x)
{
    float u = 1.0f + x;
    float c = x - (u - 1.0f);
    uint32_t upper = adzi_bits_f32(u) >= 0x3faaaaabu; /* the exponent k, which is 0 or 1 */
    float scale = adzi_from_bits_f32(0x3f800000u - (upper << 23));
    return adzi_log_join_f32((float)(int32_t)upper, u * scale - 1.0f, c * scale);
}

/* An odd polynomial for |x| < 0.6, else 1 - 2 / (e^(2|x|) + 1); both are computed and one is
 * selected. */
static inline float adzi_tanh_f32(float x)
{
    float a = adzi_abs_f32(x);
    float z = a * a;
    float p = -0.00590005191f;
    p = ADZI_FMA_F32(p, z, 0.0207996201f);
    p = ADZI_FMA_F32(p, z, -0.05378481f);
    p = ADZI_FMA_F32(p, z, 0.133319363f);
    p = ADZI_FMA_F32(p, z, -0.333332986f);
    float small = ADZI_FMA_F32(a * z, p, a);
    float held = adzi_at_most_f32(a, 10.0f); /* tanh is 1 from 9.01 on */
    float large = 1.0f - 2.0f / (adzi_exp_inner_f32(2.0f * held) + 1.0f);
    return adzi_sign_of_f32(a >= 0.6f ? large : small, x);
}

/* e / (1 + e) for x < 0 and 1 / (1 + e) otherwise, e = e^-|x|, which cannot overflow. The rounding
 * errors of e and of 1 + e are kept, and one correction of the quotient removes them. Without it
 * the error would be up to 2.4 units of the last place. */
static inline float adzi_sigmoid_f32(float x)
{
    float a = -adzi_abs_f32(x);
    a = a < -104.0f ? -104.0f : a;
    uint32_t n;
    float t = adzi_exp_reduce_f32(a, &n);
    float power = adzi_power_of_two_f32(n, 32);
    float y = 1.0f + t;
    float e = y * power * 0x1p-32f;
    float e_error = (t - (y - 1.0f)) * power * 0x1p-32f;
    float sum = 1.0f + e;
    float sum_error = e - (sum - 1.0f) + e_error;
    float quotient = (x < 0.0f ? e : 1.0f) / sum;
    float inverse = x < 0.0f ? 1.0f - quotient : quotient;
    return quotient + ((x < 0.0f ? e_error : 0.0f) - quotient * sum_error) * inverse;
}

/* A polynomial for |x| < 0.92, else 1 - e^-q(|x|); both are computed and one is selected. */
static inline float adzi_erf_f32(float x)
{
    float a = adzi_abs_f32(x);
    float z = a * a;
    float p = 7.9964906e-5f;
    p = ADZI_FMA_F32(p, z, -0.000804893789f);
    p = ADZI_FMA_F32(p, z, 0.00519228214f);
    p = ADZI_FMA_F32(p, z, -0.0268556755f);
    p = ADZI_FMA_F32(p, z, 0.112836249f);
    p = ADZI_FMA_F32(p, z, -0.376126289f);
    p = ADZI_FMA_F32(p, z, 0.128379166f);
    float small = ADZI_FMA_F32(a, p, a);
    /* 1 - e^-q, where q approximates -log(erfc a); erf is 1 from 3.92 on */
    float held = adzi_at_most_f32(a, 3.95f);
    float q = -0.000194938795f;
    q = ADZI_FMA_F32(q, held, 0.00303363148f);
    q = ADZI_FMA_F32(q, held, -0.0221895874f);
    q = ADZI_FMA_F32(q, held, 0.103856064f);
    q = ADZI_FMA_F32(q, held, 0.63726604f);
    q = ADZI_FMA_F32(q, held, 1.12762725f);
    q = ADZI_FMA_F32(q, held, 0.000207041638f);
    float large = 1.0f - adzi_exp_inner_f32(-q);
    return adzi_sign_of_f32(a >= 0.92f ? large : small, x);
}

/* 2^-p for p >= 0, or 0 where that is no normal float */
static inline float adzi_exp2_minus_f32(float p)
{
    p = adzi_at_most_f32(p, 127.0f); /* the exponent 127 makes the bits of 0 */
    float z = ADZI_ROUND_F32 - p;
    float r = (ADZI_ROUND_F32 - z) - p;
    float square = r * r;
    float q12 = ADZI_FMA_F32(0.240226462f, r, 0.693147182f);
    float q34 = ADZI_FMA_F32(0.00961848907f, r, 0.0555032864f);
    float q56 = ADZI_FMA_F32(0.000153458051f, r, 0.00133999577f);
    float q36 = ADZI_FMA_F32(q56, square, q34);
    float q = ADZI_FMA_F32(ADZI_FMA_F32(q36, square, q12), r, 1.0f);
    return q * adzi_power_of_two_f32(adzi_bits_f32(z), 0);
}

/* Phi(-t) for t in [0, 14], Phi the normal distribution function: 2^-(c t^2 + s(t)), c = log2(e)/2,
 * where s grows like a logarithm and hardly matters beyond 5.5. The error is within 2^-24 / (1 +
 * t), which is much smaller than activations need. erf, whose error is bounded relatively, would
 * take half as much time again. */
static inline float adzi_normal_tail_f32(float t)
{
    float held = adzi_at_most_f32(t, 5.5f);
    float square = held * held, fourth = square * square;
    float s01 = ADZI_FMA_F32(1.15110946f, held, 0.999999881f);
    float s23 = ADZI_FMA_F32(0.0526073985f, held, -0.262174457f);
    float s45 = ADZI_FMA_F32(0.000273322279f, held, -0.00723270979f);
    float s67 = ADZI_FMA_F32(-2.63431975e-5f, held, 0.000126943763f);
    float s03 = ADZI_FMA_F32(s23, square, s01);
    float s48 = ADZI_FMA_F32(1.70083467e-6f, fourth, ADZI_FMA_F32(s67, square, s45));
    float s = ADZI_FMA_F32(s48, fourth, s03);
    return adzi_exp2_minus_f32(ADZI_FMA_F32(t * t, 0.721347520f, s));
}

/** x Phi(x): PyTorch's gelu with approximate "none". It is computed as max(x, 0) - |x| Phi(-|x|).
 * At -inf it is NaN, like the product; x - x gives that NaN and is 0 for every other x < 0. */
static inline float adzi_gelu_f32(float x)
{
    float t = adzi_at_most_f32(adzi_abs_f32(x), 14.0f);
    return (x < 0.0f ? x - x : x) - t * adzi_normal_tail_f32(t);
}

/** Phi(x) + x phi(x), the derivative of gelu. For x > 0 it is 1 minus the value at -x. At both
 * infinities it is NaN, because x phi(x) is infinity times 0. */
static inline float adzi_gelu_derivative_f32(float x)
{
    float t = adzi_at_most_f32(adzi_abs_f32(x), 14.0f);
    const float log2_sqrt_2_pi = 1.32574806f;
    float density = adzi_exp2_minus_f32(ADZI_FMA_F32(t * t, 0.721347520f, log2_sqrt_2_pi));
    float below = adzi_normal_tail_f32(t) - t * density;
    return (x > 0.0f ? 1.0f - below : below) + (x - x);
}

/* 1 if |x| > 2^20 or x is NaN. Reducing such arguments without a branch would slow down all others,
 * so adzi_sin_far computes them. Loops look for them first. */
static inline uint32_t adzi_is_far_f32(float x)
{
    return (adzi_bits_f32(x) & 0x7fffffffu) > 0x49800000u;
}

/* sin(x + quarters pi/2) for |x| <= 2^20, computed in f64 with x = k pi/2 + r, |r| <= pi/4. pi/2 is
 * split into two parts. The first part has 33 bits, so that its product with k is exact. The Taylor
 * series are cut off where they are within 2e-10. */
static inline float adzi_sin_near_f32(float x, uint64_t quarters)
{
    const double whole = (double)x, z = ADZI_FMA_F64(whole, 0x1.45f306dc9c883p-1, 0x1.8p52);
    const double k = z - 0x1.8p52;
    const double r =
        ADZI_FMA_F64(k, -0x1.0b4611a626331p-34, ADZI_FMA_F64(k, -0x1.921fb544p0, whole));
    const double square = r * r;
    double s = ADZI_FMA_F64(square, -1.0 / 39916800, 1.0 / 362880);
    s = ADZI_FMA_F64(square, ADZI_FMA_F64(square, s, -1.0 / 5040), 1.0 / 120);
    s = r * ADZI_FMA_F64(square, ADZI_FMA_F64(square, s, -1.0 / 6), 1.0);
    double c = ADZI_FMA_F64(square, -1.0 / 3628800, 1.0 / 40320);
    c = ADZI_FMA_F64(square, ADZI_FMA_F64(square, c, -1.0 / 720), 1.0 / 24);
    c = ADZI_FMA_F64(square, ADZI_FMA_F64(square, c, -0.5), 1.0);
    const uint64_t quarter = adzi_bits_f64(z) + quarters;
    const double y = (quarter & 1) != 0 ? c : s;
    return (float)adzi_from_bits_f64(adzi_bits_f64(y) ^ (quarter & 2) << 62);
}

static inline float adzi_sin_f32(float x)
{
    return adzi_is_far_f32(x) ? (float)adzi_sin_far((double)x, 0) : adzi_sin_near_f32(x, 0);
}

static inline float adzi_cos_f32(float x)
{
    return adzi_is_far_f32(x) ? (float)adzi_sin_far((double)x, 1) : adzi_sin_near_f32(x, 1);
}

#endif
