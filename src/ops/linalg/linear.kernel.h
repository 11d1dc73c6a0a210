/* Arguments and limits of the kernel linear_narrow. */
#ifndef ADZI_OPS_LINALG_LINEAR_KERNEL_H
#define ADZI_OPS_LINALG_LINEAR_KERNEL_H

#include <stdint.h>

#include "base/threads/addresses.h"

enum {
    ADZI_LINEAR_NARROW = 4, /* the most inputs or outputs of a narrow layer */
    ADZI_LINEAR_ROWS = 512  /* the most rows of one: more are worth several threads */
};

/**
 * Arguments of linear_narrow, which computes gradients of a narrow layer y = x w^T + b. A layer
 * with narrow outputs gets dx, dw and db. A layer with narrow inputs and wide outputs gets dw and
 * db. All matrices are contiguous. A gradient that is NULL is not computed. The launch has one
 * unit.
 */
typedef struct adzi_linear_narrow_args {
    int64_t n, d, h; /* rows, inputs, outputs; each 1 or more */
    const char *dy;  /* [n, h] */
    const char *y; /* [n, h]: masks dy to 0 where y <= 0 and dy * factor elsewhere; NULL: no mask */
    double factor;
    const char *x, *w;  /* [n, d], for dw; [h, d], for dx */
    char *dx, *dw, *db; /* dw never NULL */
} adzi_linear_narrow_args;

ADZI_ADDRESSES(adzi_linear_narrow_args, dy, y, x, w, dx, dw, db);

#endif
