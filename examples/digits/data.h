/* Loads or draws images, and splits them into training, validation and test. */
#ifndef DIGITS_DATA_H
#define DIGITS_DATA_H

#include "images.h"
#include "model.h"

/* The tensors of a dataset: pixels[N, 1, H, W] f32 as the file has them, the number of each image
 * in its file, and the digits, which may be missing. */
enum { PIXELS, NUMBERS, DIGITS, TENSORS };

typedef struct problem {
    const char *name; /* of the data, for messages */
    adz_dataset *train, *validation, *test;
    int64_t height, width;
    double range; /* the largest value of a pixel: 255, or the largest one of the training images of
                     a table */
} problem;

/* Reads all files of the options and checks them. With --load, `m` is the model, which the images
 * must fit; otherwise it is NULL. */
problem load_problem(const options *o, const model *m);

/* Reads the images of --predict, which must fit the model. */
adz_dataset *load_unknown(const options *o, const model *m);

void free_problem(problem *p);

#endif
