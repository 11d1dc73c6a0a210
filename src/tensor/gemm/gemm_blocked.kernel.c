/* Products that do not fit the cache, computed from packed panels of A and B; see
 * Note [Blocks of a large product].
 *
 *     C[m, n] = alpha op(A)[m, k] op(B)[k, n] + beta C + bias[n]
 *
 * k is cut into layers of at most ADZI_GEMM_DEPTH, n into groups of strips, m into blocks of rows.
 * A panel of B holds three vectors of columns and stays in the first-level cache. The panels of A,
 * of HIGH rows each, are read from the second-level cache one after the other. A tile of HIGH rows
 * by three vectors of C stays in registers for the whole layer. The first layer applies beta and
 * bias, later layers add to C.
 *
 * The launch has one unit; callers cut large products before. An element of C is one chain of
 * multiply-adds per layer, and layers are added in order. The order depends on the shape alone.
 *
 * The file is included once per type, and a third time with PAIRS for f32 that is rounded to bf16.
 * One instruction then multiplies two pairs of bf16 and adds both products to an f32. */
#ifndef elem
#include <string.h>

#include "base/cpu.h"
#include "tensor/gemm/loops.h"
#include "tensor/gemm/gemm_product.kernel.h"

/* A tile has HIGH rows of three vectors: 24 of 32 registers, or 12 of 16. The others hold a row of
 * B and an element of A. EACH_ROW applies a macro to every row of a tile. */
#if defined(__AVX512F__)
enum { HIGH = 8 };
#define EACH_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)
#else
enum { HIGH = 4 };
#define EACH_ROW(X) X(0) X(1) X(2) X(3)
#endif
#define WIDE (3 * VW)

enum {
    LINE = 64,       /* bytes of a cache line */
    ROWS_AT_ONCE = 4 /* rows that are packed at a time */
};

#define PAIRS     0
#define THIS_FILE "tensor/gemm/gemm_blocked.kernel.c"
#include "tensor/kernel/each_float.h"
#undef PAIRS

/* The instance for bf16. Elements are rounded while they are packed. An element of a panel is a
 * pair of bf16, for p and p + 1, as the instruction wants them. */
#if defined(ADZI_KNOWS_BF16) && defined(__AVX512F__)
#include "tensor/kernel/half.h"

#ifdef __clang__
#pragma clang attribute push(__attribute__((target("avx512bf16"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx512bf16")
#endif
#define PAIRS       1
#define elem        float
#define ELEM_NAME   bf16
#define ELEM_IS_F32 1
#include THIS_FILE
#ifdef __clang__
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#endif
#else
#include "tensor/gemm/gemm_product.kernel.h"
#include "tensor/kernel/transpose.kernel.h"

#undef EACH
#undef VMADD
#if PAIRS
#define EACH           2 /* elements of k in an element of a panel */
#define VMADD(x, y, c) ((VEC)_mm512_dpbf16_ps((__m512)(c), (__m512bh)(x), (__m512bh)(y)))
#else
#define EACH           1
#define VMADD(x, y, c) VFMA(x, y, c)
#endif

/* The number of rows of a panel for a block of `depth` elements of k: half as many with pairs. */
INLINE int64_t KERNEL(panel_rows)(int64_t depth)
{
    return (depth + EACH - 1) / EACH;
}

/* Scratch memory for the packed block of A and the packed strips of B. */
typedef struct KERNEL(room) {
    elem *a, *b;
} KERNEL(room);

#if PAIRS
/* Two f32 rounded to bf16, the first in the lower half. */
INLINE elem KERNEL(pair)(elem first, elem second)
{
    return adzi_float_of((uint32_t)adzi_to_bf16(first) | (uint32_t)adzi_to_bf16(second) << 16);
}

/* Eight pairs of first[j] and second[j]. */
INLINE void KERNEL(pairs8)(elem *to, const elem *first, const elem *second)
{
    const __m256i halves =
        (__m256i)_mm256_cvtne2ps_pbh(_mm256_loadu_ps(second), _mm256_loadu_ps(first));
    const __m256i order = _mm256_setr_epi16(0, 8, 1, 9, 2, 10, 3, 11, 4, 12, 5, 13, 6, 14, 7, 15);
    _mm256_storeu_si256((__m256i *)(void *)to, _mm256_permutexvar_epi16(order, halves));
}

