/* The area of a chart's panel in which the layers are drawn. */
#ifndef EXAMPLES_PLOT_AREA_H
#define EXAMPLES_PLOT_AREA_H

#include "chart.h"

/* An axis with its ends and marks. `low` is left or at the bottom; it is the larger end of an axis
 * of names. */
typedef struct side {
    double low, high;
    scale scale;
    size_t count;
    tick ticks[MOST_TICKS];
} side;

typedef struct plot_area {
    double left, right, top, bottom; /* in pixels */
    double begin, end;               /* of the panel: texts stay between them */
    side x, y;
} plot_area;

/* The pixel of a value, which can_show() has accepted; may be outside the area. */
double x_of(const plot_area *a, double value);
double y_of(const plot_area *a, double value);

/* True if (x, y) can be shown. */
bool is_point(const plot_area *a, double x, double y);

void draw_layer(FILE *svg, const layer *l, const plot_area *a);

/* Writes what a layer draws, as a sample of 24 pixels from `x` on. */
void draw_sample(FILE *svg, const layer *l, double x, double y);

#endif
