/* CSV: what a table may look like, and what is said about one that cannot be read. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <float.h>
#include <locale.h>
#include <math.h>

#include "adze/data/csv.h"
#include "base/error.h"
#include "base/number.h"
#include "data/csv.h"
#include "../errors.h"
#include "../temporary.h"
#include "tensor/tensor.h"

static adz_csv *read_text(const char *text, const adz_csv_options *options)
{
    return adz_csv_from_memory(text, strlen(text), options);
}

static double at(adz_csv *csv, int64_t row, int64_t column)
{
    return adz_tensor_at(adz_csv_values(csv), (int64_t[]){ row, column });
}

/* ---- what can be read ----------------------------------------------------------------------- */

static void shapes_of_tables(void **state)
{
    (void)state;
    static const char *const same[] = {
        "a,b\n1,2\n3,4\n",
        "a,b\n1,2\n3,4",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4\r",
        ("\xef\xbb\xbf"
         "a,b\n1,2\n3,4\n"),
        "\"a\",\"b\"\n\"1\",\"2\"\n\"3\",\"4\"\n",
        "\n\na,b\n\n1,2\n  \n3,4\n\n\n",
        " a , b \n 1 ,\t2\n3 , \"4\" \n",
        "a,b\n1,\" 2 \"\n3,4\n",
        "a,b\n+1.0,2e0\n0.3E+1,.4e1\n",
    };
    for (size_t i = 0; i < sizeof same / sizeof *same; ++i) {
        adz_csv *csv = read_text(same[i], NULL);
        if (csv == NULL) {
            fail_msg("table %zu: %s", i, adz_error_message());
        }
        assert_int_equal(adz_csv_rows(csv), 2);
        assert_int_equal(adz_csv_columns(csv), 2);
        assert_string_equal(adz_csv_name(csv, 0), "a");
        assert_string_equal(adz_csv_name(csv, 1), "b");
        assert_true(at(csv, 0, 0) == 1 && at(csv, 0, 1) == 2);
        assert_true(at(csv, 1, 0) == 3 && at(csv, 1, 1) == 4);
        assert_int_equal(adz_tensor_dtype(adz_csv_values(csv)), ADZ_F64);
        adz_csv_free(&csv);
        assert_null(csv);
    }
}

static void quoted_names(void **state)
{
    (void)state;
    adz_csv *csv = read_text("\"a \"\"big\"\" one\",\"b,\nc\",\"\"\n1,2,3\n", NULL);
    assert_non_null(csv);
    assert_string_equal(adz_csv_name(csv, 0), "a \"big\" one");
    assert_string_equal(adz_csv_name(csv, 1), "b,\nc");
    assert_string_equal(adz_csv_name(csv, 2), "");
    assert_int_equal(adz_csv_find(csv, "b,\nc"), 1);
    adz_csv_free(&csv);
}

static void options_are_heard(void **state)
{
    (void)state;
    adz_csv_options o;
    adz_csv_options_init(&o, sizeof o);
    assert_true(o.header && o.delimiter == ',' && o.dtype == ADZ_F64);
    o.header = false;
    o.delimiter = ';';
    o.dtype = ADZ_F32;
    adz_csv *csv = read_text("1;2.5\n3;4\n", &o);
    assert_non_null(csv);
    assert_int_equal(adz_csv_rows(csv), 2);
    assert_string_equal(adz_csv_name(csv, 1), "1");
    assert_int_equal(adz_tensor_dtype(adz_csv_values(csv)), ADZ_F32);
    assert_true(at(csv, 0, 1) == 2.5);
    adz_csv_free(&csv);
    o.delimiter = ' ';
    csv = read_text("1 2\n 3 4\n", &o);
    assert_null(csv); /* a space is a field of its own then */
    adz_error_clear();
    o.delimiter = '\t';
    csv = read_text("1\t 2\n3\t4\n", &o);
    assert_non_null(csv);
    assert_true(at(csv, 0, 1) == 2);
    adz_csv_free(&csv);
}

static void only_some_columns(void **state)
{
    (void)state;
    static const char *const names[] = { "y", "a" };
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.columns = names;
    o.n_columns = 2;
    adz_csv *csv = read_text("id,a,note,y\nA1,1,\"said \"\"no\"\"\",9\nA2,2,,8\n", &o);
    assert_non_null(csv);
    assert_int_equal(adz_csv_columns(csv), 2);
    assert_string_equal(adz_csv_name(csv, 0), "y");
    assert_true(at(csv, 1, 0) == 8 && at(csv, 1, 1) == 2);
    adz_scope *scope = adz_scope_open();
    adz_tensor *x = adz_csv_select(csv, &names[1], 1);
    assert_int_equal(adz_tensor_size(x, 1), 1);
    assert_true(adz_tensor_data_f64(x)[0] == 1 && adz_tensor_data_f64(x)[1] == 2);
    adz_scope_close(scope);
    adz_csv_free(&csv);
}

