/* Products that do not fit the cache: copied block by block to where tiles read them best. See
 * Note [Blocks of a large product]. */
#ifndef T
#include <string.h>

#include "tensor/gemm_loops.h"
#include "tensor/gemm_product.kernel.h"

/* What registers hold: HIGH rows of C, three vectors wide, beside what is added to them. */
#if defined(__AVX512F__)
enum { HIGH = 8 };
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#else
enum { HIGH = 4 };
#define EACH_ROW(X) X(0) X(1) X(2) X(3)
#endif
#define WIDE (3 * VW)

enum {
    LINE = 64, /* bytes of a line of the cache */
    FEW = 4    /* rows that are copied at a time */
};

#define THIS_FILE "tensor/gemm_blocked.kernel.c"
#include "tensor/each_float.h"
#else
#include "tensor/gemm_product.kernel.h"
#include "tensor/transpose.kernel.h"

/* Where blocks are copied to. */
typedef struct K(room) {
    T *a, *b;
} K(room);

/* Panels of a matrix that lies as they do: of from[depth, columns] each holds `wide` columns, row
 * after row. What lies beyond the last column is anything. Some rows at a time, so that what is
 * written fills lines. */
INLINE void K(copy_panels)(
    T *to, const int wide, const T *from, int64_t ld, int64_t depth, int64_t columns)
{
    for (int64_t p = 0; p < depth; p += FEW) {
        const int64_t rows = depth - p < FEW ? depth - p : FEW;
        T *panel = to + p * wide;
        int64_t j = 0;
        for (; j + wide <= columns; j += wide, panel += depth * wide) {
            for (int64_t r = 0; r < rows; ++r) {
                memcpy(panel + r * wide, from + (p + r) * ld + j, (size_t)wide * sizeof(T));
            }
        }
        for (int64_t r = 0; r < rows && j < columns; ++r) {
            memcpy(panel + r * wide, from + (p + r) * ld + j, (size_t)(columns - j) * sizeof(T));
        }
    }
}

/* The same of a matrix that lies across: from[columns, depth]. Some of its rows at a time, while
 * the next ones come: no pattern would tell the processor to fetch them. */
INLINE void K(turn_panels)(
    T *to, const int wide, const T *from, int64_t ld, int64_t depth, int64_t columns)
{
    const int few = wide % FEW == 0 ? FEW : 2; /* rows at a time, all of one panel */
    for (int64_t j = 0; j < columns; j += few) {
        const int64_t count = columns - j < few ? columns - j : few;
        const T *rows = from + j * ld;
        for (int64_t r = few; r < 2 * few && j + r < columns; ++r) {
            for (int64_t p = 0; p < depth; p += LINE / (int)sizeof(T)) {
                __builtin_prefetch(rows + r * ld + p);
            }
        }
        K(transpose)(to + j / wide * depth * wide + j % wide, wide, rows, ld, depth, count);
    }
}

/* Parts of op(A) and op(B), from their first elements on. */
NOINLINE void K(copy_a)(T *to, const adzi_gemm_args *args, const T *a, int64_t depth, int64_t rows)
{
    if (args->ta) {
        K(copy_panels)(to, HIGH, a, args->lda, depth, rows);
    } else {
        K(turn_panels)(to, HIGH, a, args->lda, depth, rows);
    }
}

NOINLINE void K(copy_b)(
    T *to, const adzi_gemm_args *args, const T *b, int64_t depth, int64_t columns)
{
    if (args->tb) {
        K(turn_panels)(to, WIDE, b, args->ldb, depth, columns);
    } else {
        K(copy_panels)(to, WIDE, b, args->ldb, depth, columns);
    }
}

/* C's tile at `c` from its sums, of which all rows and columns exist or fewer. */
static void K(finish_tile)(
    const product *g, T *c, int64_t column, VEC sums[HIGH][3], int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; ++i, c += g->ldc) {
        for (int v = 0; v < 3 && v * VW < columns; ++v) {
            const bool whole = columns - v * VW >= VW;
            const int lanes = whole ? VW : (int)(columns - v * VW);
            const T *bias = g->bias != NULL ? g->bias + column + v * VW : NULL;
            VEC sum = K(finished)(g, c + v * VW, bias, sums[i][v], whole, lanes);
            K(store)(c + v * VW, sum, whole, lanes);
        }
    }
}

/* HIGH rows of C from row i; of the columns from j on, as many vectors as there are, up to three.
 */
