/* Integer products, modulo 2^bits: unsigned arithmetic wraps by definition, signed would be
 * undefined. Rows of C are summed in blocks that stay in the first-level cache. */
#ifndef T
#include "tensor/gemm/gemm.h"
#include "base/isa.h"

enum { BLOCK = 256 };

#define K(name)   KERNEL(name, TYPE)
#define THIS_FILE "tensor/gemm/gemm_int.kernel.c"

#define T    uint32_t
#define TYPE i32
#include THIS_FILE
#undef T
#undef TYPE
#define T    uint64_t
#define TYPE i64
#include THIS_FILE
#undef T
#undef TYPE
#define T    uint8_t
#define TYPE u8
#include THIS_FILE
#undef T
#undef TYPE
#else

/* sum[j] += x * op(B)[p, j0 + j]; b points at op(B)[p, j0], its elements `step` apart. */
static inline void K(add_row)(T *sum, T x, const T *b, int64_t step, int64_t columns)
{
    if (step == 1) {
        for (int64_t j = 0; j < columns; ++j) {
            sum[j] = (T)(sum[j] + x * b[j]);
        }
    } else {
        for (int64_t j = 0; j < columns; ++j) {
            sum[j] = (T)(sum[j] + x * b[j * step]);
        }
    }
}

/* Row i of item `item`. */
static void K(int_row)(const adzi_gemm_args *g, int64_t item, int64_t i)
{
    const T *a = (const T *)g->a + item * g->stride_a + (g->ta ? i : i * g->lda);
    const T *b = (const T *)g->b + item * g->stride_b;
    T *c = (T *)g->c + item * g->stride_c + i * g->ldc;
    const T *bias = g->bias;
    int64_t ap = g->ta ? g->lda : 1;
    int64_t bp = g->tb ? 1 : g->ldb, bj = g->tb ? g->ldb : 1;
    T alpha = (T)(int64_t)g->alpha, beta = (T)(int64_t)g->beta;
    int64_t k = alpha == 0 ? 0 : g->k;
    for (int64_t j0 = 0; j0 < g->n; j0 += BLOCK) {
        int64_t columns = g->n - j0 < BLOCK ? g->n - j0 : BLOCK;
        T sum[BLOCK] = { 0 };
        for (int64_t p = 0; p < k; ++p) {
            K(add_row)(sum, a[p * ap], b + p * bp + j0 * bj, bj, columns);
        }
        for (int64_t j = 0; j < columns; ++j) {
            T value = (T)(alpha * sum[j]);
            value = (T)(value + (bias != NULL ? bias[j0 + j] : 0));
            c[j0 + j] = beta == 0 ? value : (T)(value + beta * c[j0 + j]);
        }
    }
}

/* Units are the rows of all items. */
void K(gemm_int)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_args *g = opaque;
    for (int64_t unit = begin; unit < end; ++unit) {
        K(int_row)(g, unit / g->m, unit % g->m);
    }
}

#endif
