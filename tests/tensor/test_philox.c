/* The random kernels: Philox against its published answers, every instruction set against the
 * baseline, any cut against the whole, and the distributions against what they should be. Seeds
 * are fixed, so the statistics either hold or do not. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <math.h>
#include <cmocka.h>

#include "adze/base.h"
#include "tensor/random/random.h"
#include "../cpu_levels.h"

KERNEL_TABLE_FLOAT(uniform);
KERNEL_TABLE_FLOAT(normal);
KERNEL_TABLE_FLOAT(dropout);
KERNEL_TABLE_FLOAT(dropout_again);
KERNEL_TABLE_ALL(randint);
KERNEL_TABLE_ALL(bernoulli);

enum { N = 1 << 20, SMALL = 1000, WIDEST = sizeof(double) };

/* Each kernel with arguments that a test may run on any dtype it has. */
typedef struct drawing {
    const char *name;
    adzi_kernel (*kernel)(int level, int dtype);
    int dtypes, per_unit;
} drawing;

#define KERNEL_OF(name)                                    \
    static adzi_kernel name##_kernel(int level, int dtype) \
    {                                                      \
        return name##_kernels[level][dtype];               \
    }
KERNEL_OF(uniform)
KERNEL_OF(normal)
KERNEL_OF(dropout)
KERNEL_OF(randint)
KERNEL_OF(bernoulli)

static const drawing drawings[] = {
    { "uniform", uniform_kernel, 2, 1 },
    { "normal", normal_kernel, 2, 1 },
    { "dropout", dropout_kernel, 2, 64 },
    { "randint", randint_kernel, 6, 1 },
    { "bernoulli", bernoulli_kernel, 6, 1 },
};
enum { DRAWINGS = sizeof drawings / sizeof drawings[0] };

/* Any drawing's arguments. */
typedef union any_args {
    adzi_uniform_args uniform;
    adzi_normal_args normal;
    adzi_dropout_args dropout;
    adzi_randint_args randint;
    adzi_bernoulli_args bernoulli;
} any_args;

/* Numbers 0.5, 1, 1.5 ... of the dtype, for dropout to drop. */
static const void *dropout_input(int dtype)
{
    static float f32[N];
    static double f64[N];
    for (int i = 0; i < N; ++i)
        f32[i] = (float)(f64[i] = 0.5 * (i + 1));
    return dtype == ADZ_F32 ? (const void *)f32 : f64;
}

static any_args args_of(
    const drawing *d, int dtype, uint64_t seed, uint64_t offset, const void *x, void *out, int n)
{
    any_args args;
    memset(&args, 0, sizeof args);
    if (d->kernel == uniform_kernel)
        args.uniform = (adzi_uniform_args){ seed, offset, out, -2.0, 3.0 };
    else if (d->kernel == normal_kernel)
        args.normal = (adzi_normal_args){ seed, offset, out, 0.25, 2.0 };
    else if (d->kernel == dropout_kernel)
        args.dropout = (adzi_dropout_args){ seed, offset, x, out, NULL, n, 0.9, 1 / 0.9 };
    else if (d->kernel == randint_kernel)
        args.randint = (adzi_randint_args){ seed, offset, out, dtype == ADZ_BOOL ? 0 : 3,
            dtype == ADZ_BOOL ? 2 : 200 };
    else
        args.bernoulli = (adzi_bernoulli_args){ seed, offset, out, 0.3 };
    return args;
}

static int units_of(const drawing *d, int n)
{
    return (n + d->per_unit - 1) / d->per_unit;
}

static void *zeroed(void)
{
    void *block = calloc(N, WIDEST);
    assert_non_null(block);
    return block;
}

static void published_answers(void **state)
{
    (void)state;
    static const struct {
        uint32_t counter[4], key[2], words[4];
    } known[] = {
        { { 0, 0, 0, 0 }, { 0, 0 }, { 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8 } },
        { { 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff }, { 0xffffffff, 0xffffffff },
            { 0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd } },
        { { 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344 }, { 0xa4093822, 0x299f31d0 },
            { 0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1 } },
    };
    for (size_t k = 0; k < sizeof known / sizeof known[0]; ++k) {
        uint32_t words[4];
        adzi_philox(words, known[k].counter, known[k].key);
        assert_memory_equal(words, known[k].words, sizeof words);
    }
}

/* Word w of counter c of group g makes element 64 g + 16 w + c; here by way of f32 uniforms, whose
 * bits are the word's upper 24. Offsets where the counter carries into its next word are among
 * them. */
