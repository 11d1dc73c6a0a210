/* What quantile and quantiles share. */
#ifndef ADZI_OPS_ORDER_QUANTILE_H
#define ADZI_OPS_ORDER_QUANTILE_H

#include "ops/op.h"

/** A way to round, of a number and of a tensor. */
typedef struct adzi_rounding {
    double (*number)(double);
    adz_tensor *(*tensor)(adz_tensor *);
} adzi_rounding;

/** What a rule of quantiles takes: the element at a rounded position, and, unless `high` is NULL,
 * the one at a position above. */
typedef struct adzi_quantile_method {
    const adzi_rounding *low, *high;
    bool middle; /* the weight of the upper element is 1/2 wherever the position is */
} adzi_quantile_method;

/** The method of a rule. NULL with the error recorded if x has no quantile along `dim`, which
 * becomes 0 or more, or there is no such rule. */
const adzi_quantile_method *adzi_quantile_check(
    const char *op, const adz_tensor *x, adz_quantile_rule rule, int *dim);

/** Whether the position in slices of n elements is computed in f32, as PyTorch does for x in f32.
 * From 2^24 on, which PyTorch refuses, f32 does not have every position. */
bool adzi_quantile_in_single(const adz_tensor *x, int64_t n);

/**
 * The quantiles of sorted slices.
 *
 * @param sorted  slices along dim, with the last element NaN if there is one
 * @param low     K elements along dim
 * @param high    shaped like low, or NULL if low is the result
 * @param weight  of high, broadcasts to low
 */
adz_tensor *adzi_quantile_between(
    adz_tensor *sorted, int dim, adz_tensor *low, adz_tensor *high, adz_tensor *weight);

#endif
