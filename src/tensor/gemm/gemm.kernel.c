/* Products that are too small for BLAS to pay. Operands are read in place, in registers and the
 * first-level cache; only a transposed B is packed. The order in which an element is summed depends
 * on the shape of the product alone. The loops take any size and any leading dimension, so they
 * also compute products whose sizes do not fit the integers of BLAS. */
#ifndef T
#include <math.h>

#include "tensor/gemm/gemm_product.kernel.h"

enum {
    TILE_ROWS = 4,    /* rows of C in registers at a time, two vectors wide */
    TALL_ROWS = 8,    /* rows of a tile one vector wide, or where there are twice the registers */
    PANEL_DEPTH = 128 /* rows of op(B) copied at a time where B is transposed */
};

#ifdef __AVX512F__
enum { MANY_REGISTERS = 1 };
#else
enum { MANY_REGISTERS = 0 };
#endif

#define THIS_FILE "tensor/gemm/gemm.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "tensor/gemm/gemm_product.kernel.h"
#include "tensor/gemm/gemm_dots.kernel.h"
#include "tensor/kernel/transpose.kernel.h"

/* A strip of op(B), at most two vectors wide: element [p, j] is b[p * ldb + j]. */
typedef struct K(strip) {
    const T *b;
    int64_t ldb;
    int64_t j;      /* its first column in C */
    int last_lanes; /* columns in its last vector */
} K(strip);
#define strip K(strip)

/* The bias of the strip's one or two vectors. */
INLINE void K(bias_of)(
    const product *g, const strip *s, const int vecs, const bool whole, VEC bias[2])
{
    bias[0] = K(load)(g->bias + s->j, whole || vecs > 1, s->last_lanes);
    bias[1] = vecs > 1 ? K(load)(g->bias + s->j + VW, whole, s->last_lanes) : bias[0];
}

/* Writes row i of C across the strip from the sums of its one or two vectors. */
INLINE void K(put)(const product *g, const strip *s, int64_t i, VEC sum0, VEC sum1, const int vecs,
    const bool whole)
{
    const VEC floor = VSPLAT(g->floor);
    T *c = g->c + i * g->ldc + s->j;
    K(store)(c, VMAX(floor, sum0), whole || vecs > 1, s->last_lanes);
    if (vecs > 1) {
        K(store)(c + VW, VMAX(floor, sum1), whole, s->last_lanes);
    }
}

/* K(put) for a product with alpha, beta or a bias: reads C where beta is not 0. */
INLINE void K(put_general)(const product *g, const strip *s, int64_t i, VEC sum0, VEC sum1,
    const int vecs, const bool whole)
{
    const T *c = g->c + i * g->ldc + s->j;
    const T *bias = g->bias != NULL ? g->bias + s->j : NULL;
    sum0 = K(finished)(g, c, bias, sum0, whole || vecs > 1, s->last_lanes);
    if (vecs > 1) {
        bias = bias != NULL ? bias + VW : NULL;
        sum1 = K(finished)(g, c + VW, bias, sum1, whole, s->last_lanes);
    }
    K(put)(g, s, i, sum0, sum1, vecs, whole);
}

/* One row's share of one step: sums of named variables, since arrays of them end up in memory. */
#define ADD_PRODUCT(from, sum0, sum1) \
    {                                 \
        VEC x = VSPLAT(*(from));      \
        sum0 = VFMA(x, b0, sum0);     \
        if (vecs > 1) {               \
            sum1 = VFMA(x, b1, sum1); \
        }                             \
    }

