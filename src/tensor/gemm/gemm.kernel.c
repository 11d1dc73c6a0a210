/* Products that are too small for a call of BLAS to pay.
 *
 *     C[m, n] = relu(alpha op(A)[m, k] op(B)[k, n] + beta C + bias[n]),   relu is optional
 *
 * A unit of gemm_small is one product of a batch. Matrices are row-major with leading dimensions.
 * C is computed in strips of at most two vectors of columns. In a strip, tiles of four or eight
 * rows keep their sums in registers while p runs from 0 to k - 1; then the epilogue finishes them.
 * A and B are read in place. Only a transposed B is packed, 128 rows at a time.
 *
 *     n = 1, or few rows and B stored [n, k]   dot products (gemm_dots.kernel.h)
 *     k = 1 without alpha and beta             outer products
 *     B stored [k, n]                          strips of B in place
 *     B stored [n, k]                          strips of B, packed
 *
 * An element of a tile is one chain of multiply-adds in the order of p. An element of a single row
 * is the sum of four such chains, each of every fourth p. The order of summation depends on the
 * shape alone. */
#ifndef elem
#include <math.h>
#include <string.h>

#include "tensor/gemm/gemm_product.kernel.h"
#include "tensor/kernel/q8_0.h"

enum {
    TILE_ROWS = 4,    /* rows of C in registers at a time */
    TALL_ROWS = 8,    /* rows of a tile that is one vector wide, or of any with 32 registers */
    PANEL_DEPTH = 128 /* rows of op(B) that are packed at a time: at most 16 KiB */
};
#ifdef ADZI_32_REGISTERS
enum { TALL_VECS = 2 }; /* the most vectors per row of a tile of TALL_ROWS */
#else
enum { TALL_VECS = 1 };
#endif

#define THIS_FILE "tensor/gemm/gemm.kernel.c"
#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "tensor/gemm/gemm_product.kernel.h"
#include "tensor/kernel/vector_stored.h"
#include "tensor/gemm/gemm_tile.kernel.h"
#include "tensor/gemm/gemm_dots.kernel.h"
#include "tensor/gemm/gemm_sums.kernel.h"
#include "tensor/kernel/transpose.kernel.h"

/* A strip of op(B), one or two vectors wide: element [p, j] is b[p * ldb + j]. */
typedef struct KERNEL(strip) {
    const elem *b;
    int64_t ldb;
    int64_t j;       /* its first column in C */
    int64_t columns; /* 1 .. 2 VW */
} KERNEL(strip);
#define strip KERNEL(strip)

/* The strip of an operand that is read in place, from column j on. */
INLINE strip KERNEL(strip_at)(const product *g, int64_t j)
{
    return (strip){ g->b + j, g->ldb, j, g->n - j < 2 * VW ? g->n - j : 2 * VW };
}

/* Writes the sums of a tile to C from row i on. The general epilogue reads them from memory: it
 * is rare, and in registers it would take more code than the loops over k. */
INLINE void KERNEL(put_rows)(
    const product *g, const strip *s, int64_t i, VEC sums[8][4], const KERNEL(shape) t)
{
    if (g->finish == GENERAL) {
        _Alignas(64) elem part[TALL_ROWS * 2 * VW];
        KERNEL(put_tile)(part, 2 * VW, sums, false, t);
        KERNEL(finish_sums)
        (g, &(KERNEL(sums)){ part, 2 * VW, i, s->j, t.rows, s->columns });
        return;
    }
    elem *c = g->c + i * g->ldc + s->j;
    const VEC floor = VSPLAT(g->floor);
    if (g->finish == ADDED) {
        ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
        {
            ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
            {
                sums[r][v] +=
                    KERNEL(load)(c + r * g->ldc + v * VW, t.whole || v < t.vecs - 1, t.lanes);
            }
        }
    }
    if (g->finish == BIASED) {
        ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
        {
            const VEC bias =
                KERNEL(load)(g->bias + s->j + v * VW, t.whole || v < t.vecs - 1, t.lanes);
            ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
            {
                sums[r][v] += bias;
            }
        }
    }
    ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
    {
        ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
        {
            KERNEL(store)
            (c + r * g->ldc + v * VW, VMAX(floor, sums[r][v]), t.whole || v < t.vecs - 1, t.lanes);
        }
    }
}

