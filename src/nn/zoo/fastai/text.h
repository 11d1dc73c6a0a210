/* Helpers that fastai's transformers share. */
#ifndef ADZI_NN_ZOO_FASTAI_TEXT_H
#define ADZI_NN_ZOO_FASTAI_TEXT_H

#include "adze/nn/module.h"

/**
 * Calls a module with "x", then `mask` as "mask" if there is one, then every entry of `rest` that
 * has another name and is there. The first result, or NULL.
 */
adz_tensor *adzi_fastai_call(
    adz_module *module, adz_tensor *x, adz_tensor *mask, const adz_values *rest);

#endif
