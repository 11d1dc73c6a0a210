/* Products by OpenBLAS, always on the thread that asks for them. A build without a BLAS has these
 * functions too; no_blas.c says what they do there. */
#ifndef ADZI_TENSOR_GEMM_BLAS_H
#define ADZI_TENSOR_GEMM_BLAS_H

#include "tensor/gemm/gemm.h"

/** Computes a floating-point product that adzi_blas_supports(), without its `relu`; m, n, k and
 * batch are 1 or more. Returns false, with nothing done, if this build has no BLAS. */
bool adzi_blas_run(const adzi_gemm_args *args);

/** True if there is a BLAS whose integers hold the sizes and leading dimensions of a product. The
 * first call loads it. */
bool adzi_blas_supports(const adzi_gemm_args *args);

#endif
