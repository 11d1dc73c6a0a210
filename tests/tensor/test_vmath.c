/* Each function of vmath.h is compared with a wider type, at each instruction set that this
 * processor has. Its largest error must stay below the bound that the header states.
 *
 * usage: test_vmath [SAMPLES]
 *
 * SAMPLES is the number of arguments per function, 2^20 by default; slow functions get fewer. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <float.h>
#include <math.h>
#include <cmocka.h>

#include "tensor/kernel/vmath.h"
#include "../cpu_levels.h"
#include "vmath_arrays.h"
#include "vmath_reference.h"

#define TABLE(name) KERNEL_TABLE_FLOAT(vmath_##name);
VMATH_EACH(TABLE)

static int samples = 1 << 18;

/* How the error is measured: in units of the last place of the result, or absolutely in units of
 * 2^-22 (f32) or 2^-51 (f64) times max(1, |x|), or of 2^-24 or 2^-53 times
 * max(1, |y|), or times |f(1 - x)| where that is larger and x < 0: reflected values cancel. */
typedef enum measure { ULP, ABSOLUTE, SCALED } measure;

typedef struct subject {
    const char *name;
    const adzi_kernel (*kernels)[2];
    double (*reference)(double);
    wide (*wide_reference)(wide);
    measure measured;
    double bound[2]; /* f32, f64 */
} subject;

#define SUBJECT(name, measured, f32, f64)                                                  \
    {                                                                                      \
#name, vmath_##name##_kernels, reference_##name##_double, reference_##name##_wide, \
            measured,                                                                      \
        {                                                                                  \
            f32, f64                                                                       \
        }                                                                                  \
    }

/* gelu and the derivatives cancel for negative arguments, so their bound is absolute. */
static const subject subjects[] = {
    SUBJECT(exp, ULP, 1.1, 1.1),
    SUBJECT(log, ULP, 1.1, 1.1),
    SUBJECT(log1p, ULP, 1.5, 1.5),
    SUBJECT(expm1, ULP, 2.0, 2.0),
    SUBJECT(tanh, ULP, 2.0, 2.0),
    SUBJECT(sigmoid, ULP, 2.0, 2.0),
    SUBJECT(erf, ULP, 2.0, 2.0),
    SUBJECT(sin, ULP, 1.0, 1.0),
    SUBJECT(cos, ULP, 1.0, 1.0),
    SUBJECT(exp2, ULP, 0.6, 2.0),
    SUBJECT(log2, ULP, 0.6, 2.0),
    SUBJECT(log10, ULP, 0.6, 2.0),
    SUBJECT(sinh, ULP, 0.6, 2.5),
    SUBJECT(cosh, ULP, 0.6, 2.0),
    SUBJECT(asinh, ULP, 0.6, 3.0),
    SUBJECT(acosh, ULP, 0.6, 3.0),
    SUBJECT(atanh, ULP, 0.6, 3.0),
    SUBJECT(tan, ULP, 0.6, 3.5),
    SUBJECT(asin, ULP, 0.6, 2.5),
    SUBJECT(acos, ULP, 0.6, 2.0),
    SUBJECT(atan, ULP, 0.6, 2.0),
    SUBJECT(erfc, ULP, 0.6, 4.0),
    SUBJECT(erfinv, ULP, 0.6, 3.0),
    SUBJECT(sinc, ULP, 0.6, 3.0),
    SUBJECT(pow_of, ULP, 0.6, 1.0),
    SUBJECT(pow_by, ULP, 0.6, 1.0),
    SUBJECT(lgamma, SCALED, 1.1, 6.0),
    SUBJECT(digamma, SCALED, 1.1, 10.0),
    SUBJECT(silu, ABSOLUTE, 1.0, 1.0),
    SUBJECT(silu_derivative, ABSOLUTE, 1.0, 1.0),
    SUBJECT(softplus, ULP, 2.5, 2.5),
    SUBJECT(logsigmoid, ULP, 2.5, 2.5),
    SUBJECT(gelu, ABSOLUTE, 1.0, 1.0),
    SUBJECT(gelu_derivative, ABSOLUTE, 1.0, 1.0),
    SUBJECT(gelu_tanh, ABSOLUTE, 1.0, 1.0),
    SUBJECT(gelu_tanh_derivative, ABSOLUTE, 1.0, 1.0),
};
enum { SUBJECTS = sizeof subjects / sizeof subjects[0] };

/* Arguments at which a function changes its branch, its scaling or the kind of its result. A
 * quarter of the samples lies around them. */
