/* The normalisation of rows, which layer_norm and rms_norm share. x is contiguous [N, D]. */
#ifndef ADZI_OPS_NORM_ROW_NORM_H
#define ADZI_OPS_NORM_ROW_NORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/threads/addresses.h"
#include "autograd/node.h"

/**
 * The argument of all three kernels. Units of row_norm and row_norm_dx are rows; units of
 * row_norm_params are columns.
 */
typedef struct adzi_row_norm_args {
    const void *x, *dy;
    const void *weight, *bias; /* [D], or NULL */
    void *out;                 /* y or dx[N, D] */
    void *dw, *db;             /* [D], or NULL */
    double *stats;             /* mean and rstd of each row; forward: or NULL */
    int64_t n, d;
    double eps;
    bool centred; /* the mean of a row is subtracted; else it counts as 0 */
} adzi_row_norm_args;

ADZI_ADDRESSES(adzi_row_norm_args, x, dy, weight, bias, out, dw, db, stats);

/** The attributes of a node. The normalized shape is an array of ADZ_MAX_RANK elements, of which
 * `rank` are used. */
typedef struct adzi_row_norm_attr {
    int64_t n, d; /* number of rows, and elements of a row, which are normalised together */
    double eps;
    bool weighted; /* there is a weight, which the node has saved */
    bool centred;  /* the mean of a row is subtracted, and there may be a bias */
    int rank;      /* of the normalized shape */
    int64_t normalized_shape[ADZ_MAX_RANK];
} adzi_row_norm_attr;

extern const adz_field adzi_row_norm_fields[7];

/** The last dimensions of x, over which the statistics run. */
adz_dims adzi_row_norm_dims(const adz_tensor *x, const adzi_row_norm_attr *at);

/** Checks and computes a call of `op`, whose n_inputs are x and weight, and if the rows are centred
 * bias. Weight and bias may be ADZ_NONE. */
adz_tensor *adzi_row_norm(const adzi_op *op, adz_tensor **in, adz_shape normalized, double eps);

/** The fused backward of such a call. */
adz_status adzi_row_norm_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

#endif
