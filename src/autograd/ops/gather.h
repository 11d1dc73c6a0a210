/* What gather and scatter_add share. */
#ifndef ADZI_AUTOGRAD_OPS_GATHER_H
#define ADZI_AUTOGRAD_OPS_GATHER_H

#include "autograd/op.h"

/**
 * Fails with ADZ_ERR_SHAPE unless the index has t's rank and no size above t's, dimension `except`
 * aside (-1: none).
 */
bool adzi_index_fits(
    const char *op, const adz_tensor *index, const adz_tensor *t, const char *name, int except);

#endif
