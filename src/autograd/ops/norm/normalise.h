/* What layer_norm and batch_norm share: the gradient as an expression. */
#ifndef ADZI_AUTOGRAD_OPS_NORM_NORMALISE_H
#define ADZI_AUTOGRAD_OPS_NORM_NORMALISE_H

#include "autograd/op.h"

/** x normalised over dimensions: unit = (x - mean) rstd, rstd = 1 / sqrt(variance + eps). */
typedef struct adzi_normalised {
    adz_tensor *unit, *rstd;
} adzi_normalised;

/** As an expression of operators; both NULL on failure. */
adzi_normalised adzi_normalise(adz_tensor *x, adz_dims dims, double eps);

/** The gradient of x from that of unit: rstd (g - mean(g) - unit mean(g unit)). */
adz_tensor *adzi_normalise_gradient(adzi_normalised normalised, adz_tensor *g, adz_dims dims);

#endif
