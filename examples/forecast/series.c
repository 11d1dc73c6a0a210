/* Reads a series from a CSV file, fills in missing values, and makes the default series. */
#define _GNU_SOURCE
#include "series.h"

#include <adze/adze.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../shared/command_line.h"
#include "../shared/files.h"
#include "../shared/plain_text.h"
#include "../shared/program.h"

/* ---- missing values ------------------------------------------------------------------------- */

/* The first index from `from` on whose value is known, or n. */
static int64_t next_known(const series *s, int64_t from)
{
    while (from < s->n && s->missing[from]) {
        ++from;
    }
    return from;
}

static void interpolate(series *s)
{
    int64_t before = -1;
    for (int64_t i = 0; i < s->n; ++i) {
        if (!s->missing[i]) {
            before = i;
            continue;
        }
        int64_t after = next_known(s, i);
        double a = s->values[before >= 0 ? before : after];
        double b = s->values[after < s->n ? after : before];
        double share =
            before >= 0 && after < s->n ? (double)(i - before) / (double)(after - before) : 0;
        s->values[i] = a + (b - a) * share;
    }
}

/* ---- files ---------------------------------------------------------------------------------- */

static char *name_of(const char *path, const char *column)
{
    char *text = allocate(strlen(path) + strlen(column) + 3), *shown;
    sprintf(text, "%s: %s", path, column);
    shown = allocate(4 * strlen(text) + 1);
    make_visible(text, shown);
    free(text);
    return shown;
}

/* The message of the library names file, line and column. */
static void on_csv_error(adz_status status, const char *message, void *user)
{
    (void)status;
    (void)user;
    fail("%s (--column names the column to forecast)", message);
}

/* The squares of values outside these bounds are no normal numbers. */
#define LARGEST_VALUE 1e100
#define SMALLEST_SPAN 1e-100

static void check_span(const char *path, const char *column, double low, double high)
{
    double largest = fmax(fabs(low), fabs(high));
    if (largest > LARGEST_VALUE) {
        fail(
            "%s: column '%s' has the value %g, but %g is the largest that can be forecast; write the column in a larger unit",
            path, column, fabs(low) > fabs(high) ? low : high, LARGEST_VALUE);
    }
    if (high > low && high - low < SMALLEST_SPAN) {
        fail(
            "%s: the values of column '%s' differ by at most %g, and %g is the least that can be forecast; write the column in a smaller unit",
            path, column, high - low, SMALLEST_SPAN);
    }
}

static void check_values(const char *path, const char *column, const series *s)
{
    int64_t first = next_known(s, 0);
    if (first == s->n) {
        fail("%s: column '%s' has no value in %lld rows; name another one with --column", path,
            column, (long long)s->n);
    }
    double low = s->values[first], high = low;
    for (int64_t i = first; i < s->n; ++i) {
        low = s->missing[i] ? low : fmin(low, s->values[i]);
        high = s->missing[i] ? high : fmax(high, s->values[i]);
    }
    if (low == high) {
        fail(
            "%s: column '%s' is constant: each of its %lld values is %g, so there is nothing to forecast; name another one with --column",
            path, column, (long long)(s->n - s->n_missing), low);
    }
    check_span(path, column, low, high);
}

/* Ends the program if a table of a single column has an empty line between its rows. That is a
 * missing value to its writer, but the reader of tables skips empty lines, and all later values
 * would stand at earlier steps. */
static void check_empty_lines(const char *path)
{
    struct stat about;
    size_t size, number = 0, empty = 0;
    if (stat(path, &about) != 0 || !S_ISREG(about.st_mode)) {
        return; /* a pipe cannot be read again */
    }
    char *text = read_whole_file(path, &size);
    for (char *line = text, *next; line < text + size && *line != '\0'; line = next) {
        const size_t length = strcspn(line, "\r\n");
        next = line + length;
        next += *next == '\r' && next[1] == '\n' ? 2 : *next != '\0';
        ++number;
        if (number == 1 && strcspn(line, ",;\t|") < length) {
            break; /* several columns: an empty line is no row */
        }
        const bool blank = strspn(line, " \t") == length;
        if (blank && number > 1) {
            empty = empty > 0 ? empty : number;
        } else if (empty > 0) {
            fail(
                "%s: line %zu is empty, and the table has one column; write NA where a value is missing, so that its step of time is kept",
                path, empty);
        }
    }
    free(text);
}

series read_series(const char *path, const char *column, const char *time)
{
    adz_csv_options o = ADZ_CSV_OPTIONS;
    o.missing = ADZ_CSV_MISSING_NAN;
    o.columns = &column;
    o.n_columns = 1;
    check_text_file(path);
    adz_on_error(on_csv_error, NULL);
    adz_csv *csv = adz_csv_read(path, &o);
    report_errors();
    check_empty_lines(path);
    series s = { .name = name_of(path, column), .n = adz_csv_row_count(csv) };
    s.values = allocate((size_t)(s.n + 1) * sizeof *s.values);
    s.missing = allocate((size_t)(s.n + 1) * sizeof *s.missing);
    const double *values = s.n > 0 ? adz_tensor_data_f64(adz_csv_values(csv)) : NULL;
    for (int64_t i = 0; i < s.n; ++i) {
        if (isinf(values[i])) {
            fail(
                "%s: row %lld of column '%s' (from 1, without the header) is %g; leave the field empty if the value is missing",
                path, (long long)i + 1, column, values[i]);
        }
        s.values[i] = values[i];
        s.missing[i] = isnan(values[i]);
        s.n_missing += s.missing[i];
    }
    adz_csv_free(&csv);
    check_values(path, column, &s);
    s.times = read_times(path, time, s.n);
    interpolate(&s);
    return s;
}

/* ---- logarithms ----------------------------------------------------------------------------- */

void take_logarithms(series *s)
{
    for (int64_t i = 0; i < s->n; ++i) {
        if (s->values[i] <= 0) {
            fail(
                "%s: row %lld (from 1, without the header) is %g, but --positive says that all values are positive",
                s->name, (long long)i + 1, s->values[i]);
        }
        s->values[i] = log(s->values[i]);
    }
    s->logarithms = true;
}

double in_unit(const series *s, double value)
{
    return s->logarithms ? exp(value) : value;
}

/* ---- the default series --------------------------------------------------------------------- */

enum { MONTHS = 360 };

series make_series(void)
{
    const double pi = 3.14159265358979323846;
    series s = { .name = copy_text("a series that the program makes"), .n = MONTHS };
    s.times = read_times(NULL, NULL, MONTHS);
    s.values = allocate(MONTHS * sizeof *s.values);
    s.missing = allocate(MONTHS * sizeof *s.missing);
    adz_scope *scope = adz_scope_open();
    adz_generator *draws = adz_generator_new(1);
    adz_tensor *noise = adz_generator_randn(draws, ADZ_SHAPE(MONTHS), ADZ_F64);
    double lasting = 0;
    for (int64_t i = 0; i < MONTHS; ++i) {
        double year = (double)i / 12;
        lasting = 0.7 * lasting + adz_tensor_at(noise, &i);
        s.values[i] = 100 + 2.5 * year + 8 * sin(2 * pi * year) + 4 * cos(4 * pi * year) + lasting;
    }
    adz_generator_free(&draws);
    adz_scope_close(scope);
    return s;
}

void free_series(series *s)
{
    free(s->name);
    free_times(&s->times);
    free(s->values);
    free(s->missing);
}
