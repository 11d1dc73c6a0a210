/* Functions of floats that C files bring along if they are for programs without libm, in addition
 * to those that the build makes of the library's own (elementary_f32.h). The library computes these
 * in f64; here they take float alone, for processors that have nothing wider. */
#include <stdint.h>

/* 2^x = 2^n e^(r log 2), where n is the integer next to x. */
static float net_exp2(float x)
{
    if (!(x < 128 && x > -151)) {
        return x > 0 ? 1.0f / 0.0f : x < 0 ? 0 : x;
    }
    const int n = (int)(x + (x < 0 ? -0.5f : 0.5f)), half = n / 2;
    uint32_t rest; /* 0, or next to it where x lies between two integers */
    const float y = 1 + net_exp_reduce((x - (float)n) * 0.693147181f, &rest);
    return y * net_power_of_two(rest, (uint32_t)half) * net_power_of_two(0, (uint32_t)(n - half));
}

/* log m, where x = 2^n m and m lies between 2/3 and 4/3, and what its rounding leaves, in *low. x
 * is finite and positive. */
static float net_log_near(float x, int *power, float *low)
{
    const int lifted = x < 1.17549435e-38f;
    const uint32_t bits = net_bits(lifted ? x * 8388608.0f : x);
    const int32_t n = net_log_exponent(bits);
    const float f = net_from_bits(bits - ((uint32_t)n << 23)) - 1, square = f * f;
    const float rest = square * f * net_log_poly(f) - 0.5f * square, near = f + rest;
    *power = n - (lifted ? 23 : 0);
    *low = rest - (near - f);
    return near;
}

static float net_log2(float x)
{
    int n;
    float low;
    if (!(x > 0) || x > 3.402823466e38f) {
        return net_log(x);
    }
    const float near = net_log_near(x, &n, &low);
    return (float)n + (1.44269504f * near + (1.44269504f * low + 1.92596303e-8f * near));
}

/* log10 x = n log10 2 + log10 m. The literals 0.30103f and 0.434294482f exceed log10 2 and log10 e
 * by 1.43e-8 and 1.01e-8. */
static float net_log10(float x)
{
    int n;
    float low;
    if (!(x > 0) || x > 3.402823466e38f) {
        return net_log(x);
    }
    const float near = net_log_near(x, &n, &low);
    const float rest = 0.434294482f * low - (1.01030501e-8f * near + 1.43209889e-8f * (float)n);
    return 0.30103f * (float)n + (0.434294482f * near + rest);
}

static float net_sinh(float x)
{
    const float a = x < 0 ? -x : x, t = net_expm1(a > 80 ? 0.5f * a : a);
    const float y = a > 80 ? 0.5f * t * t : 0.5f * (t + t / (t + 1));
    return x < 0 ? -y : y;
}

static float net_cosh(float x)
{
    const float a = x < 0 ? -x : x, e = net_exp(a > 80 ? 0.5f * a : a);
    return x > 80 || x < -80 ? 0.5f * e * e : 0.5f * e + 0.5f / e;
}

/* The root by Newton's method, from a guess that halves the exponent. */
static float net_sqrt(float x)
{
    union {
        float value;
        int32_t bits;
    } y;
    float scale = 1;
    if (!(x > 0) || x > 3.402823466e38f) {
        return x < 0 ? 0.0f / 0.0f : x;
    }
    if (x < 1e-30f) {
        x *= 1.8446744e19f;
        scale = 2.32830644e-10f;
    }
    y.value = x;
    y.bits = 532487669 + y.bits / 2;
    y.value = 0.5f * (y.value + x / y.value);
    y.value = 0.5f * (y.value + x / y.value);
    y.value = 0.5f * (y.value + x / y.value);
    return y.value * scale;
}

static float net_asinh(float x)
{
    const float a = x < 0 ? -x : x;
    const float y =
        a > 1e4f ? net_log(a) + 0.693147181f : net_log1p(a + a * a / (1 + net_sqrt(1 + a * a)));
    return x == 0 ? x : x < 0 ? -y : y;
}

