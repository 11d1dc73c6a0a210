/* Draws the picture. */
#include "plot.h"

#include <math.h>
#include <stdlib.h>

#include "../shared/chart.h"
#include "../shared/command_line.h"

/* The part of the series that is drawn: the test part, and twice its length before it. */
static int64_t first_drawn(const series *s)
{
    int64_t length = s->n - test_start(s->n);
    return test_start(s->n) - 2 * length > 0 ? test_start(s->n) - 2 * length : 0;
}

/* What the chart draws of some forecasts: one value for each step, and a gap between two windows.
 */
typedef struct curves {
    size_t count;
    double *x, *mean, *low80, *high80, *low95, *high95;
} curves;

enum { ARRAYS = 6 };

static curves curves_of(const series *s, const forecasts *f, int64_t steps)
{
    const size_t count = (size_t)(f->o.count * (steps + 1));
    double *all = allocate(ARRAYS * (count + 1) * sizeof *all);
    const curves c = { count, all, all + count, all + 2 * count, all + 3 * count, all + 4 * count,
        all + 5 * count };
    size_t to = 0;
    for (int64_t b = 0; b < f->o.count; ++b) {
        for (int64_t k = 0; k < steps; ++k, ++to) {
            const int64_t i = b * f->horizon + k;
            c.x[to] = time_of_row(&s->times, f->o.at[b] + k);
            c.mean[to] = in_unit(s, f->mean[i]);
            c.low80[to] = in_unit(s, f->mean[i] - f->half80[i]);
            c.high80[to] = in_unit(s, f->mean[i] + f->half80[i]);
            c.low95[to] = in_unit(s, f->mean[i] - f->half95[i]);
            c.high95[to] = in_unit(s, f->mean[i] + f->half95[i]);
        }
        c.x[to++] = NAN;
    }
    return c;
}

/* The rows of the series that are drawn, and their values. Missing values leave a gap. */
static size_t copy_series(const series *s, double *x, double *y)
{
    size_t n = 0;
    for (int64_t i = first_drawn(s); i < s->n; ++i, ++n) {
        x[n] = time_of_row(&s->times, i);
        y[n] = s->missing[i] ? NAN : in_unit(s, s->values[i]);
    }
    return n;
}

static layer band(
    const curves *c, const double *low, const double *high, const char *color, const char *title)
{
    return (layer){ LAYER_BAND, .title = title, .color = color, .count = c->count, .x = c->x,
        .y = low, .to = high };
}

void draw_picture(const char *path, const series *s, int64_t trained, const forecasts *test,
    const forecasts *ahead, int64_t steps)
{
    const curves t = curves_of(s, test, test->horizon), a = curves_of(s, ahead, steps);
    const double end = (time_of_row(&s->times, trained - 1) + time_of_row(&s->times, trained)) / 2;
    double *x = allocate((size_t)s->n * sizeof *x), *y = allocate((size_t)s->n * sizeof *y);
    const size_t n = copy_series(s, x, y);
    const layer layers[] = {
        band(&t, t.low95, t.high95, "#cfe2f3", "95% band"),
        band(&t, t.low80, t.high80, "#9cc4e6", "80% band"),
        band(&a, a.low95, a.high95, "#fbe0c4", NULL),
        band(&a, a.low80, a.high80, "#f5bf85", NULL),
        { LAYER_LINE, .title = "series", .color = "#333333", .size = 1.2, .count = n, .x = x,
            .y = y },
        { LAYER_LINE, .title = "forecast", .color = "#1f5fa8", .count = t.count, .x = t.x,
            .y = t.mean },
        { LAYER_LINE, .title = "beyond the end", .color = "#c2660a", .count = a.count, .x = a.x,
            .y = a.mean },
        { LAYER_RULE, .count = 1, .x = &end, .texts = &(const char *){ "training ends" } },
    };
    const panel all = { .title = s->name,
        .x = { .label = s->times.name != NULL ? s->times.name : "row",
            .scale = s->times.dates ? SCALE_TIME : SCALE_LINEAR },
        .layers = layers,
        .count = sizeof layers / sizeof *layers };
    draw_chart(path, "picture", &all, 1, 900, 480);
    free(x);
    free(y);
    free(t.x);
    free(a.x);
}
