/* Draws the curves and the final losses of all variants. */
#include "plot.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "../shared/chart.h"
#include "../shared/command_line.h"

/* Colours of the variants. The two variants without a gate are grey. */
static const char *color_of(const char *variant)
{
    static const char *const colors[VARIANTS] = { "#444444", "#999999", "#1f77b4", "#9467bd",
        "#2ca02c", "#ff7f0e", "#d62728" };
    for (int i = 0; i < VARIANTS; ++i) {
        if (variant == variant_names[i]) {
            return colors[i];
        }
    }
    return "black";
}

static int by_loss(const void *a, const void *b)
{
    const summary *const *x = a, *const *y = b;
    return ((*x)->val_loss > (*y)->val_loss) - ((*x)->val_loss < (*y)->val_loss);
}

/* The numbers of the picture, and the texts at them. The best variant is the first. */
typedef struct drawing {
    const summary *sorted[VARIANTS];
    size_t count;
    double *steps; /* of each evaluation */
    double place[VARIANTS], loss[VARIANTS], low[VARIANTS], high[VARIANTS];
    char text[VARIANTS][16], title[VARIANTS][32];
    const char *texts[VARIANTS], *names[VARIANTS];
} drawing;

static void fill_drawing(drawing *d, const options *o)
{
    d->steps = allocate((size_t)o->evaluations * sizeof *d->steps);
    for (int64_t i = 0; i < o->evaluations; ++i) {
        d->steps[i] = (double)(o->steps * (i + 1) / o->evaluations);
    }
    for (size_t v = 0; v < d->count; ++v) {
        const summary *s = d->sorted[v];
        const double error = o->runs > 1 ? s->error : NAN; /* one run has none */
        d->place[v] = (double)v;
        d->loss[v] = s->val_loss;
        d->low[v] = s->val_loss - error;
        d->high[v] = s->val_loss + error;
        d->names[v] = s->variant;
        d->texts[v] = d->text[v];
        snprintf(d->text[v], sizeof d->text[v], "%.3f", s->val_loss);
        snprintf(d->title[v], sizeof d->title[v], "%s%s", s->variant,
            is_gated(s->variant) ? "" : ", no gate");
    }
}

/* The curves without their steep beginning. The legend lists the best variant first. */
static panel curves(const drawing *d, const options *o, layer *layers)
{
    double low = d->sorted[0]->val_loss, high = low;
    for (size_t v = 0; v < d->count; ++v) {
        const summary *s = d->sorted[v];
        for (int64_t i = 0; i < o->evaluations; ++i) {
            low = fmin(low, s->curve[i]);
            high = i >= o->evaluations / 4 ? fmax(high, s->curve[i]) : high;
        }
        layers[v] = (layer){ LAYER_LINE, .title = d->title[v], .color = color_of(s->variant),
            .dash = is_gated(s->variant) ? NULL : "6 4", .size = 2, .count = (size_t)o->evaluations,
            .x = d->steps, .y = s->curve };
    }
    return (panel){ .title = "at equal steps and parameters",
        .x = { .label = "step", .low = 0, .high = (double)o->steps },
        .y = { .label = "validation loss, nats per character",
            .low = low - 0.03 * (high - low) - 1e-6,
            .high = high + 0.15 * (high - low) + 1e-6 },
        .layers = layers,
        .count = d->count,
        .share = 0.62 };
}

/* The last points on a scale of their own, with standard errors if there are several runs. */
static panel ends(const drawing *d, layer *layers)
{
    double most = 0;
    for (size_t v = 0; v < d->count; ++v) {
        most = fmax(most, d->high[v] - d->loss[v]); /* NaN does not count */
        layers[2 + v] = (layer){ LAYER_POINTS, .color = color_of(d->names[v]), .size = 11,
            .count = 1, .x = &d->loss[v], .y = &d->place[v] };
    }
    const double low = d->loss[0], high = d->loss[d->count - 1];
    const double room = 0.12 * (high - low) + most + 1e-4;
    layers[0] = (layer){ LAYER_INTERVALS, .color = "#888888", .size = 1.5, .count = d->count,
        .x = d->low, .y = d->place, .to = d->high };
    layers[1] = (layer){ LAYER_TEXTS, .color = "#444444", .count = d->count, .x = d->loss,
        .y = d->place, .texts = d->texts };
    return (panel){ .title = "after the last step",
        .x = { .label = "validation loss", .low = low - room, .high = high + room },
        .y = { .names = d->names, .name_count = d->count },
        .layers = layers,
        .count = 2 + d->count,
        .share = 0.38 };
}

void draw_picture(const options *o, const summary *s, size_t count)
{
    drawing d = { .count = count };
    layer left[VARIANTS], right[VARIANTS + 2];
    if (plot_file(o->plot) == NULL) {
        return;
    }
    for (size_t v = 0; v < count; ++v) {
        if (!isfinite(s[v].val_loss)) {
            printf("no picture: the loss of %s is no number\n", s[v].variant);
            return;
        }
        d.sorted[v] = &s[v];
    }
    qsort(d.sorted, count, sizeof *d.sorted, by_loss);
    fill_drawing(&d, o);
    const panel panels[] = { curves(&d, o, left), ends(&d, right) };
    draw_chart(o->plot, "picture", panels, 2, 960, 450);
    free(d.steps);
}
