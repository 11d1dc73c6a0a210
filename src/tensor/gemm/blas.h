/* Products by OpenBLAS, always on the thread that asks for them. A build without a BLAS has these
 * functions too; no_blas.c says what they do there. */
#ifndef ADZI_TENSOR_GEMM_BLAS_H
#define ADZI_TENSOR_GEMM_BLAS_H

#include "tensor/gemm/gemm.h"

/** Computes a floating-point product that adzi_blas_takes(), without its `relu`; m, n, k and batch
 * are 1 or more. Returns false, with nothing done, if this build has no BLAS. */
bool adzi_blas_run(const adzi_gemm_args *args);

/** True if there is a BLAS whose integers hold the sizes and leading dimensions of a product. The
 * first call loads it. */
bool adzi_blas_takes(const adzi_gemm_args *args);

/** Keeps BLAS calls of this thread on this thread until adzi_blas_leave(), which gets
 * the returned value. */
int adzi_blas_enter(void);

/** Ends what adzi_blas_enter() has begun. `before` is its result. */
void adzi_blas_leave(int before);

#endif