static float net_acosh(float x)
{
    const float t = x - 1;
    return x < 1      ? 0.0f / 0.0f
           : x > 1e4f ? net_log(x) + 0.693147181f
                      : net_log1p(t + net_sqrt(t * (2 + t)));
}

static float net_atanh(float x)
{
    const float a = x < 0 ? -x : x, y = 0.5f * net_log1p(2 * a / (1 - a));
    return x == 0 ? x : x < 0 ? -y : y;
}

static float net_hypot(float x, float y)
{
    const float p = x < 0 ? -x : 0 + x, q = y < 0 ? -y : 0 + y;
    const float a = p > q ? p : q, b = p > q ? q : p;
    return p > 3.402823466e38f || q > 3.402823466e38f ? 1.0f / 0.0f
           : a == 0                                   ? p + q
                                                      : a * net_sqrt(1 + b / a * (b / a));
}

/* 1 - erf(x) for x >= 1: e^(-x^2) p(1 / (1 + x / 2)). From 10.1 on it is 0. The square is rounded
 * once, because z has 12 bits. */
static float net_erfc_far(float x)
{
    if (!(x < 10.1f)) {
        return x > 0 ? 0 : x;
    }
    const volatile float x4097 = x * 4097, z = x4097 - (x4097 - x);
    const float t = 1 / (1 + 0.5f * x);
    float p = 0.0816470011f;
    p = p * t - 0.1875687f;
    p = p * t + 0.0286697307f;
    p = p * t + 0.102474599f;
    p = p * t + 0.159426112f;
    p = p * t + 0.252552073f;
    p = p * t + 0.281066214f;
    p = p * t + 0.282191826f;
    p = p * t - 3.78097818e-6f;
    return net_exp(-z * z) * net_exp((z - x) * (z + x)) * p;
}

/* 1 - erf(x), in which nothing cancels where that is small. */
static float net_erfc(float x)
{
    return x < -1 ? 2 - net_erfc_far(0 - x) : x < 1 ? 1 - net_erf(x) : net_erfc_far(x);
}

/* The number whose erf is x: a polynomial of w = -log(1 - x^2), or of its root, and a step of
 * Newton's method. */
static float net_erfinv(float x)
{
    const float a = x < 0 ? -x : x, rest = 1 - a;
    float w, y, error;
    if (!(a < 1)) {
        return a == 1 ? x / 0.0f : 0.0f / 0.0f;
    }
    w = -net_log(rest * (1 + a));
    if (w < 6) {
        w -= 3;
        y = 3.49815929e-7f;
        y = y * w - 1.96678e-6f;
        y = y * w - 1.215359e-5f;
        y = y * w + 0.00019596176f;
        y = y * w - 0.000837193318f;
        y = y * w - 0.00573952978f;
        y = y * w + 0.241630689f;
        y = y * w + 1.62354239f;
    } else {
        w = net_sqrt(w) - 3.25f;
        y = -0.0016764559f;
        y = y * w + 0.00347034807f;
        y = y * w - 0.00391268481f;
        y = y * w + 0.00511500831f;
        y = y * w + 1.0052896f;
        y = y * w + 3.08389574f;
    }
    y *= a;
    error = a < 0.5f ? net_erf(y) - a : rest - net_erfc(y);
    y -= error * 0.886226925f * net_exp(y * y);
    return x < 0 ? -y : y;
}

/* e^(y log x) for x > 0. The product is y1 s1, which is exact because both have 12 bits, and a
 * rest. */
static float net_exp_of_product(float y, float x)
{
    if (!(x > 0) || x > 3.402823466e38f || y > 1e30f || y < -1e30f) {
        return net_exp(y * net_log(x));
    }
    int n;
    float low;
    const float near = net_log_near(x, &n, &low), whole = (float)n * 0.693145752f;
    const volatile float s = whole + (near + (float)n * 1.42860682e-6f);
    const volatile float s4097 = s * 4097, s1 = s4097 - (s4097 - s);
    const volatile float y4097 = y * 4097, y1 = y4097 - (y4097 - y);
    net_kept float left = whole - s1;
    net_kept float both = left + near;
    const float s2 = both + ((float)n * 1.42860682e-6f + low);
    const float first = net_exp(y1 * s1);
    return first == 0 || first - first != 0 ? first : first * net_exp((y - y1) * s1 + y * s2);
}

