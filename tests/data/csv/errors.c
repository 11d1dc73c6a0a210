/* Tables, columns and options that are refused, and what the error says about them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <cmocka.h>

#include "base/error.h"
#include "read.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

static void errors_say_where(void **state)
{
    (void)state;
    static const struct {
        const char *text, *says;
    } bad[] = {
        { "", "the text: it is empty" },
        { "\n\n \n", "it is empty" },
        { "a,b\n1,2\n3,x4\n", "line 3, column 2 (b): 'x4' is not a number; a column that is not" },
        { "a,b\n1,\"\n\n3\"\n", "line 2, column 2 (b): '??3' is not a number" },
        { "a,\"b\nc\"\n1,2\nx,4\n", "line 4, column 1 (a): 'x' is not" },
        { "a,b\n1\n", "line 2 has 1 fields, the first line has 2" },
        { "a,b\n1,2,3\n", "line 2 has more than 2 fields" },
        { "a,b\n1,2,\n", "line 2 has more than 2 fields" },
        { "a,b\n1,\"2\n3,4\n", "line 2, column 2: the quote that opens here is never closed" },
        { "a,b\n1,\"2\"3\n", "line 2, column 2: something follows the closing quote" },
        { "\"a\"x,b\n", "line 1, column 1: something follows the closing quote" },
        { "a,b\n1,1e400\n", "line 2, column 2 (b): '1e400' is too large for float64" },
        { "a,b\n1,2,5\n", "more than 2 fields" },
        { "a;b\n1,5;2\n", "line 2 has more than 1 fields" },
        { "\xef\xbb\xbf", "it is empty" },
        { "a,b\n\n1,2\nx,4\n", "line 4, column 1 (a): 'x'" },
        { "a,b\r\n1,2\r\nx,4\r\n", "line 3, column 1 (a): 'x'" },
        { "a,b\n1,\"2\"\"", "line 2, column 2: the quote that opens here is never closed" },
        { "a,b\n , 2\n", "line 2, column 1 (a): '' is a missing value" },
        { "a,b\n\" \",2\n", "line 2, column 1 (a): '' is a missing value" },
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; ++i) {
        int64_t bytes = adzi_live_bytes();
        assert_null(read_text(bad[i].text, NULL));
        if (adz_error_code() != ADZ_ERR_FORMAT ||
            strstr(adz_error_message(), bad[i].says) == NULL) {
            fail_msg("%s, wanted \"%s\"", adz_error_message(), bad[i].says);
        }
        adz_error_clear();
        assert_int_equal(adzi_live_bytes(), bytes);
    }
    assert_null(adz_csv_from_memory("a\0b\n1\n", 6, NULL));
    assert_non_null(strstr(adz_error_message(), "no text file"));
    adz_error_clear();
    assert_null(adz_csv_from_memory("a,b\0c\n1,2\n", 10, NULL));
    expect_error(ADZ_ERR_FORMAT, "the name of column 2 contains a zero byte");
    assert_null(adz_csv_from_memory("a\n1\0\n", 5, NULL));
    assert_non_null(strstr(adz_error_message(), "'1?' is not a number"));
    adz_error_clear();
}

/* Without a header line a message has no names, and the first line of the file is a row. */
static void rows_without_names_are_counted(void **state)
{
    (void)state;
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.header = false;
    assert_null(read_text("1,2\n3,x\n", &o));
    expect_error(ADZ_ERR_FORMAT, "the text: line 2, column 2: 'x' is not a number");
}

static void a_file_is_named(void **state)
{
    (void)state;
    write_file(temporary_path("named.csv"), "a\nx\n", 4);
    assert_null(adz_csv_read(temporary_path("named.csv"), NULL));
    expect_error(ADZ_ERR_FORMAT, "named.csv: line 2, column 1 (a): 'x'");
    write_file(temporary_path("named.csv"), "a\n1\n", 4);
    adz_csv *csv = adz_csv_read(temporary_path("named.csv"), NULL);
    assert_null(adz_csv_select(csv, (const char *[]){ "b" }, 1));
    expect_error(ADZ_ERR_ARGUMENT, "named.csv: there is no column 'b'; there is 'a' alone");
    adz_csv_free(&csv);
    temporary_files(true);
}

