/* Draws the picture with gnuplot. */
#include "plot.h"

#include <stdio.h>

#include "../shared/gnuplot.h"

/* The part of the series that is drawn: the test part, and twice its length before it. */
static int64_t first_drawn(const series *s)
{
    int64_t length = s->n - test_start(s->n);
    return test_start(s->n) - 2 * length > 0 ? test_start(s->n) - 2 * length : 0;
}

/* Missing values leave a gap in the line. */
static void write_series(FILE *script, const series *s)
{
    fputs("$series << END\n", script);
    for (int64_t i = first_drawn(s); i < s->n; ++i) {
        if (s->missing[i]) {
            fputs("\n", script);
        } else {
            fprintf(script, "%lld %.17g\n", (long long)i + 1, s->values[i]);
        }
    }
    fputs("END\n", script);
}

/* A block of lines: row, mean, and half the width of both bands. An empty line ends each window. */
static void write_forecasts(FILE *script, const char *name, const forecasts *f, int64_t steps)
{
    fprintf(script, "$%s << END\n", name);
    for (int64_t b = 0; b < f->o.count; ++b) {
        for (int64_t k = 0; k < steps; ++k) {
            int64_t i = b * f->horizon + k;
            fprintf(script, "%lld %.17g %.17g %.17g\n", (long long)(f->o.at[b] + k + 1), f->mean[i],
                f->half80[i], f->half95[i]);
        }
        fputs("\n", script);
    }
    fputs("END\n", script);
}

enum { HALF80 = 3, HALF95 = 4 }; /* columns of the blocks */

static void write_band(
    FILE *script, const char *name, int column, const char *colour, const char *title)
{
    fprintf(script, " $%s using 1:($2-$%d):($2+$%d) with filledcurves fc rgb '%s' %s%s%s", name,
        column, column, colour, title[0] != '\0' ? "title '" : "notitle", title,
        title[0] != '\0' ? "',\\\n" : ",\\\n");
}

static void write_plot(FILE *script)
{
    fputs("plot", script);
    write_band(script, "test", HALF95, "#cfe2f3", "95% band");
    write_band(script, "test", HALF80, "#9cc4e6", "80% band");
    write_band(script, "ahead", HALF95, "#fbe0c4", "");
    write_band(script, "ahead", HALF80, "#f5bf85", "");
    fputs(" $series using 1:2 with lines lw 1.2 lc rgb '#333333' title 'series',\\\n"
          " $test using 1:2 with lines lw 1.8 lc rgb '#1f5fa8' title 'forecast',\\\n"
          " $ahead using 1:2 with lines lw 1.8 lc rgb '#c2660a' title 'beyond the end'\n",
        script);
}

void draw_picture(const char *path, const series *s, int64_t trained, const forecasts *test,
    const forecasts *ahead, int64_t steps)
{
    if (plot_file(path) == NULL) {
        return;
    }
    FILE *script = gnuplot_begin(path, 900, 480);
    if (script != NULL) {
        write_series(script, s);
        write_forecasts(script, "test", test, test->horizon);
        write_forecasts(script, "ahead", ahead, steps);
        fputs("set title ", script);
        gnuplot_text(script, s->name);
        fprintf(script,
            "\nset key top left opaque box lc rgb '#cccccc' samplen 2\n"
            "set border 3 lc rgb '#666666'\nset tics nomirror out\nset xlabel 'row'\n"
            "set xrange [%lld:%lld]\n"
            "set arrow from first %.1f, graph 0 to first %.1f, graph 1 nohead dt 2 front\n"
            "set label 'training ends ' at first %.1f, graph 0.04 right front\n",
            (long long)first_drawn(s) + 1, (long long)(s->n + (steps > 0 ? steps : 1)),
            (double)trained + 0.5, (double)trained + 0.5, (double)trained + 0.5);
        write_plot(script);
    }
    gnuplot_end(script, "picture", path);
}
