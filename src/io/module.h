/* Modules in collections of tensors, shared by files of weights and checkpoints. */
#ifndef ADZI_IO_MODULE_H
#define ADZI_IO_MODULE_H

#include "adze/io/module.h"

/**
 * Adds a module's state, each name after `prefix`. With `dedup` a tied tensor stands once, its
 * other names in the metadata.
 */
adz_status adzi_module_collect(
    const char *op, adz_module *module, const char *prefix, bool dedup, adz_safetensors *file);

/**
 * The tensors of a collection whose names begin with `prefix`, without it; names from the metadata
 * that the module has stand for what they are tied to. NULL with the error recorded.
 */
adz_state *adzi_module_pick(adz_module *module, const char *prefix, adz_safetensors *file);

#endif
