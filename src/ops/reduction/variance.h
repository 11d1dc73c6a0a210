/* The common part of var and std: parts of the forward and of the gradient. */
#ifndef ADZI_OPS_REDUCTION_VARIANCE_H
#define ADZI_OPS_REDUCTION_VARIANCE_H

#include "ops/op.h"
#include "ops/reduction/attr.h"

typedef struct adzi_variance_attr {
    unsigned mask; /* bit d: dimension d of x is reduced */
    bool keepdim;
    double correction; /* subtracted from the count in the divisor; 1 is Bessel's */
} adzi_variance_attr;

extern const adz_field adzi_variance_fields[3];

/** The shape rule of both. */
static inline adz_status adzi_variance_shape(
    const char *op, adz_result *y, const adz_tensor *x, const adzi_variance_attr *at)
{
    /* NaN is the only number that differs from itself. */
    if (!(at->correction == at->correction)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "correction is NaN; 1 and 0 are usual");
    }
    adzi_reduce_shape(y, x, at->mask, at->keepdim);
    return ADZ_OK;
}

/** Computes the variance of x or, if `root` is true, its square root, the standard deviation. */
void adzi_variance_launch(
    adz_tensor *y, const adz_tensor *x, const adzi_variance_attr *at, bool root);

/** The variance of x as an expression. */
adz_tensor *adzi_variance_expression(adz_tensor *x, const adzi_variance_attr *at);

/** (x - mean) / 2 as an expression. The derivative of var is 4 times it over the divisor. */
adz_tensor *adzi_variance_deviation(adzi_node *node);

/** n - correction, or 0 if that is negative. */
double adzi_variance_divisor(adzi_node *node);

/** Reshapes t, a gradient or result of the node, so that it broadcasts to the node's input: reduced
 * dimensions get size 1. */
adz_tensor *adzi_variance_kept(const adzi_node *node, adz_tensor *t);

#endif