static void elements_come_from_their_counters(void **state)
{
    (void)state;
    static const uint64_t offsets[] = { 0, 16, 5, 0xfffffff8u, 0xfffffffffffffff0u };
    const uint64_t seed = 0x123456789abcdef0u;
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    for (size_t o = 0; o < sizeof offsets / sizeof offsets[0]; ++o) {
        for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
            if (!cpu_has_level(level))
                continue;
            float u[SMALL];
            adzi_uniform_args args = { seed, offsets[o], u, 0.0, 1.0 };
            uniform_kernels[level][ADZ_F32](&args, 0, SMALL);
            for (int i = 0; i < SMALL; ++i) {
                uint64_t at = offsets[o] + (uint64_t)(i / 64 * 16 + i % 16);
                const uint32_t counter[4] = { (uint32_t)at, (uint32_t)(at >> 32), 0, 0 };
                uint32_t words[4];
                adzi_philox(words, counter, key);
                uint32_t top = (uint32_t)(u[i] * 0x1p24f);
                assert_int_equal(top, words[i % 64 / 16] >> 8);
            }
        }
    }
}

static void instruction_sets_agree(void **state)
{
    (void)state;
    void *wanted = zeroed(), *got = zeroed();
    for (int k = 0; k < DRAWINGS; ++k) {
        for (int dtype = 0; dtype < drawings[k].dtypes; ++dtype) {
            const void *x = dropout_input(dtype);
            any_args args = args_of(&drawings[k], dtype, 42, 7, x, wanted, N);
            drawings[k].kernel(ADZI_CPU_BASELINE, dtype)(&args, 0, units_of(&drawings[k], N));
            for (int level = 1; level < ADZI_CPU_LEVELS; ++level) {
                if (!cpu_has_level(level))
                    continue;
                args = args_of(&drawings[k], dtype, 42, 7, x, got, N);
                drawings[k].kernel(level, dtype)(&args, 0, units_of(&drawings[k], N));
                if (memcmp(got, wanted, (size_t)N * adz_dtype_size((adz_dtype)dtype)) != 0)
                    fail_msg("%s, dtype %d: %s differs from baseline", drawings[k].name, dtype,
                        cpu_level_names[level]);
            }
        }
    }
    free(wanted);
    free(got);
}

static void cuts_change_nothing(void **state)
{
    (void)state;
    void *wanted = zeroed(), *got = zeroed();
    for (int k = 0; k < DRAWINGS; ++k) {
        for (int dtype = 0; dtype < drawings[k].dtypes; ++dtype) {
            const void *x = dropout_input(dtype);
            for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
                if (!cpu_has_level(level))
                    continue;
                adzi_kernel kernel = drawings[k].kernel(level, dtype);
                size_t bytes = SMALL * adz_dtype_size((adz_dtype)dtype);
                any_args args = args_of(&drawings[k], dtype, 42, 7, x, wanted, SMALL);
                int units = units_of(&drawings[k], SMALL);
                kernel(&args, 0, units);
                memset(got, 0, bytes);
                args = args_of(&drawings[k], dtype, 42, 7, x, got, SMALL);
                for (int begin = 0, step = 1; begin < units; begin += step, step = step * 5 % 131)
                    kernel(&args, begin, begin + step < units ? begin + step : units);
                if (memcmp(got, wanted, bytes) != 0)
                    fail_msg("%s, dtype %d, %s: cut, it differs", drawings[k].name, dtype,
                        cpu_level_names[level]);
            }
        }
    }
    free(wanted);
    free(got);
}

/* A draw moves the generator on by exactly what it used: two draws in a row are one long draw. */
static void counters_are_counted(void **state)
{
    (void)state;
    assert_int_equal(adzi_philox_counters(0, ADZI_DRAW_WORD), 0);
    assert_int_equal(adzi_philox_counters(1, ADZI_DRAW_WORD), 16);
    assert_int_equal(adzi_philox_counters(64, ADZI_DRAW_WORD), 16);
    assert_int_equal(adzi_philox_counters(65, ADZI_DRAW_WORD), 32);
    assert_int_equal(adzi_philox_counters(64, ADZI_DRAW_DOUBLE), 32);
    for (int f64 = 0; f64 < 2; ++f64) {
        double whole[256], parts[256]; /* large enough for both dtypes */
        size_t half = 128 * (f64 ? sizeof(double) : sizeof(float));
        uint64_t used = adzi_philox_counters(128, f64 ? ADZI_DRAW_DOUBLE : ADZI_DRAW_WORD);
        adzi_normal_args args = { 9, 100, whole, 0.0, 1.0 };
        normal_kernels[0][f64](&args, 0, 256);
        args.out = parts;
        normal_kernels[0][f64](&args, 0, 128);
        args.out = (char *)parts + half;
        args.offset += used;
        normal_kernels[0][f64](&args, 0, 128);
        assert_memory_equal(parts, whole, 2 * half);
    }
}

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double identity(double x)
{
    return x;
}

