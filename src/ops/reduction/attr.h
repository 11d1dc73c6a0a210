/* What reductions have in common: the attributes of those that have no argument but the dimensions,
 * and parts of their shape rules. */
#ifndef ADZI_OPS_REDUCTION_ATTR_H
#define ADZI_OPS_REDUCTION_ATTR_H

#include "ops/op.h"

typedef struct adzi_reduce_attr {
    unsigned mask; /* bit d: dimension d of x is reduced */
    bool keepdim;
} adzi_reduce_attr;

extern const adz_field adzi_reduce_fields[2];

/** For shape rules: the result has the sizes of x without the reduced dimensions, or with size 1
 * there. */
static inline void adzi_reduce_shape(
    adz_result *y, const adz_tensor *x, unsigned mask, bool keepdim)
{
    y->shape.rank = adzi_reduced_sizes(x, mask, keepdim, y->shape.sizes);
}

/** The shape rule of sums and products, which are i64 of integers and bool. */
static inline adz_status adzi_sum_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_reduce_attr *at = block;
    adzi_reduce_shape(y, in[0], at->mask, at->keepdim);
    y->dtype = adzi_is_float(y->dtype) ? y->dtype : ADZ_I64;
    return ADZ_OK;
}

/** The shape rule of any and all, whose results are bool, but u8 of u8 as in PyTorch. */
static inline adz_status adzi_truth_shape(adz_result *y, adz_tensor *const *in, void *block)
{
    const adzi_reduce_attr *at = block;
    adzi_reduce_shape(y, in[0], at->mask, at->keepdim);
    y->dtype = y->dtype == ADZ_U8 ? ADZ_U8 : ADZ_BOOL;
    return ADZ_OK;
}

/** For public functions: the mask of the dimensions that a reduction of x is called with. False
 * with the error recorded if x or a dimension is none. */
static inline bool adzi_reduce_mask(const char *op, adz_tensor *x, adz_dims dims, unsigned *mask)
{
    return adzi_check_tensor(op, "x", x) && adzi_dims_mask(op, x, dims, mask);
}

#endif
