/* The three ways of an f32 product in bf16. See Note [Medium products]. */
#ifndef ADZI_TENSOR_GEMM_MEDIUM_H
#define ADZI_TENSOR_GEMM_MEDIUM_H

#include "tensor/gemm/gemm.h"

/** True for a product that is to be rounded to bf16 at all. */
bool adzi_gemm_medium_takes(const adzi_gemm_args *args);

/** True if adzi_gemm_loops_run_bf16() is the way. */
bool adzi_gemm_medium_takes_ours(const adzi_gemm_args *args);

/** True if the module's bf16 code is the way. May load the module. */
bool adzi_gemm_medium_takes_onednn(const adzi_gemm_args *args);

/** Computes by the module. Returns false, with nothing done, without code or without memory. */
bool adzi_gemm_medium_run_onednn(const adzi_gemm_args *args);

/** Rounds the operands and multiplies in f32. Returns false, with nothing done, without memory. */
bool adzi_gemm_medium_run_rounded(const adzi_gemm_args *args);

#endif