static const double corners[] = {
    0.0,
    0.35,
    0.55,
    0.6,
    2.0 / 3,
    0.92,
    1.0,
    1.0397,
    4.0 / 3,
    3.92,
    3.95,
    9.01,
    10.0,
    18.0,
    20.0,
    87.34,
    88.73,
    89.0,
    103.98,
    104.0,
    708.4,
    709.79,
    745.14,
    746.0,
    1e4,
    0.5,
    0.41421356,
    2.41421356,
    1.5,
    1.57079632679,
    2.5,
    8.0,
    26.5,
    27.2,
    710.47,
    0x1p20,
    0x1p28,
    1e-4,
    1e-8,
    0x1p-25,
    0x1p-126,
    0x1p-149,
    0x1p-1022,
    0x1p127,
    0x1p1023,
};
enum { CORNERS = sizeof corners / sizeof corners[0] };

static uint64_t next_random(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state ^ (*state >> 29);
}

/* Fills x with samples: a quarter are random bit patterns, a quarter lie around the corners, and
 * the rest lie in [-20, 20). */
static void fill(void *x, int count, int f64)
{
    uint64_t state = 1;
    for (int i = 0; i < count; ++i) {
        double value;
        uint64_t bits = next_random(&state);
        if (i % 4 == 0) {
            value = f64 ? adzi_from_bits_f64(bits) : (double)adzi_from_bits_f32((uint32_t)bits);
        } else if (i % 4 == 1) {
            double spread = ldexp((double)(bits >> 12) * 0x1p-51 - 1.0, -(int)(bits % 30));
            value = corners[(bits >> 5) % CORNERS] * (1.0 + spread);
            value = bits & 16 ? -value : value;
        } else {
            value = (double)(bits >> 11) * 0x1p-53 * 40.0 - 20.0;
        }
        if (f64)
            ((double *)x)[i] = value;
        else
            ((float *)x)[i] = (float)value;
    }
}

/* |got - wanted| in units of the last place of a format with `digits` bits, whose smallest number
 * is 2^lowest. */
static wide ulp_error(wide got, wide wanted, int digits, int lowest, wide largest)
{
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got) ? 0 : (wide)INFINITY;
    if (isinf(got))
        return fabsl(wanted) > largest && (got > 0) == (wanted > 0) ? 0 : (wide)INFINITY;
    if (isinf(wanted) || (wanted == 0 && got == 0 && signbit(wanted) != signbit(got)))
        return (wide)INFINITY;
    int exponent;
    frexpl(wanted, &exponent);
    exponent = exponent - digits < lowest ? lowest : exponent - digits;
    return fabsl(got - wanted) / ldexpl(1, exponent);
}

static wide absolute_error(wide x, wide got, wide wanted, int f64)
{
    if (isnan(wanted) || isinf(x))
        return 0; /* special_values_are_exact tests these results */
    wide scale = fabsl(x) > 1 ? fabsl(x) : 1;
    return fabsl(got - wanted) / scale * (f64 ? 0x1p51L : 0x1p22L);
}

static wide scaled_error(wide got, wide wanted, wide reflected, int f64)
{
    if (isnan(wanted) || isnan(got))
        return isnan(wanted) && isnan(got) ? 0 : (wide)INFINITY;
    wide largest = f64 ? (wide)DBL_MAX : (wide)FLT_MAX;
    if (isinf(got) || fabsl(wanted) > largest)
        return isinf(got) && fabsl(wanted) >= largest && (got > 0) == (wanted > 0) ? 0
                                                                                   : (wide)INFINITY;
    wide scale = fmaxl(fmaxl(fabsl(wanted), fabsl(reflected)), 1);
    return fabsl(got - wanted) / scale * (f64 ? 0x1p53L : 0x1p24L);
}

static void check(const subject *s, int level, int f64, const void *x, const wide *wanted, void *y)
{
    vmath_array array = { x, y };
    s->kernels[level][f64](&array, 0, samples);
    wide worst = 0, worst_x = 0;
    for (int i = 0; i < samples; ++i) {
        wide at = f64 ? ((const double *)x)[i] : ((const float *)x)[i];
        wide got = f64 ? ((double *)y)[i] : ((float *)y)[i];
        wide error = s->measured == ABSOLUTE ? absolute_error(at, got, wanted[i], f64)
                     : s->measured == SCALED
                         ? scaled_error(got, wanted[i], at < 0 ? s->wide_reference(1 - at) : 0, f64)
                     : f64 ? ulp_error(got, wanted[i], DBL_MANT_DIG, -1074, DBL_MAX)
                           : ulp_error(got, wanted[i], FLT_MANT_DIG, -149, FLT_MAX);
        if (!(error <= worst)) {
            worst = error;
            worst_x = at;
        }
    }
    print_message("%-8s %s %-20s %5.3Lf of %.2f at %La\n", cpu_level_names[level],
        f64 ? "f64" : "f32", s->name, worst, s->bound[f64], worst_x);
    assert_true(worst <= s->bound[f64]);
}

