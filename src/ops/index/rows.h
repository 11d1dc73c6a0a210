/* Rows of a tensor by their numbers, and gradients summed back to them. embedding and index_select
 * share this.
 *
 * x[..., size, ...] has its rows along dimension `dim`. The index is contiguous i64 of any shape,
 * and its sizes replace `size` in y. Row number -1 means none: zeros are taken for it, and what is
 * summed there is dropped. */
#ifndef ADZI_OPS_INDEX_ROWS_H
#define ADZI_OPS_INDEX_ROWS_H

#include "ops/op.h"

/** Sizes of the rows of `x` that `index` names; false with ADZ_ERR_SHAPE for too many dimensions.
 */
bool adzi_rows_sizes(
    const char *op, const adz_tensor *x, int dim, const adz_tensor *index, adz_shape *shape);

/** y = the rows; y and x are contiguous. Cannot fail. */
void adzi_rows_copy(adz_tensor *y, const adz_tensor *x, int dim, const adz_tensor *index);

/**
 * The transpose of adzi_rows_copy, on the tape: zeros of `size` rows to which each row of y has
 * been added, in the order of the index, sums of f32 in f64. The bits do not depend on the number
 * of threads.
 */
adz_tensor *adzi_rows_sum(adz_tensor *y, int dim, adz_tensor *index, int64_t size);

#endif
