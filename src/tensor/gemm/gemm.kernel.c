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
 *     k = 1                                    outer products
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
#include "tensor/kernel/half.h"

enum {
    TILE_ROWS = 4,    /* rows of C in registers at a time, two vectors wide */
    TALL_ROWS = 8,    /* rows of a tile that is one vector wide, or of any with 32 registers */
    PANEL_DEPTH = 128 /* rows of op(B) that are packed at a time: at most 16 KiB */
};

#ifdef ADZI_32_REGISTERS
enum { MANY_REGISTERS = 1 };
#else
enum { MANY_REGISTERS = 0 };
#endif

#define THIS_FILE "tensor/gemm/gemm.kernel.c"
#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "tensor/gemm/gemm_product.kernel.h"
#include "tensor/kernel/vector_stored.h"
#include "tensor/gemm/gemm_dots.kernel.h"
#include "tensor/gemm/gemm_sums.kernel.h"
#include "tensor/kernel/transpose.kernel.h"
#include "tensor/gemm/gemm_tile.kernel.h"

/* A strip of op(B), at most two vectors wide: element [p, j] is b[p * ldb + j]. */
typedef struct KERNEL(strip) {
    const elem *b;
    int64_t ldb;
    int64_t j;      /* its first column in C */
    int last_lanes; /* columns in its last vector */
} KERNEL(strip);
#define strip           KERNEL(strip)

/* The bias of the strip's one or two vectors. `whole` says that the last vector of the strip is
 * full; otherwise it has s->last_lanes columns. */
INLINE void KERNEL(bias_of)(
    const product *g, const strip *s, const int vecs, const bool whole, VEC bias[2])
{
    bias[0] = KERNEL(load)(g->bias + s->j, whole || vecs > 1, s->last_lanes);
    bias[1] = vecs > 1 ? KERNEL(load)(g->bias + s->j + VW, whole, s->last_lanes) : bias[0];
}

/* Writes row i of C across the strip from the sums of its one or two vectors. `general`: alpha,
 * beta and the bias are applied to them first, and C is read where beta is not 0. */
INLINE void KERNEL(put)(const product *g, const strip *s, int64_t i, VEC sum0, VEC sum1,
    const int vecs, const bool whole, const bool general)
{
    const VEC floor = VSPLAT(g->floor);
    const int lanes = s->last_lanes;
    elem *c = g->c + i * g->ldc + s->j;
    if (general) {
        const elem *bias = g->bias != NULL ? g->bias + s->j : NULL;
        sum0 = KERNEL(finished)(g, c, bias, sum0, whole || vecs > 1, lanes);
        if (vecs > 1) {
            bias = bias != NULL ? bias + VW : NULL;
            sum1 = KERNEL(finished)(g, c + VW, bias, sum1, whole, lanes);
        }
    }
    KERNEL(store)(c, VMAX(floor, sum0), whole || vecs > 1, lanes);
    if (vecs > 1) {
        KERNEL(store)(c + VW, VMAX(floor, sum1), whole, lanes);
    }
}

/* `rows` rows of C from row i, across the strip: four, or eight. Eight are for strips that are one
 * vector wide, because four sums would not hide the latency of a multiply-add, and for wider strips
 * if 32 registers hold sixteen sums. */
INLINE void KERNEL(tile)(
    const product *g, const strip *s, int64_t i, const int rows, const int vecs, const bool whole)
{
    VEC sums[8][4], bias[2] = { { 0 }, { 0 } };
    const KERNEL(reads) from = { g->a + i * g->ai, s->b, g->ai, g->ap, s->ldb };
    KERNEL(sum_tile)(sums, &from, g->k, rows, vecs, whole, s->last_lanes);
    if (g->finish == BIASED) {
        KERNEL(bias_of)(g, s, vecs, whole, bias);
    }
#define PUT(r, general) KERNEL(put)(g, s, i + (r), sums[r][0], sums[r][1], vecs, whole, general);
#define PUT_ROW(r)                     \
    if ((r) < rows) {                  \
        if (g->finish == GENERAL) {    \
            PUT(r, true)               \
        } else {                       \
            if (g->finish == BIASED) { \
                sums[r][0] += bias[0]; \
                sums[r][1] += bias[1]; \
            }                          \
            PUT(r, false)              \
        }                              \
    }
    EACH_OF_8(PUT_ROW)
#undef PUT_ROW
#undef PUT
}

