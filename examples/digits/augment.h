/* Random changes of training images. */
#ifndef DIGITS_AUGMENT_H
#define DIGITS_AUGMENT_H

#include <adze/adze.h>

#include "options.h"

/* Changes each image of x[N, 1, H, W] f32 in place: turns it around its centre, changes its size,
 * shifts it and adds noise. What comes in from outside is 0. */
void augment(const augmentation *a, adz_generator *generator, adz_tensor *x);

#endif
