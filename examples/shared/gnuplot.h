/* Pictures, drawn by gnuplot if it is installed. gnuplot runs its input as commands. Therefore text
 * of a file, an option or the data may reach the script by gnuplot_text only, or as a number. A
 * script contains no file name: gnuplot writes to a descriptor, and the data are part of the
 * script. */
#ifndef EXAMPLES_GNUPLOT_H
#define EXAMPLES_GNUPLOT_H

#include <stdio.h>

/* Ends the program unless the path of --plot ends in .svg or .png, or is "none". */
void check_plot_path(const char *path);

/* The path of --plot, or NULL for "none". */
const char *plot_file(const char *path);

/* Begins a script for a picture of this size in pixels. The ending of `path` decides between SVG
 * and PNG. The caller writes commands to the script and passes it to gnuplot_end. NULL if no
 * temporary file could be made. */
FILE *gnuplot_begin(const char *path, int width, int height);

/* Writes a text to the script in single quotes, where gnuplot replaces nothing. Ends the program if
 * the text is not UTF-8 or has a control character, which could end the quotes. */
void gnuplot_text(FILE *script, const char *text);

/* Draws the picture, writes it to the path, and prints where it is or why there is none; `what` is
 * its name in the message. A missing gnuplot is no error. If gnuplot fails, a message on stderr
 * says so, the file at the path is unchanged, and finish_output() will return 1. */
void gnuplot_end(FILE *script, const char *what, const char *path);

#endif