/* Adds one element of A, times the one or two vectors of row p of B, to the sums of its row. The
 * sums are named variables, because gcc keeps arrays of vectors in memory. */
#define ADD_PRODUCT(from, sum0, sum1) \
    {                                 \
        VEC x = VSPLAT(*(from));      \
        sum0 = VFMA(x, b0, sum0);     \
        if (vecs > 1) {               \
            sum1 = VFMA(x, b1, sum1); \
        }                             \
    }

/* Row i of C across the strip. Four sums per vector, each of every fourth p, hide the latency of a
 * multiply-add. */
INLINE void KERNEL(row)(
    const product *g, const strip *s, int64_t i, const int vecs, const bool whole)
{
    VEC zero = { 0 }, b0, b1;
    VEC s00 = zero, s01 = zero, s10 = zero, s11 = zero;
    VEC s20 = zero, s21 = zero, s30 = zero, s31 = zero;
    const int64_t ap = g->ap, ldb = s->ldb;
    const int lanes = s->last_lanes;
    const elem *a = g->a + i * g->ai, *b = s->b;
    int64_t p = g->k;
#define NEXT(sum0, sum1)                                     \
    b0 = KERNEL(load)(b, whole || vecs > 1, lanes);          \
    b1 = vecs > 1 ? KERNEL(load)(b + VW, whole, lanes) : b0; \
    ADD_PRODUCT(a, sum0, sum1)                               \
    a += ap;                                                 \
    b += ldb;
    for (; p >= 4; p -= 4) {
        NEXT(s00, s01)
        NEXT(s10, s11)
        NEXT(s20, s21)
        NEXT(s30, s31)
    }
    for (; p > 0; --p) {
        NEXT(s00, s01)
    }
#undef NEXT
    s00 = (s00 + s10) + (s20 + s30);
    s01 = (s01 + s11) + (s21 + s31);
    if (g->finish == BARE) {
        KERNEL(put)(g, s, i, s00, s01, vecs, whole, false);
    } else {
        KERNEL(put)(g, s, i, s00, s01, vecs, whole, true);
    }
}
#undef ADD_PRODUCT

/* All rows of C across the strip where k is 1, an outer product. There is nothing to sum and the
 * time goes into stores, so the loops over rows are unrolled. A loop without bias and maximum takes
 * four fifths of the time of one with them. */
INLINE void KERNEL(outer)(const product *g, const strip *s, const int vecs, const bool whole)
{
    VEC b0 = KERNEL(load)(s->b, whole || vecs > 1, s->last_lanes);
    VEC b1 = vecs > 1 ? KERNEL(load)(s->b + VW, whole, s->last_lanes) : b0;
    const int64_t ai = g->ai, ldc = g->ldc, m = g->m;
    const int lanes = s->last_lanes;
    const elem *a = g->a;
    if (g->finish == GENERAL) {
        for (int64_t i = 0; i < m; ++i, a += ai) {
            VEC x = VSPLAT(*a);
            KERNEL(put)(g, s, i, x * b0, x * b1, vecs, whole, true);
        }
        return;
    }
    elem *c = g->c + s->j;
    if (g->finish == BARE && g->floor != ELEM(0)) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
            VEC x = VSPLAT(*a);
            KERNEL(store)(c, x * b0, whole || vecs > 1, lanes);
            if (vecs > 1) {
                KERNEL(store)(c + VW, x * b1, whole, lanes);
            }
        }
        return;
    }
    VEC bias[2] = { { 0 }, { 0 } };
    if (g->finish == BIASED) {
        KERNEL(bias_of)(g, s, vecs, whole, bias);
    }
    const VEC floor = VSPLAT(g->floor);
