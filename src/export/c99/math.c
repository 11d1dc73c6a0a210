/* Functions that a file brings along: products of rows, and elementary functions for programs
 * without libm. Their results differ from the library's by at most a few units in the last place.
 */
#include <ctype.h>
#include <string.h>

#include "export/c99/c99.h"

/* A function: its name, what libm calls it (NULL: libm has none that would do), and its text. In
 * the text @name is another function of this table. */
typedef struct {
    const char *name, *libm, *text;
} function;

/* clang-format off */
static const function functions[] = {
    { "dot", NULL,
      "/* The sum of a[i] * b[i], in eight lanes. */\n"
      "static float @dot(const float *a, const float *b, int n)\n"
      "{\n"
      "    float lane[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, rest = 0;\n"
      "    int i = 0;\n"
      "    for (; i + 8 <= n; i += 8) {\n"
      "        for (int k = 0; k < 8; ++k) {\n"
      "            lane[k] += a[i + k] * b[i + k];\n"
      "        }\n"
      "    }\n"
      "    for (; i < n; ++i) {\n"
      "        rest += a[i] * b[i];\n"
      "    }\n"
      "    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +\n"
      "            ((lane[1] + lane[5]) + (lane[3] + lane[7]))) + rest;\n"
      "}\n" },
    { "add_lanes", NULL,
      "/* The sum of eight lanes and of what was left. */\n"
      "static float @add_lanes(const float lane[8], float rest)\n"
      "{\n"
      "    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +\n"
      "            ((lane[1] + lane[5]) + (lane[3] + lane[7]))) + rest;\n"
      "}\n" },
    { "dots", NULL,
      "/* Eight dot products, each in eight lanes: y[4 * p + q] is that of row p of two rows from a on, s\n"
      " * apart, and of row q of four rows from b on, t apart. */\n"
      "static void @dots(const float *a, int s, const float *b, int t, int n, float y[8])\n"
      "{\n"
      "    const float *const a1 = a + s, *const b1 = b + t, *const b2 = b1 + t, *const b3 = b2 + t;\n"
      "    float l0[8] = { 0 }, l1[8] = { 0 }, l2[8] = { 0 }, l3[8] = { 0 };\n"
      "    float m0[8] = { 0 }, m1[8] = { 0 }, m2[8] = { 0 }, m3[8] = { 0 };\n"
      "    float rest[8] = { 0 };\n"
      "    int i = 0;\n"
      "    for (; i + 8 <= n; i += 8) {\n"
      "        for (int k = 0; k < 8; ++k) {\n"
      "            const float u = a[i + k], v = a1[i + k];\n"
      "            const float w0 = b[i + k], w1 = b1[i + k], w2 = b2[i + k], w3 = b3[i + k];\n"
      "            l0[k] += u * w0;\n"
      "            l1[k] += u * w1;\n"
      "            l2[k] += u * w2;\n"
      "            l3[k] += u * w3;\n"
      "            m0[k] += v * w0;\n"
      "            m1[k] += v * w1;\n"
      "            m2[k] += v * w2;\n"
      "            m3[k] += v * w3;\n"
      "        }\n"
      "    }\n"
      "    for (; i < n; ++i) {\n"
      "        rest[0] += a[i] * b[i];\n"
      "        rest[1] += a[i] * b1[i];\n"
      "        rest[2] += a[i] * b2[i];\n"
      "        rest[3] += a[i] * b3[i];\n"
      "        rest[4] += a1[i] * b[i];\n"
      "        rest[5] += a1[i] * b1[i];\n"
      "        rest[6] += a1[i] * b2[i];\n"
      "        rest[7] += a1[i] * b3[i];\n"
      "    }\n"
      "    y[0] = @add_lanes(l0, rest[0]);\n"
      "    y[1] = @add_lanes(l1, rest[1]);\n"
      "    y[2] = @add_lanes(l2, rest[2]);\n"
      "    y[3] = @add_lanes(l3, rest[3]);\n"
      "    y[4] = @add_lanes(m0, rest[4]);\n"
      "    y[5] = @add_lanes(m1, rest[5]);\n"
      "    y[6] = @add_lanes(m2, rest[6]);\n"
      "    y[7] = @add_lanes(m3, rest[7]);\n"
      "}\n" },
    { "dot_of_steps", NULL,
      "/* The sum of a[i * s] * b[i * t], in eight lanes. */\n"
      "static float @dot_of_steps(const float *a, int s, const float *b, int t, int n)\n"
      "{\n"
      "    float lane[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, rest = 0;\n"
      "    int i = 0;\n"
      "    for (; i + 8 <= n; i += 8) {\n"
      "        for (int k = 0; k < 8; ++k) {\n"
      "            lane[k] += a[(i + k) * s] * b[(i + k) * t];\n"
      "        }\n"
      "    }\n"
      "    for (; i < n; ++i) {\n"
      "        rest += a[i * s] * b[i * t];\n"
      "    }\n"
      "    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +\n"
      "            ((lane[1] + lane[5]) + (lane[3] + lane[7]))) + rest;\n"
      "}\n" },
    { "truncate", NULL,
      "/* x without its fraction; its low 32 bits if it is beyond an int32_t. */\n"
      "static int32_t @truncate(float x)\n"
      "{\n"
      "    return x >= -9223372036854775808.0f && x < 9223372036854775808.0f ? (int32_t)(int64_t)x : 0;\n"
      "}\n" },
    { "wide_truncate", NULL,
      "/* x without its fraction; its low 32 bits if it is beyond an int32_t. */\n"
      "static int32_t @wide_truncate(double x)\n"
      "{\n"
      "    return x >= -9223372036854775808.0 && x < 9223372036854775808.0 ? (int32_t)(int64_t)x : 0;\n"
      "}\n" },
    { "whole_pow", NULL,
      "/* x^y by squaring, which wraps. For y < 0 it is 0 unless x is 1 or -1. */\n"
      "static int32_t @whole_pow(int32_t x, int32_t y)\n"
      "{\n"
      "    uint32_t power = 1, square = (uint32_t)x;\n"
      "    if (y < 0 && x != 1 && x != -1) {\n"
      "        return 0;\n"
      "    }\n"
      "    for (uint32_t n = y < 0 ? 0u - (uint32_t)y : (uint32_t)y; n > 0; n /= 2) {\n"
      "        power = n % 2 != 0 ? power * square : power;\n"
      "        square *= square;\n"
      "    }\n"
      "    return (int32_t)power;\n"
      "}\n" },
    { "above", NULL,
      "/* True if a stands above b in an order in which NaN is the largest. */\n"
      "static int @above(float a, float b)\n"
      "{\n"
      "    return a > b || (a != a && b == b);\n"
      "}\n" },
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
      "/* 1 - erf(x) for 1 <= x < 4: e^(-x^2) p(1 / (1 + x / 2)). */\n"
      "static float @erfc_far(float x)\n"
      "{\n"
      "    const float t = 1 / (1 + 0.5f * x);\n"
      "    float p = -0.0536304265f;\n"
      "    p = p * t - 0.0570652001f;\n"
      "    p = p * t + 0.403495044f;\n"
      "    p = p * t + 0.101495415f;\n"
      "    p = p * t + 0.330757141f;\n"
      "    p = p * t + 0.273634344f;\n"
      "    p = p * t + 6.05118403e-4f;\n"
      "    return @exp(-x * x) * p;\n"
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
    { "gelu", NULL,
      "/* x Phi(x) = max(x, 0) - |x| Phi(-|x|), in which nothing cancels for x < 0. */\n"
      "static float @gelu(float x)\n"
      "{\n"
      "    const float most = x > 0 ? x : 0 - x, a = 0.707106781f * most;\n"
      "    if (!(a < 4)) {\n"
      "        return x < 0 ? x - x : x;\n"
      "    }\n"
      "    return (x < 0 ? 0 : x) - 0.5f * most * (a < 1 ? 1 - @erf(a) : @erfc_far(a));\n"
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
    { "wide_sqrt", "sqrt",
      "/* The root by Newton's method, which begins with that of x / 4^n between 1 / 2 and 2. */\n"
      "static double @wide_sqrt(double x)\n"
      "{\n"
      "    double y = 1, scale = 1;\n"
      "    if (!(x > 0) || x - x != 0) {\n"
      "        return x < 0 ? 0.0 / 0.0 : x;\n"
      "    }\n"
      "    for (; x > 2; x *= 0.25) {\n"
      "        scale *= 2;\n"
      "    }\n"
      "    for (; x < 0.5; x *= 4) {\n"
      "        scale *= 0.5;\n"
      "    }\n"
      "    for (int i = 0; i < 6; ++i) {\n"
      "        y = 0.5 * (y + x / y);\n"
      "    }\n"
      "    return y * scale;\n"
      "}\n" },
    { "wide_exp", "exp",
      "/* e^x = 2^n e^r, with |r| at most log(2) / 2. */\n"
      "static double @wide_exp(double x)\n"
      "{\n"
      "    double term = 1, sum = 1, power = 1;\n"
      "    if (x != x || x > 709.78 || x < -745.2) {\n"
      "        return x != x ? x : x > 0 ? 1.0 / 0.0 : 0;\n"
      "    }\n"
      "    const int n = (int)(x * 1.4426950408889634 + (x < 0 ? -0.5 : 0.5));\n"
      "    const double r = (x - n * 0.693147180369123816) - n * 1.90821492927058770e-10;\n"
      "    for (int i = 1; i < 18; ++i) {\n"
      "        term *= r / i;\n"
      "        sum += term;\n"
      "    }\n"
      "    for (int i = 0; i < (n < 0 ? -n : n); ++i) {\n"
      "        power *= n < 0 ? 0.5 : 2;\n"
      "        if (i == 1000) {\n"
      "            sum *= power;\n"
      "            power = 1;\n"
      "        }\n"
      "    }\n"
      "    return sum * power;\n"
      "}\n" },
    { "wide_log", "log",
      "/* log(m 2^n) = n log(2) + 2 artanh((m - 1) / (m + 1)), with m between sqrt(1 / 2) and sqrt(2). */\n"
      "static double @wide_log(double x)\n"
      "{\n"
      "    int n = 0;\n"
      "    if (!(x > 0) || x - x != 0) {\n"
      "        return x == 0 ? -1.0 / 0.0 : x < 0 ? 0.0 / 0.0 : x;\n"
      "    }\n"
      "    for (; x > 1.4142135623730951; x *= 0.5) {\n"
      "        ++n;\n"
      "    }\n"
      "    for (; x < 0.70710678118654757; x *= 2) {\n"
      "        --n;\n"
      "    }\n"
      "    const double s = (x - 1) / (x + 1);\n"
      "    double sum = 0;\n"
      "    for (int i = 23; i > 1; i -= 2) {\n"
      "        sum = (sum + 1.0 / i) * s * s;\n"
      "    }\n"
      "    return n * 0.693147180369123816 + (n * 1.90821492927058770e-10 + 2 * s * (1 + sum));\n"
      "}\n" },
    { "wide_powi", NULL,
      "/* x^n for n of at least 0. */\n"
      "static double @wide_powi(double x, int64_t n)\n"
      "{\n"
      "    double power = 1;\n"
      "    for (; n > 0; n /= 2) {\n"
      "        power = n % 2 != 0 ? power * x : power;\n"
      "        x *= x;\n"
      "    }\n"
      "    return power;\n"
      "}\n" },
    { "wide_pow", "pow",
      "/* x^y by squaring for whole exponents, else e^(y log x). */\n"
      "static double @wide_pow(double x, double y)\n"
      "{\n"
      "    if (!(y > -9007199254740992.0 && y < 9007199254740992.0) || (double)(int64_t)y != y) {\n"
      "        return x == 1 ? 1 : @wide_exp(y * @wide_log(x));\n"
      "    }\n"
      "    const double power = @wide_powi(x, (int64_t)(y < 0 ? -y : y));\n"
      "    return y < 0 ? 1 / power : power;\n"
      "}\n" },
    { "wide_min", "fmin",
      "static double @wide_min(double a, double b)\n"
      "{\n"
      "    return b < a || a != a ? b : a;\n"
      "}\n" },
    { "wide_max", "fmax",
      "static double @wide_max(double a, double b)\n"
      "{\n"
      "    return b > a || a != a ? b : a;\n"
      "}\n" },
    { "wide_cos", "cos", NULL },
    { "moment_power", NULL,
      "/* base^step; an optimizer uses it for its i-th decay. */\n"
      "static double @moment_power(const adz_moment *at, int i, double base)\n"
      "{\n"
      "    (void)i;\n"
      "    return @wide_powi(base, at->step);\n"
      "}\n" },
    { "sin", "sinf", NULL },
    { "cos", "cosf", NULL },
};
/* clang-format on */

enum { COUNT = sizeof functions / sizeof *functions };

static int index_of(const char *name, size_t length)
{
    for (int i = 0; i < COUNT; ++i) {
        if (strlen(functions[i].name) == length && strncmp(functions[i].name, name, length) == 0) {
            return i;
        }
    }
    return -1;
}

static size_t length_of(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_') {
        ++n;
    }
    return n;
}

