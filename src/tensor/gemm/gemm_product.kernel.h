/* The description of a product and its epilogue, which gemm.kernel.c and gemm_blocked.kernel.c
 * share.
 *
 * A file includes the header once before each_float.h, for the part that does not depend on elem,
 * and once per type inside it. INLINE functions are always inlined, since their constant arguments
 * have to vanish; NOINLINE ones are calls, so that they have all registers for themselves. */
#ifndef ADZI_TENSOR_GEMM_GEMM_PRODUCT_KERNEL_H
#define ADZI_TENSOR_GEMM_GEMM_PRODUCT_KERNEL_H

#include <math.h>

#include "tensor/gemm/gemm.h"
#include "tensor/kernel/registers.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#define NO_FLOOR (-INFINITY)

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

/* The epilogue, which says what is written to C: BARE the sums, BIASED the sums and the bias,
 * GENERAL alpha sums + beta C + bias. */
typedef enum finish { BARE, BIASED, GENERAL } finish;

#endif

#ifdef elem
#include "tensor/kernel/vector.h"

/* One product with its strides spelled out: op(A)[i, p] is a[i * ai + p * ap]. */
typedef struct KERNEL(product) {
    const elem *a, *b, *bias;
    elem *c;
    const elem *packed; /* this layer of the first strip, see gemm_pack; or NULL */
    int64_t ai, ap, ldb, ldc;
    int64_t m, n, k;
    elem alpha, beta;
    elem begin; /* factor of C with which the sums of a tile begin; 0: they begin with 0 */
    elem floor; /* smaller results become this: 0 for a ReLU, NO_FLOOR without */
    finish finish;
} KERNEL(product);
#define product KERNEL(product)

/* The cheapest epilogue of a product. */
INLINE finish KERNEL(finish_of)(const product *g)
{
    bool plain = g->alpha == ELEM(1) && g->beta == ELEM(0);
    return !plain ? GENERAL : g->bias != NULL ? BIASED : BARE;
}

/* The product of item i of a batch, with strides spelled out. */
INLINE product KERNEL(product_of)(const adzi_gemm_args *args, int64_t i)
{
    const bool nothing = args->k == 0 || args->alpha == 0;
    product g = {
        .a = args->a,
        .b = args->b,
        .c = args->c,
        .bias = args->bias,
        .packed = args->packed,
        .ai = args->ta ? 1 : args->lda,
        .ap = args->ta ? args->lda : 1,
        .ldb = args->ldb,
        .ldc = args->ldc,
        .m = args->m,
        .n = args->n,
        .k = nothing ? 0 : args->k,
        .alpha = nothing ? ELEM(1) : (elem)args->alpha,
        .beta = (elem)args->beta,
        .floor = args->relu ? ELEM(0) : NO_FLOOR,
    };
    g.finish = KERNEL(finish_of)(&g);
    if (i > 0) {
        g.a += i * args->stride_a;
        g.b += i * args->stride_b;
        g.c += i * args->stride_c;
    }
    return g;
}

/* The general epilogue of one vector of C: alpha sum + beta C + bias. C is not read where beta is
 * 0, so that NaN in an uninitialised C does not spread. */
INLINE VEC KERNEL(finished)(
    const product *g, const elem *c, const elem *bias, VEC sum, bool whole, int lanes)
{
    if (g->alpha != ELEM(1)) {
        sum *= VSPLAT(g->alpha);
    }
    if (bias != NULL) {
        sum += KERNEL(load)(bias, whole, lanes);
    }
    if (g->beta == ELEM(1)) {
        sum += KERNEL(load)(c, whole, lanes);
    } else if (g->beta != ELEM(0)) {
        sum = VFMA(VSPLAT(g->beta), KERNEL(load)(c, whole, lanes), sum);
    }
    return sum;
}
#endif
