/* The picture. */
#ifndef GLU_PLOT_H
#define GLU_PLOT_H

#include "report.h"

/* Draws curves and final losses through gnuplot; says so where that is not to be had. "none" draws
 * nothing. */
void draw_picture(const options *o, const summary *s, size_t count);

#endif
