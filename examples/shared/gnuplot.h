/* Pictures, drawn by gnuplot where it is installed. */
#ifndef EXAMPLES_GNUPLOT_H
#define EXAMPLES_GNUPLOT_H

#include <stdio.h>

/* Ends the program unless the path of --plot ends in .svg or .png, or is "none". */
void check_plot_path(const char *path);

/* A gnuplot that draws a picture of that size in pixels to the path. NULL for no process. */
FILE *gnuplot_begin(const char *path, int width, int height);

/* Text in single quotes. */
void gnuplot_quote(FILE *script, const char *text);

/* Ends it, and says where the picture is or why there is none; `what` is its name. */
void gnuplot_end(FILE *script, const char *what, const char *path);

#endif
