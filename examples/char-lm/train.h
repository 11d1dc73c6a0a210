/* The training loop. */
#ifndef CHAR_LM_TRAIN_H
#define CHAR_LM_TRAIN_H

#include "corpus.h"
#include "model.h"

/* Trains a network to the last of --steps, from the checkpoint of --load if there is one; saves,
 * and prints the result. */
void train(const options *o, const corpus *c, adz_module *network);

#endif
