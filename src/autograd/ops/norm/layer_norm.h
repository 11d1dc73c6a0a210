/* The common part of layer_norm and rms_norm, and the arguments of their kernels. x is contiguous
 * [N, D]. */
#ifndef ADZI_AUTOGRAD_OPS_NORM_LAYER_NORM_H
#define ADZI_AUTOGRAD_OPS_NORM_LAYER_NORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "autograd/node.h"

/**
 * The argument of all three kernels. Units of layer_norm and layer_norm_dx are rows; units of
 * layer_norm_params are columns.
 */
typedef struct adzi_layer_norm_args {
    const void *x, *dy;
    const void *weight, *bias; /* [D], or NULL */
    void *out;                 /* y or dx[N, D] */
    void *dw, *db;             /* [D], or NULL */
    double *stats;             /* mean and rstd of each row; forward: or NULL */
    int64_t n, d;
    double eps;
    bool uncentred; /* the mean of a row counts as 0: rms_norm */
} adzi_layer_norm_args;

/** The attributes of a node. The normalized shape is an array of ADZ_MAX_RANK elements, of which
 * `rank` are used. */
typedef struct adzi_row_norm_attr {
    int64_t n, d; /* number of rows, and elements of a row, which are normalised together */
    double eps;
    bool weighted;  /* there is a weight, which the node has saved */
    bool uncentred; /* rms_norm */
    int rank;       /* of the normalized shape */
    int64_t normalized_shape[ADZ_MAX_RANK];
} adzi_row_norm_attr;

extern const adz_field adzi_row_norm_fields[7];

/** Checks and computes a call of layer_norm or of rms_norm, whose bias is ADZ_NONE. */
adz_tensor *adzi_row_norm(const adzi_op *op, bool uncentred, adz_tensor *x, adz_shape normalized,
    adz_tensor *weight, adz_tensor *bias, double eps);

adz_status adzi_row_norm_fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);
adz_status adzi_row_norm_expression(adz_tensor **y, adz_tensor *const *in, const void *attr);

#endif
