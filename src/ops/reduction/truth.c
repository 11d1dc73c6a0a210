#include "ops/reduction/truth.h"

#include "ops/reduction/attr.h"

/* The forward of any and all.
 *
 *     any:  y = x_0 != 0 or  x_1 != 0 or  ...
 *     all:  y = x_0 != 0 and x_1 != 0 and ...
 *
 * x has any shape. y is bool, but u8 for u8 as in PyTorch. Nothing is recorded, because truth
 * values have no gradient. */

adz_tensor *adzi_truth(const adzi_op *op, adz_tensor *x, adz_dims dims, bool keepdim,
    const adzi_kernel *run, const adzi_kernel *join)
{
    adzi_call call;
    unsigned mask;
    if (!adzi_enter(&call, op, "x", &x, 1, 0) || !adzi_want_computable(&call, 0) ||
        !adzi_dims_mask(op->name, x, dims, &mask)) {
        return NULL;
    }
    int64_t sizes[ADZ_MAX_RANK];
    int rank = adzi_reduced_sizes(x, mask, keepdim, sizes);
    adz_tensor *y = adzi_new(&call, x->dtype == ADZ_U8 ? ADZ_U8 : ADZ_BOOL, rank, sizes);
    /* The tables of kernels are indexed by dtype. The state of a block is one byte, its truth
     * value. */
    const adzi_reduce_attr attr = { .mask = mask, .keepdim = keepdim };
    if (y == NULL || !adzi_record_nothing(&call, y, &attr, sizeof attr)) {
        return NULL;
    }
    adzi_reduce((adzi_reducer){ run[x->dtype], join[x->dtype], 1 }, y, NULL, x, mask, NULL);
    return y;
}
