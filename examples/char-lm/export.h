/* Writes the network as a function in C. */
#ifndef CHAR_LM_EXPORT_H
#define CHAR_LM_EXPORT_H

#include "model.h"

/* Writes the C file of --export-c: the scores of the next token from the last --context tokens.
 * Architectures that carry a state begin at an empty one. */
void export_c(const options *o, adz_module *network);

#endif
