/* The picture of the experiment. */
#ifndef GLU_PLOT_H
#define GLU_PLOT_H

#include "report.h"

/* Draws curves and final losses, unless the path is "none". */
void draw_picture(const options *o, const summary *s, size_t count);

#endif
