/* What a published model takes and returns. */
#ifndef EXAMPLES_PRETRAINED_RESULTS_H
#define EXAMPLES_PRETRAINED_RESULTS_H

#include <adze/adze.h>
#include <adze/models.h>
#include <stdbool.h>

/* True if a call of the model with "input_ids" has a result of this name, such as "logits". The
 * model is called with one token. */
bool model_gives(adz_module *model, const char *name);

/* How many tokens a row of an encoder can have, by the config.json of its folder, or by its GGUF
 * file; 0 if that does not say. */
int64_t positions_of(const char *folder, adz_module *encoder);

/* The value context_length of an open GGUF file; 0 if it has none. */
int64_t gguf_positions(const adz_gguf *file);

/* The token that fills rows, by the config.json of the encoder's folder. */
int64_t padding_of(const char *folder, adz_module *encoder);

#endif
