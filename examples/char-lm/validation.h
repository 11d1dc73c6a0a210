/* How well a network knows a text that it has not learnt. */
#ifndef CHAR_LM_VALIDATION_H
#define CHAR_LM_VALIDATION_H

#include "corpus.h"
#include "model.h"

/* The mean cross entropy of every token of the part but the first, each predicted once. A network
 * that carries nothing sees windows side by side, the others streams from their beginning. The
 * network stays as it is. */
double validate(const options *o, adz_module *network, const part *p);

#endif
