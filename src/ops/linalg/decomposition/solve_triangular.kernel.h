#ifndef ADZI_OPS_LINALG_DECOMPOSITION_SOLVE_TRIANGULAR_KERNEL_H
#define ADZI_OPS_LINALG_DECOMPOSITION_SOLVE_TRIANGULAR_KERNEL_H

#include <stdbool.h>

#include "base/threads/addresses.h"
#include "ops/linalg/decomposition/batch_dims.h"

/** The arguments of solve_triangular and zero_diagonal. A unit is a matrix. */
typedef struct adzi_triangular_args {
    const char *a;
    adzi_batch_dims batch; /**< of a, broadcast to the matrices of x */
    int64_t ld;            /**< elements from one row of a to the next */
    bool transposed;       /**< op(a) is the transpose of what is stored */
    bool upper;            /**< op(a) is an upper triangle */
    bool unit;
    char *x; /**< holds b, and gets the result: [batch, n, k] */
    int64_t n, k;
    int64_t *found; /**< gets the first zero of each diagonal, counted from 1, or 0; may be NULL for
                         solve_triangular, and has an element for each item of x otherwise */
} adzi_triangular_args;

ADZI_ADDRESSES(adzi_triangular_args, a, x, found);

#endif
