/* Products by the module with oneDNN. */
#ifndef ADZI_TENSOR_GEMM_ONEDNN_H
#define ADZI_TENSOR_GEMM_ONEDNN_H

#include "tensor/gemm/backend.h"
#include "tensor/gemm/cut.h"

/** The module, loaded on the first call, or NULL if there is none or it has no code for AVX-512.
 * The answer is the same for the whole life of the process. */
const adzi_gemm_backend *adzi_gemm_backend_get(void);

/** A text about the module: "oneDNN 2.6.3 (avx512_core)", "oneDNN not needed yet" or "no oneDNN
 * (reason)". The call loads nothing. */
const char *adzi_gemm_backend_info(void);

/** The number of products that the module has computed. */
uint64_t adzi_gemm_backend_products(void);

/** True for a product that the rule gives to code prepared for its shape. Loads the module for a
 * product that it may get. */
bool adzi_onednn_takes_prepared(const adzi_gemm_args *args);

/** True for a product that the rule gives to the module at all. */
bool adzi_onednn_takes(const adzi_gemm_args *args);

/** Computes by code prepared for the shape. Returns false, with nothing done, if there is none. */
bool adzi_onednn_run_prepared(const adzi_gemm_args *args);

/** Computes by the module's BLAS-like function. Always returns true. */
bool adzi_onednn_run_strided(const adzi_gemm_args *args);

/* ---- for products in bf16 (medium.c) -------------------------------------------------------- */

/** A product cut for the module. */
typedef struct adzi_onednn_plan {
    adzi_gemm_cut cut;
    const adzi_gemm_backend *backend;
    adzi_gemm_prepared *prepared[2]; /**< code for a block and for the last; NULL: BLAS-like */
    const uint16_t *a, *b;           /**< operands in bf16, packed block by block; or NULL */
} adzi_onednn_plan;

/** Cuts a product. The module must be loaded. Prepared code needs `each_alone`. */
adzi_onednn_plan adzi_onednn_plan_for(const adzi_gemm_args *args, bool each_alone);

/** Takes prepared code for the blocks. `ta` says how A will be stored. Returns false, with nothing
 * taken, if there is none. */
bool adzi_onednn_prepare(adzi_onednn_plan *plan, bool ta, bool bf16);

/** Computes all blocks. */
void adzi_onednn_run_plan(const adzi_onednn_plan *plan);

/** Gives back what adzi_onednn_prepare took. */
void adzi_onednn_end(adzi_onednn_plan *plan);

#endif