/* A tile of C from row i on, across the strip. */
INLINE void KERNEL(tile)(const product *g, const strip *s, int64_t i, const KERNEL(shape) t)
{
    VEC sums[8][4];
    const KERNEL(reads) from = { g->a + i * g->ai, s->b, g->ai, g->ap, s->ldb };
    KERNEL(sum_tile)(sums, &from, g->k, t);
    KERNEL(put_rows)(g, s, i, sums, t);
}

/* sums[v] += a times vector v of a row of B. */
INLINE void KERNEL(add_row)(VEC sums[4], const elem *a, const elem *b, const KERNEL(shape) t)
{
    const VEC x = VSPLAT(*a);
    ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
    {
        const VEC y = KERNEL(load)(b + v * VW, t.whole || v < t.vecs - 1, t.lanes);
        sums[v] = VFMA(x, y, sums[v]);
    }
}

/* Row i of C across the strip. Four sums per vector, each of every fourth p, hide the latency of a
 * multiply-add. */
INLINE void KERNEL(row)(const product *g, const strip *s, int64_t i, const KERNEL(shape) t)
{
    VEC sums[8][4];
    const int64_t ap = g->ap, ldb = s->ldb;
    const elem *a = g->a + i * g->ai, *b = s->b;
    int64_t p = g->k;
    KERNEL(clear_tile)(sums);
    for (; p >= 4; p -= 4, a += 4 * ap, b += 4 * ldb) {
        ADZI_UNROLLED_FOR(int q = 0; q < 4; ++q)
        {
            KERNEL(add_row)(sums[q], a + q * ap, b + q * ldb, t);
        }
    }
    for (; p > 0; --p, a += ap, b += ldb) {
        KERNEL(add_row)(sums[0], a, b, t);
    }
    ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
    {
        sums[0][v] = (sums[0][v] + sums[1][v]) + (sums[2][v] + sums[3][v]);
    }
    KERNEL(put_rows)(g, s, i, sums, t);
}

/* All rows of C across the strip: tall tiles where they pay, tiles of four rows, then single rows.
 * Eight rows are for strips that are one vector wide, because four sums would not hide the latency
 * of a multiply-add, and for wider strips if 32 registers hold sixteen sums. */
INLINE void KERNEL(rows)(const product *g, const strip *s, const int vecs, const bool whole)
{
    const int lanes = whole ? VW : (int)(s->columns - (vecs - 1) * VW);
    int64_t i = 0;
    for (; vecs <= TALL_VECS && i + TALL_ROWS <= g->m; i += TALL_ROWS) {
        KERNEL(tile)(g, s, i, (KERNEL(shape)){ TALL_ROWS, vecs, whole, lanes });
    }
    for (; i + TILE_ROWS <= g->m; i += TILE_ROWS) {
        KERNEL(tile)(g, s, i, (KERNEL(shape)){ TILE_ROWS, vecs, whole, lanes });
    }
    for (; i < g->m; ++i) {
        KERNEL(row)(g, s, i, (KERNEL(shape)){ 1, vecs, whole, lanes });
    }
}

/* All rows of C where k is 1, an outer product. There is nothing to sum and the time goes into
 * stores, so the loops over rows are unrolled. A loop without bias and maximum takes four fifths of
 * the time of one with them. */