/* Sixteen pairs of first[j] and second[j]. */
INLINE void KERNEL(pairs16)(elem *to, const elem *first, const elem *second)
{
    const __m512i halves =
        (__m512i)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(second), _mm512_loadu_ps(first));
    const __m512i order = _mm512_set_epi16(31, 15, 30, 14, 29, 13, 28, 12, 27, 11, 26, 10, 25, 9,
        24, 8, 23, 7, 22, 6, 21, 5, 20, 4, 19, 3, 18, 2, 17, 1, 16, 0);
    _mm512_storeu_si512(to, _mm512_permutexvar_epi16(order, halves));
}

/* Row p of a panel, from rows 2p and 2p + 1 of from[depth, columns]. A missing last row counts as
 * 0. */
INLINE void KERNEL(copy_row)(
    elem *to, const elem *from, int64_t ld, int64_t p, int64_t depth, int64_t columns)
{
    static const elem zeros[WIDE] = { 0 };
    const elem *first = from + 2 * p * ld, *second = 2 * p + 1 < depth ? first + ld : zeros;
    int64_t j = 0;
    for (; j + 16 <= columns; j += 16) {
        KERNEL(pairs16)(to + j, first + j, second + j);
    }
    for (; j + 8 <= columns; j += 8) {
        KERNEL(pairs8)(to + j, first + j, second + j);
    }
    for (; j < columns; ++j) {
        to[j] = KERNEL(pair)(first[j], second[j]);
    }
}

/* Packs a transposed matrix: pairs are made along its rows first, and then transposed as f32. */
INLINE void KERNEL(pack_transposed)(
    elem *to, int64_t to_ld, const elem *from, int64_t ld, int64_t depth, int64_t columns)
{
    elem rows[ROWS_AT_ONCE][ADZI_GEMM_DEPTH];
    for (int64_t j = 0; j < columns; ++j, from += ld) {
        int64_t p = 0;
        for (; 2 * p + 32 <= depth; p += 16) {
            const __m512bh pairs = _mm512_cvtne2ps_pbh(
                _mm512_loadu_ps(from + 2 * p + 16), _mm512_loadu_ps(from + 2 * p));
            _mm512_storeu_si512(&rows[j][p], (__m512i)pairs);
        }
        for (; 2 * p < depth; ++p) {
            rows[j][p] = KERNEL(pair)(from[2 * p], 2 * p + 1 < depth ? from[2 * p + 1] : 0);
        }
    }
    KERNEL(transpose)(to, to_ld, rows[0], ADZI_GEMM_DEPTH, KERNEL(panel_rows)(depth), columns);
}
#else
INLINE void KERNEL(copy_row)(
    elem *to, const elem *from, int64_t ld, int64_t p, int64_t depth, int64_t columns)
{
    (void)depth;
    memcpy(to, from + p * ld, (size_t)columns * sizeof(elem));
}

INLINE void KERNEL(pack_transposed)(
    elem *to, int64_t to_ld, const elem *from, int64_t ld, int64_t depth, int64_t columns)
{
    KERNEL(transpose)(to, to_ld, from, ld, depth, columns);
}
#endif

/* Packs from[depth, columns], whose rows are in the order of the panels. Each panel holds `wide`
 * columns, row after row. Columns beyond the last are not written; their products are never stored.
 * Four rows at a time fill whole cache lines of a panel. */
INLINE void KERNEL(copy_panels)(
    elem *to, const int wide, const elem *from, int64_t ld, int64_t depth, int64_t columns)
{
    const int64_t panel_rows = KERNEL(panel_rows)(depth);
    for (int64_t p = 0; p < panel_rows; p += ROWS_AT_ONCE) {
        const int64_t end = panel_rows - p < ROWS_AT_ONCE ? panel_rows : p + ROWS_AT_ONCE;
        elem *panel = to;
        int64_t j = 0;
        for (; j + wide <= columns; j += wide, panel += panel_rows * wide) {
            for (int64_t q = p; q < end; ++q) {
                KERNEL(copy_row)(panel + q * wide, from + j, ld, q, depth, wide);
            }
        }
        for (int64_t q = p; q < end && j < columns; ++q) {
            KERNEL(copy_row)(panel + q * wide, from + j, ld, q, depth, columns - j);
        }
    }
}

