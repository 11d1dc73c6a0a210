/* Pictures, drawn by gnuplot where it is installed. gnuplot runs what it reads as commands, so
 * nothing of a file, an option or the data may reach its script but as a number or by gnuplot_text,
 * and no file name at all: gnuplot writes to a descriptor, and data stand in the script. */
#ifndef EXAMPLES_GNUPLOT_H
#define EXAMPLES_GNUPLOT_H

#include <stdio.h>

/* Ends the program unless the path of --plot ends in .svg or .png, or is "none". */
void check_plot_path(const char *path);

/* The path of --plot, or NULL for "none". */
const char *plot_file(const char *path);

/* A script for a picture of that size in pixels; `path` says of which kind. The caller adds its
 * commands, and gives it to gnuplot_end. NULL if there is no temporary file. */
FILE *gnuplot_begin(const char *path, int width, int height);

/* Writes a text to the script in single quotes, where gnuplot replaces nothing: the picture shows
 * it as it is. Control characters could end the quotes; a text that contains one, or that is not
 * UTF-8, ends the program. */
void gnuplot_text(FILE *script, const char *text);

/* Draws to the path and says where the picture is, or why there is none; `what` is its name.
 * Without gnuplot that is all. If an installed gnuplot fails, the program says so on stderr and
 * goes on, the file at the path is left as it was, and finish_output() will return 1. */
void gnuplot_end(FILE *script, const char *what, const char *path);

#endif
