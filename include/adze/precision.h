/**
 * @file precision.h
 * The precision of products of f32 matrices, and who computes products.
 */
#ifndef ADZE_PRECISION_H
#define ADZE_PRECISION_H

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The precision of products of f32 matrices, under the names of PyTorch. */
typedef enum adz_matmul_precision {
    ADZ_MATMUL_HIGHEST = 0, /**< in f32 */
    ADZ_MATMUL_HIGH = 1,    /**< accepted, and computed as ADZ_MATMUL_HIGHEST */
    ADZ_MATMUL_MEDIUM = 2   /**< operands rounded to bf16, sums in f32 */
} adz_matmul_precision;

/**
 * Chooses how products of f32 matrices are computed, for the context that the calling thread uses.
 *
 * At ADZ_MATMUL_MEDIUM both operands are rounded to bf16 (8 bits of mantissa, to nearest, ties to
 * even), and the products are summed in f32:
 *
 *     C = alpha bf16(A) bf16(B) + beta C + bias
 *
 * Weights, gradients, results and the state of optimizers stay f32.
 *
 * Error: rounding changes a value by at most 2^-9 of itself, so an element of C is off by at most
 * 2^-8 sum |a b|. Products of random matrices were measured to be off by 2.2e-3 to 4.4e-3 of their
 * size; in f32 it is 1e-7 to 4e-7. Operands that bf16 can hold lose nothing. Values above 3.39e38
 * become infinite. Trainings were measured to reach the loss that they reach in f32
 * (docs/measurements/).
 *
 * Speed: medium is fast on AMD's processors with AVX512_BF16. AMX is not used. Elsewhere a product
 * takes as long as in f32, plus the time of the rounding. Rounding a matrix of weights takes as
 * long as multiplying it by 10 to 20 rows, so for fewer rows medium is slower than highest.
 * adz_matmul_precision_info says which case holds here.
 *
 * The setting applies to adz_linear, adz_matmul, the layers of an LSTM and everything built on
 * them. It does not apply to f64, to products inside fused steps (attention, one step of an LSTM)
 * and to elementwise operators. If there is no memory for the rounded operands, the product is
 * computed in f32.
 *
 * @param precision  ADZ_MATMUL_HIGHEST by default
 * @return           ADZ_OK or ADZ_ERR_ARGUMENT
 * @see torch.set_float32_matmul_precision
 */
ADZ_API adz_status adz_set_matmul_precision(adz_matmul_precision precision);

/**
 * The precision that adz_set_matmul_precision chose.
 *
 * @return ADZ_MATMUL_HIGHEST by default
 * @see torch.get_float32_matmul_precision
 */
ADZ_API adz_matmul_precision adz_get_matmul_precision(void);

/**
 * How ADZ_MATMUL_MEDIUM is computed on this processor. It returns one of two texts:
 *
 *     "medium: bf16 on AVX512_BF16, by adze's own loops"
 *     "medium: rounded to bf16, multiplied in f32 (this processor has no fast bf16)"
 *
 * @return a static string
 */
ADZ_API const char *adz_matmul_precision_info(void);

/** Who computes products of f32 and f64 matrices. */
typedef enum adz_gemm_backend {
    ADZ_GEMM_OWN = 0, /**< adze, on processors with AVX2, AVX-512 or NEON, and on all processors
                               in a build without a BLAS; on others the BLAS if it is installed */
    ADZ_GEMM_BLAS = 1 /**< the BLAS that adze was built with; it is loaded when it is needed */
} adz_gemm_backend;

/**
 * Chooses who computes products of f32 and f64 matrices, for the context that the calling thread
 * uses. Use it to compare adze with a BLAS, or where a BLAS is faster on your processor.
 *
 * The BLAS gets what adz_linear, adz_matmul, LSTMs and what is built on them multiply, from 2^16
 * multiply-adds on (2^18 if a side is below 16; half as many in f64). Calls for smaller products do
 * not pay. It does not get products inside fused steps, such as attention and convolutions.
 *
 * Each BLAS sums in its own order, which may also depend on the processor. adze's products
 * have the same bits on all of these processors (docs/reproducibility.md).
 *
 * @param products  ADZ_GEMM_OWN by default, or ADZ_GEMM_BLAS if ADZE_PRODUCTS=blas is in
 * the environment
 * @return          ADZ_OK, ADZ_ERR_ARGUMENT, or ADZ_ERR_UNSUPPORTED for ADZ_GEMM_BLAS if adze
 * was built without a BLAS (Meson option `blas`) or the BLAS is not installed
 */
ADZ_API adz_status adz_set_gemm_backend(adz_gemm_backend products);

/**
 * Who computes products of f32 and f64 matrices, see adz_set_gemm_backend.
 *
 * @return ADZ_GEMM_OWN by default
 */
ADZ_API adz_gemm_backend adz_get_gemm_backend(void);

#ifdef __cplusplus
}
#endif

#endif
