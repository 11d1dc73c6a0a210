/* Reads dates and numbers, and counts on beyond the end of a series. */
#define _GNU_SOURCE
#include "times.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "../shared/calendar.h"
#include "../shared/command_line.h"
#include "../shared/files.h"
#include "../shared/plain_text.h"
#include "../shared/text_table.h"

static const double DAY = 86400;

/* ---- one time ------------------------------------------------------------------------------- */

/* A date as it stands in a field. */
typedef struct reading {
    date day;
    int hour, minute, second;
    bool clock;
} reading;

/* The number of a month of which `text` is the English name or its first three letters, or 0. */
static int month_of_name(const char *text)
{
    static const char *const names[] = { "january", "february", "march", "april", "may", "june",
        "july", "august", "september", "october", "november", "december" };
    const size_t length = strlen(text);
    char lower[16] = "";
    for (size_t i = 0; i < length && i < sizeof lower - 1; ++i) {
        lower[i] = (char)(text[i] >= 'A' && text[i] <= 'Z' ? text[i] - 'A' + 'a' : text[i]);
    }
    for (int i = 0; i < 12; ++i) {
        if ((length == 3 && strncmp(names[i], lower, 3) == 0) || strcmp(names[i], lower) == 0) {
            return i + 1;
        }
    }
    return 0;
}

/* Reads a time of day after a date, such as " 23:59", "T23:59:59" or "T23:59:59Z". */
static bool read_clock(const char *text, reading *r)
{
    int used = 0;
    r->clock = true;
    if ((*text != ' ' && *text != 'T') || text[1] < '0' || text[1] > '9' ||
        sscanf(text + 1, "%2d:%2d%n", &r->hour, &r->minute, &used) != 2 || used == 0) {
        return false;
    }
    text += 1 + used;
    used = 0;
    if (*text == ':' && sscanf(text, ":%2d%n", &r->second, &used) != 1) {
        return false;
    }
    text += used;
    return (*text == '\0' || strcmp(text, "Z") == 0) && r->hour < 24 && r->minute >= 0 &&
           r->minute < 60 && r->second >= 0 && r->second < 60;
}

/* Reads 2024-12-31 or 2024/12/31, also with a time of day, 2024-12, and 2024Q4 or 2024-Q4. */
static bool read_year_first(const char *text, reading *r)
{
    int year, month, day, used = 0;
    char mark, other;
    if (strspn(text, "0123456789") != 4) {
        return false; /* 01/02/03 may be three different days */
    }
    if (sscanf(text, "%4d%c%2d%c%2d%n", &year, &mark, &month, &other, &day, &used) == 5 &&
        used > 0 && mark == other && (mark == '-' || mark == '/')) {
        r->day = (date){ year, month, day };
        return text[used] == '\0' || read_clock(text + used, r);
    }
    if ((sscanf(text, "%4dQ%1d%n", &year, &month, &used) == 2 ||
            sscanf(text, "%4d-Q%1d%n", &year, &month, &used) == 2) &&
        used > 0 && text[used] == '\0' && month <= 4) {
        r->day = (date){ year, 3 * month - 2, 1 };
        return true;
    }
    used = 0;
    if (sscanf(text, "%4d-%2d%n", &year, &month, &used) == 2 && used > 0 && text[used] == '\0') {
        r->day = (date){ year, month, 1 };
        return true;
    }
    return false;
}

/* Reads Dec-31-2024, Dec 31, 2024, 31 Dec 2024, Dec-2024 and Dec 2024. */
static bool read_month_name(const char *text, reading *r)
{
    char name[16];
    int year, day = 1, used = 0;
    if ((sscanf(text, "%15[A-Za-z]-%2d-%4d%n", name, &day, &year, &used) == 3 && used > 0) ||
        (sscanf(text, "%15[A-Za-z] %2d, %4d%n", name, &day, &year, &used) == 3 && used > 0) ||
        (sscanf(text, "%2d %15[A-Za-z] %4d%n", &day, name, &year, &used) == 3 && used > 0) ||
        (sscanf(text, "%2d-%15[A-Za-z]-%4d%n", &day, name, &year, &used) == 3 && used > 0)) {
        r->day = (date){ year, month_of_name(name), day };
        return text[used] == '\0' && r->day.month > 0 && year >= 1000;
    }
    used = 0;
    if (sscanf(text, "%15[A-Za-z]%*1[- ]%4d%n", name, &year, &used) == 2 && used > 0) {
        r->day = (date){ year, month_of_name(name), 1 };
        return text[used] == '\0' && r->day.month > 0 && year >= 1000;
    }
    return false;
}

/* Reads 20241231. */
static bool read_compact(const char *text, reading *r)
{
    if (strlen(text) != 8 || strspn(text, "0123456789") != 8) {
        return false;
    }
    const long number = strtol(text, NULL, 10);
    r->day = (date){ number / 10000, (int)(number / 100 % 100), (int)(number % 100) };
    return true;
}

/* Reads a date that exists. False for any other text. */
static bool read_date(const char *text, double *seconds, bool *clock)
{
    reading r = { .clock = false };
    if (!read_compact(text, &r) && !read_year_first(text, &r) && !read_month_name(text, &r)) {
        return false;
    }
    if (r.day.year < 1 || r.day.month < 1 || r.day.month > 12 || r.day.day < 1) {
        return false;
    }
    const double midnight = time_of_date(r.day);
    const date back = date_of_time(midnight); /* another day for the 31st of a month without one */
    *seconds = midnight + 3600.0 * r.hour + 60.0 * r.minute + (double)r.second;
    *clock = *clock || r.clock;
    return back.day == r.day.day && back.month == r.day.month;
}

static bool read_plain_number(const char *text, double *value)
{
    char *end;
    *value = strtod(text, &end);
    return end != text && *end == '\0' && isfinite(*value);
}

