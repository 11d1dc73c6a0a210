/* The picture of the toy set. */
#ifndef UCI_PLOT_H
#define UCI_PLOT_H

#include <stdbool.h>
#include <stddef.h>

typedef struct curve_point {
    double x, truth, noise;     /* the function at x, and the deviation of its noise */
    double mean, spread, total; /* predicted mean, deviation of the passes, deviation with noise */
} curve_point;

typedef struct picture {
    const curve_point *curve;
    size_t n_curve;
    const float *x, *y; /* n_rows of data */
    size_t n_rows;
} picture;

/* Draws the picture, unless the path is "none". */
void draw_picture(const char *path, const picture *p);

#endif
