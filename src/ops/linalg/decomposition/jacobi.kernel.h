/* Jacobi rotations for matrices of up to 32 rows or columns (20 in f64); used by eigh and svd. */
#ifndef ADZI_OPS_LINALG_DECOMPOSITION_JACOBI_KERNEL_H
#define ADZI_OPS_LINALG_DECOMPOSITION_JACOBI_KERNEL_H

#include <stdbool.h>

#include "base/threads/addresses.h"
#include "ops/linalg/decomposition/loops/matrix_lanes.h"
#include "ops/linalg/decomposition/workers.h"

enum {
    ADZI_JACOBI_MOST = 32,  /**< the largest matrix */
    ADZI_JACOBI_LANES = 16, /**< more than ADZI_MATRIX_LANES: chains of divisions and roots wait */
    ADZI_JACOBI_SWEEPS = 40 /**< far more than any matrix takes */
};

/** The largest matrix that rotations make diagonal. From there on, reflections to a bidiagonal
 * matrix are faster: a vector of f32 holds twice as many matrices. */
static inline int64_t adzi_jacobi_most(bool is_f32)
{
    return is_f32 ? ADZI_JACOBI_MOST : 20;
}

/** Arguments of eigh and eigh_large. A unit is a worker. */
typedef struct adzi_eigh_args {
    const char *a; /**< [batch, n, n] */
    char *w, *v;   /**< [batch, n] and [batch, n, n] */
    int64_t n;
    bool upper;     /**< the triangle that is read */
    int64_t *found; /**< 1 for an item without a result, or 0 */
    adzi_workers workers;
} adzi_eigh_args;

ADZI_ADDRESSES(adzi_eigh_args, a, w, v, found, workers.memory);

/** Arguments of svd and svd_large; k is the smaller one of m and n. */
typedef struct adzi_svd_args {
    const char *a;    /**< [batch, m, n] */
    char *u, *s, *vh; /**< [batch, m, k], [batch, k] and [batch, k, n] */
    int64_t m, n;
    int64_t *found;
    adzi_workers workers;
} adzi_svd_args;

ADZI_ADDRESSES(adzi_svd_args, a, u, s, vh, found, workers.memory);

#endif
