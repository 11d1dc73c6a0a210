/* The C sources whose functions files in C bring along, compiled as they are: C99, and warnings are
 * errors. Each function is compared with libm's in a wider type, or with what it must give. With
 * -ffast-math only the functions of floats are tested, which have to bear it. */
#include <stdint.h>

#include "export/c99/sources/products.c"
#include "export/c99/sources/integers.c"
#include "export/elementary_f64.h"
#include "export/elementary_f32.h"
#include "export/c99/sources/floats.c"
#include "export/c99/sources/doubles.c"
#include "export/c99/sources/systems.c"
#include "export/c99/sources/weights.c"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <cmocka.h>

#include "source_systems.h"

#ifdef __FAST_MATH__
enum { REORDERED = 1 };
#else
enum { REORDERED = 0 };
#endif

static int faults;

static void fault(const char *what, double x, double y, double wanted)
{
    if (++faults < 20) {
        fprintf(stderr, "%s(%.17g) is %.17g and not %.17g\n", what, x, y, wanted);
    }
}

/* ---- elementary functions -------------------------------------------------------------------- */

typedef struct {
    const char *name;
    float (*of_floats)(float);
    double (*of_doubles)(double);
    long double (*wanted)(long double);
    double low, high;       /* of the arguments */
    double floats, doubles; /* the largest error, in units of the last place of the result */
} elementary;

static long double sigmoid(long double x)
{
    return 1 / (1 + expl(-x));
}

static long double erfinv(long double x)
{
    const long double a = fabsl(x);
    if (!(a < 1)) {
        return a == 1 ? x * (long double)INFINITY : (long double)NAN;
    }
    long double y = 0.886L * a; /* Newton's steps rise from below. */
    for (int i = 0; i < 60; ++i) {
        const long double rest = a < 0.5L ? a - erfl(y) : erfcl(y) - (1 - a);
        y += rest * 0.886226925452758013649L * expl(y * y);
    }
    return copysignl(y, x);
}

static long double softplus(long double x)
{
    return (x > 0 ? x : 0) + log1pl(expl(-fabsl(x)));
}

#define BOTH(name, wanted, low, high, floats, doubles)                        \
    {                                                                         \
#name, net_##name, net_f64_##name, wanted, low, high, floats, doubles \
    }

static const elementary functions[] = {
    BOTH(exp, expl, -87, 88, 1.5, 1.5),
    BOTH(expm1, expm1l, -20, 80, 2.5, 2.5),
    BOTH(exp2, exp2l, -120, 120, 2, 2),
    BOTH(log, logl, 1e-38, 1e38, 1.5, 1.5),
    BOTH(log1p, log1pl, -0.99, 1e10, 2, 2),
    BOTH(log2, log2l, 1e-38, 1e38, 3, 2),
    BOTH(log10, log10l, 1e-38, 1e38, 3, 2),
    BOTH(sinh, sinhl, -80, 80, 5, 2.5),
    BOTH(cosh, coshl, -80, 80, 4, 2),
    BOTH(tanh, tanhl, -10, 10, 2.5, 2.5),
    BOTH(asinh, asinhl, -1e10, 1e10, 6, 3),
    BOTH(acosh, acoshl, 1, 1e10, 6, 3),
    BOTH(atanh, atanhl, -0.99, 0.99, 4, 3),
    BOTH(erf, erfl, -4, 4, 2.5, 2.5),
    BOTH(erfc, erfcl, -4, 8, 8, 4),
    BOTH(erfinv, erfinv, -0.999999, 0.999999, 4, 3),
    BOTH(sigmoid, sigmoid, -80, 80, 2.5, 2.5),
    BOTH(softplus, softplus, -80, 80, 3, 3),
    BOTH(sqrt, sqrtl, 1e-37, 1e38, 1.5, 0.51),
};
enum { FUNCTIONS = sizeof functions / sizeof *functions, POINTS = 4000 };

