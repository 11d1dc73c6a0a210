/* What linear's kernels are handed. */
#ifndef ADZI_AUTOGRAD_OPS_LINALG_LINEAR_KERNEL_H
#define ADZI_AUTOGRAD_OPS_LINALG_LINEAR_KERNEL_H

#include <stdint.h>

enum {
    ADZI_LINEAR_FEW = 4,   /* inputs or outputs that linear_narrow takes */
    ADZI_LINEAR_ROWS = 512 /* likewise rows: longer sums should be cut */
};

/**
 * The gradients of a narrow layer. With few outputs all of them; with few inputs and many outputs
 * those of the weight and the bias. All matrices lie by rows without gaps; what is NULL is not
 * computed. One unit.
 */
typedef struct adzi_linear_narrow_args {
    int64_t n, d, h; /* rows, inputs, outputs; each 1 or more */
    const char *dy;  /* [n, h] */
    const char *y;   /* [n, h]: dy counts, times the factor, where y is not 0 or less; or NULL */
    double factor;
    const char *x, *w;  /* [n, d], for dw; [h, d], for dx */
    char *dx, *dw, *db; /* dw never NULL */
} adzi_linear_narrow_args;

#endif
