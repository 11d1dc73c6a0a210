/* The network, and the file that holds it. */
#ifndef DIGITS_MODEL_H
#define DIGITS_MODEL_H

#include <adze/adze.h>

#include "options.h"

typedef struct model {
    adz_module *root;
    network network;
    int64_t height, width; /* of the images that it reads */
    double range;          /* the pixel that it sees as 1 */
} model;

model new_digits(const network *n, int64_t height, int64_t width, double range);

/* Loads a model that save_digits wrote. */
model load_digits(const char *path);

void save_digits(const model *m, const char *path);
void free_digits(model *m);

/* Images as the network sees them: a new tensor of pixels from 0 to 1. */
adz_tensor *scaled(const model *m, adz_tensor *pixels);

/* Scores[N, 10] of scaled images x[N, 1, H, W]. Borrowed from the scope. */
adz_tensor *scores_of(const model *m, adz_tensor *x);

#endif