/* The point i of a range: half of them are evenly spaced, and half are close to 0. */
static double point(const elementary *f, int i)
{
    const double part = (double)(i / 2) / (POINTS / 2 - 1);
    const double size = fabs(f->low) > fabs(f->high) ? fabs(f->low) : fabs(f->high);
    const double small = (i % 4 < 2 ? 1 : -1) * size * exp((part - 1) * 60);
    const double even = f->low + part * (f->high - f->low);
    return i % 2 == 0 || small < f->low || small > f->high ? even : small;
}

static void check(
    const char *name, double x, double y, long double wanted, double unit, double most)
{
    if (!(fabsl((long double)y - wanted) <= (long double)(most * unit))) {
        fault(name, x, y, (double)wanted);
    }
}

static double unit_of(long double wanted, double epsilon, double least)
{
    int power;
    (void)frexpl(wanted, &power);
    const double unit = ldexp(epsilon, power - 1);
    return unit > least ? unit : least;
}

static void elementary_functions(void **state)
{
    (void)state;
    faults = 0;
    for (int k = 0; k < FUNCTIONS; ++k) {
        const elementary *f = &functions[k];
        for (int i = 0; i < POINTS; ++i) {
            const double x = point(f, i);
            const float narrow = (float)x;
            const long double narrow_wanted = f->wanted((long double)narrow);
            /* With -ffast-math parts of small results may become 0. */
            const bool small = REORDERED && fabsl(narrow_wanted) < 1e-30L && narrow_wanted != 0;
            if ((double)narrow >= f->low && (double)narrow <= f->high && !small) {
                check(f->name, (double)narrow, (double)f->of_floats(narrow), narrow_wanted,
                    unit_of(narrow_wanted, (double)FLT_EPSILON, 1e-45),
                    f->floats * (REORDERED ? 5 : 1));
            }
            if (REORDERED) {
                continue;
            }
            const long double wanted = f->wanted((long double)x);
            check(f->name, x, f->of_doubles(x), wanted, unit_of(wanted, DBL_EPSILON, 5e-324),
                f->doubles);
        }
    }
    assert_int_equal(faults, 0);
}

/* gelu is bounded absolutely, as the library's is. */
static void gelu(void **state)
{
    (void)state;
    faults = 0;
    for (int i = -2000; i <= 2000; ++i) {
        const double x = i * 0.01;
        const long double wanted =
            (long double)x * 0.5L * erfcl(-(long double)x * 0.70710678118654752440L);
        const double size = fabs(x) > 1 ? fabs(x) : 1;
        check("gelu", x, (double)net_gelu((float)x), wanted, size * 0x1p-22, 1.5);
        if (!REORDERED) {
            check("gelu", x, net_f64_gelu(x), wanted, size * 0x1p-51, 1.5);
        }
    }
    assert_int_equal(faults, 0);
}

static bool same(double y, double wanted)
{
    return (isnan(y) && isnan(wanted)) || (y == wanted && signbit(y) == signbit(wanted));
}

/* ---- special values -------------------------------------------------------------------------- */

static const float specials[] = { 0, -0.0f, 1, -1, 0.5f, -0.5f, 2, -2, 3, -3, 1e30f, -1e30f,
    FLT_MAX, -FLT_MAX, FLT_MIN, 1e-42f, -1e-42f, 16777216, INFINITY, -INFINITY, NAN };
enum { SPECIALS = sizeof specials / sizeof *specials };

#define OF(name)                   \
    {                              \
#name, net_##name, name##f \
    }

static const struct {
    const char *name;
    float (*of_floats)(float), (*wanted)(float);
} exact[] = { OF(floor), OF(ceil), OF(trunc), { "round", net_round, rintf } };

