/* What tables of embeddings share. */
#ifndef ADZI_NN_LAYERS_EMBEDDING_H
#define ADZI_NN_LAYERS_EMBEDDING_H

#include "adze/base.h"

/** Draws a table weight[V, D] from N(0, 1) as PyTorch does, then zeroes the row of the padding, 0
 * .. V-1 or ADZ_NO_PADDING. ADZ_OK, or the error of the draw. */
adz_status adzi_embedding_reset(adz_tensor *weight, int64_t padding_idx);

#endif
