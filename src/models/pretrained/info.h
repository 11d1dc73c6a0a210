/* What a module from adz_pretrained_open knows of the files that it comes from. */
#ifndef ADZI_MODELS_PRETRAINED_INFO_H
#define ADZI_MODELS_PRETRAINED_INFO_H

#include "adze/nn/module.h"
#include "json.h"

/** The name of the buffer with the text of the configuration, u8[bytes], which is not part of the
 * state. */
#define MODELS_CONFIG "pretrained_config"

/** Parses the configuration that a module keeps. Returns a reference for json_decref; NULL with the
 * error recorded, ADZ_ERR_ARGUMENT for a module that adz_pretrained_open has not read. */
json_t *adzi_models_kept_config(const char *op, adz_module *module);

/** Checks eos_token_id of a configuration, whose object is `root`, and replaces it by that of
 * generation_config.json, if the folder has such a file with such an entry. False with the error
 * recorded. */
bool adzi_models_take_ends(const models_json *config, const char *folder, json_t *root);

#endif