/* What has one right answer: rounding, and functions at arguments without a finite result. */
static void special_values(void **state)
{
    (void)state;
    faults = 0;
    for (int i = 0; i < SPECIALS; ++i) {
        const float x = specials[i];
        for (size_t k = 0; k < sizeof exact / sizeof *exact; ++k) {
            for (int part = -3; part <= 3; ++part) {
                const float at = x + 0.25f * (float)part;
                if (!same((double)exact[k].of_floats(at), (double)exact[k].wanted(at))) {
                    fault(exact[k].name, (double)at, (double)exact[k].of_floats(at),
                        (double)exact[k].wanted(at));
                }
            }
        }
        for (int k = 0; k < FUNCTIONS; ++k) {
            const double y = (double)functions[k].of_floats(x);
            const double wanted = (double)functions[k].wanted((long double)x);
            if ((!isfinite(wanted) || wanted == 0) && !same(y, wanted)) {
                fault(functions[k].name, (double)x, y, wanted);
            }
        }
    }
    assert_int_equal(faults, 0);
}

/* Whether a pair of special values has one right answer for pow. */
static bool has_one_power(double wanted)
{
    return !isfinite(wanted) || wanted == 0 || fabs(wanted) == 1;
}

static void pairs(void **state)
{
    (void)state;
    faults = 0;
    for (int i = 0; i < SPECIALS * SPECIALS; ++i) {
        const float x = specials[i / SPECIALS], y = specials[i % SPECIALS];
        const double power = (double)powf(x, y), wide = pow((double)x, (double)y);
        if (has_one_power(power) && !same((double)net_pow(x, y), power)) {
            fault("pow", (double)x, (double)net_pow(x, y), power);
        }
        if (has_one_power(wide) && !same(net_f64_pow((double)x, (double)y), wide)) {
            fault("f64_pow", (double)x, net_f64_pow((double)x, (double)y), wide);
        }
        if (!isnan(x) && !isnan(y) && !same((double)net_copysign(x, y), (double)copysignf(x, y))) {
            fault("copysign", (double)x, (double)net_copysign(x, y), (double)copysignf(x, y));
        }
        if (fabsf(x) < 1e20f && fabsf(y) > 1e-30f &&
            !same((double)net_fmod(x, y), (double)fmodf(x, y))) {
            fault("fmod", (double)x, (double)net_fmod(x, y), (double)fmodf(x, y));
        }
        const double length = hypot((double)x, (double)y);
        const bool near =
            isfinite(length) && fabs((double)net_hypot(x, y) - length) <= 2e-7 * length;
        if (!near && !same((double)net_hypot(x, y), (double)hypotf(x, y))) {
            fault("hypot", (double)x, (double)net_hypot(x, y), length);
        }
        assert_int_equal(net_above(x, y), isnan(x) ? !isnan(y) : x > y);
    }
    assert_int_equal(faults, 0);
}

/* Powers whose exponents are no small integers. */
static void powers(void **state)
{
    (void)state;
    faults = 0;
    for (int i = 1; i < 400; ++i) {
        for (int k = -40; k <= 40; ++k) {
            const float x = 0.03f * (float)i, y = 0.37f * (float)k;
            const double wanted = pow((double)x, (double)y);
            if (wanted > (double)FLT_MIN && wanted < (double)FLT_MAX) {
                check("pow", (double)x, (double)net_pow(x, y), (long double)wanted,
                    unit_of((long double)wanted, (double)FLT_EPSILON, 1e-45), 3);
            }
            check("wide_pow", (double)x, net_wide_pow((double)x, (double)y), (long double)wanted,
                wanted, 2e-14);
        }
    }
    assert_float_equal(net_remainder(-7.5f, 2), 0.5, 0);
    assert_float_equal(net_remainder(7.5f, -2), -0.5, 0);
    assert_float_equal(net_floor_divide(-7.5f, 2), -4, 0);
    assert_float_equal(net_floor_divide(1, 0.1f), 9, 0);
    assert_float_equal(net_lerp(2, 4, 0.25f), 2.5, 0);
    assert_float_equal(net_lerp(2, 4, 0.75f), 3.5, 0);
    assert_float_equal(net_lerp(INFINITY, INFINITY, 0), INFINITY, 0);
    assert_int_equal(faults, 0);
}

