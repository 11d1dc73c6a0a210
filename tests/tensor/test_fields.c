/* Tables of fields: defaults, structs of other versions, checks with their messages, and printing.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "../errors.h"
#include "adze/options.h"
#include "tensor/fields.h"

typedef struct {
    size_t size;
    double slope;
    bool flag;
    int n;
    int64_t whole;
    uint64_t natural;
    int mode;
    adz_shape stride;
    adz_dtype dtype;
    int newer; /* a field that an older program lacks */
} my_options;

/* What the reader fills: the options, and arguments behind them. */
typedef struct {
    my_options o;
    int64_t features;
} my_state;

#define MY_OPTIONS                                                                    \
    {                                                                                 \
        .size = sizeof(my_options), .slope = 0.25, .flag = true, .n = -3, .whole = 7, \
        .natural = 9, .mode = 2, .stride = { 0, { 0 } }, .dtype = ADZ_F64, .newer = 5 \
    }

static const char *const modes[] = { "zero", "", "two", NULL };

static const adz_field rows[] = {
    ADZ_FIELD(my_state, features, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(
        my_options, slope, .value = 0.25, ADZ_AT_LEAST(0), .none = -1, .none_name = "MY_NONE"),
    ADZ_FIELD(my_options, flag, .value = true, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(my_options, n, .value = -3, ADZ_CLOSED(-4, 4)),
    ADZ_FIELD(my_options, whole, .value = 7, ADZ_ABOVE_TO(0, 9), .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(my_options, natural, .value = 9, ADZ_AT_LEAST(1), .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD_AS(my_options, mode, "mode", ADZ_FIELD_ENUM, .value = 2, .values = modes),
    ADZ_FIELD_AS(my_options, stride, "stride", ADZ_FIELD_SIZES, .value = 1, ADZ_AT_LEAST(1)),
    ADZ_FIELD_AS(
        my_options, dtype, "dtype", ADZ_FIELD_DTYPE, .value = ADZ_F64, .shown = ADZ_SHOWN_NEVER),
    ADZ_FIELD(my_options, newer, .value = 5, .shown = ADZ_SHOWN_NEVER),
};

void my_options_init(my_options *options, size_t size);
ADZ_OPTIONS_TABLE(my_options, MY_OPTIONS, rows)

static bool take(my_state *s, const my_options *options)
{
    memset(s, 0xA5, sizeof *s);
    s->features = 4;
    return adz_options_take("my_layer_new", &my_options_table, s, options);
}

static void test_defaults(void **state)
{
    (void)state;
    const my_options macro = MY_OPTIONS;
    my_options o;
    my_state s;
    memset(&o, 0xA5, sizeof o);
    my_options_init(&o, sizeof o);
    assert_true(take(&s, NULL));
    const my_options *both[] = { &o, &s.o };
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(both[i]->size, sizeof o);
        assert_true(both[i]->slope == macro.slope && both[i]->flag && both[i]->n == -3);
        assert_true(both[i]->whole == 7 && both[i]->natural == 9 && both[i]->mode == 2);
        assert_true(both[i]->stride.rank == 0 && both[i]->dtype == ADZ_F64 && both[i]->newer == 5);
    }
    assert_int_equal(s.features, 4);
    assert_int_equal(adz_error_code(), ADZ_OK);
}

typedef struct list_options {
    size_t size;
    int n;
    int64_t sizes[2];
} list_options;

/* A default outside its bounds is refused. Elements of an array that are not used have none. */
static void test_wrong_defaults(void **state)
{
    (void)state;
    adz_field fields[] = { ADZ_FIELD(list_options, n, ADZ_CLOSED(0, 2)),
        ADZ_FIELD_AS(list_options, sizes, "sizes", ADZ_FIELD_I64, .count = 2, .counted = true,
            ADZ_SIZE_FROM(1)) };
    const adz_options_table table = { "LIST_OPTIONS", sizeof(list_options), fields, 2 };
    list_options o;
    assert_int_equal(adz_options_defaults("list", &table, &o, sizeof o), ADZ_OK);
    fields[0].value = 1;
    assert_int_equal(adz_options_defaults("list", &table, &o, sizeof o), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "list: sizes is 0, but must be 1 or more");
    fields[0].value = 3;
    assert_int_equal(adz_options_defaults("list", &table, &o, sizeof o), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "n is 3, but must be in [0, 2]");
}

/* An older program has a shorter struct, a newer one a longer struct. */
static void test_versions(void **state)
{
    (void)state;
    struct {
        my_options o;
        double unknown;
    } longer = { MY_OPTIONS, 3 };
    my_options o = MY_OPTIONS;
    my_state s;
    o.size = offsetof(my_options, newer);
    o.newer = 77;
    o.n = 2;
    assert_true(take(&s, &o));
    assert_int_equal(s.o.newer, 5);
    assert_int_equal(s.o.n, 2);
    assert_int_equal(s.o.size, sizeof o);
    longer.o.size = sizeof longer;
    longer.o.newer = 6;
    assert_true(take(&s, &longer.o));
    assert_int_equal(s.o.newer, 6);
    memset(&longer, 0xA5, sizeof longer);
    my_options_init(&longer.o, sizeof longer);
    assert_int_equal(longer.o.size, sizeof longer);
    assert_true(longer.o.newer == 5 && longer.unknown == 0);
    memset(&o, 0xA5, sizeof o);
    my_options_init(&o, offsetof(my_options, newer));
    assert_true(o.n == -3 && o.newer == (int)0xA5A5A5A5);
    o.size = 0;
    assert_false(take(&s, &o));
    expect_error(ADZ_ERR_ARGUMENT, "begin with MY_OPTIONS");
}

/* The message of a table that refuses `change`. */
#define EXPECT_REFUSED(status, message, change) \
    do {                                        \
        my_options o = MY_OPTIONS;              \
        my_state s;                             \
        change;                                 \
        assert_false(take(&s, &o));             \
        expect_error((status), (message));      \
    } while (0)

static void test_bounds(void **state)
{
    (void)state;
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT,
        "my_layer_new: slope is -0.5, but must be 0 or more or MY_NONE", o.slope = -0.5);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "slope is nan, but must be 0 or more", o.slope = NAN);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "n is 5, but must be in [-4, 4]", o.n = 5);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "whole is 0, but must be above 0 and at most 9", o.whole = 0);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "natural is 0, but must be 1 or more", o.natural = 0);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "mode is 1, but must be 0 (zero) or 2 (two)", o.mode = 1);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "mode is -1, but must be", o.mode = -1);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "mode is 3, but must be", o.mode = 3);
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "stride is [2, 0], but each size must be 1 or more",
        o.stride = ADZ_SHAPE(2, 0));
    EXPECT_REFUSED(ADZ_ERR_ARGUMENT, "stride has -1 sizes", o.stride.rank = -1);
    EXPECT_REFUSED(
        ADZ_ERR_ARGUMENT, "stride has 9 sizes", o.stride = ADZ_SHAPE(1, 1, 1, 1, 1, 1, 1, 1);
        o.stride.rank = 9);
    EXPECT_REFUSED(ADZ_ERR_DTYPE, "parameters are float32 or float64", o.dtype = ADZ_I64);
    my_options o = MY_OPTIONS;
    my_state s;
    o.slope = -1;
    o.natural = UINT64_MAX;
    assert_true(take(&s, &o));
    o.slope = INFINITY;
    assert_true(take(&s, &o));
}

