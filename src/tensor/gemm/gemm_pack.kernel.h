/* Packing: copies blocks of op(A) and strips of op(B) in the order in which tiles read them.
 *
 * The header is included once per type by gemm_blocked.kernel.c, inside each_float.h and after
 * gemm_product.kernel.h, and has no include guard. It uses HIGH, EACH and PAIRS of that file. */
#include "tensor/kernel/transpose.kernel.h"

/* The number of rows of a panel for a block of `depth` elements of k: half as many with pairs. */
INLINE int64_t KERNEL(panel_rows)(int64_t depth)
{
    return (depth + EACH - 1) / EACH;
}

/* A vector of panel elements from the row `from`. */
INLINE VEC KERNEL(load_packed)(const elem *from)
{
#if PAIRS
    return (VEC)_mm512_cvtne2ps_pbh(_mm512_loadu_ps(from + VW), _mm512_loadu_ps(from));
#else
    return VLOAD(from);
#endif
}

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

/* Packs a transposed matrix whose columns do not fill a vector: pairs are made along its rows
 * first, and then transposed as f32. */
INLINE void KERNEL(pack_transposed)(
    elem *to, int64_t to_ld, const elem *from, int64_t ld, int64_t depth, int64_t columns)
{
    elem rows[ROWS_AT_ONCE][DEPTH];
    for (int64_t j = 0; j < columns; ++j, from += ld) {
        int64_t p = 0;
        for (; 2 * p + 2 * VW <= depth; p += VW) {
            VSTORE(&rows[j][p], KERNEL(load_packed)(from + 2 * p));
        }
        for (; 2 * p < depth; ++p) {
            rows[j][p] = KERNEL(pair)(from[2 * p], 2 * p + 1 < depth ? from[2 * p + 1] : 0);
        }
    }
    KERNEL(transpose)(to, to_ld, rows[0], DEPTH, KERNEL(panel_rows)(depth), columns);
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

#if defined(__AVX2__) && ELEM_IS_F32
#define SQUARE 1

/* Writes rows i, i + 4, ... of the square from the quarters of r[0], r[4], ... */
INLINE void KERNEL(put_quarters)(elem *to, int64_t to_ld, const VEC *r)
{
#if defined(__AVX512F__)
    const VEC even = _mm512_shuffle_f32x4(r[0], r[4], 0x88);
    const VEC odd = _mm512_shuffle_f32x4(r[0], r[4], 0xDD);
    const VEC even2 = _mm512_shuffle_f32x4(r[8], r[12], 0x88);
    const VEC odd2 = _mm512_shuffle_f32x4(r[8], r[12], 0xDD);
    VSTORE(to, _mm512_shuffle_f32x4(even, even2, 0x88));
    VSTORE(to + 4 * to_ld, _mm512_shuffle_f32x4(odd, odd2, 0x88));
    VSTORE(to + 8 * to_ld, _mm512_shuffle_f32x4(even, even2, 0xDD));
    VSTORE(to + 12 * to_ld, _mm512_shuffle_f32x4(odd, odd2, 0xDD));
#else
    VSTORE(to, _mm256_permute2f128_ps(r[0], r[4], 0x20));
    VSTORE(to + 4 * to_ld, _mm256_permute2f128_ps(r[0], r[4], 0x31));
#endif
}

/* to[VW, VW] = from[VW, EACH * VW]^T in registers, so that whole vectors of the panel are written.
 * First 4 x 4 elements of each quarter are transposed, then the quarters. The elements that the
 * next square but one reads are prefetched. */
INLINE void KERNEL(pack_square)(elem *to, int64_t to_ld, const elem *from, int64_t ld)
{
    enum { FRONT = 0x44, BACK = 0xEE }; /* these shuffles take a pair of each vector */
    VEC r[VW], t[VW];
#pragma GCC unroll 16
    for (int i = 0; i < VW; ++i) {
        __builtin_prefetch(from + i * ld + 2 * LINE / (int)sizeof(elem));
        r[i] = KERNEL(load_packed)(from + i * ld);
    }
#pragma GCC unroll 8
    for (int i = 0; i < VW; i += 2) {
        t[i] = INTRINSIC(unpacklo)(r[i], r[i + 1]);
        t[i + 1] = INTRINSIC(unpackhi)(r[i], r[i + 1]);
    }
#pragma GCC unroll 4
    for (int i = 0; i < VW; i += 4) {
        r[i] = INTRINSIC(shuffle)(t[i], t[i + 2], FRONT);
        r[i + 1] = INTRINSIC(shuffle)(t[i], t[i + 2], BACK);
        r[i + 2] = INTRINSIC(shuffle)(t[i + 1], t[i + 3], FRONT);
        r[i + 3] = INTRINSIC(shuffle)(t[i + 1], t[i + 3], BACK);
    }
#pragma GCC unroll 4
    for (int i = 0; i < 4; ++i) {
        KERNEL(put_quarters)(to + i * to_ld, to_ld, r + i);
    }
}
#endif

/* How the rows of op(A) or the columns of op(B) are divided into panels. Panels are as equal as
 * whole units allow, so that no panel is much narrower than the others. */
typedef struct KERNEL(panels) {
    int64_t extent; /* rows or columns */
    int64_t unit;   /* HIGH or VW */
    int64_t units;  /* how many cover the extent; the last one may be partial */
    int64_t count;  /* panels */
} KERNEL(panels);
#define panels KERNEL(panels)

/* The first row or column of panel s. In packed memory, the panel begins this many times the depth
 * after the first panel. */
INLINE int64_t KERNEL(begin_of)(const panels *x, int64_t s)
{
    return x->units * s / x->count * x->unit;
}

/* Panels of HIGH rows of op(A). */
INLINE panels KERNEL(panels_of_rows)(int64_t rows)
{
    const int64_t units = (rows + HIGH - 1) / HIGH;
    return (panels){ rows, HIGH, units, units };
}

/* Strips of at most three vectors of columns of op(B). */
INLINE panels KERNEL(panels_of_columns)(int64_t columns)
{
    const int64_t units = (columns + VW - 1) / VW;
    return (panels){ columns, VW, units, (units + 2) / 3 };
}

/* Strips of three vectors each. The last one is as wide, and columns that do not exist are 0. */
INLINE panels KERNEL(whole_strips)(int64_t columns)
{
    const int64_t count = (columns + 3 * VW - 1) / (3 * VW);
    return (panels){ columns, VW, 3 * count, count };
}

/* Clears the last panel if some of its columns do not exist. Garbage there would be harmless but
 * slow: the processor needs a hundred cycles for a product with a denormal number. */
INLINE void KERNEL(clear_partial)(elem *to, const panels *x, int64_t panel_rows)
{
    if (x->units * x->unit > x->extent) {
        const int64_t j = KERNEL(begin_of)(x, x->count - 1);
        memset(
            to + j * panel_rows, 0, (size_t)((x->units * x->unit - j) * panel_rows) * sizeof(elem));
    }
}

/* Rows p .. end - 1 of a panel of `wide` columns, the first `columns` of which exist. */
INLINE void KERNEL(copy_rows)(elem *to, const int wide, const elem *from, int64_t ld, int64_t p,
    int64_t end, int64_t depth, int64_t columns)
{
    for (; p < end && columns >= wide; ++p) {
        KERNEL(copy_row)(to + p * wide, from, ld, p, depth, wide);
    }
    for (; p < end; ++p) {
        KERNEL(copy_row)(to + p * wide, from, ld, p, depth, columns);
    }
}

/* Packs from[depth, extent], whose rows are in the order of the panels. Four rows at a time fill
 * whole cache lines of a panel. Constant widths make copies of a few instructions. */
INLINE void KERNEL(copy_panels)(
    elem *to, const panels *x, const elem *from, int64_t ld, int64_t depth)
{
    const int64_t panel_rows = KERNEL(panel_rows)(depth);
    KERNEL(clear_partial)(to, x, panel_rows);
    for (int64_t p = 0; p < panel_rows; p += ROWS_AT_ONCE) {
        const int64_t end = panel_rows - p < ROWS_AT_ONCE ? panel_rows : p + ROWS_AT_ONCE;
        for (int64_t s = 0; s < x->count; ++s) {
            const int64_t j = KERNEL(begin_of)(x, s), wide = KERNEL(begin_of)(x, s + 1) - j;
            elem *panel = to + j * panel_rows;
            if (wide == HIGH) {
                KERNEL(copy_rows)(panel, HIGH, from + j, ld, p, end, depth, x->extent - j);
            } else if (wide == 3 * VW) {
                KERNEL(copy_rows)(panel, 3 * VW, from + j, ld, p, end, depth, x->extent - j);
            } else if (wide == 2 * VW) {
                KERNEL(copy_rows)(panel, 2 * VW, from + j, ld, p, end, depth, x->extent - j);
            } else {
                KERNEL(copy_rows)(panel, VW, from + j, ld, p, end, depth, x->extent - j);
            }
        }
    }
}

#ifdef SQUARE
/* Packs the transposed matrix from[VW, depth]. */
INLINE void KERNEL(pack_band)(elem *to, int64_t to_ld, const elem *from, int64_t ld, int64_t depth)
{
    int64_t p = 0;
    for (; p + EACH * VW <= depth; p += EACH * VW) {
        KERNEL(pack_square)(to + p / EACH * to_ld, to_ld, from + p, ld);
    }
    for (int j = 0; p < depth && j < VW; j += ROWS_AT_ONCE) {
        KERNEL(pack_transposed)
        (to + p / EACH * to_ld + j, to_ld, from + j * ld + p, ld, depth - p, ROWS_AT_ONCE);
    }
}
#endif

/* Packs the transposed matrix from[extent, depth]: bands of VW of its rows with AVX2 and AVX-512,
 * and two or four rows at a time otherwise. The rows after those are prefetched, because the
 * processor does not recognise the pattern. */
INLINE void KERNEL(transpose_panels)(
    elem *to, const panels *x, const elem *from, int64_t ld, int64_t depth)
{
    const int group = x->unit % ROWS_AT_ONCE == 0 ? ROWS_AT_ONCE : 2;
    const int64_t panel_rows = KERNEL(panel_rows)(depth);
    KERNEL(clear_partial)(to, x, panel_rows);
    for (int64_t s = 0; s < x->count; ++s) {
        const int64_t first = KERNEL(begin_of)(x, s), next = KERNEL(begin_of)(x, s + 1);
        const int64_t end = next < x->extent ? next : x->extent;
        elem *panel = to + first * panel_rows;
        int64_t j = first;
#ifdef SQUARE
        for (; j + VW <= end; j += VW) {
            KERNEL(pack_band)(panel + j - first, next - first, from + j * ld, ld, depth);
        }
#endif
        for (; j < end; j += group) {
            const elem *rows = from + j * ld;
            for (int64_t r = group; r < 2 * group && j + r < x->extent; ++r) {
                for (int64_t p = 0; p < depth; p += LINE / (int)sizeof(elem)) {
                    __builtin_prefetch(rows + r * ld + p);
                }
            }
            KERNEL(pack_transposed)
            (panel + j - first, next - first, rows, ld, depth, end - j < group ? end - j : group);
        }
    }
}

/* Packs panels of `depth` elements of k from the first element on. If `along_k` is true, elements
 * that follow each other along k lie next to each other in memory: a transposed copy. */
NOINLINE void KERNEL(pack)(
    elem *to, const panels *x, bool along_k, const elem *from, int64_t ld, int64_t depth)
{
    if (along_k) {
        KERNEL(transpose_panels)(to, x, from, ld, depth);
    } else {
        KERNEL(copy_panels)(to, x, from, ld, depth);
    }
}