static double normal_distribution(double x)
{
    return 0.5 * erfc(-x * sqrt(0.5));
}

/* sqrt(n) times the largest distance between the sample's distribution and the true one; beyond
 * 1.95 once in a thousand seeds. Sorts x. */
static double kolmogorov_smirnov(double *x, double (*distribution)(double))
{
    qsort(x, N, sizeof *x, ascending);
    double worst = 0;
    for (int i = 0; i < N; ++i) {
        double wanted = distribution(x[i]);
        double distance = fmax((i + 1.0) / N - wanted, wanted - (double)i / N);
        worst = distance > worst ? distance : worst;
    }
    return worst * sqrt(N);
}

/* The sample as doubles. */
static double *widen(const void *sample, int f64)
{
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < N; ++i)
        x[i] = f64 ? ((const double *)sample)[i] : (double)((const float *)sample)[i];
    return x;
}

/* Correlation of neighbours `lag` apart, in standard deviations of its estimate. */
static double neighbours(const double *x, int lag, double mean, double variance)
{
    double sum = 0;
    for (int i = 0; i + lag < N; ++i)
        sum += (x[i] - mean) * (x[i + lag] - mean);
    return sum / variance / sqrt(N - lag);
}

static const int lags[] = { 1, 2, 4, 8, 16, 32, 48, 64 };

static void uniform_is_uniform(void **state)
{
    (void)state;
    for (int f64 = 0; f64 < 2; ++f64) {
        void *sample = zeroed();
        adzi_uniform_args args = { 2024, 0, sample, 0.0, 1.0 };
        uniform_kernels[0][f64](&args, 0, N);
        double *x = widen(sample, f64);
        uint64_t low_bits = 0;
        for (int i = 0; i < N; ++i) {
            assert_true(x[i] >= 0.0 && x[i] < 1.0);
            low_bits |= (uint64_t)(x[i] * 0x1p53);
        }
        assert_true(low_bits == (f64 ? 0x1fffffffffffffu : 0x1fffffe0000000u));
        for (size_t l = 0; l < sizeof lags / sizeof lags[0]; ++l)
            assert_true(fabs(neighbours(x, lags[l], 0.5, 1.0 / 12)) < 3.5);
        assert_true(kolmogorov_smirnov(x, identity) < 1.95);
        free(x);
        free(sample);
    }
}

/* low + (high - low) u may round up to high, which does not belong to the range. */
static void uniform_stays_below_high(void **state)
{
    (void)state;
    void *sample = zeroed();
    const float *x = sample;
    adzi_uniform_args args = { 1, 0, sample, 1.0, 1.0 + 0x1p-22 };
    uniform_kernels[0][ADZ_F32](&args, 0, N);
    for (int i = 0; i < N; ++i)
        assert_true(x[i] >= 1.0f && x[i] < 1.0f + 0x1p-22f);
    args.low = args.high = 5.0;
    uniform_kernels[0][ADZ_F32](&args, 0, 100);
    for (int i = 0; i < 100; ++i)
        assert_true(x[i] == 5.0f);
    free(sample);
}

static void normal_is_normal(void **state)
{
    (void)state;
    for (int f64 = 0; f64 < 2; ++f64) {
        void *sample = zeroed();
        adzi_normal_args args = { 2025, 0, sample, 0.0, 1.0 };
        normal_kernels[0][f64](&args, 0, N);
        double *x = widen(sample, f64);
        double power[5] = { 0 }, largest = 0;
        for (int i = 0; i < N; ++i) {
            double p = x[i];
            for (int k = 1; k < 5; ++k, p *= x[i])
                power[k] += p / N;
            largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
        }
        double unit = 1 / sqrt(N); /* the standard deviations are 1, sqrt 2, sqrt 15, sqrt 96 */
        assert_true(fabs(power[1]) < 3.5 * unit);
        assert_true(fabs(power[2] - 1) < 3.5 * sqrt(2) * unit);
        assert_true(fabs(power[3]) < 3.5 * sqrt(15) * unit);
        assert_true(fabs(power[4] - 3) < 3.5 * sqrt(96) * unit);
        assert_true(largest > 4.3 && largest < 6.7);
        for (size_t l = 0; l < sizeof lags / sizeof lags[0]; ++l)
            assert_true(fabs(neighbours(x, lags[l], 0.0, 1.0)) < 3.5);
        assert_true(kolmogorov_smirnov(x, normal_distribution) < 1.95);
        args.mean = 3.0;
        args.std = 0.0;
        normal_kernels[0][f64](&args, 0, N);
        assert_true((f64 ? ((double *)sample)[N - 1] : (double)((float *)sample)[N - 1]) == 3.0);
        free(x);
        free(sample);
    }
}

