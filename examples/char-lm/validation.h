/* Measures a network on text that it was not trained on. */
#ifndef CHAR_LM_VALIDATION_H
#define CHAR_LM_VALIDATION_H

#include "corpus.h"
#include "model.h"

/* The mean cross entropy of every token of the part except the first, each predicted once. A
 * network without a state sees windows next to each other. A network with a state sees streams from
 * their beginning. The network is not changed. */
double validate(const options *o, adz_module *network, const part *p);

#endif
