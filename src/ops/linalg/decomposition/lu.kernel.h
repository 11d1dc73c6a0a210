/* The arguments of the kernels in lu.kernel.c. A unit is a matrix.
 *
 * Note [LU]
 * P A = L U with partial pivoting. Both factors are in one matrix; the diagonal of L consists of
 * ones and is not stored. Step i exchanged the rows i and pivots[i]. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_LU_KERNEL_H
#define ADZI_OPS_LINALG_DECOMPOSITION_LU_KERNEL_H

#include <stdbool.h>

#include "base/threads/addresses.h"
#include "ops/linalg/decomposition/batch_dims.h"

typedef struct adzi_lu_args {
    const char *a;   /**< [batch, n, n] */
    char *lu;        /**< [batch, n, n], gets the factors */
    int64_t *pivots; /**< [batch, n] */
    int64_t *found;  /**< the first pivot that is 0, counted from 1, or 0 */
    int64_t n;
} adzi_lu_args;

ADZI_ADDRESSES(adzi_lu_args, a, lu, pivots, found);

/** Arguments of lu_factor_in_place. */
typedef struct adzi_lu_in_place_args {
    char *lu;        /**< [batch, m, n]: matrices of any size, which become their factors */
    int64_t *pivots; /**< [batch, min(m, n)] */
    int64_t m, n;
} adzi_lu_in_place_args;

ADZI_ADDRESSES(adzi_lu_in_place_args, lu, pivots);

/** Arguments of lu_solve. */
typedef struct adzi_lu_solve_args {
    const char *lu;
    const int64_t *pivots;
    adzi_batch_dims batch; /**< of lu, broadcast to the matrices of x */
    char *x;               /**< holds b, and gets the result: [batch, n, k] */
    int64_t n, k;
    bool transposed; /**< solves with the transposed matrices */
    bool identity;   /**< b is the identity, and x holds nothing */
} adzi_lu_solve_args;

ADZI_ADDRESSES(adzi_lu_solve_args, lu, pivots, x);

enum { ADZI_LU_ALONE = 16 }; /**< rows of the largest matrix whose factors need not be kept */

/** Arguments of lu_determinant. Pointers that are NULL are not written to. */
typedef struct adzi_lu_determinant_args {
    char *lu; /**< gets small numbers in place of pivots that are 0, if `parts` is wanted */
    const int64_t *pivots; /**< NULL if lu is matrices that are yet to be factored, which stay as
                                they are; then n is at most ADZI_LU_ALONE */
    int64_t n;
    char *det;   /**< [batch] */
    char *parts; /**< [batch, 2]: rest and exponent. det 2^-exponent + rest is the product of the
                      pivots with these small numbers, scaled to a size of about 1 */
    char *sign, *logabs; /**< [batch] */
} adzi_lu_determinant_args;

ADZI_ADDRESSES(adzi_lu_determinant_args, lu, pivots, det, parts, sign, logabs);

#endif