/* ---- the column ----------------------------------------------------------------------------- */

/* Cuts off spaces around a field. */
static char *trim(char *text)
{
    char *end = text + strlen(text);
    while (end > text && end[-1] == ' ') {
        *--end = '\0';
    }
    return text + strspn(text, " ");
}

/* Numbers such as 20241231 are dates if all rows have such. */
static void read_column(const char *path, const text_table *table, times *t)
{
    bool numbers = true;
    t->dates = true;
    for (size_t i = 0; i < table->count; ++i) {
        const char *text = trim(table->rows[i].text);
        const bool is_date = read_date(text, &t->at[i], &t->clock);
        double value;
        t->dates = t->dates && is_date;
        numbers = numbers && read_plain_number(text, &value);
        if (!t->dates && !numbers) {
            char shown[256];
            char *cut = copy_text(text);
            cut[strnlen(cut, 60)] = '\0';
            make_visible(cut, shown);
            fail(
                "%s: line %zu: '%s' in column '%s' is neither a date such as 2024-12-31, 2024-12, 2024Q4 or Dec-31-2024 nor a number, or the rows before it are of the other kind",
                path, table->rows[i].line, shown, t->name);
        }
    }
    for (size_t i = 0; i < table->count && !t->dates; ++i) {
        read_plain_number(trim(table->rows[i].text), &t->at[i]);
    }
}

static void check_order(const char *path, const text_table *table, const times *t)
{
    for (int64_t i = 1; i < t->n; ++i) {
        if (t->at[i] <= t->at[i - 1]) {
            fail("%s: line %zu: the time '%s' in column '%s' is not later than '%s' before it",
                path, table->rows[i].line, trim(table->rows[i].text), t->name,
                trim(table->rows[i - 1].text));
        }
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

static int64_t month_of(double time)
{
    const date d = date_of_time(time);
    return 12 * d.year + d.month - 1;
}

static bool ends_month(double time)
{
    return month_of(time + DAY) != month_of(time);
}

/* The begin of the day of a month that lies some months after the month of a date. */
static double months_later(double time, int64_t months, bool month_ends)
{
    date d = date_of_time(time);
    const int64_t month = month_of(time) + months + month_ends;
    return time_of_date((date){ month / 12, (int)(month % 12) + 1, month_ends ? 1 : d.day }) -
           (month_ends ? DAY : 0);
}

/* Finds out whether each date lies the same number of months after the one before. */
static bool find_months(times *t)
{
    t->month_ends = true;
    for (int64_t i = 0; i < t->n; ++i) {
        t->month_ends = t->month_ends && ends_month(t->at[i]);
    }
    const int64_t months = t->n > 1 ? month_of(t->at[1]) - month_of(t->at[0]) : 0;
    for (int64_t i = 1; i < t->n && months > 0; ++i) {
        if (t->clock || months_later(t->at[i - 1], months, t->month_ends) != t->at[i]) {
            return false;
        }
    }
    t->months = months;
    return months > 0;
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median_step(const times *t)
{
    double *steps = allocate((size_t)t->n * sizeof *steps);
    for (int64_t i = 1; i < t->n; ++i) {
        steps[i - 1] = t->at[i] - t->at[i - 1];
    }
    qsort(steps, (size_t)t->n - 1, sizeof *steps, compare);
    const double median = steps[(t->n - 1) / 2];
    free(steps);
    return median;
}

/* Rounded numbers such as 0.333 and 0.667 may differ by this share of a step. */
#define CLOSE 0.01

static void find_step(times *t)
{
    if (t->dates && find_months(t)) {
        return;
    }
    t->months = 0;
    t->step = t->n > 1 ? median_step(t) : 1;
    for (int64_t i = 1; i < t->n; ++i) {
        if (fabs(t->at[i] - t->at[i - 1] - t->step) > CLOSE * t->step) {
            remark(
                "the times in column '%s' are not evenly spaced (row %lld is the first that differs): each row is one step all the same, and times beyond the end follow in the median distance",
                t->name, (long long)i + 1);
            return;
        }
    }
}

times read_times(const char *path, const char *column, int64_t n)
{
    times t = { .n = n, .step = 1 };
    if (column == NULL) {
        return t;
    }
    text_table table = read_text_table(path, column, NULL);
    if ((int64_t)table.count != n) {
        fail(
            "%s: column '%s' has %zu times for %lld rows", path, column, table.count, (long long)n);
    }
    t.name = allocate(4 * strlen(column) + 1);
    make_visible(column, t.name);
    t.at = allocate((size_t)(n + 1) * sizeof *t.at);
    read_column(path, &table, &t);
    check_order(path, &table, &t);
    free_text_table(&table);
    find_step(&t);
    return t;
}

double time_of_row(const times *t, int64_t row)
{
    if (t->name == NULL) {
        return (double)row + 1;
    }
    if (row < t->n) {
        return t->at[row];
    }
    const int64_t further = row - (t->n - 1);
    return t->months > 0 ? months_later(t->at[t->n - 1], further * t->months, t->month_ends)
                         : t->at[t->n - 1] + (double)further * t->step;
}

void write_time(FILE *file, const times *t, int64_t row)
{
    const double time = time_of_row(t, row);
    if (!t->dates) {
        write_number(file, time);
        return;
    }
    const date d = date_of_time(time);
    fprintf(file, "%04lld-%02d-%02d", (long long)d.year, d.month, d.day);
    if (t->clock) {
        const int second = (int)fmod(time - time_of_date(d), DAY);
        fprintf(file, "T%02d:%02d:%02d", second / 3600, second / 60 % 60, second % 60);
    }
}

void free_times(times *t)
{
    free(t->name);
    free(t->at);
}