/* The error message lists as many column names as it has room for, and counts the others. */
static void names_are_listed_as_far_as_they_go(void **state)
{
    (void)state;
    enum { MOST = 120, ROOM = sizeof((adzi_name_text *)NULL)->text - 24 };
    static char texts[MOST][24];
    char *names[MOST];
    adzi_name_text listing;
    memset(&listing, 'x', sizeof listing);
    assert_string_equal(adzi_list_names(&listing, names, 0), "");
    for (int length = 1; length < 20; ++length) {
        for (int i = 0; i < MOST; ++i) {
            memset(texts[i], 'a' + i % 26, (size_t)length);
            names[i] = texts[i];
        }
        for (size_t n = 1; n <= MOST; ++n) {
            char wanted[4 * 24 * MOST] = "", more[32] = "";
            size_t used = 0, listed = 0;
            while (listed < n && used + (size_t)length + 4 < ROOM) {
                used +=
                    (size_t)sprintf(wanted + used, "%s'%s'", listed > 0 ? ", " : "", names[listed]);
                ++listed;
            }
            if (listed < n) {
                sprintf(more, " and %zu more", n - listed);
            }
            strcat(wanted, more);
            assert_string_equal(adzi_list_names(&listing, names, n), wanted);
        }
    }
}

static void what_is_null_is_named(void **state)
{
    (void)state;
    static const char *const none[] = { "a", NULL };
    adz_csv *csv = read_text("a,b\n1,2\n", NULL);
    assert_null(adz_csv_values(NULL));
    assert_non_null(strstr(adz_error_message(), "adz_csv_values: csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_row_count(NULL), -1);
    assert_non_null(strstr(adz_error_message(), "adz_csv_row_count: csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_column_count(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_int_equal(adz_csv_dropped_count(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_csv_name_at(NULL, 0));
    assert_non_null(strstr(adz_error_message(), "adz_csv_name_at: csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_index(NULL, "a"), -1);
    assert_non_null(strstr(adz_error_message(), "csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_index(csv, NULL), -1);
    assert_non_null(strstr(adz_error_message(), "name is NULL"));
    adz_error_clear();
    assert_null(adz_csv_select(NULL, none, 1));
    assert_non_null(strstr(adz_error_message(), "csv is NULL"));
    adz_error_clear();
    assert_null(adz_csv_select(csv, NULL, 1));
    assert_non_null(strstr(adz_error_message(), "names is NULL"));
    adz_error_clear();
    assert_null(adz_csv_select(csv, none, 2));
    assert_non_null(strstr(adz_error_message(), "a name is NULL"));
    adz_error_clear();
    assert_null(adz_csv_select(csv, none, 0));
    assert_non_null(strstr(adz_error_message(), "no column is named"));
    adz_error_clear();
    adz_csv_free(&csv);
    adz_csv_free(&csv);
    adz_csv_free(NULL);
}

static adz_status select_both(void *csv)
{
    static const char *const names[] = { "b", "a" };
    adz_scope *scope = adz_scope_open();
    adz_status status = adzi_status(adz_csv_select(csv, names, 2));
    adz_scope_close(scope);
    return status;
}

/* If any request for memory is refused, no column is handed out. */
static void a_choice_is_whole(void **state)
{
    (void)state;
    adz_csv *csv = read_text("a,b\n1,2\n3,4\n", NULL);
    assert_int_equal(select_both(csv), ADZ_OK);
    assert_int_equal(adz_error_code(), ADZ_OK);
    assert_true(refuse_each(select_both, NULL, csv) >= 3);
    adz_csv_free(&csv);
}

static void columns_are_asked_for_well(void **state)
{
    (void)state;
    static const char *const names[] = { "b", "z" };
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.columns = names;
    o.n_columns = 2;
    assert_null(read_text("a,b\n1,2\n", &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "no column 'z'; there are 'a', 'b'");
    assert_null(read_text("a;b\n1;2\n", &o));
    assert_non_null(
        strstr(adz_error_message(), "there is 'a;b' alone; it looks as if the delimiter is ';'"));
    adz_error_clear();
    assert_null(read_text("b,b,z\n1,2,3\n", &o));
    assert_non_null(strstr(adz_error_message(), "2 columns are named 'b'"));
    adz_error_clear();
    static const char *const twice[] = { "a", "a" };
    o.columns = twice;
    assert_null(read_text("a,b\n1,2\n", &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    adz_csv *csv = read_text("a,b,b\n1,2,3\n", NULL);
    assert_non_null(csv);
    assert_int_equal(adz_csv_index(csv, "b"), -1);
    assert_non_null(strstr(adz_error_message(), "2 columns are named 'b'"));
    adz_error_clear();
    assert_int_equal(adz_csv_index(csv, "q"), -1);
    expect_error(ADZ_ERR_ARGUMENT, "adz_csv_index: the text: there is no column 'q'");
    assert_null(adz_csv_name_at(csv, 3));
    assert_int_equal(adz_error_code(), ADZ_ERR_INDEX);
    adz_error_clear();
    adz_csv_free(&csv);
}

static void options_are_checked(void **state)
{
    (void)state;
    static const char delimiters[] = { '\0', '"', '\n', 'e', '.', '-', '5' };
    adz_csv_options o = ADZ_CSV_OPTIONS;
    for (size_t i = 0; i < sizeof delimiters; ++i) {
        o.delimiter = delimiters[i];
        assert_null(read_text("1\n", &o));
        assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
        adz_error_clear();
    }
    o = (adz_csv_options)ADZ_CSV_OPTIONS;
    o.missing = (adz_csv_missing)7;
    assert_null(read_text("a\n1\n", &o));
    expect_error(ADZ_ERR_ARGUMENT, "missing is 7, which is no adz_csv_missing");
    o = (adz_csv_options)ADZ_CSV_OPTIONS;
    static const char *const unnamed[] = { "a", NULL };
    o.columns = unnamed;
    o.n_columns = 2;
    assert_null(read_text("a,b\n1,2\n", &o));
    expect_error(ADZ_ERR_NULL, "a name of columns is NULL");
    o = (adz_csv_options)ADZ_CSV_OPTIONS;
    o.dtype = ADZ_I64;
    assert_null(read_text("a\n1\n", &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    o.dtype = ADZ_F32;
    assert_null(read_text("a\n1e39\n", &o));
    assert_non_null(strstr(adz_error_message(), "'1e39' is too large for float32"));
    adz_error_clear();
    assert_null(adz_csv_read(temporary_path("none.csv"), NULL));
    assert_int_equal(adz_error_code(), ADZ_ERR_IO);
    adz_error_clear();
    assert_null(adz_csv_from_memory(NULL, 0, NULL));
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
}

static void remember_warning(adz_status status, const char *message, void *user)
{
    (void)status;
    snprintf(user, 200, "%s", message);
}

static void forgotten_header_is_noticed(void **state)
{
    (void)state;
    char warning[200] = "";
    adz_on_warning(remember_warning, warning);
    adz_csv *csv = read_text("1,2\n3,4\n", NULL);
    adz_on_warning(NULL, NULL);
    assert_non_null(csv);
    assert_non_null(strstr(warning, "consists of numbers; set header to false"));
    adz_csv_free(&csv);
}

/* One word among the names, or no header line at all, is no reason to warn. */
static void names_that_are_words_are_no_numbers(void **state)
{
    (void)state;
    static const char *const texts[] = { "a,2\n3,4\n", "1,b\n3,4\n", "1,2\n3,4\n" };
    for (int i = 0; i < 3; ++i) {
        char warning[200] = "";
        adz_csv_options o = ADZ_CSV_OPTIONS;
        o.header = i < 2;
        adz_on_warning(remember_warning, warning);
        adz_csv *csv = read_text(texts[i], &o);
        adz_on_warning(NULL, NULL);
        assert_non_null(csv);
        assert_string_equal(warning, "");
        adz_csv_free(&csv);
    }
}

static adz_status read_one(void *user)
{
    (void)user;
    static const char *const names[] = { "b", "c" };
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.columns = names;
    o.n_columns = 2;
    adz_csv *csv = adz_csv_read(temporary_path("t.csv"), &o);
    adz_status status = csv == NULL ? adz_error_code() : ADZ_OK;
    adz_csv_free(&csv);
    return status;
}

static void refused_memory_harms_nothing(void **state)
{
    (void)state;
    static const char text[] = "a,b,c\n\"x\"\"\",2,0.12345678901234567890123\n,4,5\n1,2,3\n4,5,6\n";
    write_file(temporary_path("t.csv"), text, sizeof text - 1);
    int points = refuse_each(read_one, NULL, NULL);
    assert_true(points >= 10);
    print_message("refused: %d reading\n", points);
    temporary_files(true);
}

int errors_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(columns_are_asked_for_well),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(forgotten_header_is_noticed),
        cmocka_unit_test(names_that_are_words_are_no_numbers),
        cmocka_unit_test(rows_without_names_are_counted),
        cmocka_unit_test(a_file_is_named),
        cmocka_unit_test(refused_memory_harms_nothing),
        cmocka_unit_test(names_are_listed_as_far_as_they_go),
        cmocka_unit_test(what_is_null_is_named),
        cmocka_unit_test(a_choice_is_whole),
    };
    return cmocka_run_group_tests_name("csv: errors", tests, temporary_begin, temporary_end);
}
