/* Philox, its counters, and the same draws on every instruction set and in any parts. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "adze/base.h"
#include "tensor/random/random.h"
#include "kernels.h"
#include "../../cpu_levels.h"
#include "tests.h"

/* A kernel with the dtypes it has and the number of elements that one unit of a launch draws. */
typedef struct drawing {
    const char *name;
    adzi_kernel (*kernel)(int level, int dtype);
    int dtypes, per_unit;
} drawing;

#define KERNEL(name)                                       \
    static adzi_kernel name##_kernel(int level, int dtype) \
    {                                                      \
        return name##_kernels[level][dtype];               \
    }
KERNEL(uniform)
KERNEL(normal)
KERNEL(dropout)
KERNEL(randint)
KERNEL(bernoulli)

static const drawing drawings[] = {
    { "uniform", uniform_kernel, 2, 1 },
    { "normal", normal_kernel, 2, 1 },
    { "dropout", dropout_kernel, 2, 64 },
    { "randint", randint_kernel, 6, 1 },
    { "bernoulli", bernoulli_kernel, 6, 1 },
};
enum { DRAWINGS = sizeof drawings / sizeof drawings[0] };

/* The arguments of any of the kernels. */
typedef union any_args {
    adzi_uniform_args uniform;
    adzi_normal_args normal;
    adzi_dropout_args dropout;
    adzi_randint_args randint;
    adzi_bernoulli_args bernoulli;
} any_args;

/* The input of dropout: 0.5, 1, 1.5 and so on. */
static const void *dropout_input(int dtype)
{
    static float f32[N];
    static double f64[N];
    for (int i = 0; i < N; ++i)
        f32[i] = (float)(f64[i] = 0.5 * (i + 1));
    return dtype == ADZ_F32 ? (const void *)f32 : f64;
}

static any_args args_of(
    const drawing *d, int dtype, const adz_generator_state *state, const void *x, void *out, int n)
{
    any_args args;
    memset(&args, 0, sizeof args);
    if (d->kernel == uniform_kernel)
        args.uniform = (adzi_uniform_args){ state, out, -2.0, 3.0 };
    else if (d->kernel == normal_kernel)
        args.normal = (adzi_normal_args){ state, out, 0.25, 2.0 };
    else if (d->kernel == dropout_kernel)
        args.dropout = (adzi_dropout_args){ state, x, out, NULL, n, 0.9, 1 / 0.9 };
    else if (d->kernel == randint_kernel)
        args.randint = (adzi_randint_args){ state, out, dtype == ADZ_BOOL ? 0 : 3,
            dtype == ADZ_BOOL ? 2 : 200 };
    else
        args.bernoulli = (adzi_bernoulli_args){ state, out, 0.3 };
    return args;
}

static int units_of(const drawing *d, int n)
{
    return (n + d->per_unit - 1) / d->per_unit;
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

/* Word w of counter c of group g makes element 64 g + 16 w + c. An f32 uniform shows the upper 24
 * bits of its word. Some offsets make the counter carry into its next word. */
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
            adzi_uniform_args args = { &(adz_generator_state){ seed, offsets[o] }, u, 0.0, 1.0 };
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
            any_args args =
                args_of(&drawings[k], dtype, &(adz_generator_state){ 42, 7 }, x, wanted, N);
            drawings[k].kernel(ADZI_CPU_BASELINE, dtype)(&args, 0, units_of(&drawings[k], N));
            for (int level = 1; level < ADZI_CPU_LEVELS; ++level) {
                if (!cpu_has_level(level))
                    continue;
                args = args_of(&drawings[k], dtype, &(adz_generator_state){ 42, 7 }, x, got, N);
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
                any_args args =
                    args_of(&drawings[k], dtype, &(adz_generator_state){ 42, 7 }, x, wanted, SMALL);
                int units = units_of(&drawings[k], SMALL);
                kernel(&args, 0, units);
                memset(got, 0, bytes);
                args = args_of(&drawings[k], dtype, &(adz_generator_state){ 42, 7 }, x, got, SMALL);
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

/* A draw advances the generator by what it used: two draws in a row equal one long draw. */
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
        adzi_normal_args args = { &(adz_generator_state){ 9, 100 }, whole, 0.0, 1.0 };
        normal_kernels[0][f64](&args, 0, 256);
        args.out = parts;
        normal_kernels[0][f64](&args, 0, 128);
        args.out = (char *)parts + half;
        args.state = &(adz_generator_state){ args.state->seed, args.state->offset + used };
        normal_kernels[0][f64](&args, 0, 128);
        assert_memory_equal(parts, whole, 2 * half);
    }
}

static void dtypes_draw_the_same(void **state)
{
    (void)state;
    float f32[SMALL];
    uint8_t u8[SMALL];
    int64_t i64[SMALL];
    adzi_randint_args args = { &(adz_generator_state){ 3, 1 }, f32, 0, 256 };
    randint_kernels[0][ADZ_F32](&args, 0, SMALL);
    args.out = u8;
    randint_kernels[0][ADZ_U8](&args, 0, SMALL);
    args.out = i64;
    randint_kernels[0][ADZ_I64](&args, 0, SMALL);
    for (int i = 0; i < SMALL; ++i)
        assert_true(f32[i] == (float)i64[i] && u8[i] == i64[i]);
}

int draws_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_answers),
        cmocka_unit_test(elements_come_from_their_counters),
        cmocka_unit_test(instruction_sets_agree),
        cmocka_unit_test(cuts_change_nothing),
        cmocka_unit_test(counters_are_counted),
        cmocka_unit_test(dtypes_draw_the_same),
    };
    return cmocka_run_group_tests_name("philox: draws", tests, NULL, NULL);
}