static void wide_functions(void **state)
{
    (void)state;
    faults = 0;
    for (int i = 1; i < 2000; ++i) {
        const double x = exp((i - 1000) * 0.1), y = (i - 1000) * 0.7;
        check("wide_sqrt", x, net_wide_sqrt(x), sqrtl((long double)x), sqrt(x), 4e-16);
        check("wide_log", x, net_wide_log(x), logl((long double)x), fabs(log(x)) + 1e-3, 1e-14);
        check("wide_exp", y, net_wide_exp(y), expl((long double)y), exp(y) + 1e-300, 1e-14);
    }
    assert_true(same(net_wide_min(1, (double)NAN), 1) && same(net_wide_min((double)NAN, 2), 2));
    assert_true(same(net_wide_max(1, 3), 3) && same(net_wide_max((double)NAN, 2), 2));
    assert_true(same(net_wide_sqrt(-1), (double)NAN) && same(net_wide_log(0), -(double)INFINITY));
    assert_true(same(net_wide_exp(800), (double)INFINITY) && same(net_wide_exp(-800), 0));
    const adz_step_context at = { .step = 3 };
    assert_true(same(net_moment_power(&at, 0, 0.5), 0.125));
    assert_int_equal(faults, 0);
}

/* ---- sums and integers ----------------------------------------------------------------------- */

static void sums(void **state)
{
    (void)state;
    faults = 0;
    float a[2][40], b[4][40], y[8];
    double wide[40];
    for (int i = 0; i < 40; ++i) {
        for (int k = 0; k < 4; ++k) {
            a[k % 2][i] = (float)((i * 7 + k) % 11 - 5);
            b[k][i] = (float)((i * 5 + 3 * k) % 13 - 6);
        }
        wide[i] = (double)a[0][i];
    }
    for (int n = 0; n <= 40; ++n) { /* integers, whose sums are exact in any order */
        net_dots(a[0], 40, b[0], 40, n, y);
        for (int k = 0; k < 8; ++k) {
            float sum = 0;
            for (int i = 0; i < n; ++i) {
                sum += a[k / 4][i] * b[k % 4][i];
            }
            assert_float_equal(y[k], sum, 0);
            assert_float_equal(net_dot(a[k / 4], b[k % 4], n), sum, 0);
        }
        float sum = 0, square = 0;
        for (int i = 0; i < n / 4; ++i) {
            sum += a[0][2 * i] * b[0][3 * i];
        }
        for (int i = 0; i < n; ++i) {
            square += a[0][i] * a[0][i];
        }
        assert_float_equal(net_dot_of_steps(a[0], 2, b[0], 3, n / 4), sum, 0);
        assert_true(same(net_f64_dot(wide, wide, n), (double)square));
    }
}

static void integers(void **state)
{
    (void)state;
    faults = 0;
    assert_int_equal(net_truncate(-2.9f), -2);
    assert_int_equal(net_truncate(NAN), 0);
    assert_int_equal(net_truncate(4294967296.0f), 0);
    assert_int_equal(net_wide_truncate(4294967299.5), 3);
    assert_int_equal(net_wide_truncate((double)INFINITY), 0);
    assert_int_equal(net_whole_pow(-3, 3), -27);
    assert_int_equal(net_whole_pow(3, 40), 689956897);
    assert_int_equal(net_whole_pow(2, -1), 0);
    assert_int_equal(net_whole_pow(-1, -3), -1);
    assert_int_equal(net_modulo(-7, 3), -1);
    assert_int_equal(net_modulo(INT32_MIN, -1), 0);
    assert_int_equal(net_modulo(5, 0), 0);
    assert_int_equal(net_whole_remainder(-7, 3), 2);
    assert_int_equal(net_whole_floor_divide(-7, 3), -3);
    assert_int_equal(net_whole_floor_divide(7, -3), -3);
    assert_int_equal(net_whole_floor_divide(INT32_MIN, -1), INT32_MIN);
    assert_int_equal(net_whole_floor_divide(5, 0), 0);
    assert_int_equal(net_gcd(-12, 18), 6);
    assert_int_equal(net_gcd(0, -5), 5);
    assert_int_equal(net_whole_remainder(7, -3), -2);
}

