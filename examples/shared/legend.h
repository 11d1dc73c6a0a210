/* The legend of a chart's panel. */
#ifndef EXAMPLES_LEGEND_H
#define EXAMPLES_LEGEND_H

#include "plot_area.h"

/* The box of a legend, in pixels. */
typedef struct box {
    double x, y, width, height;
} box;

/* The size of the legend, with lines for the layers that have titles; the height is 0 if none has
 * one. */
box legend_size(const panel *p);

/* Moves the box to a corner or to the middle of an edge of the area, where it covers the fewest
 * data. Returns true if it covers none. */
bool place_legend(const panel *p, const plot_area *a, box *b);

void draw_legend(FILE *svg, const panel *p, const box *b);

#endif
