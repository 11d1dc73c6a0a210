/* What gather, scatter_add, scatter and scatter_reduce share: checks of an index, and operations
 * without the tape. gather and scatter_add are each the gradient of the other. */
#ifndef ADZI_OPS_INDEX_GATHER_H
#define ADZI_OPS_INDEX_GATHER_H

#include "ops/op.h"

/**
 * Fails with ADZ_ERR_SHAPE unless the index has t's rank and no size above t's, dimension `except`
 * aside (-1: none).
 */
bool adzi_index_fits(
    const char *op, const adz_tensor *index, const adz_tensor *t, const char *name, int except);

/** y = the elements of x at the index, which has been checked and has y's shape, not empty; y and
 * index are contiguous. Cannot fail. */
void adzi_gather_into(adz_tensor *y, const adz_tensor *x, const adz_tensor *index, int dim);

/** Returns true if adzi_scatter_into may write to y itself. Returns false if many f32 numbers are
 * added along `dim` and a slice of y is so long that their f64 sums need an f64 copy of y, which
 * the caller has to pass instead. */
bool adzi_scatter_fits(const adz_tensor *y, const adz_tensor *index, int dim);

/** y += src at the index, which has been checked, all of one rank. Cannot fail. */
void adzi_scatter_into(adz_tensor *y, const adz_tensor *src, const adz_tensor *index, int dim);

/** The check of a call with the inputs x, index and src: their dtypes and shapes and the range of
 * the index. The attributes begin with the dimension, an int. */
bool adzi_scatter_check(adzi_call *call, void *block);

/** Launches a kernel of scatter_add.kernel.c on y and src at the index, which has been checked, all
 * of one rank. Cannot fail. */
void adzi_scatter_launch(
    adzi_kernel kernel, adz_tensor *y, const adz_tensor *src, const adz_tensor *index, int dim);

/**
 * For public functions: src without the elements beyond the index, after a check that there are
 * enough. Returns NULL with the error recorded.
 */
adz_tensor *adzi_scatter_part(const char *op, adz_tensor *x, adz_tensor *index, adz_tensor *src);

#endif
