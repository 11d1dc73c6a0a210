/* Images with their digits, from a table, from IDX files, or drawn. */
#ifndef DIGITS_IMAGES_H
#define DIGITS_IMAGES_H

#include <adze/adze.h>
#include <stdbool.h>

/* Pixels are numbers as the file has them, row by row; 0 is the background. */
typedef struct images {
    int64_t count, height, width;
    float *pixels;   /* [count, height, width], for free_images */
    int64_t *digits; /* count digits, 0 to 9; NULL if they are unknown */
    double range;    /* the largest value that a pixel can have; 0 if the file does not say it */
} images;

/* Allocates images that are all background. */
images new_images(int64_t count, int64_t height, int64_t width, bool with_digits);

void free_images(images *all);

#endif
