/* Integer products, modulo 2^bits.
 *
 *     C[m, n] = alpha op(A) op(B) + beta C + bias,   in i32, i64 or u8
 *
 * Elements are unsigned, because unsigned overflow wraps and signed overflow is undefined in C. A
 * unit is one row of C. A row is computed in blocks of 256 columns, whose sums (at most 2 KiB) stay
 * in first-level cache while rows of op(B) are added. Integer sums are exact modulo 2^bits, so
 * their order does not matter. */
#ifndef elem
#include "tensor/gemm/gemm.h"
#include "base/isa.h"

enum { BLOCK = 256 }; /* columns of C that are summed together */

#define KERNEL(name) KERNEL_OF(name, ELEM_NAME)
#define THIS_FILE    "tensor/gemm/gemm_int.kernel.c"

#define elem      uint32_t
#define ELEM_NAME i32
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#define elem      uint64_t
#define ELEM_NAME i64
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#define elem      uint8_t
#define ELEM_NAME u8
#include THIS_FILE
#undef elem
#undef ELEM_NAME
#else

/* sum[j] += x * op(B)[p, j0 + j]. b points at op(B)[p, j0], and `step` is the distance of its
 * columns. */
static inline void KERNEL(add_row)(elem *sum, elem x, const elem *b, int64_t step, int64_t columns)
{
    if (step == 1) {
        for (int64_t j = 0; j < columns; ++j) {
            sum[j] = (elem)(sum[j] + x * b[j]);
        }
    } else {
        for (int64_t j = 0; j < columns; ++j) {
            sum[j] = (elem)(sum[j] + x * b[j * step]);
        }
    }
}

/* Row i of C of one item of the batch. */
static void KERNEL(int_row)(const adzi_gemm_args *g, int64_t item, int64_t i)
{
    const elem *a = (const elem *)g->a + item * g->stride_a + (g->ta ? i : i * g->lda);
    const elem *b = (const elem *)g->b + item * g->stride_b;
    elem *c = (elem *)g->c + item * g->stride_c + i * g->ldc;
    const elem *bias = g->bias;
    int64_t ap = g->ta ? g->lda : 1;
    int64_t bp = g->tb ? 1 : g->ldb, bj = g->tb ? g->ldb : 1;
    elem alpha = (elem)(int64_t)g->alpha, beta = (elem)(int64_t)g->beta;
    int64_t k = alpha == 0 ? 0 : g->k;
    for (int64_t j0 = 0; j0 < g->n; j0 += BLOCK) {
        int64_t columns = g->n - j0 < BLOCK ? g->n - j0 : BLOCK;
        elem sum[BLOCK] = { 0 };
        for (int64_t p = 0; p < k; ++p) {
            KERNEL(add_row)(sum, a[p * ap], b + p * bp + j0 * bj, bj, columns);
        }
        for (int64_t j = 0; j < columns; ++j) {
            elem value = (elem)(alpha * sum[j]);
            value = (elem)(value + (bias != NULL ? bias[j0 + j] : 0));
            c[j0 + j] = beta == 0 ? value : (elem)(value + beta * c[j0 + j]);
        }
    }
}

/* A unit is one row of one item of the batch. */
void KERNEL(gemm_int)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_args *g = opaque;
    for (int64_t unit = begin; unit < end; ++unit) {
        KERNEL(int_row)(g, unit / g->m, unit % g->m);
    }
}

#endif
