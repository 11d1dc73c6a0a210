/* The functions of real.h, and pow of vmath.h, are compared with long double. Their largest error
 * must stay below the bound that real.h states. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <float.h>
#include <math.h>
#include <cmocka.h>

#include "adze/real.h"
#include "tensor/kernel/real.h"
#include "tensor/kernel/vmath.h"

enum { SAMPLES = 200000 };

static uint64_t state_of_random;

static uint64_t next(void)
{
    state_of_random = state_of_random * 6364136223846793005u + 1442695040888963407u;
    return state_of_random ^ (state_of_random >> 29);
}

/* A number whose exponent is spread evenly over -range .. range. */
static double spread(int range)
{
    const double mantissa = 1.0 + (double)(next() >> 12) * 0x1p-52;
    const int exponent = (int)(next() >> 33) % (2 * range + 1) - range;
    return ldexp(next() >> 63 ? mantissa : -mantissa, exponent);
}

/* |got - wanted| in units of the last place of a format with `digits` bits, whose smallest number
 * is 2^lowest. */
static long double ulps(long double got, long double wanted, int digits, int lowest, double most)
{
    if (isnan(wanted) || isnan(got)) {
        return isnan(wanted) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(got)) {
        return fabsl(wanted) >= (long double)most && (got > 0) == (wanted > 0) ? 0 : INFINITY;
    }
    if (isinf(wanted)) {
        return INFINITY;
    }
    int exponent;
    frexpl(wanted, &exponent);
    exponent = exponent - digits < lowest ? lowest : exponent - digits;
    return fabsl(got - wanted) / ldexpl(1, exponent);
}

typedef struct worst {
    long double error;
    double x, y;
} worst;

static void judge(worst *w, double x, double y, double got, long double wanted)
{
    const long double error = ulps(got, wanted, DBL_MANT_DIG, -1074, DBL_MAX);
    if (!(error <= w->error)) {
        *w = (worst){ error, x, y };
    }
}

static void expect(const char *name, worst w, double bound)
{
    print_message("%-8s %.3Lf of %.1f at %a, %a\n", name, w.error, bound, w.x, w.y);
    assert_true(w.error <= (long double)bound);
}

typedef struct subject {
    const char *name;
    double (*function)(double);
    long double (*reference)(long double);
    int range; /* of the exponents of its arguments */
    double lowest, highest;
    double bound;
} subject;

static const subject subjects[] = {
    { "exp", adzi_real_exp, expl, 9, -745, 710, 1.1 },
    { "log", adzi_real_log, logl, 1020, 0, INFINITY, 1.1 },
    { "sin", adzi_real_sin, sinl, 60, -INFINITY, INFINITY, 1.0 },
    { "cos", adzi_real_cos, cosl, 60, -INFINITY, INFINITY, 1.0 },
    { "erfc", adzi_real_erfc, erfcl, 5, -10, 26.5, 4.0 },
};

static void functions_of_one_number_stay_under_their_bounds(void **state)
{
    (void)state;
    for (size_t k = 0; k < sizeof subjects / sizeof subjects[0]; ++k) {
        const subject *s = &subjects[k];
        worst w = { 0 };
        for (int i = 0; i < SAMPLES; ++i) {
            const double x = spread(s->range);
            if (x > s->lowest && x < s->highest) {
                judge(&w, x, 0, s->function(x), s->reference((long double)x));
            }
        }
        expect(s->name, w, s->bound);
    }
}

static void powers_stay_under_their_bound(void **state)
{
    (void)state;
    worst wide = { 0 }, near = { 0 }, single = { 0 };
    for (int i = 0; i < SAMPLES; ++i) {
        const double x = fabs(spread(1020)), y = spread(10) / (i % 3 == 0 ? 1.0 : 64.0);
        judge(&wide, x, y, adzi_real_pow(x, y), powl((long double)x, (long double)y));
        const double close = 1.0 + spread(3) / 16, large = spread(6) * 100;
        judge(&near, close, large, adzi_real_pow(close, large), powl(close, large));
        const float a = (float)fabs(spread(30)), b = (float)spread(3);
        const long double error =
            ulps(adzi_pow_f32(a, b), powl(a, b), FLT_MANT_DIG, -149, (double)FLT_MAX);
        if (!(error <= single.error)) {
            single = (worst){ error, (double)a, (double)b };
        }
    }
    expect("pow", wide, 1.0);
    expect("pow at 1", near, 1.0);
    expect("powf", single, 1.0);
}

/* The exact ones among the powers are exact. */
static void powers_of_small_integers_are_exact(void **state)
{
    (void)state;
    for (int x = -20; x <= 20; ++x) {
        double product = 1;
        for (int y = 0; y <= 12; product *= x, ++y) {
            assert_true(adzi_real_pow(x, y) == product);
            assert_true(
                fabs(product) > 0x1p24 || (double)adzi_pow_f32((float)x, (float)y) == product);
        }
    }
    for (int n = -1074; n < 1024; ++n) {
        assert_true(adzi_real_pow(2, n) == ldexp(1, n));
    }
}