/* Each kind of bounds with values at and next to them. */
static void test_ends(void **state)
{
    (void)state;
    static const struct {
        adz_field field;
        double inside[2], outside[3];
        const char *message;
    } cases[] = {
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_CLOSED(0, 1) }, { 0, 1 },
            { -1e-9, 1.0001, NAN }, "in [0, 1]" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_BELOW(0, 1) }, { 0, 0.999 }, { -1e-9, 1, NAN },
            "at least 0 and below 1" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_ABOVE_TO(0, 1) }, { 1e-9, 1 }, { 0, 1.1, NAN },
            "above 0 and at most 1" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_BETWEEN(0, 1) }, { 1e-9, 0.9 }, { 0, 1, NAN },
            "above 0 and below 1" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_ABOVE(2) }, { 2.5, INFINITY }, { 2, 1, NAN },
            "above 2" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_FINITE_ABOVE(2) }, { 2.5, 3 },
            { 2, INFINITY, NAN }, "finite and above 2" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_FINITE_FROM(2) }, { 2, 3 },
            { 1.9, INFINITY, NAN }, "finite and 2 or more" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_FINITE }, { -1e300, 1e300 },
            { -INFINITY, INFINITY, NAN }, "finite" },
        { { .name = "x", .kind = ADZ_FIELD_F64, ADZ_CLOSED(-INFINITY, INFINITY) },
            { -INFINITY, INFINITY }, { NAN, NAN, NAN }, "a number" },
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        for (int k = 0; k < 2; ++k) {
            assert_true(adz_fields_check("op", &cases[i].field, 1, &cases[i].inside[k]));
            assert_true(adzi_field_check_number("op", &cases[i].field, cases[i].inside[k]));
            assert_true(adzi_field_takes("op", &cases[i].field, cases[i].inside[k]));
        }
        for (int k = 0; k < 3; ++k) {
            assert_false(adz_fields_check("op", &cases[i].field, 1, &cases[i].outside[k]));
            expect_error(ADZ_ERR_ARGUMENT, cases[i].message);
            assert_false(adzi_field_check_number("op", &cases[i].field, cases[i].outside[k]));
            expect_error(ADZ_ERR_ARGUMENT, cases[i].message);
            assert_false(adzi_field_takes("op", &cases[i].field, cases[i].outside[k]));
            expect_error(ADZ_ERR_ARGUMENT, cases[i].message);
        }
    }
}