INLINE void K(any_tile)(
    const product *g, const T *a, const T *b, int64_t i, int64_t j, const int vecs)
{
    T *c = g->c + i * g->ldc + j;
    const VEC zero = { 0 };
#define BEGIN(r)                                           \
    VEC s##r##0 = zero, s##r##1 = zero, s##r##2 = zero;    \
    __builtin_prefetch(c + r * g->ldc, 1);                 \
    __builtin_prefetch(c + r * g->ldc + vecs * VW / 2, 1); \
    __builtin_prefetch(c + r * g->ldc + vecs * VW - 1, 1);
    EACH_ROW(BEGIN)
    for (int64_t p = g->k; p > 0; --p, a += HIGH, b += WIDE) {
        const VEC b0 = VLOAD(b), b1 = vecs > 1 ? VLOAD(b + VW) : zero;
        const VEC b2 = vecs > 2 ? VLOAD(b + 2 * VW) : zero;
#define ADD(r)                              \
    {                                       \
        const VEC x = VSPLAT(a[r]);         \
        s##r##0 = VFMA(x, b0, s##r##0);     \
        if (vecs > 1) {                     \
            s##r##1 = VFMA(x, b1, s##r##1); \
        }                                   \
        if (vecs > 2) {                     \
            s##r##2 = VFMA(x, b2, s##r##2); \
        }                                   \
    }
        EACH_ROW(ADD)
    }
    const int64_t rows = g->m - i, columns = g->n - j;
    if (rows >= HIGH && columns >= WIDE && g->finish == BARE) {
#define PUT(r)                            \
    VSTORE(c + r * g->ldc, s##r##0);      \
    VSTORE(c + r * g->ldc + VW, s##r##1); \
    VSTORE(c + r * g->ldc + 2 * VW, s##r##2);
        EACH_ROW(PUT)
        return;
    }
    if (rows >= HIGH && columns >= WIDE && g->finish == ADDED) {
#define JOIN(r)                                                        \
    VSTORE(c + r * g->ldc, VLOAD(c + r * g->ldc) + s##r##0);           \
    VSTORE(c + r * g->ldc + VW, VLOAD(c + r * g->ldc + VW) + s##r##1); \
    VSTORE(c + r * g->ldc + 2 * VW, VLOAD(c + r * g->ldc + 2 * VW) + s##r##2);
        EACH_ROW(JOIN)
        return;
    }
#define SUMS(r) { s##r##0, s##r##1, s##r##2 },
    VEC sums[HIGH][3] = { EACH_ROW(SUMS) };
    K(finish_tile)(g, c, j, sums, rows < HIGH ? rows : HIGH, columns < WIDE ? columns : WIDE);
}

/* Each on its own, to have the registers for itself. */
#define TILE(vecs)                                                      \
    NOINLINE void K(tile_of_##vecs)(                                    \
        const product *g, const T *a, const T *b, int64_t i, int64_t j) \
    {                                                                   \
        K(any_tile)(g, a, b, i, j, vecs);                               \
    }
TILE(1)
TILE(2)
TILE(3)

/* The rows from `row` to `end` of C across a strip. */
static void K(rows_of_strip)(
    const product *g, const T *a, const T *b, int64_t row, int64_t end, int64_t column)
{
    const int64_t columns = g->n - column;
    for (; row < end; row += HIGH, a += g->k * HIGH) {
        if (columns > 2 * VW) {
            K(tile_of_3)(g, a, b, row, column);
        } else if (columns > VW) {
            K(tile_of_2)(g, a, b, row, column);
        } else {
            K(tile_of_1)(g, a, b, row, column);
        }
    }
}

/* One DEPTH of k across all of C. */
static void K(layer)(const adzi_gemm_args *args, const product *g, const K(room) * room)
{
    const int64_t most = (int64_t)ADZI_GEMM_STRIPS * WIDE;
    const int64_t parts = (g->m + ADZI_GEMM_ROWS - 1) / ADZI_GEMM_ROWS;
    const int64_t high = ((g->m + parts - 1) / parts + HIGH - 1) / HIGH * HIGH;
    for (int64_t j = 0; j < g->n; j += most) {
        const int64_t last = g->n - j < most ? g->n : j + most;
        K(copy_b)(room->b, args, g->b + j * (args->tb ? g->ldb : 1), g->k, last - j);
        for (int64_t i = 0; i < g->m; i += high) {
            const int64_t end = g->m - i < high ? g->m : i + high;
            K(copy_a)(room->a, args, g->a + i * g->ai, g->k, end - i);
            const T *b = room->b;
            for (int64_t column = j; column < last; column += WIDE, b += g->k * WIDE) {
                K(rows_of_strip)(g, room->a, b, i, end, column);
            }
        }
    }
}

/* Units: one, the product. */
void K(gemm_blocked)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_blocked_args *blocked = opaque;
    const adzi_gemm_args *args = blocked->args;
    const K(room)
        room = { blocked->work, (T *)((char *)blocked->work + ADZI_GEMM_WORK_A(sizeof(T))) };
    if (begin == end) {
        return;
    }
    product g = { .a = args->a,
        .b = args->b,
        .c = args->c,
        .bias = args->bias,
        .ai = args->ta ? 1 : args->lda,
        .ap = args->ta ? args->lda : 1,
        .ldb = args->ldb,
        .ldc = args->ldc,
        .m = args->m,
        .n = args->n,
        .alpha = (T)args->alpha,
        .beta = (T)args->beta };
    g.finish = K(finish_of)(&g);
    const int64_t layers = (args->k + ADZI_GEMM_DEPTH - 1) / ADZI_GEMM_DEPTH;
    const int64_t depth = (args->k + layers - 1) / (layers > 0 ? layers : 1);
    for (int64_t p = 0; p < args->k; p += depth) {
        g.k = args->k - p < depth ? args->k - p : depth;
        K(layer)(args, &g, &room);
        g.a += g.k * g.ap;
        g.b += g.k * (args->tb ? 1 : g.ldb);
        g.beta = R(1);
        g.bias = NULL;
        g.finish = g.alpha == R(1) ? ADDED : GENERAL;
    }
}

#undef BEGIN
#undef ADD
#undef PUT
#undef JOIN
#undef TILE
#undef SUMS
#undef product
#endif