static void missing_values(void **state)
{
    (void)state;
    static const char text[] =
        "a,b\n1,2\n,3\n4,NA\n5,nan\n6,\"\"\n7,n/a\n8,NULL\n9,?\n10,None\n11,12\n";
    adz_csv_options o = ADZ_CSV_OPTIONS;
    assert_null(read_text(text, &o));
    assert_int_equal(adz_error_code(), ADZ_ERR_FORMAT);
    expect_error(ADZ_ERR_FORMAT, "line 3, column 1 (a): '' is a missing value");
    o.missing = ADZ_CSV_MISSING_NAN;
    adz_csv *csv = read_text(text, &o);
    assert_non_null(csv);
    assert_int_equal(adz_csv_rows(csv), 10);
    assert_true(isnan(at(csv, 1, 0)) && at(csv, 1, 1) == 3);
    for (int64_t i = 2; i < 9; ++i) {
        assert_true(isnan(at(csv, i, 1)) && at(csv, i, 0) == (double)(i + 2));
    }
    adz_csv_free(&csv);
    o.missing = ADZ_CSV_MISSING_DROP;
    csv = read_text(text, &o);
    assert_non_null(csv);
    assert_int_equal(adz_csv_rows(csv), 2);
    assert_int_equal(adz_csv_dropped(csv), 8);
    assert_true(at(csv, 1, 0) == 11 && at(csv, 1, 1) == 12);
    adz_csv_free(&csv);
}

static void empty_tables(void **state)
{
    (void)state;
    adz_csv *csv = read_text("a,b\n", NULL);
    assert_non_null(csv);
    assert_int_equal(adz_csv_rows(csv), 0);
    assert_int_equal(adz_csv_columns(csv), 2);
    adz_csv_free(&csv);
}

static void huge_fields(void **state)
{
    (void)state;
    size_t size = 300000;
    char *text = malloc(size + 64);
    size_t n = (size_t)sprintf(text, "a,b\n\"");
    memset(text + n, '"', size); /* doubled quotes throughout */
    n += size;
    n += (size_t)sprintf(text + n, "\",0.");
    char *digits = text + n;
    memset(digits, '3', 40);
    n += 40;
    static const char *const b = "b";
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.columns = &b;
    o.n_columns = 1;
    adz_csv *csv = adz_csv_from_memory(text, n, &o);
    assert_non_null(csv);
    assert_true(at(csv, 0, 0) == 1.0 / 3);
    adz_csv_free(&csv);
    n = (size_t)sprintf(text, "a\n");
    memset(text + n, '1', 5000); /* more digits than a double has */
    n += 5000;
    n += (size_t)sprintf(text + n, "e-4999");
    csv = adz_csv_from_memory(text, n, NULL);
    assert_non_null(csv);
    assert_true(fabs(at(csv, 0, 0) - 10.0 / 9) < 1e-15);
    adz_csv_free(&csv);
    free(text);
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* Every double that is printed comes back, whatever the locale, and so does what strtod reads. */
static void numbers_are_exact(void **state)
{
    (void)state;
    setlocale(LC_ALL, "de_DE.UTF-8"); /* a comma where others have a point, if it is installed */
    adzi_number_reader reader;
    assert_true(adzi_number_begin(&reader));
    uint64_t bits = 88172645463325252u;
    for (int i = 0; i < 200000; ++i) {
        bits ^= bits << 13;
        bits ^= bits >> 7;
        bits ^= bits << 17;
        double wanted, got = 0;
        memcpy(&wanted, &bits, sizeof wanted);
        if (i % 2 == 0) { /* the short ones that tables are made of */
            wanted = (double)(int64_t)(bits % 2000000001u) / (i % 4 == 0 ? 1e3 : 1e7) - 100;
        }
        if (!isfinite(wanted)) {
            continue;
        }
        char text[64];
        int n = snprintf(text, sizeof text, "%.17g", wanted);
        char *comma = strchr(text, ',');
        if (comma != NULL) {
            *comma = '.';
        }
        assert_int_equal(adzi_number_read(&reader, text, (size_t)n, &got), ADZI_NUMBER_OK);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
    setlocale(LC_ALL, "C");
    static const char *const texts[] = { "0", "-0", "1", "1.", ".5", "1e5", "1E-5",
        "123456789012345678", "9007199254740993", "9007199254740992e1", "1e22", "1e23", "123e-30",
        "4.9e-324", "1e-400", "2.2250738585072011e-308", "1.7976931348623157e308",
        "0.000000000000000000000000000001", "00000000000000000000000012.5",
        "1234567890.1234567890123456789", "1e-99999999999" };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        double got = 7, wanted = strtod(texts[i], NULL);
        assert_int_equal(
            adzi_number_read(&reader, texts[i], strlen(texts[i]), &got), ADZI_NUMBER_OK);
        assert_memory_equal(&got, &wanted, sizeof got);
    }
    static const char *const none[] = { "", "-", "+", ".", "e5", "1e", "1e+", "1.2.3", "1 2",
        "0x10", "1,5", "--1", "1f", "abc", "infinit", "1e5x", "nan" };
    for (size_t i = 0; i < sizeof none / sizeof *none; ++i) {
        double got;
        assert_int_equal(
            adzi_number_read(&reader, none[i], strlen(none[i]), &got), ADZI_NUMBER_NONE);
    }
    double got;
    assert_int_equal(adzi_number_read(&reader, "-Inf", 4, &got), ADZI_NUMBER_OK);
    assert_true(isinf(got) && got < 0);
    assert_int_equal(adzi_number_read(&reader, "1e309", 5, &got), ADZI_NUMBER_TOO_LARGE);
    assert_int_equal(
        adzi_number_read(&reader, "1e99999999999999", 16, &got), ADZI_NUMBER_TOO_LARGE);
    assert_int_equal(adzi_number_read(&reader, "12345", 3, &got), ADZI_NUMBER_OK);
    assert_true(got == 123); /* the length bounds it, not a terminator */
    adzi_number_end(&reader);
}

/* ---- what cannot be read -------------------------------------------------------------------- */

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
    assert_null(adz_csv_from_memory("a\n1\0\n", 5, NULL));
    assert_non_null(strstr(adz_error_message(), "'1?' is not a number"));
    adz_error_clear();
}