/* Bounds of whole numbers, of which a double does not hold all. */
static void test_whole_ends(void **state)
{
    (void)state;
    const adz_field size = { .name = "n", .kind = ADZ_FIELD_I64, ADZ_SIZE_FROM(0) };
    const int64_t largest = INT64_MAX / 16, beyond = INT64_MAX / 16 + 1;
    assert_true(adz_fields_check("op", &size, 1, &largest));
    assert_false(adz_fields_check("op", &size, 1, &beyond));
    expect_error(ADZ_ERR_ARGUMENT, "n is 576460752303423488, more than fit in memory");
    /* A double does not hold 2^53 + 1. */
    const adz_field whole = { .name = "n", .kind = ADZ_FIELD_I64, ADZ_CLOSED(0, 0x1p53) };
    const int64_t last = (int64_t)1 << 53, behind = last + 1;
    assert_true(adz_fields_check("op", &whole, 1, &last));
    assert_false(adz_fields_check("op", &whole, 1, &behind));
    expect_error(ADZ_ERR_ARGUMENT, "n is 9007199254740993, but must be in");
    assert_false(adzi_field_check_number("op", &size, 2.5));
    expect_error(ADZ_ERR_ARGUMENT, "n is 2.5, but must be a whole number");
}

static void expect_printed(const my_state *s, const char *wanted)
{
    adzi_text text = { 0 };
    adzi_fields_print(&text, rows, sizeof rows / sizeof *rows, s, ADZI_PYTHON);
    assert_string_equal(adzi_text_get(&text), wanted);
    adzi_text_free(&text);
}

static void test_printed(void **state)
{
    (void)state;
    my_state s = { MY_OPTIONS, 4 };
    expect_printed(&s, "4, slope=0.25, n=-3, mode=two, stride=1");
    s.o.slope = -1;
    s.o.flag = false;
    s.o.whole = 8;
    s.o.stride = ADZ_SHAPE(2, 3);
    expect_printed(&s, "4, slope=None, flag=False, n=-3, whole=8, mode=two, stride=(2, 3)");
    s.o.slope = 2;
    s.o.stride = ADZ_SHAPE(3);
    expect_printed(&s, "4, slope=2.0, flag=False, n=-3, whole=8, mode=two, stride=3");
}

static void test_nulls(void **state)
{
    (void)state;
    my_state s = { MY_OPTIONS, 4 };
    assert_true(adz_fields_check("op", NULL, 0, NULL));
    assert_false(adz_fields_check("op", NULL, 1, &s));
    expect_error(ADZ_ERR_NULL, "fields");
    assert_false(adz_fields_check("op", rows, 1, NULL));
    expect_error(ADZ_ERR_NULL, "values");
    assert_false(adz_options_take("op", NULL, &s, NULL));
    expect_error(ADZ_ERR_NULL, "table");
    assert_false(adz_options_take("op", &my_options_table, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "all");
    my_options_init(NULL, sizeof s.o);
    expect_error(ADZ_ERR_NULL, "my_options_init");
    my_options_init(&s.o, 4);
    expect_error(ADZ_ERR_ARGUMENT, "size is 4");
    assert_int_equal(adz_options_defaults("op", NULL, &s, sizeof s), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "table");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_defaults),
        cmocka_unit_test(test_wrong_defaults),
        cmocka_unit_test(test_versions),
        cmocka_unit_test(test_bounds),
        cmocka_unit_test(test_ends),
        cmocka_unit_test(test_whole_ends),
        cmocka_unit_test(test_printed),
        cmocka_unit_test(test_nulls),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
