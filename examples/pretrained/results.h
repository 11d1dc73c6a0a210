/* What a published model takes and returns. */
#ifndef EXAMPLES_PRETRAINED_RESULTS_H
#define EXAMPLES_PRETRAINED_RESULTS_H

#include <adze/adze.h>
#include <adze/models.h>
#include <stdbool.h>

/* True if a call of the model with "input_ids" has a result of this name, such as "logits". The
 * model is called with one token. */
bool model_gives(adz_module *model, const char *name);

/* The token that fills rows, by the config.json of the encoder's folder. */
int64_t padding_of(const char *folder, adz_module *encoder);

#endif