static void check_all(int f64)
{
    size_t bytes = (size_t)samples * sizeof(double);
    void *x = malloc(bytes), *y = malloc(bytes);
    wide *wanted = malloc((size_t)samples * sizeof *wanted);
    assert_true(x && y && wanted);
    fill(x, samples, f64);
    for (int k = 0; k < SUBJECTS; ++k) {
        for (int i = 0; i < samples; ++i)
            wanted[i] = f64 ? subjects[k].wide_reference(((double *)x)[i])
                            : subjects[k].reference(((float *)x)[i]);
        for (int level = 0; level < ADZI_CPU_LEVELS; ++level)
            if (cpu_has_level(level))
                check(&subjects[k], level, f64, x, wanted, y);
    }
    free(x);
    free(y);
    free(wanted);
}

static void f32_stays_under_its_bounds(void **state)
{
    (void)state;
    check_all(0);
}

static void f64_stays_under_its_bounds(void **state)
{
    (void)state;
    check_all(1);
}

typedef struct fact {
    const adzi_kernel (*kernels)[2];
    double x, y;
} fact;

static const fact facts[] = {
    { vmath_exp_kernels, 0.0, 1.0 },
    { vmath_exp_kernels, -INFINITY, 0.0 },
    { vmath_exp_kernels, INFINITY, INFINITY },
    { vmath_exp_kernels, 710.0, INFINITY },
    { vmath_exp_kernels, NAN, NAN },
    { vmath_log_kernels, 1.0, 0.0 },
    { vmath_log_kernels, 0.0, -INFINITY },
    { vmath_log_kernels, -0.0, -INFINITY },
    { vmath_log_kernels, -1.0, NAN },
    { vmath_log_kernels, -INFINITY, NAN },
    { vmath_log_kernels, INFINITY, INFINITY },
    { vmath_log_kernels, NAN, NAN },
    { vmath_log1p_kernels, -0.0, -0.0 },
    { vmath_log1p_kernels, -1.0, -INFINITY },
    { vmath_log1p_kernels, -1.5, NAN },
    { vmath_log1p_kernels, INFINITY, INFINITY },
    { vmath_log1p_kernels, NAN, NAN },
    { vmath_expm1_kernels, -0.0, -0.0 },
    { vmath_expm1_kernels, -INFINITY, -1.0 },
    { vmath_expm1_kernels, INFINITY, INFINITY },
    { vmath_expm1_kernels, NAN, NAN },
    { vmath_tanh_kernels, -0.0, -0.0 },
    { vmath_tanh_kernels, INFINITY, 1.0 },
    { vmath_tanh_kernels, -INFINITY, -1.0 },
    { vmath_tanh_kernels, NAN, NAN },
    { vmath_sigmoid_kernels, 0.0, 0.5 },
    { vmath_sigmoid_kernels, INFINITY, 1.0 },
    { vmath_sigmoid_kernels, -INFINITY, 0.0 },
    { vmath_sigmoid_kernels, NAN, NAN },
    { vmath_sin_kernels, -0.0, -0.0 },
    { vmath_sin_kernels, INFINITY, NAN },
    { vmath_cos_kernels, 0.0, 1.0 },
    { vmath_cos_kernels, NAN, NAN },
    { vmath_erf_kernels, -0.0, -0.0 },
    { vmath_erf_kernels, INFINITY, 1.0 },
    { vmath_erf_kernels, -INFINITY, -1.0 },
    { vmath_erf_kernels, NAN, NAN },
    { vmath_erfinv_kernels, -0.0, -0.0 },
    { vmath_erfinv_kernels, 1.0, INFINITY },
    { vmath_erfinv_kernels, -1.0, -INFINITY },
    { vmath_erfinv_kernels, 1.5, NAN },
    { vmath_erfinv_kernels, -INFINITY, NAN },
    { vmath_erfinv_kernels, NAN, NAN },
    { vmath_sinc_kernels, -0.0, 1.0 },
    { vmath_sinc_kernels, 0x1p60, 0.0 },
    { vmath_sinc_kernels, INFINITY, NAN },
    { vmath_sinc_kernels, NAN, NAN },
    { vmath_exp2_kernels, 3.0, 8.0 },
    { vmath_exp2_kernels, -INFINITY, 0.0 },
    { vmath_exp2_kernels, INFINITY, INFINITY },
    { vmath_exp2_kernels, NAN, NAN },
    { vmath_exp2_kernels, 1024.0, INFINITY },
    { vmath_log2_kernels, 8.0, 3.0 },
    { vmath_log2_kernels, 0x1p-20, -20.0 },
    { vmath_log2_kernels, 0.0, -INFINITY },
    { vmath_log2_kernels, -1.0, NAN },
    { vmath_log2_kernels, INFINITY, INFINITY },
    { vmath_log10_kernels, 1000.0, 3.0 },
    { vmath_log10_kernels, 1e9, 9.0 },
    { vmath_log10_kernels, 0.0, -INFINITY },
    { vmath_log10_kernels, -1.0, NAN },
    { vmath_log10_kernels, INFINITY, INFINITY },
    { vmath_sinh_kernels, -0.0, -0.0 },
    { vmath_sinh_kernels, -INFINITY, -INFINITY },
    { vmath_sinh_kernels, NAN, NAN },
    { vmath_cosh_kernels, 0.0, 1.0 },
    { vmath_cosh_kernels, -INFINITY, INFINITY },
    { vmath_cosh_kernels, NAN, NAN },
    { vmath_asinh_kernels, -0.0, -0.0 },
    { vmath_asinh_kernels, -INFINITY, -INFINITY },
    { vmath_asinh_kernels, NAN, NAN },
    { vmath_acosh_kernels, 1.0, 0.0 },
    { vmath_acosh_kernels, 0.5, NAN },
    { vmath_acosh_kernels, -3.0, NAN },
    { vmath_acosh_kernels, INFINITY, INFINITY },
    { vmath_acosh_kernels, NAN, NAN },
    { vmath_atanh_kernels, -0.0, -0.0 },
    { vmath_atanh_kernels, 1.0, INFINITY },
    { vmath_atanh_kernels, -1.0, -INFINITY },
    { vmath_atanh_kernels, 2.0, NAN },
    { vmath_atanh_kernels, -INFINITY, NAN },
    { vmath_tan_kernels, -0.0, -0.0 },
    { vmath_tan_kernels, INFINITY, NAN },
    { vmath_tan_kernels, NAN, NAN },
    { vmath_asin_kernels, -0.0, -0.0 },
    { vmath_asin_kernels, 1.5, NAN },
    { vmath_asin_kernels, NAN, NAN },
    { vmath_acos_kernels, 1.0, 0.0 },
    { vmath_acos_kernels, 1.5, NAN },
    { vmath_acos_kernels, -INFINITY, NAN },
    { vmath_atan_kernels, -0.0, -0.0 },
    { vmath_atan_kernels, NAN, NAN },
    { vmath_erfc_kernels, INFINITY, 0.0 },
    { vmath_erfc_kernels, -INFINITY, 2.0 },
    { vmath_erfc_kernels, NAN, NAN },
    { vmath_erfc_kernels, 0.0, 1.0 },
    { vmath_lgamma_kernels, 1.0, 0.0 },
    { vmath_lgamma_kernels, 2.0, 0.0 },
    { vmath_lgamma_kernels, 0.0, INFINITY },
    { vmath_lgamma_kernels, -3.0, INFINITY },
    { vmath_lgamma_kernels, INFINITY, INFINITY },
    { vmath_lgamma_kernels, -INFINITY, INFINITY },
    { vmath_lgamma_kernels, NAN, NAN },
    { vmath_digamma_kernels, 0.0, -INFINITY },
    { vmath_digamma_kernels, -0.0, INFINITY },
    { vmath_digamma_kernels, -2.0, NAN },
    { vmath_digamma_kernels, INFINITY, INFINITY },
    { vmath_digamma_kernels, -INFINITY, NAN },
    { vmath_digamma_kernels, NAN, NAN },
    { vmath_softplus_kernels, INFINITY, INFINITY },
    { vmath_softplus_kernels, -INFINITY, 0.0 },
    { vmath_softplus_kernels, NAN, NAN },
    { vmath_logsigmoid_kernels, INFINITY, 0.0 },
    { vmath_logsigmoid_kernels, -INFINITY, -INFINITY },
    { vmath_logsigmoid_kernels, NAN, NAN },
    { vmath_silu_kernels, INFINITY, INFINITY },
    { vmath_silu_kernels, NAN, NAN },
    { vmath_gelu_kernels, 0.0, 0.0 },
    { vmath_gelu_kernels, INFINITY, INFINITY },
    { vmath_gelu_kernels, -INFINITY, NAN },
    { vmath_gelu_kernels, NAN, NAN },
    { vmath_gelu_derivative_kernels, 1e30, 1.0 },
    { vmath_gelu_derivative_kernels, -1e30, 0.0 },
    { vmath_gelu_derivative_kernels, INFINITY, NAN },
    { vmath_gelu_derivative_kernels, -INFINITY, NAN },
    { vmath_gelu_derivative_kernels, NAN, NAN },
    { vmath_gelu_tanh_kernels, 1e30, 1e30 },
    { vmath_gelu_tanh_kernels, INFINITY, INFINITY },
    { vmath_gelu_tanh_kernels, -INFINITY, NAN },
    { vmath_gelu_tanh_kernels, NAN, NAN },
    { vmath_gelu_tanh_derivative_kernels, 1e30, 1.0 },
    { vmath_gelu_tanh_derivative_kernels, -1e30, 0.0 },
    { vmath_gelu_tanh_derivative_kernels, INFINITY, NAN },
    { vmath_gelu_tanh_derivative_kernels, -INFINITY, NAN },
    { vmath_gelu_tanh_derivative_kernels, NAN, NAN },
};
enum { FACTS = sizeof facts / sizeof facts[0] };