static bool same(double a, double b)
{
    return isnan(a) ? isnan(b) : a == b && signbit(a) == signbit(b);
}

/* All pairs of special numbers, as C11's Annex F has them and as the C library computes them. */
static void special_powers_are_those_of_c(void **state)
{
    (void)state;
    static const double values[] = { 0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 7.5, 0x1p23 + 1, 0x1p24,
        0x1p25, 1e30, INFINITY, NAN };
    enum { N = 2 * sizeof values / sizeof values[0] };
    for (int i = 0; i < N * N; ++i) {
        const double x = (i % 2 ? -1 : 1) * values[i % N / 2];
        const double y = (i / N % 2 ? -1 : 1) * values[i / N / 2];
        const double wanted = pow(x, y);
        const double got = adzi_real_pow(x, y);
        if (!same(got, wanted) && !(fabs(got - wanted) <= 0x1p-52 * fabs(wanted))) {
            fail_msg("pow(%g, %g) = %g, not %g", x, y, got, wanted);
        }
        const float single = adzi_pow_f32((float)x, (float)y);
        if (!same((double)single, (double)(float)wanted) &&
            !(fabs((double)single - wanted) <= 0x1p-23 * fabs(wanted))) {
            fail_msg("powf(%g, %g) = %g, not %g", x, y, (double)single, wanted);
        }
    }
}

static void the_other_functions_keep_special_values(void **state)
{
    (void)state;
    assert_true(adzi_real_hypot(0x3p900, -0x4p900) == 0x5p900);
    assert_true(adzi_real_hypot(3e-320, 0) == 3e-320);
    assert_true(adzi_real_hypot(NAN, -INFINITY) == INFINITY);
    assert_true(isnan(adzi_real_hypot(NAN, 1)) && isnan(adzi_real_hypot(0, NAN)));
    assert_true(adzi_real_hypot(0, -0.0) == 0);
    assert_true(adzi_real_erfc(INFINITY) == 0 && adzi_real_erfc(-INFINITY) == 2);
    assert_true(isnan(adzi_real_erfc(NAN)) && adzi_real_erfc(0) == 1);
    assert_true(isnan(adzi_real_sin(INFINITY)) && isnan(adzi_real_cos(NAN)));
    assert_true(same(adzi_real_sin(-0.0), -0.0));
    const double far[] = { 0x1.0000000000001p20, 1e22, 0x1.6ac5b262ca1ffp849, DBL_MAX, 1e300 };
    for (int i = 0; i < 10;
         ++i) { /* 2^849 ..: the double that comes closest to a multiple of pi/2 */
        const double x = (i % 2 ? -1 : 1) * far[i / 2];
        worst w = { 0 };
        judge(&w, x, 0, adzi_real_sin(x), sinl((long double)x));
        judge(&w, x, 1, adzi_real_cos(x), cosl((long double)x));
        expect("far", w, 1.0);
    }
    for (int i = 0; i < SAMPLES; ++i) {
        const double x = spread(500), y = spread(20) * x;
        worst w = { 0 };
        judge(&w, x, y, adzi_real_hypot(x, y), hypotl((long double)x, (long double)y));
        assert_true(w.error <= 1.5L);
    }
}

/* Bits and not values, so that NaN equals NaN. */
static void expect_bits(double got, double wanted)
{
    assert_memory_equal(&got, &wanted, sizeof got);
}

static void public_functions_have_the_same_bits(void **state)
{
    (void)state;
    static const double special[] = { 0.0, -0.0, 1.0, -1.5, 1e300, 5e-324, INFINITY, -INFINITY };
    for (int i = 0; i < 1000; ++i) {
        const double x = i < 8 ? special[i] : spread(8), y = i < 8 ? special[7 - i] : spread(3);
        expect_bits(adz_real_exp(x), adzi_real_exp(x));
        expect_bits(adz_real_log(x), adzi_real_log(x));
        expect_bits(adz_real_pow(x, y), adzi_real_pow(x, y));
        expect_bits(adz_real_sin(x), adzi_real_sin(x));
        expect_bits(adz_real_cos(x), adzi_real_cos(x));
    }
    assert_true(adz_real_exp(1) > 2.718 && adz_real_exp(1) < 2.719);
    assert_true(adz_real_log(8) > 2.079 && adz_real_log(8) < 2.080);
    assert_true(adz_real_pow(2, 10) == 1024 && adz_real_cos(0) == 1 && adz_real_sin(0) == 0);
}

int main(void)
{
    const volatile long double one = 1;
    if (one + (long double)(DBL_EPSILON / 16) == one) {
        print_message("long double judges f64, and has no more digits here\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_of_one_number_stay_under_their_bounds),
        cmocka_unit_test(powers_stay_under_their_bound),
        cmocka_unit_test(powers_of_small_integers_are_exact),
        cmocka_unit_test(special_powers_are_those_of_c),
        cmocka_unit_test(the_other_functions_keep_special_values),
        cmocka_unit_test(public_functions_have_the_same_bits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
