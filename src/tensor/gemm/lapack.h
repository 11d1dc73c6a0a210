/* Eigenvalues and singular values of large matrices by OpenBLAS's LAPACK, on the calling thread.
 * The bits are those of OpenBLAS, which differ between processors. */
#ifndef ADZI_TENSOR_GEMM_LAPACK_H
#define ADZI_TENSOR_GEMM_LAPACK_H

#include <stdbool.h>
#include <stdint.h>

#include "adze/base.h"

/** Bytes of working memory for adzi_lapack_eigh; -1 if this build has no LAPACK or n is too large
 * for its integers. */
int64_t adzi_lapack_eigh_bytes(adz_dtype dtype, int64_t n);

/**
 * Eigenvalues of a symmetric matrix, ascending.
 *
 * @param a     [n, n], finite; gets the eigenvectors as rows
 * @param w     gets n values
 * @param work  adzi_lapack_eigh_bytes()
 * @return      false if it did not converge
 */
bool adzi_lapack_eigh(adz_dtype dtype, int64_t n, void *a, void *w, void *work);

/** Bytes of working memory for adzi_lapack_svd; -1 as in adzi_lapack_eigh_bytes. */
int64_t adzi_lapack_svd_bytes(adz_dtype dtype, int64_t m, int64_t n);

/**
 * Singular values, descending, with u[m, k], vh[k, n] and k = min(m, n).
 *
 * @param a     [m, n], finite; destroyed
 * @param work  adzi_lapack_svd_bytes()
 * @return      false if it did not converge
 */
bool adzi_lapack_svd(
    adz_dtype dtype, int64_t m, int64_t n, void *a, void *u, void *s, void *vh, void *work);

#endif
