/* Tables as programs of different countries write them: separators, comments, missing values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <math.h>
#include <cmocka.h>

#include "base/error.h"
#include "read.h"
#include "../../errors.h"
#include "tests.h"

static adz_csv_options dialect(char delimiter, char decimal, char thousands, char comment)
{
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.delimiter = delimiter;
    o.decimal = decimal;
    o.thousands = thousands;
    o.comment = comment;
    return o;
}

/* One field of a table with one column. */
static void expect_number(const char *field, char decimal, char thousands, double wanted)
{
    char text[80];
    adz_csv_options o = dialect(';', decimal, thousands, 0);
    snprintf(text, sizeof text, "a\n%s\n", field);
    adz_csv *csv = read_text(text, &o);
    if (csv == NULL || at(csv, 0, 0) != wanted) {
        fail_msg("'%s' is %.17g, %s", field, csv != NULL ? at(csv, 0, 0) : (double)NAN,
            adz_error_message());
    }
    adz_csv_free(&csv);
}

static void expect_none(const char *field, char decimal, char thousands)
{
    char text[80];
    adz_csv_options o = dialect(';', decimal, thousands, 0);
    snprintf(text, sizeof text, "a\n%s\n", field);
    assert_null(read_text(text, &o));
    expect_error(ADZ_ERR_FORMAT, "is not a number");
}

static void separators_of_numbers(void **state)
{
    (void)state;
    expect_number("1,5", ',', 0, 1.5);
    expect_number("-,5e2", ',', 0, -50);
    expect_number("+2,", ',', 0, 2);
    expect_number("inf", ',', 0, INFINITY);
    expect_number("1.234.567,89", ',', '.', 1234567.89);
    expect_number("1234567,89", ',', '.', 1234567.89);
    expect_number("-12,345.5e1", '.', ',', -123455);
    expect_number("1'234.5", '.', '\'', 1234.5);
    expect_number("1_000", '.', '_', 1000);
    expect_number("12 345,5", ',', ' ', 12345.5);
    expect_number("12\xc2\xa0\x33\x34\x35,5", ',', ' ', 12345.5);
    expect_number("1\xe2\x80\xaf\x32\x33\x34", ',', ' ', 1234);
    expect_none("1.5", ',', 0);
    expect_none("1,5.5", ',', 0);
    expect_none("1.5", ',', '.');
    expect_none("1.2345", ',', '.');
    expect_none("1.23.456", ',', '.');
    expect_none("1234.567", ',', '.');
    expect_none(".234", ',', '.');
    expect_none("1..234", ',', '.');
    expect_none("1.234.", ',', '.');
    expect_none("1,234.567", ',', '.');
    expect_none("1,5e1.000", ',', '.');
    expect_none("1 234", ',', '.');
    expect_none("-", ',', '.');
}

/* A quoted field may contain the delimiter. */
static void quoted_numbers_may_have_commas(void **state)
{
    (void)state;
    adz_csv_options o = dialect(',', '.', ',', 0);
    adz_csv *csv = read_text("a,b\n\"1,234.5\",2\n", &o);
    assert_non_null(csv);
    assert_true(at(csv, 0, 0) == 1234.5 && at(csv, 0, 1) == 2);
    adz_csv_free(&csv);
    o = dialect(',', ',', 0, 0);
    csv = read_text("a,b\n\"1,5\",2\n", &o);
    assert_non_null(csv);
    assert_true(at(csv, 0, 0) == 1.5 && at(csv, 0, 1) == 2);
    adz_csv_free(&csv);
}

static void the_first_line_may_choose_the_delimiter(void **state)
{
    (void)state;
    adz_csv *csv = read_text("\xef\xbb\xbfsep=;\r\na;b\r\n1;2\r\n", NULL);
    assert_non_null(csv);
    assert_int_equal(adz_csv_column_count(csv), 2);
    assert_true(at(csv, 0, 1) == 2);
    adz_csv_free(&csv);
    csv = read_text("SEP=\t\na\tb\n1\t2\n", NULL);
    assert_non_null(csv);
    assert_int_equal(adz_csv_column_count(csv), 2);
    adz_csv_free(&csv);
    assert_null(read_text("sep=;\na;b\n1;x\n", NULL));
    expect_error(ADZ_ERR_FORMAT, "line 3, column 2 (b): 'x'");
    assert_null(read_text("sep=e\na\n1\n", NULL));
    expect_error(ADZ_ERR_FORMAT, "delimiter 0x65 can be part of a number");
    csv = read_text("sep=;,sep\n1,2\n", NULL); /* names */
    assert_non_null(csv);
    assert_string_equal(adz_csv_name_at(csv, 0), "sep=;");
    adz_csv_free(&csv);
    assert_null(read_text("sep=;", NULL));
    expect_error(ADZ_ERR_FORMAT, "it is empty");
}