/* ---- files of weights ------------------------------------------------------------------------ */

/* Each float is written as text and read again without a change, also the smallest and largest. */
static void rates(void **state)
{
    (void)state;
    faults = 0;
    static const float values[] = { 0, 1, 0.001f, 0.1f, 3e-4f, 1e-45f, FLT_MIN, FLT_MAX,
        9.9999998e9f, 0.3333333f, 8388609 };
    for (size_t i = 0; i < sizeof values / sizeof *values; ++i) {
        unsigned char text[32];
        float read = -2;
        net_weights_put_rate(text, values[i], 14);
        assert_int_equal(net_weights_number(text, 0, 14, &read), 14);
        assert_true(same((double)read, (double)values[i]));
    }
    unsigned char nothing[14];
    float x;
    net_weights_put_rate(nothing, NAN, 14);
    assert_memory_equal(nothing, "null          ", 14);
    assert_int_equal(net_weights_number(nothing, 0, 14, &x), -1);
    assert_int_equal(net_weights_number((const unsigned char *)"1e999,", 0, 6, &x), 5);
    assert_float_equal(x, -1, 0);
    assert_int_equal(
        net_weights_number((const unsigned char *)"16777217.0000000001", 0, 19, &x), 19);
    assert_float_equal(x, 16777218, 0); /* above the middle of two floats */
}

static void members(void **state)
{
    (void)state;
    faults = 0;
    const unsigned char *text = (const unsigned char *)"{\"a\":{\"x\":[1,2]},\"b\\\"\":3,\"c\":4}";
    const long n = (long)strlen((const char *)text);
    assert_int_equal(net_weights_end(text, 1, n), 16);
    assert_int_equal(net_weights_member(text, 1, n, (const unsigned char *)"\"c\":", 4), n - 2);
    assert_int_equal(net_weights_member(text, 1, n, (const unsigned char *)"\"d\":", 4), -1);
    unsigned char file[24] = { 3, 0, 0, 0, 0, 0, 0, 0, '{', '}', ' ', 7 };
    assert_int_equal(net_weights_data(file, 12), 11);
    assert_int_equal(net_weights_data(file, 10), 0);
    int32_t whole[2] = { -5, INT32_MAX }, back[2];
    net_weights_put_whole(file, whole, 2);
    assert_int_equal(net_weights_take_whole(back, file, 2), 1);
    assert_memory_equal(whole, back, sizeof whole);
    file[7] = 1;
    assert_int_equal(net_weights_take_whole(back, file, 2), 0);
    int64_t steps = -1;
    assert_int_equal(net_weights_agree(4, &steps), 1);
    assert_int_equal(net_weights_agree(5, &steps), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(elementary_functions),
        cmocka_unit_test(gelu),
        cmocka_unit_test(special_values),
        cmocka_unit_test(pairs),
        cmocka_unit_test(powers),
        cmocka_unit_test(wide_functions),
        cmocka_unit_test(sums),
        cmocka_unit_test(integers),
        cmocka_unit_test(rates),
        cmocka_unit_test(members),
        cmocka_unit_test(systems),
        cmocka_unit_test(cholesky_factors),
    };
    const struct CMUnitTest reordered[] = {
        cmocka_unit_test(elementary_functions),
        cmocka_unit_test(gelu),
    };
    return REORDERED ? cmocka_run_group_tests_name("reordered sources", reordered, NULL, NULL)
                     : cmocka_run_group_tests_name("sources", tests, NULL, NULL);
}
