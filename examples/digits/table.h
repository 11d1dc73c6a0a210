/* Tables of pixels in CSV files. */
#ifndef DIGITS_TABLE_H
#define DIGITS_TABLE_H

#include "images.h"

/* The size that the images of a table must have. */
typedef struct wanted_size {
    int64_t height, width; /* 0: the images are square */
    const char *giver;     /* what asks for it, for messages: "--size" or a model's path */
} wanted_size;

/* Reads one image from each row. The column `target` is the digit; all other columns are pixels,
 * row by row. With `may_lack_digits` a table without the column `target` is read too. Ends the
 * program for a field that is no number, a pixel below 0, a digit that is not from 0 to 9, and a
 * number of columns that makes no image. */
images read_pixel_table(
    const char *path, const char *target, wanted_size size, bool may_lack_digits);

/* The line in which a row stands, or its number if that cannot be found, for messages. Rows count
 * from 0 without the header. `text` receives the result, such as "line 7". */
const char *text_of_row(const char *path, int64_t row, char text[64]);

/* Writes images as a table whose pixels are whole numbers. */
void write_pixel_table(const char *path, const images *all);

#endif
