/* Elementary functions of floats that a file in C may bring along: what operators compute for each
 * element.
 */
#ifndef ADZI_EXPORT_C99_ELEMENTARY_H
#define ADZI_EXPORT_C99_ELEMENTARY_H

#include "export/c99/functions.h"

/* clang-format off */
static const function elementary[] = {
    { "power2", NULL,
      "/* 2^n for -126 <= n <= 127, from the bits of its exponent. */\n"
      "static float @power2(int n)\n"
      "{\n"
      "    union {\n"
      "        int32_t bits;\n"
      "        float value;\n"
      "    } x;\n"
      "    x.bits = (int32_t)(n + 127) * 8388608;\n"
      "    return x.value;\n"
      "}\n" },
    { "expm1_near", NULL,
      "/* e^r - 1 for |r| <= ln(2) / 2: a Taylor series. */\n"
      "static float @expm1_near(float r)\n"
      "{\n"
      "    float p = 1.98412698e-4f;\n"
      "    p = p * r + 1.38888889e-3f;\n"
      "    p = p * r + 8.33333333e-3f;\n"
      "    p = p * r + 4.16666667e-2f;\n"
      "    p = p * r + 0.166666667f;\n"
      "    p = p * r + 0.5f;\n"
      "    return r + r * r * p;\n"
      "}\n" },
    { "exp", "expf",
      "/* e^x = 2^n e^r, where n is the integer next to x / ln(2). */\n"
      "static float @exp(float x)\n"
      "{\n"
      "    if (x != x || x > 88.722839f) {\n"
      "        return x > 0 ? 1.0f / 0.0f : x;\n"
      "    }\n"
      "    if (x < -103.97208f) {\n"
      "        return 0;\n"
      "    }\n"
      "    const int n = (int)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f)), half = n / 2;\n"
      "    const float r = (x - (float)n * 0.693145752f) - (float)n * 1.42860682e-6f;\n"
      "    return (1 + @expm1_near(r)) * @power2(half) * @power2(n - half);\n"
      "}\n" },
    { "expm1", "expm1f",
      "/* e^x - 1 = 2^n (e^r - 1) + (2^n - 1). */\n"
      "static float @expm1(float x)\n"
      "{\n"
      "    if (x != x || x == 0 || x > 88.0f) {\n"
      "        return x > 0 ? @exp(x) : x;\n"
      "    }\n"
      "    if (x < -18.0f) {\n"
      "        return -1;\n"
      "    }\n"
      "    const int n = (int)(x * 1.44269504f + (x < 0 ? -0.5f : 0.5f));\n"
      "    const float r = (x - (float)n * 0.693145752f) - (float)n * 1.42860682e-6f;\n"
      "    const float scale = @power2(n);\n"
      "    return scale * @expm1_near(r) + (scale - 1);\n"
      "}\n" },
    { "log_near", NULL,
      "/* log m, where x = 2^n m and m lies between sqrt(1/2) and sqrt(2). x is finite and positive. */\n"
      "static float @log_near(float x, int *power)\n"
      "{\n"
      "    union {\n"
      "        float value;\n"
      "        int32_t bits;\n"
      "    } m;\n"
      "    int n = -127;\n"
      "    if (x < 1.17549435e-38f) {\n"
      "        x *= 8388608;\n"
      "        n -= 23;\n"
      "    }\n"
      "    m.value = x;\n"
      "    n += (int)(m.bits / 8388608);\n"
      "    m.bits = m.bits % 8388608 + 127 * 8388608;\n"
      "    if (m.value > 1.41421356f) {\n"
      "        m.value *= 0.5f;\n"
      "        ++n;\n"
      "    }\n"
      "    const float f = m.value - 1, s = f / (2 + f), z = s * s;\n"
      "    float p = 9.09090909e-2f;\n"
      "    p = p * z + 0.111111111f;\n"
      "    p = p * z + 0.142857143f;\n"
      "    p = p * z + 0.2f;\n"
      "    p = p * z + 0.333333333f;\n"
      "    *power = n;\n"
      "    return f - s * (f - 2 * z * p);\n"
      "}\n" },
    { "log", "logf",
      "/* log x = n log 2 + log m. */\n"
      "static float @log(float x)\n"
      "{\n"
      "    if (!(x > 0) || x > 3.402823466e38f) {\n"
      "        return x == 0 ? -1.0f / 0.0f : x < 0 ? 0.0f / 0.0f : x;\n"
      "    }\n"
      "    int n;\n"
      "    const float near = @log_near(x, &n);\n"
      "    return (float)n * 0.693145752f + (near + (float)n * 1.42860682e-6f);\n"
      "}\n" },
    { "log1p", "log1pf",
      "/* log(1 + x). The factor x / (u - 1) makes good what rounding 1 + x has lost. */\n"
      "static float @log1p(float x)\n"
      "{\n"
      "    const volatile float u = 1 + x;\n"
      "    const float d = u - 1;\n"
      "    return d == 0 || !(x <= 3.402823466e38f) ? x : @log(u) * (x / d);\n"
      "}\n" },
    { "sqrt", "sqrtf",
      "/* The root by Newton's method, from a guess that halves the exponent. */\n"
      "static float @sqrt(float x)\n"
      "{\n"
      "    union {\n"
      "        float value;\n"
      "        int32_t bits;\n"
      "    } y;\n"
      "    float scale = 1;\n"
      "    if (!(x > 0) || x > 3.402823466e38f) {\n"
      "        return x < 0 ? 0.0f / 0.0f : x;\n"
      "    }\n"
      "    if (x < 1e-30f) {\n"
      "        x *= 1.8446744e19f;\n"
      "        scale = 2.32830644e-10f;\n"
      "    }\n"
      "    y.value = x;\n"
      "    y.bits = 532487669 + y.bits / 2;\n"
      "    y.value = 0.5f * (y.value + x / y.value);\n"
      "    y.value = 0.5f * (y.value + x / y.value);\n"
      "    y.value = 0.5f * (y.value + x / y.value);\n"
      "    return y.value * scale;\n"
      "}\n" },
    { "tanh", "tanhf",
      "static float @tanh(float x)\n"
      "{\n"
      "    const float a = x < 0 ? -x : x;\n"
      "    if (a > 9.02f) {\n"
      "        return x < 0 ? -1 : 1;\n"
      "    }\n"
      "    const float t = @expm1(2 * a), y = t / (t + 2);\n"
      "    return x < 0 ? -y : y;\n"
      "}\n" },
    { "sigmoid", NULL,
      "static float @sigmoid(float x)\n"
      "{\n"
      "    const float e = @exp(x < 0 ? x : -x);\n"
      "    return (x < 0 ? e : 1) / (1 + e);\n"
      "}\n" },
    { "erfc_far", NULL,
      "/* 1 - erf(x) for x >= 1: e^(-x^2) p(1 / (1 + x / 2)). From 10.1 on it is 0. The square is rounded once,\n"
      " * because z has 12 bits. */\n"
      "static float @erfc_far(float x)\n"
      "{\n"
      "    if (!(x < 10.1f)) {\n"
      "        return x > 0 ? 0 : x;\n"
      "    }\n"
      "    const volatile float x4097 = x * 4097, z = x4097 - (x4097 - x);\n"
      "    const float t = 1 / (1 + 0.5f * x);\n"
      "    float p = 0.0816470011f;\n"
      "    p = p * t - 0.1875687f;\n"
      "    p = p * t + 0.0286697307f;\n"
      "    p = p * t + 0.102474599f;\n"
      "    p = p * t + 0.159426112f;\n"
      "    p = p * t + 0.252552073f;\n"
      "    p = p * t + 0.281066214f;\n"
      "    p = p * t + 0.282191826f;\n"
      "    p = p * t - 3.78097818e-6f;\n"
      "    return @exp(-z * z) * @exp((z - x) * (z + x)) * p;\n"
      "}\n" },
    { "erf", "erff",
      "/* A Taylor series up to 1. */\n"
      "static float @erf(float x)\n"
      "{\n"
      "    const float a = x < 0 ? -x : x, z = x * x;\n"
      "    if (a < 1) {\n"
      "        float p = 1.48067193e-8f;\n"
      "        p = p * z - 1.63658469e-7f;\n"
      "        p = p * z + 1.64621157e-6f;\n"
      "        p = p * z - 1.49256516e-5f;\n"
      "        p = p * z + 1.20553327e-4f;\n"
      "        p = p * z - 8.54832702e-4f;\n"
      "        p = p * z + 5.22397762e-3f;\n"
      "        p = p * z - 2.68661706e-2f;\n"
      "        p = p * z + 0.112837917f;\n"
      "        p = p * z - 0.376126389f;\n"
      "        return x * (p * z + 1.12837917f);\n"
      "    }\n"
      "    if (a < 4) {\n"
      "        const float y = 1 - @erfc_far(a);\n"
      "        return x < 0 ? -y : y;\n"
      "    }\n"
      "    return x != x ? x : x < 0 ? -1 : 1;\n"
      "}\n" },
    { "erfc", "erfcf",
      "/* 1 - erf(x), in which nothing cancels where that is small. */\n"
      "static float @erfc(float x)\n"
      "{\n"
      "    return x < -1 ? 2 - @erfc_far(0 - x) : x < 1 ? 1 - @erf(x) : @erfc_far(x);\n"
      "}\n" },
    { "gelu", NULL,
      "/* x Phi(x) = max(x, 0) - |x| Phi(-|x|), in which nothing cancels for x < 0. */\n"
      "static float @gelu(float x)\n"
      "{\n"
      "    const float most = x > 0 ? x : 0 - x, tail = 0.5f * @erfc(0.707106781f * most);\n"
      "    return x < 0 ? 0 - most * tail : tail > 0 ? x - most * tail : x;\n"
      "}\n" },
    { "softplus", NULL,
      "/* log(1 + e^x). */\n"
      "static float @softplus(float x)\n"
      "{\n"
      "    return (x > 0 ? x : 0) + @log1p(@exp(x > 0 ? -x : x));\n"
      "}\n" },
    { "exp_of_product", NULL,
      "/* e^(y log x) for x > 0. The product is y1 s1, which is exact because both have 12 bits, and a\n"
      " * rest. */\n"
      "static float @exp_of_product(float y, float x)\n"
      "{\n"
      "    if (!(x > 0) || x > 3.402823466e38f || y > 1e30f || y < -1e30f) {\n"
      "        return @exp(y * @log(x));\n"
      "    }\n"
      "    int n;\n"
      "    const float near = @log_near(x, &n), whole = (float)n * 0.693145752f;\n"
      "    const volatile float s = whole + (near + (float)n * 1.42860682e-6f);\n"
      "    const volatile float s4097 = s * 4097, s1 = s4097 - (s4097 - s);\n"
      "    const volatile float y4097 = y * 4097, y1 = y4097 - (y4097 - y);\n"
      "    const float s2 = ((whole - s1) + near) + (float)n * 1.42860682e-6f;\n"
      "    const float first = @exp(y1 * s1);\n"
      "    return first == 0 || first - first != 0 ? first : first * @exp((y - y1) * s1 + y * s2);\n"
      "}\n" },
    { "pow", "powf",
      "/* x^n by squaring for whole exponents, else e^(y log |x|), with the special cases of C. */\n"
      "static float @pow(float x, float y)\n"
      "{\n"
      "    if (x == 1 || y == 0) {\n"
      "        return 1;\n"
      "    }\n"
      "    if (x != x || y != y) {\n"
      "        return x + y;\n"
      "    }\n"
      "    const int small = y > -64 && y < 64 && (float)(int)y == y;\n"
      "    const int whole = y >= 8388608 || y <= -8388608 || (float)(int)y == y;\n"
      "    const int odd = y > -16777216 && y < 16777216 && (int)y % 2 != 0 && whole;\n"
      "    const float a = x > 0 ? x : 0 - x;\n"
      "    if (small) {\n"
      "        float power = 1, square = x;\n"
      "        for (int n = y < 0 ? -(int)y : (int)y; n > 0; n /= 2) {\n"
      "            power = n % 2 != 0 ? power * square : power;\n"
      "            square *= square;\n"
      "        }\n"
      "        return y < 0 ? 1 / power : power;\n"
      "    }\n"
      "    if (x < 0 && !whole && x >= -3.402823466e38f) {\n"
      "        return 0.0f / 0.0f;\n"
      "    }\n"
      "    const float power = a == 1 ? 1 : @exp_of_product(y, a);\n"
      "    return odd && (x < 0 || 1 / x < 0) ? -power : power;\n"
      "}\n" },
    { "sin", "sinf", NULL },
    { "cos", "cosf", NULL },
    { "tan", "tanf", NULL },
    { "asin", "asinf", NULL },
    { "acos", "acosf", NULL },
    { "atan", "atanf", NULL },
    { "atan2", "atan2f", NULL },
    { "lgamma", "lgammaf", NULL },
    { "fmod", "fmodf",
      "/* What is left of x when multiples of y are taken away, the largest ones first. Nothing is rounded. */\n"
      "static float @fmod(float x, float y)\n"
      "{\n"
      "    const float b = y < 0 ? -y : y;\n"
      "    float a = x < 0 ? -x : x, d = b;\n"
      "    if (!(b > 0) || a - a != 0) {\n"
      "        return 0.0f / 0.0f;\n"
      "    }\n"
      "    if (a < b) {\n"
      "        return x;\n"
      "    }\n"
      "    while (a - d >= d) {\n"
      "        d += d;\n"
      "    }\n"
      "    while (d > b) {\n"
      "        a = a >= d ? a - d : a;\n"
      "        d *= 0.5f;\n"
      "    }\n"
      "    a = a >= b ? a - b : a;\n"
      "    return x < 0 ? -a : a;\n"
      "}\n" },
    { "lerp", NULL,
      "/* a + w (b - a), from the nearer end. */\n"
      "static float @lerp(float a, float b, float w)\n"
      "{\n"
      "    const int near = w < 0.5f && w > -0.5f;\n"
      "    const float from = near ? a : b, factor = near ? w : w - 1, step = b - a;\n"
      "    if (step - step == 0) {\n"
      "        return from + factor * step;\n"
      "    }\n"
      "    return a == a && b == b && (factor == 0 || a == b) ? from : (1 - w) * a + w * b;\n"
      "}\n" },
    { "copysign", "copysignf",
      "static float @copysign(float x, float y)\n"
      "{\n"
      "    return (x < 0 || 1 / x < 0) != (y < 0 || 1 / y < 0) ? -x : x;\n"
      "}\n" },
    { "round", "rintf",
      "static float @round(float x)\n"
      "{\n"
      "    const float a = x < 0 ? -x : x;\n"
      "    const volatile float sum = a + 8388608;\n"
      "    if (!(a < 8388608)) {\n"
      "        return x;\n"
      "    }\n"
      "    return x < 0 || 1 / x < 0 ? -(sum - 8388608) : sum - 8388608;\n"
      "}\n" },
    { "floor", "floorf",
      "static float @floor(float x)\n"
      "{\n"
      "    const float y = @round(x);\n"
      "    return y > x ? y - 1 : y;\n"
      "}\n" },
    { "ceil", "ceilf",
      "static float @ceil(float x)\n"
      "{\n"
      "    const float y = @round(x);\n"
      "    return y < x ? (x < 0 ? -(-y - 1) : y + 1) : y;\n"
      "}\n" },
    { "trunc", "truncf",
      "static float @trunc(float x)\n"
      "{\n"
      "    return x < 0 ? @ceil(x) : @floor(x);\n"
      "}\n" },
    { "remainder", NULL,
      "/* The remainder with the sign of y. */\n"
      "static float @remainder(float x, float y)\n"
      "{\n"
      "    const float rest = @fmod(x, y);\n"
      "    return rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;\n"
      "}\n" },
    { "exp2", "exp2f",
      "static float @exp2(float x)\n"
      "{\n"
      "    if (!(x < 128 && x > -151)) {\n"
      "        return x > 0 ? 1.0f / 0.0f : x < 0 ? 0 : x;\n"
      "    }\n"
      "    const int n = (int)(x + (x < 0 ? -0.5f : 0.5f)), half = n / 2;\n"
      "    const float y = 1 + @expm1_near((x - (float)n) * 0.693147181f);\n"
      "    return y * @power2(half) * @power2(n - half);\n"
      "}\n" },
    { "log2", "log2f",
      "static float @log2(float x)\n"
      "{\n"
      "    int n;\n"
      "    if (!(x > 0) || x > 3.402823466e38f) {\n"
      "        return @log(x);\n"
      "    }\n"
      "    const float near = @log_near(x, &n);\n"
      "    return (float)n + 1.44269504f * near;\n"
      "}\n" },
    { "log10", "log10f",
      "static float @log10(float x)\n"
      "{\n"
      "    int n;\n"
      "    if (!(x > 0) || x > 3.402823466e38f) {\n"
      "        return @log(x);\n"
      "    }\n"
      "    const float near = @log_near(x, &n);\n"
      "    return 0.30103f * (float)n + (0.434294482f * near - 4.33501e-9f * (float)n);\n"
      "}\n" },
    { "sinh", "sinhf",
      "static float @sinh(float x)\n"
      "{\n"
      "    const float a = x < 0 ? -x : x, t = @expm1(a > 80 ? 0.5f * a : a);\n"
      "    const float y = a > 80 ? 0.5f * t * t : 0.5f * (t + t / (t + 1));\n"
      "    return x < 0 ? -y : y;\n"
      "}\n" },
    { "cosh", "coshf",
      "static float @cosh(float x)\n"
      "{\n"
      "    const float a = x < 0 ? -x : x, e = @exp(a > 80 ? 0.5f * a : a);\n"
      "    return x > 80 || x < -80 ? 0.5f * e * e : 0.5f * e + 0.5f / e;\n"
      "}\n" },
    { "asinh", "asinhf",
      "static float @asinh(float x)\n"
      "{\n"
      "    const float a = x < 0 ? -x : x;\n"
      "    const float y = a > 1e4f ? @log(a) + 0.693147181f : @log1p(a + a * a / (1 + @sqrt(1 + a * a)));\n"
      "    return x == 0 ? x : x < 0 ? -y : y;\n"
      "}\n" },
    { "acosh", "acoshf",
      "static float @acosh(float x)\n"
      "{\n"
      "    const float t = x - 1;\n"
      "    return x < 1 ? 0.0f / 0.0f : x > 1e4f ? @log(x) + 0.693147181f : @log1p(t + @sqrt(t * (2 + t)));\n"
      "}\n" },
    { "atanh", "atanhf",
      "static float @atanh(float x)\n"
      "{\n"
      "    return 0.5f * @log1p(2 * x / (1 - x));\n"
      "}\n" },
    { "hypot", "hypotf",
      "static float @hypot(float x, float y)\n"
      "{\n"
      "    const float p = x < 0 ? -x : 0 + x, q = y < 0 ? -y : 0 + y;\n"
      "    const float a = p > q ? p : q, b = p > q ? q : p;\n"
      "    return p > 3.402823466e38f || q > 3.402823466e38f ? 1.0f / 0.0f\n"
      "           : a == 0 ? p + q : a * @sqrt(1 + b / a * (b / a));\n"
      "}\n" },
};
/* clang-format on */

#endif
