/* Arguments of the kernels of layer_norm. x is contiguous [N, D]. */
#ifndef ADZI_AUTOGRAD_OPS_NORM_LAYER_NORM_H
#define ADZI_AUTOGRAD_OPS_NORM_LAYER_NORM_H

#include <stddef.h>
#include <stdint.h>

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
} adzi_layer_norm_args;

#endif
