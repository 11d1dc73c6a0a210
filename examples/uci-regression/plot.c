/* Draws the toy set and the predictions. */
#include "plot.h"

#include <stdlib.h>

#include "../shared/chart.h"
#include "../shared/command_line.h"

enum {
    X,
    TRUTH,
    LOW_TRUTH,
    HIGH_TRUTH,
    MEAN,
    LOW_SPREAD,
    HIGH_SPREAD,
    LOW_TOTAL,
    HIGH_TOTAL,
    ARRAYS
};

/* Writes the arrays of the curves, each of n_curve values, one after another. */
static void fill_curves(const picture *p, double *all)
{
    for (size_t i = 0; i < p->n_curve; ++i) {
        const curve_point *c = &p->curve[i];
        const double values[ARRAYS] = { c->x, c->truth, c->truth - 2 * c->noise,
            c->truth + 2 * c->noise, c->mean, c->mean - 2 * c->spread, c->mean + 2 * c->spread,
            c->mean - 2 * c->total, c->mean + 2 * c->total };
        for (size_t k = 0; k < ARRAYS; ++k) {
            all[k * p->n_curve + i] = values[k];
        }
    }
}

void draw_picture(const char *path, const picture *p)
{
    const size_t n = p->n_curve, m = p->n_rows;
    double *all = allocate((ARRAYS * n + 2 * m + 1) * sizeof *all), *rows = all + ARRAYS * n;
    const double *x = all, *gap = &(double){ 0.25 }, *bottom = &(double){ -2.7 };
    fill_curves(p, all);
    for (size_t i = 0; i < m; ++i) {
        rows[i] = (double)p->x[i];
        rows[m + i] = (double)p->y[i];
    }
    const layer layers[] = {
        { LAYER_BAND, .title = "predicted: with the noise, 2 deviations", .color = "#cfe2f3",
            .count = n, .x = x, .y = all + LOW_TOTAL * n, .to = all + HIGH_TOTAL * n },
        { LAYER_BAND, .title = "predicted: dropout passes alone, 2 deviations", .color = "#7fb2de",
            .count = n, .x = x, .y = all + LOW_SPREAD * n, .to = all + HIGH_SPREAD * n },
        { LAYER_POINTS, .title = "training rows", .color = "#777777", .size = 4, .count = m,
            .x = rows, .y = rows + m },
        { LAYER_LINE, .dash = "2 3", .size = 1.5, .count = n, .x = x, .y = all + LOW_TRUTH * n },
        { LAYER_LINE, .title = "truth: with the noise, 2 deviations", .dash = "2 3", .size = 1.5,
            .count = n, .x = x, .y = all + HIGH_TRUTH * n },
        { LAYER_LINE, .title = "truth", .dash = "7 5", .size = 2, .count = n, .x = x,
            .y = all + TRUTH * n },
        { LAYER_LINE, .title = "predicted mean", .color = "#1f5fa8", .size = 2.5, .count = n,
            .x = x, .y = all + MEAN * n },
        { LAYER_TEXTS, .color = "#666666", .count = 1, .x = gap, .y = bottom,
            .texts = &(const char *){ "no rows here" } },
    };
    const panel one = { .x = { .label = "x", .low = -4.5, .high = 4.5 },
        .y = { .label = "y", .low = -3, .high = 5 },
        .layers = layers,
        .count = sizeof layers / sizeof *layers };
    draw_chart(path, "picture", &one, 1, 800, 480);
    free(all);
}
