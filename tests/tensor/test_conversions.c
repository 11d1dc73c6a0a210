/* Conversions of f16 and bf16 from and to f32, at every instruction set. Widening is compared with
 * the definition of the formats for all 65,536 patterns. Rounding is tested at each number of a
 * format, at the middle between it and the next one, and just below and above the middle. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "adze/adze.h"
#include "base/cpu.h"
#include "cpu_levels.h"

enum { PATTERNS = 1 << 16, MOST_COPIES = 8, COUNT_OF_FORMATS = 2 };

typedef struct format {
    adz_dtype dtype;
    int mantissa;      /* bits of it */
    int least;         /* the smallest number above 0 is 2^least */
    uint16_t infinity; /* its pattern */
} format;

static const format formats[COUNT_OF_FORMATS] = { { ADZ_F16, 10, -24, 0x7c00 },
    { ADZ_BF16, 7, -133, 0x7f80 } };

static uint32_t bits_of(float x)
{
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

static float float_of(uint32_t bits)
{
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The value of a positive pattern, by the definition of the format. The pattern of infinity gives
 * the number that would follow the largest one. */
static double value_of(const format *f, uint32_t pattern)
{
    const uint32_t one = 1u << f->mantissa, exponent = pattern >> f->mantissa;
    const uint32_t mantissa = pattern & (one - 1);
    return exponent == 0 ? ldexp(mantissa, f->least)
                         : ldexp(one + mantissa, f->least + (int)exponent - 1);
}

/* The bits of a pattern in f32. A NaN keeps its bits, and a conversion from f16 makes it quiet. */
static uint32_t widened(const format *f, uint32_t pattern)
{
    const uint32_t sign = (pattern & 0x8000u) << 16, rest = pattern & 0x7fffu;
    if (rest < f->infinity) {
        return sign | bits_of((float)value_of(f, rest));
    }
    const uint32_t mantissa = (rest - f->infinity) << (23 - f->mantissa);
    return sign | 0x7f800000u | mantissa | (f->dtype == ADZ_F16 && mantissa != 0 ? 0x400000u : 0);
}

/* What a NaN with these bits becomes: sign and upper bits, quiet. */
static uint16_t narrow_nan(const format *f, uint32_t bits)
{
    const uint32_t quiet = 1u << (f->mantissa - 1), all = (1u << f->mantissa) - 1;
    return (uint16_t)((bits >> 16 & 0x8000u) | f->infinity | quiet |
                      (bits >> (23 - f->mantissa) & all));
}

/* Calls `check` at every instruction set of the processor. */
static void at_all_levels(void (*check)(const format *f))
{
    const int used = adzi_cpu_level, best = adzi_cpu_best();
    for (int level = 0; level <= best; ++level) {
        adzi_cpu_level = level;
        for (int i = 0; i < COUNT_OF_FORMATS; ++i) {
            adz_scope *scope = adz_scope_open();
            check(&formats[i]);
            adz_scope_close(scope);
        }
    }
    adzi_cpu_level = used;
}

/* All patterns, one after the other, as often as asked for. */
static adz_tensor *all_patterns(const format *f, int64_t copies)
{
    static uint16_t patterns[PATTERNS * MOST_COPIES];
    for (int64_t i = 0; i < copies * PATTERNS; ++i) {
        patterns[i] = (uint16_t)i;
    }
    return adz_tensor_from(patterns, ADZ_SHAPE(copies * PATTERNS), f->dtype);
}

/* ---- widening ------------------------------------------------------------------------------- */

static void check_widening(const format *f)
{
    adz_tensor *x = all_patterns(f, 1);
    const float *y = adz_tensor_data(adz_to(x, ADZ_F32));
    const double *y64 = adz_tensor_data(adz_to(x, ADZ_F64));
    for (uint32_t i = 0; i < PATTERNS; ++i) {
        const uint32_t want = widened(f, i);
        if (bits_of(y[i]) != want) {
            fail_msg("%s %04x at %s: %08x, not %08x", adz_dtype_name(f->dtype), i,
                cpu_level_names[adzi_cpu_level], bits_of(y[i]), want);
        }
        const double x64 = (double)float_of(want);
        assert_true(isnan(x64) ? isnan(y64[i]) : y64[i] == x64 && signbit(y64[i]) == signbit(x64));
    }
}

static void every_pattern_is_widened(void **state)
{
    (void)state;
    at_all_levels(check_widening);
}

/* A product with a weight that holds all patterns has the bits of the product with the widened
 * weight. */
static void check_product(const format *f, int64_t m, int64_t n, int64_t copies, bool transposed)
{
    const int64_t k = copies * PATTERNS / n;
    adz_tensor *x = adz_reshape(adz_linspace(-1, 2, m * k, ADZ_F32), ADZ_SHAPE(m, k));
    adz_tensor *w =
        adz_reshape(all_patterns(f, copies), transposed ? ADZ_SHAPE(n, k) : ADZ_SHAPE(k, n));
    adz_tensor *wide = adz_to(w, ADZ_F32);
    adz_tensor *got = transposed ? adz_linear(x, w, ADZ_NONE) : adz_matmul(x, w);
    adz_tensor *want = transposed ? adz_linear(x, wide, ADZ_NONE) : adz_matmul(x, wide);
    assert_non_null(got);
    const float *a = adz_tensor_data(got), *b = adz_tensor_data(want);
    int64_t finite = 0;
    for (int64_t e = 0; e < m * n; ++e) {
        assert_true(bits_of(a[e]) == bits_of(b[e]) || (isnan(a[e]) && isnan(b[e])));
        finite += isfinite(b[e]);
    }
    assert_true(finite > m * n / 2);
}

/* Sums of rows, dot products of one row and of a few, the loops for small products, and tiles. */
static void check_products(const format *f)
{
    check_product(f, 1, 16384, MOST_COPIES, false);
    check_product(f, 1, 1024, MOST_COPIES, true);
    check_product(f, 3, 1024, MOST_COPIES, true);
    check_product(f, 1, 1024, 1, true);
    check_product(f, 40, 1024, 1, true);
}

static void products_widen_every_pattern(void **state)
{
    (void)state;
    at_all_levels(check_products);
}

/* ---- rounding ------------------------------------------------------------------------------- */

/* Numbers in f32, and the patterns that they are rounded to. */
typedef struct rounding {
    float *x;
    uint16_t *want;
    int64_t count;
} rounding;

static void add_both_signs(rounding *r, double x, uint32_t want)
{
    r->x[r->count] = (float)x;
    r->want[r->count++] = (uint16_t)want;
    r->x[r->count] = (float)-x;
    r->want[r->count++] = (uint16_t)(want | 0x8000u);
}

static rounding roundings_of(const format *f)
{
    static const uint32_t nans[] = { 0x7f800001u, 0x7fc00000u, 0xffc01234u, 0x7fa00000u,
        0xff812345u, 0x7fffffffu, 0xffffe000u };
    enum { NANS = sizeof nans / sizeof nans[0] };
    const size_t most = 8 * (size_t)f->infinity + 32 + NANS;
    rounding r = { malloc(most * sizeof *r.x), malloc(most * sizeof *r.want), 0 };
    assert_true(r.x != NULL && r.want != NULL);
    for (uint32_t h = 0; h < f->infinity; ++h) {
        const double low = value_of(f, h), middle = (low + value_of(f, h + 1)) / 2;
        assert_true((double)(float)middle == middle);
        add_both_signs(&r, low, h);
        add_both_signs(&r, nextafterf((float)middle, 0), h);
        add_both_signs(&r, middle, h + (h & 1));
        add_both_signs(&r, nextafterf((float)middle, INFINITY), h + 1);
    }
    add_both_signs(&r, INFINITY, f->infinity);
    add_both_signs(&r, 0x1.fffffep127, f->infinity);
    add_both_signs(&r, 0x1p-149, 0);
    for (size_t i = 0; i < NANS; ++i) {
        r.x[r.count] = float_of(nans[i]);
        r.want[r.count++] = narrow_nan(f, nans[i]);
    }
    return r;
}

/* Fails at the first pattern of y that is not the wanted one. */
static void expect_patterns(const format *f, adz_tensor *y, const rounding *r, int64_t from)
{
    const uint16_t *got = adz_tensor_data(y);
    for (int64_t i = 0; i < adz_tensor_numel(y); ++i) {
        if (got[i] != r->want[from + i]) {
            fail_msg("%s of %08x at %s: %04x, not %04x", adz_dtype_name(f->dtype),
                bits_of(r->x[from + i]), cpu_level_names[adzi_cpu_level], got[i],
                r->want[from + i]);
        }
    }
}

static void check_rounding(const format *f)
{
    const rounding r = roundings_of(f);
    adz_tensor *x = adz_tensor_from(r.x, ADZ_SHAPE(r.count), ADZ_F32);
    expect_patterns(f, adz_to(x, f->dtype), &r, 0);
    expect_patterns(f, adz_to(adz_to(x, ADZ_F64), f->dtype), &r, 0);
    /* Every number of elements that vectors leave over, and elements that are not contiguous. */
    for (int64_t n = 1; n <= 40; ++n) {
        const int64_t from = r.count - n;
        adz_tensor *part = adz_narrow(x, 0, from, n);
        expect_patterns(f, adz_to(part, f->dtype), &r, from);
        adz_tensor *columns = adz_stack((adz_tensor *[]){ part, part }, 2, 1);
        expect_patterns(f, adz_to(adz_select(columns, 1, 1), f->dtype), &r, from);
    }
    free(r.x);
    free(r.want);
}

/* Doubles next to the middle of two numbers, which f32 would move to the middle. */
static void check_doubles(const format *f)
{
    const int64_t n = 2 * (int64_t)f->infinity;
    double *x = malloc((size_t)n * sizeof *x);
    assert_non_null(x);
    for (uint32_t h = 0; h < f->infinity; ++h) {
        const double sign = h % 3 == 0 ? -1 : 1;
        const double middle = (value_of(f, h) + value_of(f, h + 1)) / 2;
        x[2 * h] = sign * nextafter(middle, 0);
        x[2 * h + 1] = sign * nextafter(middle, INFINITY);
    }
    const uint16_t *got =
        adz_tensor_data(adz_to(adz_tensor_from(x, ADZ_SHAPE(n), ADZ_F64), f->dtype));
    for (uint32_t i = 0; i < (uint32_t)n; ++i) {
        const uint32_t wanted = (i / 2 + i % 2) | (i / 2 % 3 == 0 ? 0x8000u : 0);
        if (got[i] != wanted) {
            fail_msg("%s of %a at %s: %04x, not %04x", adz_dtype_name(f->dtype), x[i],
                cpu_level_names[adzi_cpu_level], got[i], wanted);
        }
    }
    const uint16_t *filled = adz_tensor_data(adz_full(ADZ_SHAPE(1), x[1], f->dtype));
    assert_int_equal(filled[0], got[1]);
    free(x);
}

/* One above the middle of two numbers in bf16, which neither f32 nor f64 has. */
static void check_integers(const format *f)
{
    if (f->dtype != ADZ_BF16) {
        return;
    }
    const int64_t one = (INT64_C(1) << 60) + (INT64_C(1) << 52) + 1, integers[] = { one, -one };
    const int32_t whole[] = { (1 << 30) + (1 << 22) + 1 };
    const uint16_t *y =
        adz_tensor_data(adz_to(adz_tensor_from(integers, ADZ_SHAPE(2), ADZ_I64), ADZ_BF16));
    const uint16_t *z =
        adz_tensor_data(adz_to(adz_tensor_from(whole, ADZ_SHAPE(1), ADZ_I32), ADZ_BF16));
    assert_int_equal(y[0], 0x5d81); /* 129 * 2^53 */
    assert_int_equal(y[1], 0xdd81);
    assert_int_equal(z[0], 0x4e81); /* 129 * 2^23 */
}

static void wide_numbers_are_rounded_once(void **state)
{
    (void)state;
    at_all_levels(check_doubles);
    at_all_levels(check_integers);
}

static void rounding_is_to_nearest_even(void **state)
{
    (void)state;
    at_all_levels(check_rounding);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_pattern_is_widened),
        cmocka_unit_test(products_widen_every_pattern),
        cmocka_unit_test(rounding_is_to_nearest_even),
        cmocka_unit_test(wide_numbers_are_rounded_once),
    };
    return cmocka_run_group_tests_name("conversions", tests, NULL, NULL);
}
