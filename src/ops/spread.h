/* Lists of the caller that have one number for all dimensions of a window, or one for each. */
#ifndef ADZI_OPS_SPREAD_H
#define ADZI_OPS_SPREAD_H

#include "base/error.h"
#include "tensor/tensor.h"

/**
 * Writes the numbers of a list for n dimensions to `to`. A list with one number gives it to every
 * dimension, and an empty list leaves `to` as it is. Fails with ADZ_ERR_ARGUMENT for another
 * count. What values the numbers may have is for a table of fields to say.
 */
bool adzi_spread(const char *op, const char *name, const adz_shape *list, int n, int64_t *to);

/** adzi_spread for a list that must be given: an empty one fails with ADZ_ERR_ARGUMENT too. */
bool adzi_spread_given(const char *op, const char *name, const adz_shape *list, int n, int64_t *to);

#endif
