/* The functions that a file in C may bring along, for math.c, which looks them up and prints them:
 * products of rows, conversions, integers, and functions of doubles.
 */
#ifndef ADZI_EXPORT_C99_FUNCTIONS_H
#define ADZI_EXPORT_C99_FUNCTIONS_H

#include <stddef.h>

/* A function: its name, what libm calls it (NULL: libm has none that would do), and its text. In
 * the text @name is another function of this table or of elementary.h. In files of doubles it is
 * f64_name if there is one. */
typedef struct {
    const char *name, *libm, *text;
} function;

/* clang-format off */
/* The function `dot` for a type. */
#define DOT(type) \
    "static " type " @dot(const " type " *a, const " type " *b, int n)\n" \
    "{\n" \
    "    " type " lane[8] = { 0, 0, 0, 0, 0, 0, 0, 0 }, rest = 0;\n" \
    "    int i = 0;\n" \
    "    for (; i + 8 <= n; i += 8) {\n" \
    "        for (int k = 0; k < 8; ++k) {\n" \
    "            lane[k] += a[i + k] * b[i + k];\n" \
    "        }\n" \
    "    }\n" \
    "    for (; i < n; ++i) {\n" \
    "        rest += a[i] * b[i];\n" \
    "    }\n" \
    "    return (((lane[0] + lane[4]) + (lane[2] + lane[6])) +\n" \
    "            ((lane[1] + lane[5]) + (lane[3] + lane[7]))) + rest;\n" \
    "}\n"

static const function functions[] = {
    { "dot", NULL,
      "/* The sum of a[i] * b[i], in eight lanes. */\n"
      DOT("float") },
    { "f64_dot", NULL,
      "/* The sum of a[i] * b[i], in eight lanes. Inlined into a loop over short rows, gcc takes the\n"
      " * loop for its vectors, and gathers their elements one by one. */\n"
      "#if defined __GNUC__ && !defined __clang__\n"
      "__attribute__((noinline))\n"
      "#endif\n"
      DOT("double") },
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
    { "modulo", NULL,
      "/* The remainder with the sign of x; 0 for a divisor of 0, which the library refuses. */\n"
      "static int32_t @modulo(int32_t x, int32_t y)\n"
      "{\n"
      "    return y == 0 || y == -1 ? 0 : x % y;\n"
      "}\n" },
    { "whole_remainder", NULL,
      "static int32_t @whole_remainder(int32_t x, int32_t y)\n"
      "{\n"
      "    const int32_t rest = @modulo(x, y);\n"
      "    return rest != 0 && (y < 0) != (rest < 0) ? rest + y : rest;\n"
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
      "static double @moment_power(const adz_step_context *at, int i, double base)\n"
      "{\n"
      "    (void)i;\n"
      "    return @wide_powi(base, at->step);\n"
      "}\n" },
};
/* clang-format on */

#endif
