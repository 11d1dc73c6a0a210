/* Charts with axes, lines, points, bands and a legend, written as SVG by the program itself. A
 * chart has one panel or several ones side by side, and a panel has layers, the first of which is
 * drawn first. A value that is missing (NaN), infinite, or not on the axis's scale leaves a gap. */
#ifndef EXAMPLES_CHART_H
#define EXAMPLES_CHART_H

#include <stdbool.h>
#include <stddef.h>

#include "svg.h"
#include "ticks.h"

typedef enum layer_kind {
    LAYER_LINE,      /* through (x, y) */
    LAYER_POINTS,    /* discs, or rings if they are hollow */
    LAYER_BAND,      /* the area between (x, y) and (x, to) */
    LAYER_INTERVALS, /* horizontal bars with ends, from (x, y) to (to, y) */
    LAYER_TEXTS,     /* texts, centred above (x, y) */
    LAYER_RULE,      /* a dashed vertical line at each x, with its text at its left; no y */
} layer_kind;

typedef struct layer {
    layer_kind kind;
    const char *title;        /* in the legend; NULL: the legend does not show the layer */
    const char *color;        /* such as #1f77b4; NULL: black */
    const char *dash;         /* lengths of strokes and gaps, such as "6 4"; NULL: none */
    double size;              /* a line's width or a point's diameter in pixels; 0: usual */
    bool hollow;              /* of points */
    size_t count;             /* of the values in each array */
    const double *x, *y, *to; /* the kind says which ones are read */
    const char *const *texts; /* of LAYER_TEXTS and LAYER_RULE */
} layer;

typedef struct axis {
    const char *label; /* NULL: none */
    scale scale;
    /* The ends. One that is NaN follows from the data, and so do both if they are equal, as in an
     * axis that nobody set. */
    double low, high;
    /* Only for y: names of the values 0, 1, 2, ... from the top. The ends follow from their
     * number. NULL: the marks are numbers. */
    const char *const *names;
    size_t name_count;
} axis;

typedef struct panel {
    const char *title; /* NULL: none */
    axis x, y;
    const layer *layers;
    size_t count;
    double share; /* of the picture's width, compared with the other panels; 0 is 1 */
} panel;

/* Draws a chart of this size in pixels, writes it to the path, and prints where it is; `what` is
 * its name in messages. Draws nothing if the path is "none".
 *
 * A panel needs a value that can be shown. If it has none, or the file cannot be written, a message
 * on stderr says so and finish_output() will return 1. Ends the program if a text is not UTF-8 or
 * has a control character. */
void draw_chart(
    const char *path, const char *what, const panel *panels, size_t count, int width, int height);

#endif
