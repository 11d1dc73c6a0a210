/* Tables that can be read: their shapes, options, columns and missing values. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include <math.h>

#include "tensor/tensor.h"
#include "read.h"
#include "../../errors.h"
#include "../../temporary.h"
#include "tests.h"

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
        assert_int_equal(adz_csv_row_count(csv), 2);
        assert_int_equal(adz_csv_column_count(csv), 2);
        assert_string_equal(adz_csv_name_at(csv, 0), "a");
        assert_string_equal(adz_csv_name_at(csv, 1), "b");
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
    assert_string_equal(adz_csv_name_at(csv, 0), "a \"big\" one");
    assert_string_equal(adz_csv_name_at(csv, 1), "b,\nc");
    assert_string_equal(adz_csv_name_at(csv, 2), "");
    assert_int_equal(adz_csv_index(csv, "b,\nc"), 1);
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
    assert_int_equal(adz_csv_row_count(csv), 2);
    assert_string_equal(adz_csv_name_at(csv, 1), "1");
    assert_int_equal(adz_tensor_dtype(adz_csv_values(csv)), ADZ_F32);
    assert_true(at(csv, 0, 1) == 2.5);
    adz_csv_free(&csv);
    o.delimiter = ' ';
    csv = read_text("1 2\n 3 4\n", &o);
    assert_null(csv); /* The space at the start of a line makes an empty field. */
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
    assert_int_equal(adz_csv_column_count(csv), 2);
    assert_string_equal(adz_csv_name_at(csv, 0), "y");
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
    assert_int_equal(adz_csv_row_count(csv), 10);
    assert_true(isnan(at(csv, 1, 0)) && at(csv, 1, 1) == 3);
    for (int64_t i = 2; i < 9; ++i) {
        assert_true(isnan(at(csv, i, 1)) && at(csv, i, 0) == (double)(i + 2));
    }
    adz_csv_free(&csv);
    o.missing = ADZ_CSV_MISSING_DROP;
    csv = read_text(text, &o);
    assert_non_null(csv);
    assert_int_equal(adz_csv_row_count(csv), 2);
    assert_int_equal(adz_csv_dropped_count(csv), 8);
    assert_true(at(csv, 1, 0) == 11 && at(csv, 1, 1) == 12);
    adz_csv_free(&csv);
}

/* Tabs and spaces around a value are left out, in quotes too. An empty field between two tabs is
 * missing. */
static void spaces_are_no_values(void **state)
{
    (void)state;
    adz_csv *csv = read_text("a,b\n\"1\t\",\"\t 2 \"\n", NULL);
    assert_non_null(csv);
    assert_true(at(csv, 0, 0) == 1 && at(csv, 0, 1) == 2);
    adz_csv_free(&csv);
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.delimiter = '\t';
    o.missing = ADZ_CSV_MISSING_NAN;
    csv = read_text("a\tb\tc\n1\t\t3\n", &o);
    assert_non_null(csv);
    assert_true(at(csv, 0, 0) == 1 && isnan(at(csv, 0, 1)) && at(csv, 0, 2) == 3);
    adz_csv_free(&csv);
}

/* Shape, values and error of a text of `size` bytes. */
static void describe(char *to, size_t room, const char *text, size_t size)
{
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.missing = ADZ_CSV_MISSING_NAN;
    adz_csv *csv = adz_csv_from_memory(text, size, &o);
    char message[200] = "";
    adz_error_take(message, sizeof message);
    int used = snprintf(to, room, "%s", message);
    for (int64_t i = 0; csv != NULL && i < adz_csv_row_count(csv); ++i) {
        for (int64_t k = 0; k < adz_csv_column_count(csv); ++k) {
            used += snprintf(
                to + used, room - (size_t)used, "%s=%g;", adz_csv_name_at(csv, k), at(csv, i, k));
        }
    }
    adz_csv_free(&csv);
}

/* The size ends the text. What stands behind it in memory is not read. */
static void the_size_ends_the_text(void **state)
{
    (void)state;
    static const char *const texts[] = { "", "a", "\"a\"", "a\n", "a,b\n1,2", "a,b\n1,", "a,b\n1, ",
        "a,b\n1,\"2\"", "a,b\n1,\"2", "a\n1\r", "a\n\"1\r", "a\n1 " };
    for (size_t i = 0; i < sizeof texts / sizeof *texts; ++i) {
        char buffer[64] = "", wanted[512], found[512];
        const size_t size = strlen(texts[i]);
        memcpy(buffer, texts[i], size);
        describe(wanted, sizeof wanted, buffer, size);
        for (const char *behind = ",\"\n\r 1\t"; *behind != '\0'; ++behind) {
            memset(buffer + size, *behind, 2);
            describe(found, sizeof found, buffer, size);
            assert_string_equal(found, wanted);
        }
    }
}

static void empty_tables(void **state)
{
    (void)state;
    adz_csv *csv = read_text("a,b\n", NULL);
    assert_non_null(csv);
    assert_int_equal(adz_csv_row_count(csv), 0);
    assert_int_equal(adz_csv_column_count(csv), 2);
    adz_csv_free(&csv);
}

static void huge_fields(void **state)
{
    (void)state;
    size_t size = 300000;
    char *text = malloc(size + 64);
    size_t n = (size_t)sprintf(text, "a,b\n\"");
    memset(text + n, '"', size); /* a field of doubled quotes only */
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

int tables_tests(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shapes_of_tables),
        cmocka_unit_test(quoted_names),
        cmocka_unit_test(options_are_heard),
        cmocka_unit_test(only_some_columns),
        cmocka_unit_test(missing_values),
        cmocka_unit_test(spaces_are_no_values),
        cmocka_unit_test(the_size_ends_the_text),
        cmocka_unit_test(empty_tables),
        cmocka_unit_test(huge_fields),
    };
    return cmocka_run_group_tests_name("csv: tables", tests, temporary_begin, temporary_end);
}