INLINE void KERNEL(outer)(const product *g, const strip *s, const int vecs, const bool whole)
{
    const KERNEL(shape) t = { 1, vecs, whole, whole ? VW : (int)(s->columns - (vecs - 1) * VW) };
    const int64_t ai = g->ai, ldc = g->ldc, m = g->m;
    const elem *a = g->a;
    elem *c = g->c + s->j;
    VEC b[2], bias[2] = { { 0 }, { 0 } };
    ADZI_UNROLLED_FOR(int v = 0; v < vecs; ++v)
    {
        const bool all = whole || v < vecs - 1;
        b[v] = KERNEL(load)(s->b + v * VW, all, t.lanes);
        if (g->finish == BIASED) {
            bias[v] = KERNEL(load)(g->bias + s->j + v * VW, all, t.lanes);
        }
    }
    if (g->finish == BARE && g->floor != ELEM(0)) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
            const VEC x = VSPLAT(*a);
            ADZI_UNROLLED_FOR(int v = 0; v < vecs; ++v)
            {
                KERNEL(store)(c + v * VW, x * b[v], whole || v < vecs - 1, t.lanes);
            }
        }
        return;
    }
    if (g->finish == ADDED) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
            const VEC x = VSPLAT(*a);
            ADZI_UNROLLED_FOR(int v = 0; v < vecs; ++v)
            {
                const bool all = whole || v < vecs - 1;
                const VEC sum = x * b[v] + KERNEL(load)(c + v * VW, all, t.lanes);
                KERNEL(store)(c + v * VW, sum, all, t.lanes);
            }
        }
        return;
    }
    const VEC floor = VSPLAT(g->floor);
#pragma GCC unroll 4
    for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
        const VEC x = VSPLAT(*a);
        ADZI_UNROLLED_FOR(int v = 0; v < vecs; ++v)
        {
            const VEC sum = VMAX(floor, VFMA(x, b[v], bias[v]));
            KERNEL(store)(c + v * VW, sum, whole || v < vecs - 1, t.lanes);
        }
    }
}

/* Calls `rows` or `outer` with the constants of a strip, so that each width has its own loops. */
#define EACH_WIDTH(rows, g, s)        \
    if ((s)->columns == 2 * VW) {     \
        KERNEL(rows)(g, s, 2, true);  \
    } else if ((s)->columns > VW) {   \
        KERNEL(rows)(g, s, 2, false); \
    } else if ((s)->columns == VW) {  \
        KERNEL(rows)(g, s, 1, true);  \
    } else {                          \
        KERNEL(rows)(g, s, 1, false); \
    }

NOINLINE void KERNEL(strip_product)(const product *g, const strip *s){ EACH_WIDTH(rows, g, s) }

/* C = a b^T, for k = 1: all strips, without the general epilogue. */
NOINLINE void KERNEL(outer_product)(const product *g)
{
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        const strip s = KERNEL(strip_at)(g, j);
        EACH_WIDTH(outer, g, &s)
    }
}
#undef EACH_WIDTH

/* A product with B stored [k, n], whose rows are read in place. */
static void KERNEL(product_in_place)(const product *g)
{
    if (g->k == 1 && g->finish != GENERAL) {
        KERNEL(outer_product)(g);
        return;
    }
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        const strip s = KERNEL(strip_at)(g, j);
        KERNEL(strip_product)(g, &s);
    }
}

/* A product with B stored [n, k]. Each strip is transposed into a packed panel first, PANEL_DEPTH
 * of its rows at a time. The first part writes C with bias and beta, later parts add to it, and the
 * last one applies the ReLU. */
NOINLINE void KERNEL(product_transposed)(const product *g)
{
    _Alignas(64) elem panel[PANEL_DEPTH * 2 * VW];
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        strip s = { panel, 2 * VW, j, g->n - j < 2 * VW ? g->n - j : 2 * VW };
        product part = *g;
        int64_t p = 0;
        do {
            part.k = g->k - p < PANEL_DEPTH ? g->k - p : PANEL_DEPTH;
            part.floor = p + part.k < g->k ? NO_FLOOR : g->floor;
            part.a = g->a + p * g->ap;
            KERNEL(transpose)(panel, 2 * VW, g->b + j * g->ldb + p, g->ldb, part.k, s.columns);
            KERNEL(strip_product)(&part, &s);
            part.beta = ELEM(1);
            part.bias = NULL;
            part.finish = GENERAL;
            p += PANEL_DEPTH;
        } while (p < g->k);
    }
}