/* Four rows of C from row i, across the strip. */
INLINE void K(tile)(const product *g, const strip *s, int64_t i, const int vecs, const bool whole)
{
    VEC zero = { 0 };
    VEC s00 = zero, s01 = zero, s10 = zero, s11 = zero;
    VEC s20 = zero, s21 = zero, s30 = zero, s31 = zero;
    const int64_t ai = g->ai, ap = g->ap, ldb = s->ldb;
    const int lanes = s->last_lanes;
    const T *a = g->a + i * ai, *b = s->b;
    for (int64_t p = g->k; p > 0; --p) {
        VEC b0 = K(load)(b, whole || vecs > 1, lanes);
        VEC b1 = vecs > 1 ? K(load)(b + VW, whole, lanes) : b0;
        ADD_PRODUCT(a, s00, s01)
        ADD_PRODUCT(a + ai, s10, s11)
        ADD_PRODUCT(a + 2 * ai, s20, s21)
        ADD_PRODUCT(a + 3 * ai, s30, s31)
        a += ap;
        b += ldb;
    }
    if (g->finish == GENERAL) {
        K(put_general)(g, s, i, s00, s01, vecs, whole);
        K(put_general)(g, s, i + 1, s10, s11, vecs, whole);
        K(put_general)(g, s, i + 2, s20, s21, vecs, whole);
        K(put_general)(g, s, i + 3, s30, s31, vecs, whole);
        return;
    }
    if (g->finish == BIASED) {
        VEC bias[2];
        K(bias_of)(g, s, vecs, whole, bias);
        s00 += bias[0], s10 += bias[0], s20 += bias[0], s30 += bias[0];
        s01 += bias[1], s11 += bias[1], s21 += bias[1], s31 += bias[1];
    }
    K(put)(g, s, i, s00, s01, vecs, whole);
    K(put)(g, s, i + 1, s10, s11, vecs, whole);
    K(put)(g, s, i + 2, s20, s21, vecs, whole);
    K(put)(g, s, i + 3, s30, s31, vecs, whole);
}

/* Eight rows of C from row i: where the strip is one vector wide, since with four sums alone the
 * additions would wait for each other, and where there are registers for sixteen sums. */
INLINE void K(tall_tile)(
    const product *g, const strip *s, int64_t i, const int vecs, const bool whole)
{
    VEC zero = { 0 };
    VEC s00 = zero, s01 = zero, s10 = zero, s11 = zero, s20 = zero, s21 = zero, s30 = zero;
    VEC s31 = zero, s40 = zero, s41 = zero, s50 = zero, s51 = zero, s60 = zero, s61 = zero;
    VEC s70 = zero, s71 = zero;
    const int64_t ai = g->ai, ap = g->ap, ldb = s->ldb;
    const int lanes = s->last_lanes;
    const T *a = g->a + i * ai, *b = s->b;
    for (int64_t p = g->k; p > 0; --p) {
        VEC b0 = K(load)(b, whole || vecs > 1, lanes);
        VEC b1 = vecs > 1 ? K(load)(b + VW, whole, lanes) : b0;
        ADD_PRODUCT(a, s00, s01)
        ADD_PRODUCT(a + ai, s10, s11)
        ADD_PRODUCT(a + 2 * ai, s20, s21)
        ADD_PRODUCT(a + 3 * ai, s30, s31)
        ADD_PRODUCT(a + 4 * ai, s40, s41)
        ADD_PRODUCT(a + 5 * ai, s50, s51)
        ADD_PRODUCT(a + 6 * ai, s60, s61)
        ADD_PRODUCT(a + 7 * ai, s70, s71)
        a += ap;
        b += ldb;
    }
    VEC left[] = { s00, s10, s20, s30, s40, s50, s60, s70 };
    VEC right[] = { s01, s11, s21, s31, s41, s51, s61, s71 }, bias[2];
    if (g->finish == GENERAL) {
        for (int r = 0; r < TALL_ROWS; ++r) {
            K(put_general)(g, s, i + r, left[r], right[r], vecs, whole);
        }
        return;
    }
    if (g->finish == BIASED) {
        K(bias_of)(g, s, vecs, whole, bias);
        for (int r = 0; r < TALL_ROWS; ++r) {
            left[r] += bias[0];
            right[r] += bias[1];
        }
    }
    for (int r = 0; r < TALL_ROWS; ++r) {
        K(put)(g, s, i + r, left[r], right[r], vecs, whole);
    }
}

