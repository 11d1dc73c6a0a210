/* Pictures of mistakes. */
#ifndef DIGITS_PICTURE_H
#define DIGITS_PICTURE_H

#include "train.h"

/* Draws the first of the `count` mistakes with what was said and what was true. pixels has the
 * images of the mistakes, row by row, one after the other. */
void draw_mistakes(
    const char *path, const model *m, const verdict *mistakes, int64_t count, const float *pixels);

/* Prints an image as text, two characters for each pixel. */
void print_image(const model *m, const float *pixels);

#endif
