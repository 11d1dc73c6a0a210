/* A linear classifier of pixels: the simplest sensible model to compare the network with. */
#ifndef DIGITS_LINEAR_H
#define DIGITS_LINEAR_H

#include "data.h"

/* Trains Linear(H * W, 10) on the training images, without augmentation. End it with
 * adz_module_release. */
adz_module *fit_linear(const model *m, adz_dataset *train);

/* The share of images that the classifier reads rightly; NaN without images. */
double linear_accuracy(adz_module *linear, const model *m, adz_dataset *rows);

#endif