/* Box and Muller from libm and the same words: what the kernel's own log, sin and cos came to. */
static void normal_agrees_with_libm(void **state)
{
    (void)state;
    float x[SMALL * 64];
    double y[SMALL * 32];
    adzi_normal_args args = { 5, 0, x, 0.0, 1.0 };
    normal_kernels[0][ADZ_F32](&args, 0, SMALL * 64);
    args.out = y;
    normal_kernels[0][ADZ_F64](&args, 0, SMALL * 32);
    const double turn = 6.283185307179586;
    const uint32_t key[2] = { 5, 0 };
    for (uint32_t c = 0; c < SMALL * 16; ++c) {
        const uint32_t counter[4] = { c, 0, 0, 0 };
        uint32_t w[4];
        adzi_philox(w, counter, key);
        for (int pair = 0; pair < 2; ++pair) {
            double u = ((float)(w[2 * pair] >> 1) + 0.5f) * 0x1p-31f;
            double radius = sqrt(-2 * log(u));
            double angle = turn * (w[2 * pair + 1] * 0x1p-32);
            const float *at = x + c / 16 * 64 + c % 16 + pair * 32;
            assert_true(fabs(at[0] - radius * cos(angle)) < 1e-6);
            assert_true(fabs(at[16] - radius * sin(angle)) < 1e-6);
        }
        double u = ((w[0] >> 11) * 0x1p32 + w[1] + 0.5) * 0x1p-53;
        double radius = sqrt(-2 * log(u)), angle = turn * ((w[2] * 0x1p32 + w[3]) * 0x1p-64);
        const double *at = y + c / 16 * 32 + c % 16;
        assert_true(fabs(at[0] - radius * cos(angle)) < 1e-14);
        assert_true(fabs(at[16] - radius * sin(angle)) < 1e-14);
    }
}

static void bernoulli_has_its_probability(void **state)
{
    (void)state;
    static const double chances[] = { 0.0, 1e-3, 0.1, 0.5, 0.9, 1.0 };
    uint8_t *mask = zeroed();
    for (size_t k = 0; k < sizeof chances / sizeof chances[0]; ++k) {
        double p = chances[k];
        adzi_bernoulli_args args = { 77, 3, mask, p };
        bernoulli_kernels[0][ADZ_U8](&args, 0, N);
        double ones = 0;
        for (int i = 0; i < N; ++i) {
            assert_true(mask[i] <= 1);
            ones += mask[i];
        }
        assert_true(fabs(ones - N * p) <= 3.5 * sqrt(N * p * (1 - p)));
    }
    free(mask);
}

/* The kept element i of a draw, from one counter at a time. */
static bool kept_by_hand(uint64_t seed, uint64_t offset, int i, uint32_t last)
{
    int g = i / 64, c = i % 16, w = i % 64 / 16, shift = g % 2 * 16;
    uint64_t at = offset + (uint64_t)(g / 2 * 16 + c);
    const uint32_t key[2] = { (uint32_t)seed, (uint32_t)(seed >> 32) };
    uint32_t counter[4] = { (uint32_t)at, (uint32_t)(at >> 32), 0, 0 }, words[4];
    adzi_philox(words, counter, key);
    uint32_t half = words[w] >> shift & 0xffff;
    if (half != last >> 16)
        return half < last >> 16;
    counter[2] = 1;
    adzi_philox(words, counter, key);
    return (words[w] >> shift & 0xffff) <= (last & 0xffff);
}

/* Some sixteen of the elements need their further bits; a threshold halfway lets them go both ways.
 */