/* Computes item i of a batch. Most calls have one item, so it is not inlined: strides kept in
 * registers from item to item would cost that one item more than they save. */
NOINLINE void KERNEL(one_product)(const adzi_gemm_args *args, int64_t i)
{
    product g = KERNEL(product_of)(args, i);
    if (g.n == 1 && !args->ta) {
        KERNEL(any_dots)(&g, g.m, g.a, g.ai, g.b, args->tb ? 1 : g.ldb, g.ldc, 0);
    } else if (g.n == 1 && g.ldc == 1 && g.bias == NULL) {
        /* One contiguous column, read as a row: C^T = op(B)^T op(A)^T, with A stored [k, m]. */
        const elem *column = g.b;
        const int64_t step = args->tb ? 1 : g.ldb;
        g.b = g.a;
        g.ldb = g.ap;
        g.a = column;
        g.ap = step;
        g.n = g.m;
        g.m = 1;
        KERNEL(product_in_place)(&g);
    } else if (!args->tb || (g.k == 1 && g.ldb == 1)) {
        KERNEL(product_in_place)(&g);
    } else if (g.m < TILE_ROWS) {
        KERNEL(rows_of_dots)(&g);
    } else {
        KERNEL(product_transposed)(&g);
    }
}

/* Units are the items of a batch. */
void KERNEL(gemm_small)(const void *opaque, int64_t begin, int64_t end)
{
    for (; begin < end; ++begin) {
        KERNEL(one_product)(opaque, begin);
    }
}

/* Adds a product to C: the bits are those of the product, which gemm_small computes with an
 * epilogue that is BARE, and of a sum. B is stored [k, n], and n is not 1. */
void KERNEL(gemm_added)(const void *opaque, int64_t begin, int64_t end)
{
    if (begin < end) {
        product g = KERNEL(product_of)(opaque, 0);
        g.finish = ADDED;
        KERNEL(product_in_place)(&g);
    }
}

/* Products of few rows with B stored [n, k]; units are the items of a batch. */
void KERNEL(gemm_few_rows)(const void *opaque, int64_t begin, int64_t end)
{
    for (; begin < end; ++begin) {
        const product g = KERNEL(product_of)(opaque, begin);
        KERNEL(few_rows)(&g, ((const adzi_gemm_args *)opaque)->b_stored);
    }
}

/* Large products of one row, or of one column with A stored [k, m]; units are the items of a batch.
 */
void KERNEL(gemm_sum_rows)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_args *args = opaque;
    for (; begin < end; ++begin) {
        const product g = KERNEL(product_of)(args, begin);
        if (g.m == 1 && !args->tb) {
            KERNEL(sum_of_rows)
            [KERNEL(way_stored)(args->b_stored)](&g, g.a, g.ap, args->b, g.ldb, g.n, 1, 1);
        } else {
            const int64_t step = args->tb ? 1 : g.ldb;
            KERNEL(sum_of_rows)
            [KERNEL(way_stored)(args->a_stored)](&g, g.b, step, args->a, g.ap, g.m, g.ldc, 0);
        }
    }
}

/* The ReLU in place, over rows of C of a product that another backend computed. A unit is one row
 * of one item; see adzi_gemm_args.relu. */
void KERNEL(gemm_relu)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_args *args = opaque;
    for (; begin < end; ++begin) {
        const int64_t item = begin / args->m, row = begin % args->m;
        elem *c = (elem *)args->c + item * args->stride_c + row * args->ldc;
        for (int64_t j = 0; j < args->n; ++j) {
            c[j] = c[j] < 0 ? ELEM(0) : c[j];
        }
    }
}

#undef product
#undef strip
#endif
