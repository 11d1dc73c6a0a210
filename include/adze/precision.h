/**
 * @file precision.h
 * How exactly products of f32 matrices are computed.
 */
#ifndef ADZE_PRECISION_H
#define ADZE_PRECISION_H

#include "adze/base.h"

#ifdef __cplusplus
extern "C" {
#endif

/** How exactly products of f32 matrices are computed: torch.set_float32_matmul_precision's names.
 */
typedef enum adz_matmul_precision {
    ADZ_MATMUL_HIGHEST = 0, /**< in f32 */
    ADZ_MATMUL_HIGH = 1,    /**< accepted, and computed as ADZ_MATMUL_HIGHEST */
    ADZ_MATMUL_MEDIUM = 2   /**< operands rounded to bf16, sums in f32 */
} adz_matmul_precision;

/**
 * Chooses how products of f32 matrices are computed, for the context that the calling thread uses.
 *
 * At ADZ_MATMUL_MEDIUM both operands are rounded to bf16 (8 bits of mantissa, to nearest, ties to
 * even) and multiplied, the products summed in f32:
 *
 *     C = alpha bf16(A) bf16(B) + beta C + bias
 *
 * Weights, gradients, results and optimizers stay f32. Each rounding is off by at most 2^-9 of its
 * value, so an element of C by at most 2^-8 sum |a b|, and a product of random matrices by about
 * 3e-3 of its size (2.2e-3 to 4.4e-3 measured, where f32 is off by 1e-7 to 4e-7); operands that
 * bf16 holds lose nothing. A value beyond 3.39e38 becomes infinite. Trainings reach the same loss:
 * the 768-3072 feed-forward network 0.009746 at medium and at highest where another seed gives
 * 0.009768, regressions on three UCI sets the same error within a tenth of its standard error over
 * splits (docs/performance.md).
 *
 * It is fast on AMD's processors with AVX512_BF16, and with AMX where oneDNN's module is
 * built; elsewhere it costs what f32 costs and a little for the rounding, and gives the same
 * numbers up to the order of sums (adz_matmul_precision_info says which). It concerns adz_linear,
 * adz_matmul, the layers of an LSTM and all built on them; f64, products inside fused steps
 * (attention, an LSTM's step) and elementwise operators stay as they are. Where memory for the
 * rounded operands is refused, the product is computed in f32. Rounding a matrix of weights takes
 * as long as multiplying it by some ten to twenty rows: under that, medium is slower than highest.
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
 * How ADZ_MATMUL_MEDIUM is computed here: "medium: bf16 on AVX512_BF16, by adze's own loops",
 * "medium: bf16 on AMX, by oneDNN 2.6.3" or "medium: rounded to bf16, multiplied in f32 (this
 * processor has no fast bf16)". Loads oneDNN's module if there is one.
 *
 * @return a string valid until the thread's next call of this function
 */
ADZ_API const char *adz_matmul_precision_info(void);

#ifdef __cplusplus
}
#endif

#endif
