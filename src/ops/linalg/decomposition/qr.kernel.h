#ifndef ADZI_OPS_LINALG_DECOMPOSITION_QR_KERNEL_H
#define ADZI_OPS_LINALG_DECOMPOSITION_QR_KERNEL_H

#include <stdbool.h>

#include "base/threads/addresses.h"
#include "ops/linalg/decomposition/workers.h"

enum {
    ADZI_QR_BLOCK = 32,      /**< columns whose reflections are applied by products */
    ADZI_QR_LANES_ROWS = 32, /**< rows of matrices that are factored in lanes */
    ADZI_QR_LANES_COLUMNS = 16
};

/** Arguments of qr; k is the smaller one of m and n. */
typedef struct adzi_qr_args {
    const char *a; /**< [batch, m, n] */
    char *q, *r;   /**< [batch, m, k] and [batch, k, n] */
    int64_t m, n;
    adzi_workers workers;
} adzi_qr_args;

ADZI_ADDRESSES(adzi_qr_args, a, q, r, workers.memory);

/** True for matrices that are factored in lanes: Note [Lanes of matrices]. */
static inline bool adzi_qr_in_lanes(int64_t m, int64_t n)
{
    return m <= ADZI_QR_LANES_ROWS && n <= ADZI_QR_LANES_COLUMNS;
}

/** Arguments of low_rank. A unit is a matrix. */
typedef struct adzi_low_rank_args {
    const char *r;  /**< [batch, n, n], upper triangles */
    int64_t *found; /**< the first column that is no direction of its own, counted from 1, or 0 */
    int64_t n;
    double rtol; /**< the part of a column's norm that counts as rounding */
} adzi_low_rank_args;

ADZI_ADDRESSES(adzi_low_rank_args, r, found);

/** Elements of working memory for an item. */
static inline int64_t adzi_qr_room(int64_t m, int64_t n)
{
    if (adzi_qr_in_lanes(m, n)) {
        return m * n + m * (m < n ? m : n) + n; /* a, q and tau */
    }
    const int64_t b = ADZI_QR_BLOCK, k = m < n ? m : n;
    return m * n + m * b + 2 * b * n + k * b + b * b;
}

#endif
