/* GGUF files as published models: their values as a configuration, their tensors as weights. */
#ifndef ADZI_MODELS_GGUF_MODEL_H
#define ADZI_MODELS_GGUF_MODEL_H

#include <jansson.h>
#include <stdbool.h>

#include "pretrained/weights.h"

/** Opens the file as a source of weights and makes the configuration of transformers that it stands
 * for, a reference for json_decref. NULL with the error recorded. End the source with
 * adzi_models_gguf_close in both cases. */
json_t *adzi_models_gguf_open(models_weights *weights, const char *path);
void adzi_models_gguf_close(models_weights *weights);

#endif
