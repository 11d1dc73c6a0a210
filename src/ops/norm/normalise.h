/* The normalisation of batch_norm, layer_norm and rms_norm as an expression of operators, from
 * which gradients with a graph are derived. */
#ifndef ADZI_OPS_NORM_NORMALISE_H
#define ADZI_OPS_NORM_NORMALISE_H

#include "ops/op.h"

/** x normalised over dimensions: unit = (x - mean) rstd, rstd = 1 / sqrt(variance + eps). */
typedef struct adzi_normalised {
    adz_tensor *unit; /* of the shape of x, with mean 0 and variance 1 over the dimensions */
    adz_tensor *rstd; /* broadcasts to x: size 1 in the dimensions */
} adzi_normalised;

/** Normalises x over `dims` by an expression of operators. Both members are NULL on failure. */
adzi_normalised adzi_normalise(adz_tensor *x, adz_dims dims, double eps);

/** The gradient of x from that of unit: rstd (g - mean(g) - unit mean(g unit)). */
adz_tensor *adzi_normalise_gradient(adzi_normalised normalised, adz_tensor *g, adz_dims dims);

/** Divides x by the root of its mean square over `dims`: unit = x rstd, rstd = 1 / sqrt(mean(x^2) +
 * eps). Both members are NULL on failure. */
adzi_normalised adzi_scale(adz_tensor *x, adz_dims dims, double eps);

#endif
