/* Maxima and minima: max, min, amax, amin, argmax, argmin. */
#ifndef ADZI_OPS_REDUCTION_EXTREME_H
#define ADZI_OPS_REDUCTION_EXTREME_H

#include "ops/op.h"

/** The attributes of the node of a maximum or minimum, which its backward reads. */
typedef struct adzi_extreme_attr {
    unsigned mask;
    bool keepdim;
    int dim;        /* the first extreme element along it gets the whole gradient; -1: ties share */
    bool nan_is_it; /* a NaN result shares its gradient among the NaN elements: max and min */
    bool smallest;  /* a minimum; a maximum else */
} adzi_extreme_attr;

extern const adz_field adzi_extreme_fields[5];

/** The shape rules of values and of indices. */
adz_status adzi_extreme_shape(adz_result *y, adz_tensor *const *in, void *block);
adz_status adzi_extreme_index_shape(adz_result *y, adz_tensor *const *in, void *block);

/** The members of an adzi_op that all extremes have in common. */
#define ADZI_EXTREME_MEMBERS                                                            \
    ADZI_ATTRIBUTES(adzi_extreme_attr, adzi_extreme_fields), .strided_inputs = 1u << 0, \
                                                             .dtypes = ADZI_DTYPES_COMPUTABLE

/** Those of values over dimensions, whose ties share the gradient. */
#define ADZI_EXTREME_VALUE_MEMBERS                                                   \
    ADZI_EXTREME_MEMBERS, .shape_rule = adzi_extreme_shape, .saved_inputs = 1u << 0, \
                          .saved_results = 1u << 0

/** The launchers of values and of indices. */
void adzi_extreme_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block);
void adzi_extreme_index_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block);

/** For public functions: completes the attributes by the dimensions that the call names. False with
 * the error recorded if x, a dimension, or a reduced size of 0 is refused. */
bool adzi_extreme_dims(const char *op, adz_tensor *x, adz_dims dims, adzi_extreme_attr *attr);

/** adzi_extreme_dims for indices, which count along one dimension or through all. */
bool adzi_extreme_index_dims(const char *op, adz_tensor *x, adz_dims dims, adzi_extreme_attr *attr);

/** What a call along one dimension gets. The node keeps the attributes, and the indices as an extra
 * value. */
typedef struct adzi_extreme_call {
    adzi_extreme_attr at;
    adz_tensor *found; /* the indices */
} adzi_extreme_call;

/** The steps of such a call. */
bool adzi_extreme_dim_check(adzi_call *call, void *block);
bool adzi_extreme_dim_prepare(adzi_call *call, adz_tensor **y, adz_tensor *const *in, void *block);
void adzi_extreme_dim_launch(adz_tensor *const *y, adz_tensor *const *in, const void *block);

/** The extreme along dimension attr.dim and where it is. x is not saved, unlike where ties share
 * the gradient. */
ADZI_INLINED adz_tensor *adzi_extreme_dim(
    const adzi_op *op, adzi_extreme_attr attr, adz_tensor *x, adz_tensor **indices)
{
    static const adzi_steps steps = { .check = adzi_extreme_dim_check,
        .prepare = adzi_extreme_dim_prepare,
        .save = adzi_save_nothing,
        .launch = adzi_extreme_dim_launch,
        .n_kept = 1 };
    adzi_extreme_call c = { .at = attr };
    adz_tensor *y = ADZI_RUN_STEPS(op, steps, &c, x);
    if (indices != NULL) {
        *indices = y != NULL ? c.found : NULL;
    }
    return y;
}

/** The backward of both rules, as an expression and by kernels. */
adz_status adzi_extreme_backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_extreme_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