/* Packs the transposed matrix from[columns, depth], two or four of its rows at a time. The rows
 * after them are prefetched, because the processor does not recognise the pattern. */
INLINE void KERNEL(transpose_panels)(
    elem *to, const int wide, const elem *from, int64_t ld, int64_t depth, int64_t columns)
{
    const int group =
        wide % ROWS_AT_ONCE == 0 ? ROWS_AT_ONCE : 2; /* rows at a time, within one panel */
    const int64_t panel_rows = KERNEL(panel_rows)(depth);
    for (int64_t j = 0; j < columns; j += group) {
        const int64_t count = columns - j < group ? columns - j : group;
        const elem *rows = from + j * ld;
        for (int64_t r = group; r < 2 * group && j + r < columns; ++r) {
            for (int64_t p = 0; p < depth; p += LINE / (int)sizeof(elem)) {
                __builtin_prefetch(rows + r * ld + p);
            }
        }
        KERNEL(pack_transposed)
        (to + j / wide * panel_rows * wide + j % wide, wide, rows, ld, depth, count);
    }
}

/* Packs a block of op(A), `rows` rows and `depth` elements of k, from its first element `a` on. */
NOINLINE void KERNEL(copy_a)(
    elem *to, const adzi_gemm_args *args, const elem *a, int64_t depth, int64_t rows)
{
    if (args->ta) {
        KERNEL(copy_panels)(to, HIGH, a, args->lda, depth, rows);
    } else {
        KERNEL(transpose_panels)(to, HIGH, a, args->lda, depth, rows);
    }
}

/* Packs strips of op(B), `columns` columns and `depth` elements of k, from their first element on.
 */
NOINLINE void KERNEL(copy_b)(
    elem *to, const adzi_gemm_args *args, const elem *b, int64_t depth, int64_t columns)
{
    if (args->tb) {
        KERNEL(transpose_panels)(to, WIDE, b, args->ldb, depth, columns);
    } else {
        KERNEL(copy_panels)(to, WIDE, b, args->ldb, depth, columns);
    }
}

/* The general epilogue of a tile: alpha, beta and bias, for the rows and columns that exist. */
static void KERNEL(finish_tile)(
    const product *g, elem *c, int64_t column, VEC sums[HIGH][3], int64_t rows, int64_t columns)
{
    for (int64_t i = 0; i < rows; ++i, c += g->ldc) {
        for (int v = 0; v < 3 && v * VW < columns; ++v) {
            const bool whole = columns - v * VW >= VW;
            const int lanes = whole ? VW : (int)(columns - v * VW);
            const elem *bias = g->bias != NULL ? g->bias + column + v * VW : NULL;
            VEC sum = KERNEL(finished)(g, c + v * VW, bias, sums[i][v], whole, lanes);
            KERNEL(store)(c + v * VW, sum, whole, lanes);
        }
    }
}

/* The micro-kernel: HIGH rows of C from row i, and `vecs` vectors of columns from column j. The
 * macros expand to one statement per row of the tile:
 *
 *     BEGIN  clears the sums of a row and prefetches its part of C
 *     ADD    adds an element of A times the vectors of B
 *     PUT    writes the sums to C;   JOIN adds them to C;   SUMS lists them for finish_tile */