static void bernoulli_reads_halves_and_settles_ties(void **state)
{
    (void)state;
    const uint32_t last = 0x4ccc8000u;
    uint8_t *mask = zeroed();
    adzi_bernoulli_args args = { 0x123456789abcdef0u, 0xfffffff8u, mask, (last + 1.0) * 0x1p-32 };
    for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
        if (!cpu_has_level(level))
            continue;
        memset(mask, 2, N);
        bernoulli_kernels[level][ADZ_U8](&args, 0, N);
        for (int i = 0; i < N; ++i)
            assert_true(mask[i] == kept_by_hand(args.seed, args.offset, i, last));
    }
    free(mask);
}

/* The bits do not depend on where a launch cuts its groups, odd numbers of them included. */
static void dropout_may_be_cut_anywhere(void **state)
{
    (void)state;
    enum { GROUPS = (SMALL + 63) / 64 };
    float x[SMALL], y[SMALL], cut[SMALL];
    uint64_t kept[GROUPS], again[GROUPS];
    for (int i = 0; i < SMALL; ++i)
        x[i] = (float)i - 500.0f;
    for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
        if (!cpu_has_level(level))
            continue;
        adzi_dropout_args whole = { 6, 32, x, y, kept, SMALL, 0.75, 1 / 0.75 }, part = whole;
        part.y = cut;
        part.kept = again;
        dropout_kernels[level][ADZ_F32](&whole, 0, GROUPS);
        for (int middle = 1; middle < GROUPS; ++middle) {
            memset(cut, 0, sizeof cut);
            memset(again, 0, sizeof again);
            dropout_kernels[level][ADZ_F32](&part, 0, middle);
            dropout_kernels[level][ADZ_F32](&part, middle, GROUPS);
            assert_memory_equal(again, kept, sizeof kept);
            assert_memory_equal(cut, y, sizeof y);
        }
    }
}

static void randint_is_even(void **state)
{
    (void)state;
    int64_t *x = zeroed();
    adzi_randint_args args = { 8, 0, x, -50, 100 };
    randint_kernels[0][ADZ_I64](&args, 0, N);
    double seen[100] = { 0 }, chi_square = 0;
    for (int i = 0; i < N; ++i) {
        assert_true(x[i] >= -50 && x[i] < 50);
        seen[x[i] + 50] += 1;
    }
    for (int k = 0; k < 100; ++k)
        chi_square += (seen[k] - N / 100.0) * (seen[k] - N / 100.0) / (N / 100.0);
    assert_true(chi_square > 60 && chi_square < 149); /* 99 degrees: one in a thousand each */
    free(x);
}

static void randint_takes_any_range(void **state)
{
    (void)state;
    int64_t x[SMALL];
    adzi_randint_args args = { 8, 0, x, INT64_MIN, UINT64_MAX };
    randint_kernels[0][ADZ_I64](&args, 0, SMALL);
    int negative = 0;
    for (int i = 0; i < SMALL; ++i)
        negative += x[i] < 0;
    assert_true(negative > SMALL / 2 - 56 && negative < SMALL / 2 + 56);
    args.low = 12;
    args.range = 1;
    randint_kernels[0][ADZ_I64](&args, 0, SMALL);
    for (int i = 0; i < SMALL; ++i)
        assert_int_equal(x[i], 12);
    /* the upper 64 bits of word pair times range, once by hand */
    args.low = 0;
    args.range = 0xfedcba9876543210u;
    randint_kernels[0][ADZ_I64](&args, 0, 1);
    const uint32_t counter[4] = { 0, 0, 0, 0 }, key[2] = { 8, 0 };
    uint32_t words[4];
    adzi_philox(words, counter, key);
    uint64_t r = (uint64_t)words[0] << 32 | words[1], high = 0, low = 0;
    for (int bit = 63; bit >= 0; --bit) { /* schoolbook, one bit of r at a time */
        high = high << 1 | low >> 63;
        low <<= 1;
        if (r >> bit & 1) {
            high += low + args.range < low;
            low += args.range;
        }
    }
    assert_true((uint64_t)x[0] == high);
}

static void dtypes_draw_the_same(void **state)
{
    (void)state;
    float f32[SMALL];
    uint8_t u8[SMALL];
    int64_t i64[SMALL];
    adzi_randint_args args = { 3, 1, f32, 0, 256 };
    randint_kernels[0][ADZ_F32](&args, 0, SMALL);
    args.out = u8;
    randint_kernels[0][ADZ_U8](&args, 0, SMALL);
    args.out = i64;
    randint_kernels[0][ADZ_I64](&args, 0, SMALL);
    for (int i = 0; i < SMALL; ++i)
        assert_true(f32[i] == (float)i64[i] && u8[i] == i64[i]);
}

