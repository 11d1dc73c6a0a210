/* Draws charts of hard cases into the current folder, for tests/examples/charts.py. */
#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "../examples/shared/calendar.h"
#include "../examples/shared/chart.h"
#include "../examples/shared/command_line.h"

const char program_name[] = "draw_charts";

enum { N = 40 };

static void draw(const char *path, const char *title, axis x, axis y, const layer *layers, size_t n)
{
    const panel p = { .title = title, .x = x, .y = y, .layers = layers, .count = n };
    draw_chart(path, path, &p, 1, 640, 400);
}

/* One line through (x, y). */
static void draw_line(
    const char *path, axis x, axis y, const double *xs, const double *ys, size_t n)
{
    const layer line = { LAYER_LINE, .count = n, .x = xs, .y = ys };
    draw(path, NULL, x, y, &line, 1);
}

/* All kinds of layers, with texts that XML would take for markup, and with gaps. */
static void every_kind(void)
{
    double x[N], y[N], high[N];
    const char *texts[N];
    for (int i = 0; i < N; ++i) {
        x[i] = i;
        y[i] = i % 10 == 5 ? NAN : i % 10 == 7 ? INFINITY : i % 10 == 9 ? -INFINITY : sin(i / 5.0);
        high[i] = i == 12 ? NAN : y[i] + 0.5;
        texts[i] = "a < b & c > d";
    }
    const double to[] = { 9 };
    const layer layers[] = {
        { LAYER_BAND, .title = "<band>", .color = "#cfe2f3", .count = N, .x = x, .y = y,
            .to = high },
        { LAYER_LINE, .title = "line & \"quotes\"", .color = "#1f77b4", .dash = "6 4", .count = N,
            .x = x, .y = y },
        { LAYER_POINTS, .title = "it's a ]]> point", .hollow = true, .count = N, .x = x, .y = y },
        { LAYER_INTERVALS, .count = 1, .x = x, .y = y, .to = to },
        { LAYER_TEXTS, .count = 1, .x = x + 20, .y = y + 20, .texts = texts },
        { LAYER_RULE, .count = 1, .x = x + 30, .texts = texts },
    };
    draw("kinds.svg", "<b>\xc3\xa4</b> &amp; \xef\xbf\xbe", (axis){ .label = "x & y" },
        (axis){ .label = "<y>" }, layers, sizeof layers / sizeof *layers);
}

/* Ranges at which marks are hard to choose. */
static void ranges(void)
{
    static const double pairs[][2] = { { 0, 0 }, { 5, 5 }, { 1e12, 1e12 + 3 }, { -1e300, 1e300 },
        { 1e-280, 2e-280 }, { 1, 1 + 1e-15 }, { -7e9, 2e10 }, { 2e-5, 3e-5 }, { 0, 5e-324 },
        { 0.1, 0.3 }, { -1, 99999 } };
    char path[32];
    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; ++i) {
        snprintf(path, sizeof path, "range%zu.svg", i);
        draw_line(path, (axis){ 0 }, (axis){ 0 }, pairs[i], pairs[i], 2);
    }
    const double x[] = { 1, 10, 100, 0, -5, 1000 }, y[] = { 1e-9, 3, 1e12, 1, 1, 50 };
    draw_line("log.svg", (axis){ .scale = SCALE_LOG }, (axis){ .scale = SCALE_LOG }, x, y, 6);
    const double near[] = { 3.1, 3.7, 4.4 };
    draw_line("log-narrow.svg", (axis){ 0 }, (axis){ .scale = SCALE_LOG }, x, near, 3);
}

/* A time axis of each length. */
static void times(void)
{
    static const struct {
        const char *path;
        date from;
        double seconds;
    } spans[] = { { "time-minute.svg", { 2026, 2, 28 }, 40 },
        { "time-hour.svg", { 1969, 12, 31 }, 5000 }, { "time-day.svg", { 2024, 2, 28 }, 200000 },
        { "time-month.svg", { 2024, 2, 1 }, 40 * 86400.0 },
        { "time-year.svg", { 1999, 11, 15 }, 500 * 86400.0 },
        { "time-years.svg", { 1871, 1, 1 }, 100 * 365.25 * 86400 },
        { "time-ages.svg", { 10, 1, 1 }, 90000 * 365.25 * 86400 } };
    for (size_t i = 0; i < sizeof spans / sizeof *spans; ++i) {
        const double from = time_of_date(spans[i].from), y[] = { 1, 3, 2 };
        const double x[] = { from, from + spans[i].seconds / 3, from + spans[i].seconds };
        draw_line(
            spans[i].path, (axis){ .label = "time", .scale = SCALE_TIME }, (axis){ 0 }, x, y, 3);
    }
}

/* Each date of some thousand years, there and back; and days that everybody knows. */
static void check_calendar(void)
{
    const date known[] = { { 1970, 1, 1 }, { 2000, 2, 29 }, { 1900, 3, 1 }, { 2026, 11, 28 } };
    const double days[] = { 0, 11016, -25508, 20785 };
    for (size_t i = 0; i < sizeof days / sizeof *days; ++i) {
        if (time_of_date(known[i]) != 86400 * days[i]) {
            fail("%lld-%d-%d is not day %g", (long long)known[i].year, known[i].month, known[i].day,
                days[i]);
        }
    }
    date last = date_of_time(86400.0 * -800000);
    for (int64_t day = -799999; day < 800000; ++day) {
        const date d = date_of_time(86400.0 * (double)day + 86399);
        const bool next = (d.day == last.day + 1 && d.month == last.month && d.year == last.year) ||
                          (d.day == 1 && last.day >= 28 &&
                              ((d.month == last.month + 1 && d.year == last.year) ||
                                  (d.month == 1 && last.month == 12 && d.year == last.year + 1)));
        if (!next || time_of_date(d) != 86400.0 * (double)day) {
            fail("day %lld is taken for %lld-%d-%d", (long long)day, (long long)d.year, d.month,
                d.day);
        }
        last = d;
    }
    if (time_of_date((date){ 2025, 14, 1 }) != time_of_date((date){ 2026, 2, 1 })) {
        fail("month 14 is not the February of the next year");
    }
}

/* Nothing can be drawn: a message says so, and no file is written. */
static void empty(void)
{
    const double nothing[] = { NAN, INFINITY }, x[] = { 1, 2 };
    draw_line("empty.svg", (axis){ 0 }, (axis){ 0 }, x, nothing, 0);
    draw_line("nan.svg", (axis){ 0 }, (axis){ 0 }, x, nothing, 2);
    draw_line("negative.svg", (axis){ 0 }, (axis){ .scale = SCALE_LOG }, x, (double[]){ -1, 0 }, 2);
}

int main(int argc, char **argv)
{
    setlocale(LC_NUMERIC, "C"); /* as every program does */
    const double x[] = { 1, 2 };
    if (argc > 1 && strcmp(argv[1], "empty") == 0) {
        empty();
    } else if (argc > 1 && strcmp(argv[1], "nowhere") == 0) {
        draw_line("nowhere/p.svg", (axis){ 0 }, (axis){ 0 }, x, x, 2);
    } else if (argc > 1) { /* a text that is refused */
        draw_line("refused.svg", (axis){ .label = argv[1] }, (axis){ 0 }, x, x, 2);
    } else {
        every_kind();
        ranges();
        times();
        check_calendar();
    }
    return finish_output();
}