/* x^n by squaring for whole exponents, else e^(y log |x|), with the special cases of C. */
static float net_pow(float x, float y)
{
    if (x == 1 || y == 0) {
        return 1;
    }
    if (x != x || y != y) {
        return x + y;
    }
    const int small = y > -64 && y < 64 && (float)(int)y == y;
    const int whole = y >= 8388608 || y <= -8388608 || (float)(int)y == y;
    const int odd = y > -16777216 && y < 16777216 && (int)y % 2 != 0 && whole;
    const float a = x > 0 ? x : 0 - x;
    if (small) {
        float power = 1, square = x;
        for (int n = y < 0 ? -(int)y : (int)y; n > 0; n /= 2) {
            power = n % 2 != 0 ? power * square : power;
            square *= square;
        }
        return y < 0 ? 1 / power : power;
    }
    if (x < 0 && !whole && x >= -3.402823466e38f) {
        return 0.0f / 0.0f;
    }
    const float power = a == 1 ? 1 : net_exp_of_product(y, a);
    return odd && (x < 0 || 1 / x < 0) ? -power : power;
}

/* What is left of x when multiples of y are taken away, the largest ones first. Nothing is rounded.
 */
static float net_fmod(float x, float y)
{
    const float b = y < 0 ? -y : y;
    float a = x < 0 ? -x : x, d = b;
    if (!(b > 0) || a - a != 0) {
        return 0.0f / 0.0f;
    }
    if (a < b) {
        return x;
    }
    while (a - d >= d) {
        d += d;
    }
    while (d > b) {
        a = a >= d ? a - d : a;
        d *= 0.5f;
    }
    a = a >= b ? a - b : a;
    return x < 0 ? -a : a;
}

static float net_copysign(float x, float y)
{
    return (x < 0 || 1 / x < 0) != (y < 0 || 1 / y < 0) ? -x : x;
}

static float net_round(float x)
{
    const float a = x < 0 ? -x : x;
    const volatile float sum = a + 8388608;
    if (!(a < 8388608)) {
        return x;
    }
    return x < 0 || 1 / x < 0 ? -(sum - 8388608) : sum - 8388608;
}

static float net_floor(float x)
{
    const float y = net_round(x);
    return y > x ? y - 1 : y;
}

static float net_ceil(float x)
{
    const float y = net_round(x);
    return y < x ? (x < 0 ? -(-y - 1) : y + 1) : y;
}

static float net_trunc(float x)
{
    return x < 0 ? net_ceil(x) : net_floor(x);
}

/* The remainder with the sign of y. */
static float net_remainder(float x, float y)
{
    const float rest = net_fmod(x, y);
    return rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;
}

/* The quotient of x without its remainder, rounded down. */
static float net_floor_divide(float x, float y)
{
    const float rest = net_fmod(x, y), q = net_round((x - rest) / y);
    const float whole = rest != 0 && (y < 0) != (rest < 0) ? q - 1 : q;
    return y == 0 ? x / y : whole == 0 ? net_copysign(0, x / y) : whole;
}

/* a + w (b - a), from the nearer end. */
static float net_lerp(float a, float b, float w)
{
    const int near = w < 0.5f && w > -0.5f;
    const float from = near ? a : b, factor = near ? w : w - 1, step = b - a;
    if (step - step == 0) {
        return from + factor * step;
    }
    return a == a && b == b && (factor == 0 || a == b) ? from : (1 - w) * a + w * b;
}

/* True if a stands above b in an order in which NaN is the largest. */
static int net_above(float a, float b)
{
    return a > b || (a != a && b == b);
}
