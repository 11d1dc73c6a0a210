/**
 * @file models.h
 * libadze-models: published models as modules, read from the folders in which they are published.
 * It is built on adze's public headers alone, and on libadze-zoo. A program that includes this
 * header links libadze-models, libadze-zoo and libadze; adze.h does not include it.
 *
 * - `adz_pretrained_...` (models/pretrained.h): networks with their weights
 * - `adz_generate` (models/generate.h): text from a language model
 * - `adz_gguf_...` (models/gguf.h): files of the format GGUF
 */
#ifndef ADZE_MODELS_H
#define ADZE_MODELS_H

#include "adze/models/generate.h"
#include "adze/models/gguf.h"
#include "adze/models/pretrained.h"
#include "adze/models/tokenizer.h"

#endif