static int same(double got, double wanted)
{
    if (isnan(wanted))
        return isnan(got);
    return got == wanted && (wanted != 0 || signbit(got) == signbit(wanted));
}

/* Each value is computed in 17 copies, so that the vector body and the scalar tail of a loop both
 * compute it. */
static void special_values_are_exact(void **state)
{
    (void)state;
    for (int k = 0; k < FACTS; ++k) {
        for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
            if (!cpu_has_level(level))
                continue;
            float x[17], y[17];
            double x64[17], y64[17];
            for (int i = 0; i < 17; ++i)
                x[i] = (float)(x64[i] = facts[k].x);
            vmath_array f32 = { x, y }, f64 = { x64, y64 };
            facts[k].kernels[level][0](&f32, 0, 17);
            facts[k].kernels[level][1](&f64, 0, 17);
            for (int i = 0; i < 17; ++i)
                if (!same(y[i], (float)facts[k].y) || !same(y64[i], facts[k].y))
                    fail_msg("fact %d, %s: f(%g) = %g and %g, not %g", k, cpu_level_names[level],
                        facts[k].x, (double)y[i], y64[i], facts[k].y);
        }
    }
}

/* The vector body and the scalar tail of a loop must give equal bits. Otherwise results would
 * depend on how a launch is cut. */
