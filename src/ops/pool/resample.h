/* Means of windows and interpolation: linear maps of planes,
 *
 *     y[p] = A x[p] B^T,   A[out_h, in_h] and B[out_w, in_w] with few elements that are not 0
 *
 * and therefore, for the gradient, dx[p] = A^T dy[p] B. A volume has one more matrix, for its
 * depth. */
#ifndef ADZI_OPS_POOL_RESAMPLE_H
#define ADZI_OPS_POOL_RESAMPLE_H

#include "base/threads/addresses.h"
#include "ops/pool/taps.h"

/** Arguments of the kernel resample. A unit is a row of y. */
typedef struct adzi_resample_args {
    const void *x;
    void *y;
    adzi_taps slices, rows, columns;
    double scale; /* factor of every result */
} adzi_resample_args;

ADZI_ADDRESSES(adzi_resample_args, x, y, ADZI_TAPS_ADDRESSES(slices.), ADZI_TAPS_ADDRESSES(rows.),
    ADZI_TAPS_ADDRESSES(columns.));

/** One call. */
typedef struct adzi_resampling {
    adzi_windows w;
    adzi_resample_args args; /* with the scale */
} adzi_resampling;

/** Calls an operator. Nothing is saved, because y is linear in x. */
adz_tensor *adzi_resample_call(const adzi_op *op, adz_tensor *x, adzi_resampling *call);

/** The gradient of such a call in one launch. */
adz_status adzi_resample_fused(
    adzi_node *node, adz_tensor **dx, adz_tensor *const *dy, const adzi_axis *axes, double scale);

/** The map as an expression of operators, scale A x B^T. x has any layout, and its last n
 * dimensions are those of the axes. */
adz_tensor *adzi_resample_expression(
    const char *op, adz_tensor *x, int n, const adzi_axis *axes, double scale);

#endif
