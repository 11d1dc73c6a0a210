/* Maxima and minima: max, min, amax, amin, argmax, argmin. */
#ifndef ADZI_OPS_REDUCTION_EXTREME_H
#define ADZI_OPS_REDUCTION_EXTREME_H

#include "ops/op.h"

typedef enum { ADZI_LARGEST, ADZI_SMALLEST } adzi_extreme_kind;

/** The attributes of the node of a maximum or minimum, which its backward reads. */
typedef struct adzi_extreme_attr {
    unsigned mask;
    bool keepdim;
    int dim; /* the first extreme element along it gets the whole gradient; -1: ties share */
    bool
        nan_is_it; /* a NaN result shares its gradient among the NaN elements: max and min of all */
} adzi_extreme_attr;

extern const adz_field adzi_extreme_fields[4];

/** The extreme over dimensions, whose ties share the gradient; records `op` with the attributes. */
adz_tensor *adzi_extreme(const adzi_op *op, adzi_extreme_kind kind, adz_tensor *x, adz_dims dims,
    bool keepdim, bool nan_is_it);

/** The extreme along one dimension and where it is; records `op`. */
adz_tensor *adzi_extreme_dim(const adzi_op *op, adzi_extreme_kind kind, adz_tensor *x, int dim,
    bool keepdim, adz_tensor **indices);

/** The backward of adzi_extreme and adzi_extreme_dim, as an expression and by kernels. */
adz_status adzi_extreme_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_extreme_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** The index of the extreme, along one dimension or among all elements. Records nothing. */
adz_tensor *adzi_extreme_index(
    const adzi_op *op, adzi_extreme_kind kind, adz_tensor *x, adz_dims dims, bool keepdim);

#endif
