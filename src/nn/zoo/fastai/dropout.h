/* Masks of fastai's dropouts, for modules that draw one. */
#ifndef ADZI_NN_ZOO_FASTAI_DROPOUT_H
#define ADZI_NN_ZOO_FASTAI_DROPOUT_H

#include "adze/nn/fastai_dropout.h"
#include "nn/layers/dropout.h"

/** The mask that a module multiplies with: adz_fastai_dropout_mask, or the next of a replay. Only
 * where the module is training and p is not 0. */
adz_tensor *adzi_fastai_mask(
    adz_module *self, adz_shape shape, adz_dtype dtype, double p, adz_generator *generator);

/** Whether p is in [0, 1]; else the error is recorded. */
bool adzi_check_probability(const char *op, const char *name, double p);

#endif
