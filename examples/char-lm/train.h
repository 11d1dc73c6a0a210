/* The training loop. */
#ifndef CHAR_LM_TRAIN_H
#define CHAR_LM_TRAIN_H

#include "corpus.h"
#include "model.h"

/* Trains a network until --steps steps are done, beginning from the checkpoint of --load if there
 * is one. Saves the checkpoint and prints the result. */
void train(const options *o, const corpus *c, adz_module *network);

#endif
