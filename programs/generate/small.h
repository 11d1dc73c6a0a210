/* A small Llama that writes text, for a call without a folder. */
#ifndef GENERATE_SMALL_H
#define GENERATE_SMALL_H

#include <adze/models.h>

/* Trains the model on the embedded text, and saves it as a folder unless `save` is NULL. Both
 * results are the caller's. */
adz_module *train_small(int64_t steps, const char *save, adz_tokenizer **tokenizer);

/* How many positions the model has. */
enum { SMALL_POSITIONS = 512 };

#endif
