/* SVG files: their beginning and end, and texts. Shapes are written to the file by fprintf. */
#ifndef EXAMPLES_SVG_H
#define EXAMPLES_SVG_H

#include <stdbool.h>
#include <stdio.h>

enum { FONT_SIZE = 12 }; /* in pixels */

/* A text of a picture. */
typedef struct svg_label {
    double x, y;        /* of the text's anchor, on its base line, in pixels */
    double room;        /* a longer text is cut to this many pixels; 0: any length */
    const char *anchor; /* start, middle or end; NULL: start */
    const char *color;  /* NULL: black */
    bool vertical;      /* true: the text is read from the bottom to the top */
} svg_label;

/* Ends the program unless the path of --plot ends in .svg, or is "none". */
void check_plot_path(const char *path);

/* The path of --plot, or NULL for "none". */
const char *plot_file(const char *path);

/* Begins a white picture of this size in pixels. Ends the program if there is no memory. */
FILE *svg_begin(int width, int height);

/* Writes a text. Characters that XML reserves become entities. Ends the program if the text is not
 * UTF-8 or has a control character, which XML forbids. */
void svg_text(FILE *svg, const svg_label *label, const char *text);

/* An estimate of a text's width in pixels: programs know no fonts. */
double text_width(const char *text);

/* Ends the picture, writes it to the path, and prints where it is; `what` is its name in the
 * message. If it cannot be written, a message on stderr says why, and finish_output() will return
 * 1. */
void svg_end(FILE *svg, const char *what, const char *path);

#endif