#pragma GCC unroll 4
    for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
        VEC x = VSPLAT(*a);
        KERNEL(store)(c, VMAX(floor, VFMA(x, b0, bias[0])), whole || vecs > 1, lanes);
        if (vecs > 1) {
            KERNEL(store)(c + VW, VMAX(floor, VFMA(x, b1, bias[1])), whole, lanes);
        }
    }
}

/* All rows of C across the strip: tall tiles where they pay, tiles of four rows, then single rows.
 */
INLINE void KERNEL(rows)(
    const product *g, const strip *s, const int vecs, const bool whole, const bool is_outer)
{
    if (is_outer) {
        KERNEL(outer)(g, s, vecs, whole);
        return;
    }
    int64_t i = 0;
    for (; (vecs == 1 || MANY_REGISTERS) && i + TALL_ROWS <= g->m; i += TALL_ROWS) {
        KERNEL(tile)(g, s, i, TALL_ROWS, vecs, whole);
    }
    for (; i + TILE_ROWS <= g->m; i += TILE_ROWS) {
        KERNEL(tile)(g, s, i, TILE_ROWS, vecs, whole);
    }
    for (; i < g->m; ++i) {
        KERNEL(row)(g, s, i, vecs, whole);
    }
}

/* All rows of C across a strip of `columns` columns. */
INLINE void KERNEL(any_strip)(const product *g, strip *s, int64_t columns, const bool is_outer)
{
    if (columns == 2 * VW) {
        KERNEL(rows)(g, s, 2, true, is_outer);
    } else if (columns == VW) {
        KERNEL(rows)(g, s, 1, true, is_outer);
    } else if (columns > VW) {
        s->last_lanes = (int)columns - VW;
        KERNEL(rows)(g, s, 2, false, is_outer);
    } else {
        s->last_lanes = (int)columns;
        KERNEL(rows)(g, s, 1, false, is_outer);
    }
}

static void KERNEL(strip_product)(const product *g, strip *s, int64_t columns)
{
    KERNEL(any_strip)(g, s, columns, false);
}

/* C = a b^T, for k = 1: all strips. */
NOINLINE void KERNEL(outer_product)(const product *g)
{
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        strip s = { g->b + j, g->ldb, j, 0 };
        KERNEL(any_strip)(g, &s, g->n - j < 2 * VW ? g->n - j : 2 * VW, true);
    }
}

/* A product with B stored [k, n], whose rows are read in place. */
static void KERNEL(product_in_place)(const product *g)
{
    if (g->k == 1) {
        KERNEL(outer_product)(g);
        return;
    }
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        strip s = { g->b + j, g->ldb, j, 0 };
        KERNEL(strip_product)(g, &s, g->n - j < 2 * VW ? g->n - j : 2 * VW);
    }
}

/* A product with B stored [n, k]. Each strip is transposed into a packed panel first, PANEL_DEPTH
 * of its rows at a time. The first part writes C with bias and beta, later parts add to it, and the
 * last one applies the ReLU. */
NOINLINE void KERNEL(product_transposed)(const product *g)
{
    _Alignas(64) elem panel[PANEL_DEPTH * 2 * VW];
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        int64_t columns = g->n - j < 2 * VW ? g->n - j : 2 * VW;
        product part = *g;
        int64_t p = 0;
        do {
            part.k = g->k - p < PANEL_DEPTH ? g->k - p : PANEL_DEPTH;
            part.floor = p + part.k < g->k ? NO_FLOOR : g->floor;
            part.a = g->a + p * g->ap;
            KERNEL(transpose)(panel, 2 * VW, g->b + j * g->ldb + p, g->ldb, part.k, columns);
            strip s = { panel, 2 * VW, j, 0 };
            KERNEL(strip_product)(&part, &s, columns);
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
