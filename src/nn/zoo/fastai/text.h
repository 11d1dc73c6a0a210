/* What fastai's transformers share. */
#ifndef ADZI_NN_ZOO_FASTAI_TEXT_H
#define ADZI_NN_ZOO_FASTAI_TEXT_H

#include "adze/nn/module.h"

/** Fails with ADZ_ERR_ARGUMENT for a size below `least`. */
bool adzi_fastai_check_size(const char *op, const char *name, int64_t size, int64_t least);

/**
 * Calls a module with "x", then `mask` as "mask" if there is one, then every entry of `rest` that
 * has another name and is there. The first result, or NULL.
 */
adz_tensor *adzi_fastai_call(
    adz_module *module, adz_tensor *x, adz_tensor *mask, const adz_values *rest);

#endif
