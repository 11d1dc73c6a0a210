/* Computes exp, tanh or erf of vmath.h for each of the 2^32 floats and compares the results with
 * MPFR. It does so at each instruction set that this processor has.
 *
 * usage: vmath_all exp|tanh|erf
 *
 * Most results are far within the bound, as a comparison with the C library's double function
 * shows. MPFR judges only results near the bound and new largest errors. A function takes some
 * minutes. */
#include <float.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <mpfr.h>

#include "../cpu_levels.h"
#include "tensor/kernel/vmath.h"
#include "vmath_arrays.h"

KERNEL_TABLE_FLOAT(vmath_exp);
KERNEL_TABLE_FLOAT(vmath_tanh);
KERNEL_TABLE_FLOAT(vmath_erf);

/* BLOCK: the floats that are computed at a time. BITS: the precision of MPFR's numbers. */
enum { BLOCK = 1 << 16, BITS = 160 };

typedef struct {
    const char *name;
    const adzi_kernel (*kernels)[2];
    double (*libm)(double);
    int (*judge)(mpfr_t y, const mpfr_t x, mpfr_rnd_t rounding);
    double bound; /* in ULP */
} subject;

static const subject subjects[] = {
    { "exp", vmath_exp_kernels, exp, mpfr_exp, 1.1 },
    { "tanh", vmath_tanh_kernels, tanh, mpfr_tanh, 2.0 },
    { "erf", vmath_erf_kernels, erf, mpfr_erf, 2.0 },
};

/* The largest error at one instruction set, and how many results MPFR has judged. */
typedef struct {
    double error;
    float at, got;
    uint64_t judged;
} worst;

/* One unit of the last place of a float near `wanted`. It is computed from the bits, because frexp
 * and ldexp would take most of the program's time. */
static double unit(double wanted)
{
    uint64_t bits;
    memcpy(&bits, &wanted, sizeof bits);
    int power = (int)(bits >> 52 & 2047) - 1023 - (FLT_MANT_DIG - 1);
    bits = (uint64_t)((power < -149 ? -149 : power) + 1023) << 52;
    memcpy(&wanted, &bits, sizeof bits);
    return wanted;
}

/* The error of a special result, NaN or infinity: 0 if it is right, else infinity. -1 if both
 * results are finite, so that the error has to be measured. */
static double special(float got, double wanted)
{
    if (isnan(wanted) || isnan(got)) {
        return isnan(wanted) && isnan(got) ? 0 : INFINITY;
    }
    if (isinf(got)) {
        return fabs(wanted) > FLT_MAX && (got > 0) == (wanted > 0) ? 0 : INFINITY;
    }
    if (isinf(wanted)) {
        return INFINITY;
    }
    return wanted == 0 && got == 0 && !signbit(wanted) != !signbit(got) ? INFINITY : -1;
}

/* The error of a finite result in ULP, by MPFR. */
static double judge(const subject *s, float x, float got)
{
    mpfr_t in, wanted, error;
    mpfr_inits2(BITS, in, wanted, error, (mpfr_ptr)NULL);
    mpfr_set_flt(in, x, MPFR_RNDN);
    s->judge(wanted, in, MPFR_RNDN);
    mpfr_set_flt(error, got, MPFR_RNDN);
    mpfr_sub(error, error, wanted, MPFR_RNDN);
    double off = fabs(mpfr_get_d(error, MPFR_RNDN)) / unit(mpfr_get_d(wanted, MPFR_RNDN));
    mpfr_clears(in, wanted, error, (mpfr_ptr)NULL);
    return off;
}

/* Measures the errors of a block of results and keeps the largest. */
static void look_at(
    const subject *s, worst *w, const float *x, const float *y, const double *wanted)
{
    for (int i = 0; i < BLOCK; ++i) {
        double error = special(y[i], wanted[i]);
        if (error < 0) {
            error = fabs((double)y[i] - wanted[i]) / unit(wanted[i]);
            if (error > 0.98 * s->bound) {
                error = judge(s, x[i], y[i]);
                ++w->judged;
            }
        }
        if (error > w->error) {
            *w = (worst){ error, x[i], y[i], w->judged };
        }
    }
}

int main(int argc, char **argv)
{
    const subject *s = subjects, *last = subjects + sizeof subjects / sizeof *subjects;
    while (s < last && (argc != 2 || strcmp(argv[1], s->name) != 0)) {
        ++s;
    }
    if (s == last) {
        fputs("usage: vmath_all exp|tanh|erf\n", stderr);
        return EXIT_FAILURE;
    }
    static float x[BLOCK], y[BLOCK];
    static double wanted[BLOCK];
    static worst found[ADZI_CPU_LEVELS];
    for (uint64_t first = 0; first < (uint64_t)1 << 32; first += BLOCK) {
        for (uint32_t i = 0; i < BLOCK; ++i) {
            uint32_t bits = (uint32_t)first + i;
            memcpy(&x[i], &bits, sizeof bits);
            wanted[i] = s->libm((double)x[i]);
        }
        for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
            if (cpu_has_level(level)) {
                s->kernels[level][0](&(vmath_array){ x, y }, 0, BLOCK);
                look_at(s, &found[level], x, y, wanted);
            }
        }
    }
    int status = EXIT_SUCCESS;
    for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
        if (cpu_has_level(level)) {
            if (isfinite(found[level].error)) {
                found[level].error = judge(s, found[level].at, found[level].got);
                ++found[level].judged;
            }
            printf("%s %-8s: %.4f of %.1f ULP at %a; MPFR was asked %llu times\n", s->name,
                cpu_level_names[level], found[level].error, s->bound, (double)found[level].at,
                (unsigned long long)found[level].judged);
            status = found[level].error <= s->bound ? status : EXIT_FAILURE;
        }
    }
    mpfr_free_cache();
    return status;
}
