/* Embedding tables, for modules that look rows up in their own way. */
#ifndef ADZI_NN_LAYERS_EMBEDDING_H
#define ADZI_NN_LAYERS_EMBEDDING_H

#include "adze/nn/embedding.h"

/** How an Embedding looks rows up; NULL for a module of another type. Its table is parameter 0. */
const adz_embedding_options *adzi_embedding_options(const adz_module *module);

#endif