/* Row i of C across the strip. Four sums per vector, or the additions would wait for each other. */
INLINE void K(row)(const product *g, const strip *s, int64_t i, const int vecs, const bool whole)
{
    VEC zero = { 0 }, b0, b1;
    VEC s00 = zero, s01 = zero, s10 = zero, s11 = zero;
    VEC s20 = zero, s21 = zero, s30 = zero, s31 = zero;
    const int64_t ap = g->ap, ldb = s->ldb;
    const int lanes = s->last_lanes;
    const T *a = g->a + i * g->ai, *b = s->b;
    int64_t p = g->k;
#define NEXT(sum0, sum1)                                \
    b0 = K(load)(b, whole || vecs > 1, lanes);          \
    b1 = vecs > 1 ? K(load)(b + VW, whole, lanes) : b0; \
    ADD_PRODUCT(a, sum0, sum1)                          \
    a += ap;                                            \
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
        K(put)(g, s, i, s00, s01, vecs, whole);
    } else {
        K(put_general)(g, s, i, s00, s01, vecs, whole);
    }
}
#undef ADD_PRODUCT

/* All rows of C across the strip where k is 1, an outer product. There is nothing to sum and the
 * time goes into stores, so the loops over rows are unrolled. */
INLINE void K(outer)(const product *g, const strip *s, const int vecs, const bool whole)
{
    VEC b0 = K(load)(s->b, whole || vecs > 1, s->last_lanes);
    VEC b1 = vecs > 1 ? K(load)(s->b + VW, whole, s->last_lanes) : b0;
    const int64_t ai = g->ai, ldc = g->ldc, m = g->m;
    const int lanes = s->last_lanes;
    const T *a = g->a;
    if (g->finish == GENERAL) {
        for (int64_t i = 0; i < m; ++i, a += ai) {
            VEC x = VSPLAT(*a);
            K(put_general)(g, s, i, x * b0, x * b1, vecs, whole);
        }
        return;
    }
    T *c = g->c + s->j;
    if (g->finish == BARE && g->floor != R(0)) {
#pragma GCC unroll 4
        for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
            VEC x = VSPLAT(*a);
            K(store)(c, x * b0, whole || vecs > 1, lanes);
            if (vecs > 1) {
                K(store)(c + VW, x * b1, whole, lanes);
            }
        }
        return;
    }
    VEC bias[2] = { { 0 }, { 0 } };
    if (g->finish == BIASED) {
        K(bias_of)(g, s, vecs, whole, bias);
    }
    const VEC floor = VSPLAT(g->floor);
#pragma GCC unroll 4
    for (int64_t i = 0; i < m; ++i, a += ai, c += ldc) {
        VEC x = VSPLAT(*a);
        K(store)(c, VMAX(floor, VFMA(x, b0, bias[0])), whole || vecs > 1, lanes);
        if (vecs > 1) {
            K(store)(c + VW, VMAX(floor, VFMA(x, b1, bias[1])), whole, lanes);
        }
    }
}

/* C = a b^T for k of 1. */
NOINLINE void K(outer_product)(const product *g)
{
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        const int64_t columns = g->n - j;
        strip s = { g->b + j, g->ldb, j, 0 };
        if (columns >= 2 * VW) {
            K(outer)(g, &s, 2, true);
        } else if (columns == VW) {
            K(outer)(g, &s, 1, true);
        } else if (columns > VW) {
            s.last_lanes = (int)columns - VW;
            K(outer)(g, &s, 2, false);
        } else {
            s.last_lanes = (int)columns;
            K(outer)(g, &s, 1, false);
        }
    }
}

INLINE void K(rows)(const product *g, const strip *s, const int vecs, const bool whole)
{
    int64_t i = 0;
    for (; (vecs == 1 || MANY_REGISTERS) && i + TALL_ROWS <= g->m; i += TALL_ROWS) {
        K(tall_tile)(g, s, i, vecs, whole);
    }
    for (; i + TILE_ROWS <= g->m; i += TILE_ROWS) {
        K(tile)(g, s, i, vecs, whole);
    }
    for (; i < g->m; ++i) {
        K(row)(g, s, i, vecs, whole);
    }
}

/* All rows of C across a strip of `columns` columns. */
static void K(strip_product)(const product *g, strip *s, int64_t columns)
{
    if (columns == 2 * VW) {
        K(rows)(g, s, 2, true);
    } else if (columns == VW) {
        K(rows)(g, s, 1, true);
    } else if (columns > VW) {
        s->last_lanes = (int)columns - VW;
        K(rows)(g, s, 2, false);
    } else {
        s->last_lanes = (int)columns;
        K(rows)(g, s, 1, false);
    }
}

