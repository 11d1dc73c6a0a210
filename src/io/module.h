/* Modules in collections of named tensors. Files of weights and checkpoints use these functions. */
#ifndef ADZI_IO_MODULE_H
#define ADZI_IO_MODULE_H

#include "adze/io/module.h"

/**
 * Adds the tensors of a module's state to a collection, with `prefix` before each name. With
 * `dedup`, a tied tensor is added once, and its other names become metadata.
 */
adz_status adzi_module_collect(
    const char *op, adz_module *module, const char *prefix, bool dedup, adz_safetensors *file);

/**
 * The tensors of a collection under the names that they get by the prefix and the callback of the
 * options. A name that the metadata declares as tied is added if the module has it. The caller
 * frees the result. NULL with the error recorded if memory was refused or two names become one.
 */
adz_state_dict *adzi_module_pick(const char *op, adz_module *module,
    const adz_load_options *options, const adz_safetensors *file);

#endif
