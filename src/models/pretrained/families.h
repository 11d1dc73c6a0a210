/* The families of published models: how each is built from its configuration and weights. */
#ifndef ADZI_MODELS_PRETRAINED_FAMILIES_H
#define ADZI_MODELS_PRETRAINED_FAMILIES_H

#include "pretrained/config.h"
#include "pretrained/parts.h"

/** One family. */
typedef struct models_family {
    const char *model_type;          /* in config.json: "llama" */
    const char *const *architecture; /* in config.json, ended by NULL: "LlamaForCausalLM" */
    /* Builds the module, whose parameters have the file's names. */
    adz_module *(*build)(
        models_weights *weights, const models_json *config, const char *architecture);
    /* Whether a tensor of the file may be left out: a buffer that follows from the configuration.
     */
    bool (*ignored)(const char *name);
} models_family;

extern const models_family adzi_models_decoders[]; /* ended by a row without a model_type */
extern const models_family adzi_models_encoders[];
extern const models_family adzi_models_gpt2[];

/** Whether a name ends in a text. */
bool adzi_models_ends_in(const char *name, const char *end);

#endif
