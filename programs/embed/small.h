/* A small BERT that gives embeddings of sentences, for a call without a folder. */
#ifndef EMBED_SMALL_H
#define EMBED_SMALL_H

#include "encoder.h"

/* Trains the model on the sentences of the embedded text, and saves it as a folder unless `save` is
 * NULL. */
encoder train_small(int64_t steps, const char *save);

#endif
