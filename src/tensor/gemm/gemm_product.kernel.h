/* What the loops of products share, per type elem; inside each_float.h. A file includes it once
 * before, for what does not depend on elem, and once per type. */
#ifndef ADZI_TENSOR_GEMM_GEMM_PRODUCT_KERNEL_H
#define ADZI_TENSOR_GEMM_GEMM_PRODUCT_KERNEL_H

#include <math.h>

#include "tensor/gemm/gemm.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#define NO_FLOOR (-INFINITY)

#define INLINE   static inline __attribute__((always_inline))
#define NOINLINE static __attribute__((noinline))

/* What becomes of the sums: C is these; and the bias; they are added to C; whatever else. */
typedef enum finish { BARE, BIASED, ADDED, GENERAL } finish;

#endif

#ifdef elem
#include "tensor/gemm/gemm_vec.h"

/* One product with its strides spelled out: op(A)[i, p] is a[i * ai + p * ap]. */
typedef struct KERNEL(product) {
    const elem *a, *b, *bias;
    elem *c;
    int64_t ai, ap, ldb, ldc;
    int64_t m, n, k;
    elem alpha, beta;
    elem floor; /* what is less becomes this: 0, or -infinity for nothing */
    finish finish;
} KERNEL(product);
#define product KERNEL(product)

INLINE finish KERNEL(finish_of)(const product *g)
{
    bool plain = g->alpha == ELEM(1) && g->beta == ELEM(0);
    return !plain ? GENERAL : g->bias != NULL ? BIASED : BARE;
}

/* alpha sum + beta C + bias, for one vector of C. */
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
