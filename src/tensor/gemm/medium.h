/* The two ways to compute an f32 product in bf16: Note [Medium products] in medium.c. */
#ifndef ADZI_TENSOR_GEMM_MEDIUM_H
#define ADZI_TENSOR_GEMM_MEDIUM_H

#include "tensor/gemm/gemm.h"

/** True for a product whose operands are to be rounded to bf16. */
bool adzi_gemm_medium_supports(const adzi_gemm_args *args);

/** True if adzi_gemm_loops_run_bf16() computes the product. */
bool adzi_gemm_medium_supports_ours(const adzi_gemm_args *args);

/** Rounds the operands and multiplies in f32. Returns false, with nothing done, if memory is
 * refused. */
bool adzi_gemm_medium_run_rounded(const adzi_gemm_args *args);

#endif
