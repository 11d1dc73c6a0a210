/* The distributions of the samples. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "adze/base.h"
#include "tensor/random/random.h"
#include "kernels.h"
#include "../../cpu_levels.h"
#include "tests.h"

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

/* sqrt(n) times the largest distance between the distribution of the sample and the true one. It is
 * above 1.95 for one seed in a thousand. Sorts x. */
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

/* The sample converted to double. */
static double *widen(const void *sample, int f64)
{
    double *x = malloc(N * sizeof *x);
    assert_non_null(x);
    for (int i = 0; i < N; ++i)
        x[i] = f64 ? ((const double *)sample)[i] : (double)((const float *)sample)[i];
    return x;
}

/* The correlation of elements at the distance `lag`, in standard deviations of its estimate. */
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
        adzi_uniform_args args = { &(adz_generator_state){ 2024, 0 }, sample, 0.0, 1.0 };
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

/* low + (high - low) u may be rounded up to high, which is outside of the range. */
static void uniform_stays_below_high(void **state)
{
    (void)state;
    void *sample = zeroed();
    const float *x = sample;
    adzi_uniform_args args = { &(adz_generator_state){ 1, 0 }, sample, 1.0, 1.0 + 0x1p-22 };
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
        adzi_normal_args args = { &(adz_generator_state){ 2025, 0 }, sample, 0.0, 1.0 };
        normal_kernels[0][f64](&args, 0, N);
        double *x = widen(sample, f64);
        double power[5] = { 0 }, largest = 0;
        for (int i = 0; i < N; ++i) {
            double p = x[i];
            for (int k = 1; k < 5; ++k, p *= x[i])
                power[k] += p / N;
            largest = fabs(x[i]) > largest ? fabs(x[i]) : largest;
        }
        double unit = 1 / sqrt(N); /* The standard deviations of the four means are 1, sqrt 2, sqrt
                                      15 and sqrt 96 units. */
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

/* Compares the log, sin and cos of the kernel with those of libm, by Box and Muller on the same
 * words. */
static void normal_agrees_with_libm(void **state)
{
    (void)state;
    float x[SMALL * 64];
    double y[SMALL * 32];
    adzi_normal_args args = { &(adz_generator_state){ 5, 0 }, x, 0.0, 1.0 };
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
        adzi_bernoulli_args args = { &(adz_generator_state){ 77, 3 }, mask, p };
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

/* True if element i of a draw is kept, computed from its counter alone. */
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

/* About sixteen elements equal the threshold in their first bits, so that further bits decide. The
 * threshold is in the middle, so that both decisions occur. */
static void bernoulli_reads_halves_and_settles_ties(void **state)
{
    (void)state;
    const uint32_t last = 0x4ccc8000u;
    uint8_t *mask = zeroed();
    adzi_bernoulli_args args = { &(adz_generator_state){ 0x123456789abcdef0u, 0xfffffff8u }, mask,
        (last + 1.0) * 0x1p-32 };
    for (int level = 0; level < ADZI_CPU_LEVELS; ++level) {
        if (!cpu_has_level(level))
            continue;
        memset(mask, 2, N);
        bernoulli_kernels[level][ADZ_U8](&args, 0, N);
        for (int i = 0; i < N; ++i)
            assert_true(mask[i] == kept_by_hand(args.state->seed, args.state->offset, i, last));
    }
    free(mask);
}

static void randint_is_even(void **state)
{
    (void)state;
    int64_t *x = zeroed();
    adzi_randint_args args = { &(adz_generator_state){ 8, 0 }, x, -50, 100 };
    randint_kernels[0][ADZ_I64](&args, 0, N);
    double seen[100] = { 0 }, chi_square = 0;
    for (int i = 0; i < N; ++i) {
        assert_true(x[i] >= -50 && x[i] < 50);
        seen[x[i] + 50] += 1;
    }
    for (int k = 0; k < 100; ++k)
        chi_square += (seen[k] - N / 100.0) * (seen[k] - N / 100.0) / (N / 100.0);
    /* 99 degrees of freedom: each limit is passed by one seed in a thousand. */
    assert_true(chi_square > 60 && chi_square < 149);
    free(x);
}

static void randint_takes_any_range(void **state)
{
    (void)state;
    int64_t x[SMALL];
    adzi_randint_args args = { &(adz_generator_state){ 8, 0 }, x, INT64_MIN, UINT64_MAX };
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
    /* The upper 64 bits of the product of a pair of words and the range, computed here. */
    args.low = 0;
    args.range = 0xfedcba9876543210u;
    randint_kernels[0][ADZ_I64](&args, 0, 1);
    const uint32_t counter[4] = { 0, 0, 0, 0 }, key[2] = { 8, 0 };
    uint32_t words[4];
    adzi_philox(words, counter, key);
    uint64_t r = (uint64_t)words[0] << 32 | words[1], high = 0, low = 0;
    for (int bit = 63; bit >= 0; --bit) { /* long multiplication, one bit of r at a time */
        high = high << 1 | low >> 63;
        low <<= 1;
        if (r >> bit & 1) {
            high += low + args.range < low;
            low += args.range;
        }
    }
    assert_true((uint64_t)x[0] == high);
}

int distributions_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_is_uniform),
        cmocka_unit_test(uniform_stays_below_high),
        cmocka_unit_test(normal_is_normal),
        cmocka_unit_test(normal_agrees_with_libm),
        cmocka_unit_test(bernoulli_has_its_probability),
        cmocka_unit_test(bernoulli_reads_halves_and_settles_ties),
        cmocka_unit_test(randint_is_even),
        cmocka_unit_test(randint_takes_any_range),
    };
    return cmocka_run_group_tests_name("philox: distributions", tests, NULL, NULL);
}