bool adzi_c99_is_function(const char *name)
{
    return index_of(name, strlen(name)) >= 0;
}

const char *adzi_c99_of_doubles(const char *name, size_t length)
{
    for (int i = 0; i < COUNT; ++i) {
        const char *libm = functions[i].libm;
        if (libm != NULL && strncmp(functions[i].name, "wide_", 5) == 0 && strlen(libm) == length &&
            strncmp(libm, name, length) == 0) {
            return functions[i].name;
        }
    }
    return NULL;
}

void adzi_c99_expand(adzi_c99 *c, adzi_text *text, const char *part)
{
    for (const char *at = part; *at != '\0'; ++at) {
        if (*at != '@') {
            const size_t plain = strcspn(at, "@");
            adzi_text_add_n(text, at, plain);
            at += plain - 1;
            continue;
        }
        const size_t length = length_of(at + 1);
        const int i = index_of(at + 1, length);
        at += length;
        if (i < 0) {
            adzi_c99_fail(c, ADZ_ERR_STATE, "%s: no such function in C", part);
            return;
        }
        const function *f = &functions[i];
        if (c->libm && f->libm != NULL) {
            adzi_text_add(text, f->libm);
            continue;
        }
        if (f->text == NULL) {
            adzi_c99_fail(c, ADZ_ERR_UNSUPPORTED,
                "%s needs %s of the mathematical library; set options.libm", c->current, f->libm);
            return;
        }
        c->helpers |= (uint64_t)1 << i;
        adzi_text_format(text, "%s_%s", c->name, f->name);
    }
}

/* A function stands behind those that it calls in the table, so that the last ones are expanded
 * first: that notes which of the others they need. */
void adzi_c99_functions(adzi_c99 *c, adzi_text *file)
{
    adzi_text texts[COUNT] = { { 0 } };
    for (int i = COUNT - 1; i >= 0; --i) {
        if (c->helpers >> i & 1u) {
            adzi_c99_expand(c, &texts[i], functions[i].text);
        }
    }
    for (int i = 0; i < COUNT; ++i) {
        if (texts[i].failed) {
            file->failed = true;
        }
        if (texts[i].length > 0) {
            adzi_text_add(file, adzi_text_get(&texts[i]));
            adzi_text_add(file, "\n");
        }
        adzi_text_free(&texts[i]);
    }
}