static void comments_are_left_out(void **state)
{
    (void)state;
    adz_csv_options o = dialect(',', '.', 0, '#');
    adz_csv *csv = read_text(
        "# made by hand\n\na,\"b#\" # names\n  # more, and more\n1,2# two\n\"3\",4 #\n#", &o);
    assert_non_null(csv);
    assert_int_equal(adz_csv_row_count(csv), 2);
    assert_string_equal(adz_csv_name_at(csv, 1), "b#");
    assert_true(at(csv, 0, 1) == 2 && at(csv, 1, 0) == 3 && at(csv, 1, 1) == 4);
    adz_csv_free(&csv);
    assert_null(read_text("a\n#1\nx\n", &o));
    expect_error(ADZ_ERR_FORMAT, "line 3, column 1 (a): 'x'");
    csv = read_text("#a\n1\n", NULL); /* a name, if no character begins comments */
    assert_non_null(csv);
    assert_string_equal(adz_csv_name_at(csv, 0), "#a");
    adz_csv_free(&csv);
}

static void missing_values_have_many_names(void **state)
{
    (void)state;
    static const char *const names[] = { "#N/A", "#n/a", "<NA>", "NaT", "#NA", "#N/A N/A", "-NaN",
        "1.#IND", "-1.#QNAN", "N/A", "NULL", "None", "?" };
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        char text[80];
        adz_csv_options o = ADZ_CSV_OPTIONS;
        snprintf(text, sizeof text, "a,b\n%s,1\n2,3\n", names[i]);
        assert_null(read_text(text, &o));
        expect_error(ADZ_ERR_FORMAT, "is a missing value");
        o.missing = ADZ_CSV_MISSING_NAN;
        adz_csv *csv = read_text(text, &o);
        assert_non_null(csv);
        assert_true(isnan(at(csv, 0, 0)) && at(csv, 1, 0) == 2);
        adz_csv_free(&csv);
    }
}

/* What a message says about a table of another dialect. */
static void another_dialect_is_recognised(void **state)
{
    (void)state;
    static const char *const names[] = { "a" };
    static const struct {
        const char *text;
        char delimiter;
        bool named;
        const char *says;
    } tables[] = {
        { "a;b\n1;2\n", ',', false, "'1;2' is not a number; a column" },
        { "a;b\n1;2\n", ',', false, "it looks as if the delimiter is ';'" },
        { "a;b\n1,5;2\n", ',', false, "more than 1 fields, the first line has 1; it looks as if" },
        { "a\tb\n1\t2\n", ',', false, "the delimiter is a tab" },
        { "a|b\n1|2\n", ',', true, "there is 'a|b' alone; it looks as if the delimiter is '|'" },
        { "a,b\n1,2\n", ';', true, "there is 'a,b' alone; it looks as if the delimiter is ','" },
        { "b\n1\n", ',', true, "there is 'b' alone" },
        { "a;b\n1,5;2\n", ';', false, "if its comma is a decimal one, set decimal to ','" },
        { "a;b\n1.234.567;2\n", ';', false, "if it has separators of thousands, set thousands" },
    };
    for (size_t i = 0; i < sizeof tables / sizeof *tables; ++i) {
        adz_csv_options o = dialect(tables[i].delimiter, '.', 0, 0);
        o.columns = tables[i].named ? names : NULL;
        o.n_columns = 1;
        assert_null(read_text(tables[i].text, &o));
        expect_error(ADZ_ERR_FORMAT, tables[i].says);
    }
}

static void characters_are_checked(void **state)
{
    (void)state;
    static const struct {
        char delimiter, decimal, thousands, comment;
        const char *says;
    } bad[] = {
        { ';', ';', 0, 0, "decimal 0x3b must be" },
        { ';', 0, 0, 0, "decimal 0x00 must be" },
        { ';', '.', '.', 0, "decimal 0x2e and thousands 0x2e must differ" },
        { ';', '.', 'x', 0, "thousands 0x78 must be" },
        { ';', '.', 0, '1', "comment 0x31 can be part of a field" },
        { ';', '.', 0, ' ', "comment 0x20 can be part" },
        { ';', '.', 0, ',', "comment 0x2c can be part" },
        { '#', '.', 0, '#', "comment 0x23 from both and from delimiter 0x23" },
        { ';', '.', '\'', '\'', "comment 0x27 from both" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        adz_csv_options o =
            dialect(bad[i].delimiter, bad[i].decimal, bad[i].thousands, bad[i].comment);
        assert_null(read_text("a\n1\n", &o));
        expect_error(ADZ_ERR_ARGUMENT, bad[i].says);
    }
}

int dialects_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(separators_of_numbers),
        cmocka_unit_test(quoted_numbers_may_have_commas),
        cmocka_unit_test(the_first_line_may_choose_the_delimiter),
        cmocka_unit_test(comments_are_left_out),
        cmocka_unit_test(missing_values_have_many_names),
        cmocka_unit_test(another_dialect_is_recognised),
        cmocka_unit_test(characters_are_checked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