/* Dropout against the mask that Bernoulli writes, in both dtypes, into its own input too. */
static void dropout_draws_the_mask_of_bernoulli(void **state)
{
    (void)state;
    uint8_t mask[SMALL];
    adzi_bernoulli_args draw = { 6, 32, mask, 0.75 };
    bernoulli_kernels[0][ADZ_U8](&draw, 0, SMALL);
    float x[SMALL], y[SMALL];
    double x64[SMALL];
    for (int i = 0; i < SMALL; ++i)
        x[i] = (float)(x64[i] = i - 500);
    enum { GROUPS = (SMALL + 63) / 64 };
    uint64_t kept[GROUPS], kept64[GROUPS];
    adzi_dropout_args args = { 6, 32, x, y, kept, SMALL, 0.75, 1 / 0.75 };
    dropout_kernels[0][ADZ_F32](&args, 0, GROUPS);
    args.x = args.y = x64;
    args.kept = kept64;
    dropout_kernels[0][ADZ_F64](&args, 0, GROUPS);
    assert_memory_equal(kept, kept64, sizeof kept);
    for (int i = 0; i < SMALL; ++i) {
        assert_true((kept[i / 64] >> i % 64 & 1) == mask[i]);
        assert_true(y[i] == (mask[i] ? x[i] * (float)(1 / 0.75) : 0.0f));
        assert_true(x64[i] == (mask[i] ? (i - 500) * (1 / 0.75) : 0.0));
    }
}

/* dropout_again drops what dropout did, at every level, and writes no element beyond the last. */
static void dropout_again_drops_the_same(void **state)
{
    (void)state;
    enum { GROUPS = (SMALL + 63) / 64 };
    uint64_t kept[GROUPS], again[GROUPS];
    double x[SMALL], y[SMALL], z[SMALL + 1];
    for (int i = 0; i < SMALL; ++i)
        x[i] = i == 7 ? (double)NAN : i - 500.0;
    for (int f64 = 0; f64 < 2; ++f64) {
        size_t bytes = SMALL * (f64 ? sizeof(double) : sizeof(float));
        for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
            if (!cpu_has_level(level))
                continue;
            adzi_dropout_args args = { 6, 32, x, y, level == 0 ? kept : again, SMALL, 0.75,
                1 / 0.75 };
            dropout_kernels[level][f64](&args, 0, GROUPS);
            assert_memory_equal(args.kept, kept, sizeof kept);
            memset(z, 0x55, sizeof z);
            args.y = z;
            dropout_again_kernels[level][f64](&args, 0, 3);
            dropout_again_kernels[level][f64](&args, 3, GROUPS);
            assert_memory_equal(z, y, bytes);
            assert_int_equal(((unsigned char *)z)[bytes], 0x55);
        }
    }
}

static void dropout_of_all_and_of_nothing(void **state)
{
    (void)state;
    float x[SMALL], y[SMALL];
    for (int i = 0; i < SMALL; ++i)
        x[i] = i == 3 ? NAN : 1.0f;
    adzi_dropout_args args = { 6, 0, x, y, NULL, SMALL, 0.0, INFINITY };
    dropout_kernels[0][ADZ_F32](&args, 0, (SMALL + 63) / 64);
    for (int i = 0; i < SMALL; ++i)
        assert_true(i == 3 ? isnan(y[i]) : y[i] == 0.0f);
    args.keep = args.scale = 1.0;
    dropout_kernels[0][ADZ_F32](&args, 0, (SMALL + 63) / 64);
    for (int i = 0; i < SMALL; ++i)
        assert_true(i == 3 ? isnan(y[i]) : y[i] == 1.0f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_answers),
        cmocka_unit_test(elements_come_from_their_counters),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(counters_are_counted),
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(uniform_stays_below_high),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(normal_agrees_with_libm),
        cmocka_unit_test(bernoulli_has_its_probability),
        cmocka_unit_test(bernoulli_reads_halves_and_settles_ties),
        cmocka_unit_test(dropout_may_be_cut_anywhere),
        cmocka_unit_test(randint_is_even),
        cmocka_unit_test(randint_takes_any_range),
        cmocka_unit_test(dtypes_draw_the_same),
        cmocka_unit_test(dropout_draws_the_mask_of_bernoulli),
        cmocka_unit_test(dropout_again_drops_the_same),
        cmocka_unit_test(dropout_of_all_and_of_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
