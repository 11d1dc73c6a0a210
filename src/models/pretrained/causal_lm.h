/* Causal language models of decoder blocks. */
#ifndef ADZI_MODELS_PRETRAINED_CAUSAL_LM_H
#define ADZI_MODELS_PRETRAINED_CAUSAL_LM_H

#include "adze/nn/module.h"

/** Whether a module is one of them. */
bool adzi_models_is_causal_lm(const adz_module *module);

/** The shape of a cache for such a model: [layers, 2, batch, key heads, capacity, head features].
 */
adz_shape adzi_models_cache_shape(const adz_module *module, int64_t batch, int64_t capacity);

#endif
