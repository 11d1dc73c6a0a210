/* Caches of keys and values that a program hands to a language model. */
#ifndef ADZI_MODELS_PRETRAINED_CACHE_H
#define ADZI_MODELS_PRETRAINED_CACHE_H

#include "pretrained/parts.h"

/** The arguments "cache" and "past" of a call, and the number of positions that the cache has. */
typedef struct models_cache_call {
    adz_tensor *cache, *past;
    int64_t seen;
} models_cache_call;

/**
 * Checks both arguments and fills `seen`. False with the error recorded.
 *
 * @param shape   [layers, 2, batch, key heads, any capacity, head features]
 * @param length  positions that the call adds, which must fit the capacity
 */
bool adzi_models_check_cache(
    adz_module *self, models_cache_call *call, adz_shape shape, int64_t length);

#endif
