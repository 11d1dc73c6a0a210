/* Ridge regression: the simplest sensible model to compare a network for regression with. A network
 * that does not beat it is not worth its training. */
#ifndef EXAMPLES_RIDGE_H
#define EXAMPLES_RIDGE_H

#include <adze/adze.h>

typedef struct ridge {
    adz_module *inputs; /* standardises x by the training rows */
    adz_tensor *weight; /* [D, 1] */
    double intercept, penalty;
} ridge;

/* Fits y[N, 1] = z w + intercept to the training rows, z being x[N, D] standardised, by the
 * smallest
 *
 *     sum (y - z w - intercept)^2 + penalty sum w^2
 *
 * The penalty is the one of seven from 0.001 to 1000 with the smallest error on the validation
 * rows, and 1 if `validation` is NULL or has no rows. Datasets hold x and y, in their own units. */
ridge fit_ridge(adz_dataset *train, adz_dataset *validation);

/* The root mean squared error on rows; NaN without rows. */
double ridge_rmse(const ridge *r, adz_dataset *rows);

void free_ridge(ridge *r);

#endif
