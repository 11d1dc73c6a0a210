/* Dropout: its mask, its division into parts, and dropout_again. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "adze/base.h"
#include "tensor/random/random.h"
#include "kernels.h"
#include "../../cpu_levels.h"
#include "tests.h"

/* The bits do not depend on where a launch divides its groups, also at odd numbers of them. */
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
        adzi_dropout_args whole = { &(adz_generator_state){ 6, 32 }, x, y, kept, SMALL, 0.75,
            1 / 0.75 },
                          part = whole;
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

/* Dropout drops what the mask of Bernoulli says, in both dtypes, also in place. */
static void dropout_draws_the_mask_of_bernoulli(void **state)
{
    (void)state;
    uint8_t mask[SMALL];
    adzi_bernoulli_args draw = { &(adz_generator_state){ 6, 32 }, mask, 0.75 };
    bernoulli_kernels[0][ADZ_U8](&draw, 0, SMALL);
    float x[SMALL], y[SMALL];
    double x64[SMALL];
    for (int i = 0; i < SMALL; ++i)
        x[i] = (float)(x64[i] = i - 500);
    enum { GROUPS = (SMALL + 63) / 64 };
    uint64_t kept[GROUPS], kept64[GROUPS];
    adzi_dropout_args args = { &(adz_generator_state){ 6, 32 }, x, y, kept, SMALL, 0.75, 1 / 0.75 };
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

/* dropout_again drops what dropout dropped, at every level, and writes nothing after the end. */
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
            adzi_dropout_args args = { &(adz_generator_state){ 6, 32 }, x, y,
                level == 0 ? kept : again, SMALL, 0.75, 1 / 0.75 };
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
    adzi_dropout_args args = { &(adz_generator_state){ 6, 0 }, x, y, NULL, SMALL, 0.0, INFINITY };
    dropout_kernels[0][ADZ_F32](&args, 0, (SMALL + 63) / 64);
    for (int i = 0; i < SMALL; ++i)
        assert_true(i == 3 ? isnan(y[i]) : y[i] == 0.0f);
    args.keep = args.scale = 1.0;
    dropout_kernels[0][ADZ_F32](&args, 0, (SMALL + 63) / 64);
    for (int i = 0; i < SMALL; ++i)
        assert_true(i == 3 ? isnan(y[i]) : y[i] == 1.0f);
}

int dropout_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(dropout_may_be_cut_anywhere),
        cmocka_unit_test(dropout_draws_the_mask_of_bernoulli),
        cmocka_unit_test(dropout_again_drops_the_same),
        cmocka_unit_test(dropout_of_all_and_of_nothing),
    };
    return cmocka_run_group_tests_name("philox: dropout", tests, NULL, NULL);
}