/* A product with B stored [k, n], whose rows are read in place. */
static void K(product_in_place)(const product *g)
{
    if (g->k == 1) {
        K(outer_product)(g);
        return;
    }
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        strip s = { g->b + j, g->ldb, j, 0 };
        K(strip_product)(g, &s, g->n - j < 2 * VW ? g->n - j : 2 * VW);
    }
}

/* A product with B stored [n, k]. Each strip is transposed into a packed panel first, PANEL_DEPTH
 * of its rows at a time. */
NOINLINE void K(product_transposed)(const product *g)
{
    _Alignas(64) T panel[PANEL_DEPTH * 2 * VW];
    for (int64_t j = 0; j < g->n; j += 2 * VW) {
        int64_t columns = g->n - j < 2 * VW ? g->n - j : 2 * VW;
        product part = *g;
        int64_t p = 0;
        do {
            part.k = g->k - p < PANEL_DEPTH ? g->k - p : PANEL_DEPTH;
            part.floor = p + part.k < g->k ? NO_FLOOR : g->floor;
            part.a = g->a + p * g->ap;
            K(transpose)(panel, 2 * VW, g->b + j * g->ldb + p, g->ldb, part.k, columns);
            strip s = { panel, 2 * VW, j, 0 };
            K(strip_product)(&part, &s, columns);
            part.beta = R(1);
            part.bias = NULL;
            part.finish = GENERAL;
            p += PANEL_DEPTH;
        } while (p < g->k);
    }
}

/* Computes item i of a batch. Most calls have one item, so it is not inlined: strides kept in
 * registers from item to item would cost that one item more than they save. */
NOINLINE void K(one_product)(const adzi_gemm_args *args, int64_t i)
{
    const bool nothing = args->k == 0 || args->alpha == 0;
    product g = {
        .a = args->a,
        .b = args->b,
        .c = args->c,
        .bias = args->bias,
        .ai = args->ta ? 1 : args->lda,
        .ap = args->ta ? args->lda : 1,
        .ldb = args->ldb,
        .ldc = args->ldc,
        .m = args->m,
        .n = args->n,
        .k = nothing ? 0 : args->k,
        .alpha = nothing ? R(1) : (T)args->alpha,
        .beta = (T)args->beta,
        .floor = args->relu ? R(0) : NO_FLOOR,
    };
    g.finish = K(finish_of)(&g);
    if (i > 0) {
        g.a += i * args->stride_a;
        g.b += i * args->stride_b;
        g.c += i * args->stride_c;
    }
    if (g.n == 1 && !args->ta) {
        K(column_of_dots)(&g, args->tb ? 1 : g.ldb);
    } else if (g.n == 1 && g.ldc == 1 && g.bias == NULL) {
        /* One contiguous column, read as a row: C^T = op(B)^T A, with A stored [k, m]. */
        const T *column = g.b;
        const int64_t step = args->tb ? 1 : g.ldb;
        g.b = g.a;
        g.ldb = g.ap;
        g.a = column;
        g.ap = step;
        g.n = g.m;
        g.m = 1;
        K(product_in_place)(&g);
    } else if (!args->tb || (g.k == 1 && g.ldb == 1)) {
        K(product_in_place)(&g);
    } else if (g.m < TILE_ROWS) {
        K(rows_of_dots)(&g);
    } else {
        K(product_transposed)(&g);
    }
}

/* Units are the items of a batch. */
void K(gemm_small)(const void *opaque, int64_t begin, int64_t end)
{
    for (; begin < end; ++begin) {
        K(one_product)(opaque, begin);
    }
}

/* Rows of C of any product, in place; see adzi_gemm_args.relu. Units are the rows of all items. */
void K(gemm_relu)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_args *args = opaque;
    for (; begin < end; ++begin) {
        const int64_t item = begin / args->m, row = begin % args->m;
        T *c = (T *)args->c + item * args->stride_c + row * args->ldc;
        for (int64_t j = 0; j < args->n; ++j) {
            c[j] = c[j] < 0 ? R(0) : c[j];
        }
    }
}

#undef product
#undef strip
#endif
