/* Matrix products: the seam to BLAS, and our own loops where BLAS does not pay or does not go. */
#ifndef ADZI_TENSOR_GEMM_GEMM_H
#define ADZI_TENSOR_GEMM_GEMM_H

#include <stdbool.h>
#include <stdint.h>

#include "adze/base.h"

/**
 * One product, or a batch of products of one shape, all matrices stored by rows:
 *
 *     C = alpha op(A) op(B) + beta C + bias,   op(A)[m, k], op(B)[k, n], C[m, n]
 *
 * A row of C gets the whole bias. Under `relu` what is below 0 becomes 0 in the end; NaN stays.
 * With beta 0, C is written without being read; with alpha 0 or k 0, A and B are not read. Integers
 * wrap around; alpha and beta are then taken as integers. Item i of a batch is at a + i stride_a,
 * and so on; a stride of 0 repeats an operand. C's items must not overlap each other or an operand.
 */
typedef struct adzi_gemm_args {
    adz_dtype dtype;  /**< of A, B, C and bias: F32, F64, I32, I64 or U8 */
    bool ta, tb;      /**< A is stored [k, m], B is stored [n, k] */
    int64_t m, n, k;  /**< 0 or more */
    double alpha;     /**< factor of the product */
    const void *a;    /**< stored [m, k] or [k, m] */
    int64_t lda;      /**< elements from one row of A to the next: at least the row's length */
    const void *b;    /**< stored [k, n] or [n, k] */
    int64_t ldb;      /**< likewise for B */
    double beta;      /**< factor of what C holds */
    void *c;          /**< stored [m, n] */
    int64_t ldc;      /**< likewise for C */
    const void *bias; /**< n elements added to every row, or NULL */
    bool relu;        /**< f32 and f64 only */
    int64_t batch;    /**< items; 0 or more */
    int64_t stride_a, stride_b, stride_c; /**< elements from one item to the next */
} adzi_gemm_args;

/** Computes it. Cannot fail: what needs memory (gemm_medium.c, gemm_backend.c) has a way without.
 */
void adzi_gemm_run(const adzi_gemm_args *args);

/** The same for f32, whatever adz_set_matmul_precision says. */
void adzi_gemm_run_f32(const adzi_gemm_args *args);

/** C = alpha op(A) op(B) + beta C. */
void adzi_gemm(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k, double alpha,
    const void *a, int64_t lda, const void *b, int64_t ldb, double beta, void *c, int64_t ldc);

/** The same for `batch` items; see adzi_gemm_args. */
void adzi_gemm_batched(adz_dtype dtype, bool ta, bool tb, int64_t m, int64_t n, int64_t k,
    double alpha, const void *a, int64_t lda, int64_t stride_a, const void *b, int64_t ldb,
    int64_t stride_b, double beta, void *c, int64_t ldc, int64_t stride_c, int64_t batch);

/** A rectangle of one item's C. */
typedef struct adzi_gemm_block {
    int64_t item, row, rows, column, columns;
} adzi_gemm_block;

/** beta C + bias over a rectangle of f32 or f64; C is not read when beta is 0. */
void adzi_gemm_start_block(const adzi_gemm_args *args, const adzi_gemm_block *block);

/** One rectangle without the module, on the calling thread; `started`: C holds beta C + bias
 * already.
 */
void adzi_gemm_own_block(const adzi_gemm_args *args, const adzi_gemm_block *block, bool started);

/** Makes BLAS take the memory it works in, so that a later lack of memory is adze's to report. */
void adzi_gemm_warm(void);

/** What BLAS this is and how it was built for threads: "OpenBLAS 0.3.21 ... (openmp)". */
const char *adzi_blas_info(void);

/** Whether our loops are compiled for AVX-512 and BLAS has chosen kernels for less, as OpenBLAS
 * does on processors that are younger than itself. */
bool adzi_blas_lags(void);

/** The largest size handed to BLAS in one call: what its integer holds. Tests lower it. */
extern int64_t adzi_gemm_size_limit;

/** Products of at most about this many multiply-adds use our own loops, or of 16 times as
 * many beside a BLAS that lags; no more than 2^19. Tests and the bench change it. */
extern int64_t adzi_gemm_small_limit;

#endif
