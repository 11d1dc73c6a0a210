/* Features in heads and back. */
#ifndef ADZI_NN_ZOO_HEADS_H
#define ADZI_NN_ZOO_HEADS_H

#include "adze/tensor.h"

/** [B, T, D] as [B, H, T, D/H]. NULL passes through. */
adz_tensor *zoo_split_heads(adz_tensor *x, int64_t heads);

/** [B, H, T, D/H] as [B, T, D]. NULL passes through. */
adz_tensor *zoo_merge_heads(adz_tensor *x);

#endif
