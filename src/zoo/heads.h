/* Splitting features into the heads of attention, and merging heads. */
#ifndef ADZI_ZOO_HEADS_H
#define ADZI_ZOO_HEADS_H

#include "adze/tensor.h"

/** Splits x[B, T, D] into heads: [B, H, T, D/H], a view if x allows it. NULL passes through. */
adz_tensor *adzi_zoo_split_heads(adz_tensor *x, int64_t heads);

/** Merges the heads of x[B, H, T, D/H] to [B, T, D]. NULL passes through. */
adz_tensor *adzi_zoo_merge_heads(adz_tensor *x);

#endif
