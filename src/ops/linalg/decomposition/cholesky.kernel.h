#ifndef ADZI_OPS_LINALG_DECOMPOSITION_CHOLESKY_KERNEL_H
#define ADZI_OPS_LINALG_DECOMPOSITION_CHOLESKY_KERNEL_H

#include <stdbool.h>

#include "base/threads/addresses.h"
#include "ops/linalg/decomposition/batch_dims.h"

/** The arguments of cholesky. A unit is a matrix. */
typedef struct adzi_cholesky_args {
    const char *a;  /**< [batch, n, n] */
    char *y;        /**< [batch, n, n], gets the factors */
    int64_t *found; /**< the first pivot that is not positive, counted from 1, or 0 */
    int64_t n;
    bool upper;
} adzi_cholesky_args;

ADZI_ADDRESSES(adzi_cholesky_args, a, y, found);

#endif