/* The message lists as many names as there is room for, and counts the others. */
static void names_are_listed_as_far_as_they_go(void **state)
{
    (void)state;
    enum { MOST = 120, ROOM = sizeof((adzi_listing *)NULL)->text - 24 };
    static char texts[MOST][24];
    char *names[MOST];
    adzi_listing listing;
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
    assert_int_equal(adz_csv_rows(NULL), -1);
    assert_non_null(strstr(adz_error_message(), "adz_csv_rows: csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_columns(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_int_equal(adz_csv_dropped(NULL), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_NULL);
    adz_error_clear();
    assert_null(adz_csv_name(NULL, 0));
    assert_non_null(strstr(adz_error_message(), "adz_csv_name: csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_find(NULL, "a"), -1);
    assert_non_null(strstr(adz_error_message(), "csv is NULL"));
    adz_error_clear();
    assert_int_equal(adz_csv_find(csv, NULL), -1);
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

/* With any memory refused, no columns are handed out. */
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
    assert_non_null(strstr(adz_error_message(), "there is 'a;b' alone (is the delimiter right?)"));
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
    assert_int_equal(adz_csv_find(csv, "b"), -1);
    assert_non_null(strstr(adz_error_message(), "2 columns are named 'b'"));
    adz_error_clear();
    assert_int_equal(adz_csv_find(csv, "q"), -1);
    assert_int_equal(adz_error_code(), ADZ_ERR_ARGUMENT);
    adz_error_clear();
    assert_null(adz_csv_name(csv, 3));
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

/* ---- refused memory ------------------------------------------------------------------------- */

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_tables),
        cmocka_unit_test(quoted_names),
        cmocka_unit_test(options_are_heard),
        cmocka_unit_test(only_some_columns),
        cmocka_unit_test(missing_values),
        cmocka_unit_test(empty_tables),
        cmocka_unit_test(huge_fields),
        cmocka_unit_test(numbers_are_exact),
        cmocka_unit_test(errors_say_where),
        cmocka_unit_test(columns_are_asked_for_well),
        cmocka_unit_test(options_are_checked),
        cmocka_unit_test(forgotten_header_is_noticed),
        cmocka_unit_test(refused_memory_harms_nothing),
        cmocka_unit_test(names_are_listed_as_far_as_they_go),
        cmocka_unit_test(what_is_null_is_named),
        cmocka_unit_test(a_choice_is_whole),
    };
    return cmocka_run_group_tests(tests, temporary_begin, temporary_end);
}