static void cuts_change_no_bit(void **state)
{
    (void)state;
    enum { N = 1000 };
    static float x[N], whole[N], cut[N];
    fill(x, N, 0);
    for (int k = 0; k < SUBJECTS; ++k) {
        for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
            if (!cpu_has_level(level))
                continue;
            vmath_array one = { x, whole }, parts = { x, cut };
            subjects[k].kernels[level][0](&one, 0, N);
            for (int begin = 0, step = 1; begin < N; begin += step, step = step % 37 + 1)
                subjects[k].kernels[level][0](&parts, begin, begin + step < N ? begin + step : N);
            for (int i = 0; i < N; ++i)
                if (!same((double)cut[i], (double)whole[i]))
                    fail_msg("%s, %s: %a cut, %a whole at %a", subjects[k].name,
                        cpu_level_names[level], (double)cut[i], (double)whole[i], (double)x[i]);
        }
    }
}

int main(int argc, char **argv)
{
    samples = argc > 1 ? atoi(argv[1]) : samples;
    if (samples <= 0) {
        print_error("SAMPLES must be a positive number, not %s\n", argv[1]);
        return 2;
    }
    const volatile long double one = 1; /* valgrind computes in double */
    if (one + (long double)(DBL_EPSILON / 16) == one) {
        print_message("long double judges f64, and has no more digits here\n");
        return 77;
    }
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(f32_stays_under_its_bounds),
        cmocka_unit_test(f64_stays_under_its_bounds),
        cmocka_unit_test(special_values_are_exact),
        cmocka_unit_test(cuts_change_no_bit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