INLINE void KERNEL(any_tile)(
    const product *g, const elem *a, const elem *b, int64_t i, int64_t j, const int vecs)
{
    elem *c = g->c + i * g->ldc + j;
    const VEC zero = { 0 };
#define BEGIN(r)                                           \
    VEC s##r##0 = zero, s##r##1 = zero, s##r##2 = zero;    \
    __builtin_prefetch(c + r * g->ldc, 1);                 \
    __builtin_prefetch(c + r * g->ldc + vecs * VW / 2, 1); \
    __builtin_prefetch(c + r * g->ldc + vecs * VW - 1, 1);
    EACH_ROW(BEGIN)
    for (int64_t p = KERNEL(panel_rows)(g->k); p > 0; --p, a += HIGH, b += WIDE) {
        const VEC b0 = VLOAD(b), b1 = vecs > 1 ? VLOAD(b + VW) : zero;
        const VEC b2 = vecs > 2 ? VLOAD(b + 2 * VW) : zero;
#define ADD(r)                               \
    {                                        \
        const VEC x = VSPLAT(a[r]);          \
        s##r##0 = VMADD(x, b0, s##r##0);     \
        if (vecs > 1) {                      \
            s##r##1 = VMADD(x, b1, s##r##1); \
        }                                    \
        if (vecs > 2) {                      \
            s##r##2 = VMADD(x, b2, s##r##2); \
        }                                    \
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
    KERNEL(finish_tile)(g, c, j, sums, rows < HIGH ? rows : HIGH, columns < WIDE ? columns : WIDE);
}

/* One function per width, so that the compiler allocates registers for each alone. */
#define TILE(vecs)                                                            \
    NOINLINE void KERNEL(tile_of_##vecs)(                                     \
        const product *g, const elem *a, const elem *b, int64_t i, int64_t j) \
    {                                                                         \
        KERNEL(any_tile)(g, a, b, i, j, vecs);                                \
    }
TILE(1)
TILE(2)
TILE(3)

/* Rows row .. end - 1 of C across a strip of at most three vectors. */
static void KERNEL(rows_of_strip)(
    const product *g, const elem *a, const elem *b, int64_t row, int64_t end, int64_t column)
{
    const int64_t columns = g->n - column;
    for (; row < end; row += HIGH, a += KERNEL(panel_rows)(g->k) * HIGH) {
        if (columns > 2 * VW) {
            KERNEL(tile_of_3)(g, a, b, row, column);
        } else if (columns > VW) {
            KERNEL(tile_of_2)(g, a, b, row, column);
        } else {
            KERNEL(tile_of_1)(g, a, b, row, column);
        }
    }
}

/* One layer of k across all of C. Blocks of rows are made equally high, so that the last is not
 * short. */
static void KERNEL(layer)(const adzi_gemm_args *args, const product *g, const KERNEL(room) * room)
{
    const int64_t most = (int64_t)ADZI_GEMM_STRIPS * WIDE;
    const int64_t parts = (g->m + ADZI_GEMM_ROWS - 1) / ADZI_GEMM_ROWS;
    const int64_t high = ((g->m + parts - 1) / parts + HIGH - 1) / HIGH * HIGH;
    for (int64_t j = 0; j < g->n; j += most) {
        const int64_t last = g->n - j < most ? g->n : j + most;
        KERNEL(copy_b)(room->b, args, g->b + j * (args->tb ? g->ldb : 1), g->k, last - j);
        for (int64_t i = 0; i < g->m; i += high) {
            const int64_t end = g->m - i < high ? g->m : i + high;
            KERNEL(copy_a)(room->a, args, g->a + i * g->ai, g->k, end - i);
            const elem *b = room->b;
            for (int64_t column = j; column < last;
                 column += WIDE, b += KERNEL(panel_rows)(g->k) * WIDE) {
                KERNEL(rows_of_strip)(g, room->a, b, i, end, column);
            }
        }
    }
}

/* The entry point; the launch has one unit. Layers are made equally deep. */
void KERNEL(gemm_blocked)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_blocked_args *blocked = opaque;
    const adzi_gemm_args *args = blocked->args;
    const KERNEL(room)
        room = { blocked->work, (elem *)((char *)blocked->work + ADZI_GEMM_WORK_A(sizeof(elem))) };
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
        .alpha = (elem)args->alpha,
        .beta = (elem)args->beta };
    g.finish = KERNEL(finish_of)(&g);
    const int64_t most = EACH * ADZI_GEMM_DEPTH, layers = (args->k + most - 1) / most;
    const int64_t depth = (args->k + layers - 1) / (layers > 0 ? layers : 1);
    for (int64_t p = 0; p < args->k; p += depth) {
        g.k = args->k - p < depth ? args->k - p : depth;
        KERNEL(layer)(args, &g, &room);
        g.a += g.k * g.ap;
        g.b += g.k * (args->tb ? 1 : g.ldb);
        g.beta = ELEM(1);
        g.bias = NULL;
        g.finish = g.alpha == ELEM(1) ? ADDED : GENERAL;
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
