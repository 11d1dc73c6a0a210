/* Operators on lists of tensors, and those with lists of results. */
#ifndef ADZI_OPS_SHAPE_LIST_H
#define ADZI_OPS_SHAPE_LIST_H

#include "ops/op.h"
#include "base/alloc.h"

enum { ADZI_LIST_MOST = UINT16_MAX }; /* what one node holds */

/** Fails, naming the position, unless the list has 1 to 65535 tensors, none NULL, stale or
 * ADZ_NONE.
 */
bool adzi_check_list(const char *op, adz_tensor *const *tensors, size_t n);

/** Empties a list of results after a failure, so that a NULL stands for each. Returns the code. */
adz_status adzi_no_results(adz_tensor **out, size_t n);

/**
 * For the backward of an operator whose results are parts of its input: `join` (adz_cat or
 * adz_stack) of the gradients along dim, zeros where none arrived.
 */
adz_tensor *adzi_join_gradients(adzi_node *node, adz_tensor *const *dy, int dim,
    adz_tensor *(*join)(adz_tensor *const *, size_t, int));

#endif
