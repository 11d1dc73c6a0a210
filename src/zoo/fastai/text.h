/* What fastai's transformers and layers share. */
#ifndef ADZI_ZOO_FASTAI_TEXT_H
#define ADZI_ZOO_FASTAI_TEXT_H

#include "adze/nn/module.h"

/** The names of the values of adz_fastai_activation, ended by NULL. */
extern const char *const adzi_fastai_activations[];

/**
 * Calls a module with `x` as "x", `mask` as "mask", and every value of `rest` that has another
 * name. Values that are ADZ_NONE are left out. Returns the first result, or NULL with the error
 * recorded.
 */
adz_tensor *adzi_fastai_call(
    adz_module *module, adz_tensor *x, adz_tensor *mask, const adz_values *rest);

#endif
