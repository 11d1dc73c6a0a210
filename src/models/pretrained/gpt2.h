/* GPT-2 as a published model. */
#ifndef ADZI_MODELS_PRETRAINED_GPT2_H
#define ADZI_MODELS_PRETRAINED_GPT2_H

#include "adze/nn/module.h"

/** Whether a module is one. */
bool adzi_models_is_gpt2(const adz_module *module);

/** The shape of a cache for such a model: [layers, 2, batch, heads, capacity, head features]. */
adz_shape adzi_models_gpt2_cache_shape(const adz_module *module, int64_t batch, int64_t capacity);

#endif
