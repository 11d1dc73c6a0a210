/* What unique and unique_dim share. */
#ifndef ADZI_OPS_ORDER_UNIQUE_H
#define ADZI_OPS_ORDER_UNIQUE_H

#include "ops/op.h"

/** Clears the optional results, checks x and its dtype, and refuses plans and exports. */
bool adzi_unique_begin(const char *op, adz_tensor *x, adz_tensor **inverse, adz_tensor **counts);

/**
 * The first subtensor of each group of equal ones.
 *
 * @param x        subtensors along dim, n of them
 * @param order    i64 [n]: the numbers of the subtensors in ascending order, equal ones in their
 * order
 * @param begins   bool [n]: subtensor order[i] is the first of a group
 * @param shape    of `inverse`
 * @param inverse  receives the group of each subtensor; may be NULL
 * @param counts   receives the size of each group; may be NULL
 */
adz_tensor *adzi_unique_groups(adz_tensor *x, int dim, adz_tensor *order, adz_tensor *begins,
    adz_shape shape, adz_tensor **inverse, adz_tensor **counts);

#endif
