/* The description of a product and its epilogue, which gemm.kernel.c and gemm_blocked.kernel.c
 * share.
 *
 * A file includes the header once before each_float.h, for the part that does not depend on elem,
 * and once per type inside it. */
#ifndef ADZI_TENSOR_GEMM_GEMM_PRODUCT_KERNEL_H
#define ADZI_TENSOR_GEMM_GEMM_PRODUCT_KERNEL_H

#include <math.h>

#include "tensor/gemm/gemm.h"
#include "tensor/kernel/registers.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#define NO_FLOOR (-INFINITY)

/* The epilogue, which says what is written to C: BARE the sums, BIASED the sums and the bias,
 * GENERAL alpha sums + beta C + bias. ADDED is the sums and C, for gemm_added alone. */
typedef enum finish { BARE, BIASED, GENERAL, ADDED } finish;

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

/* Sums of a rectangle of C in memory, row by row. Their last vectors are whole. */
typedef struct KERNEL(sums) {
    const elem *at;
    int64_t ld;            /* elements from one row to the next */
    int64_t i, j;          /* where they belong in C: the first row and column */
    int64_t rows, columns; /* of C */
} KERNEL(sums);

/* C = alpha sums + addend, clipped at the floor. The addend is C itself, or a bias whose rows are 0
 * elements apart. One multiplication and one addition have the bits of KERNEL(finished). */
INLINE void KERNEL(finish_with)(
    const product *g, const KERNEL(sums) * of, elem *c, const elem *addend, int64_t step)
{
    const VEC floor = VSPLAT(g->floor), alpha = VSPLAT(g->alpha);
    const int lanes = (int)(of->columns % VW);
    const int64_t end = of->columns - lanes, ld = of->ld, ldc = g->ldc;
    const elem *sums = of->at;
    for (int64_t rows = of->rows; rows > 0; --rows, sums += ld, c += ldc, addend += step) {
        for (int64_t v = 0; v < end; v += VW) {
            VSTORE(c + v, VMAX(floor, alpha * VLOAD(sums + v) + VLOAD(addend + v)));
        }
        if (lanes > 0) {
            const VEC sum = alpha * VLOAD(sums + end) + VLOAD_PART(addend + end, lanes);
            VSTORE_PART(c + end, VMAX(floor, sum), lanes);
        }
    }
}

/* Writes sums to C by the epilogue of the product, alpha, beta, bias and ReLU. The two commonest
 * ones add one matrix, C or the bias. The numbers are copied, because a store to C cannot change a
 * local variable: so they stay in registers. */
NOINLINE void KERNEL(finish_sums)(const product *to, const KERNEL(sums) * s)
{
    const product g = *to;
    const KERNEL(sums) of = *s;
    const elem *sums = of.at, *bias = g.bias != NULL ? g.bias + of.j : NULL;
    elem *c = g.c + of.i * g.ldc + of.j;
    const bool adds_c = bias == NULL && g.beta == ELEM(1);
    if (adds_c || (bias != NULL && g.beta == ELEM(0))) {
        KERNEL(finish_with)(&g, &of, c, adds_c ? c : bias, adds_c ? g.ldc : 0);
        return;
    }
    for (int64_t rows = of.rows; rows > 0; --rows, sums += of.ld, c += g.ldc) {
        for (int64_t v = 0; v < of.columns; v += VW) {
            const bool whole = of.columns - v >= VW;
            const int lanes = whole ? VW : (int)(of.columns - v);
            const elem *part = bias != NULL ? bias + v : NULL;
            VEC sum = KERNEL(finished)(&g, c + v, part, VLOAD(sums + v), whole, lanes);
            KERNEL(store)(c + v, VMAX(VSPLAT(g.floor), sum), whole, lanes);
        }
    }
}
#endif
