/* Large products, computed in tiles that stay in registers; see Note [Blocks of a large product].
 *
 *     C[m, n] = relu(alpha op(A)[m, k] op(B)[k, n] + beta C + bias[n]),   relu is optional
 *
 * k is cut into layers of at most DEPTH elements, n into groups of strips, m into blocks of rows.
 * A strip of B is at most three vectors wide and stays in the second-level cache. A tile of HIGH
 * rows by a strip of C stays in registers for the whole layer. Between layers the sums are in C.
 * The last layer applies alpha, bias and ReLU. With beta, the sums begin with beta C.
 *
 * Tiles read an operand where it lies if its rows are in an order that suits them, and from a
 * packed copy otherwise (feed_a, feed_b). A product of few rows with a weight that is stored [n, k]
 * is computed as C^T = B A^T, so that the weight is read once and where it lies (swapped).
 *
 * The launch has one unit; callers cut large products before. An element of C is one chain of
 * multiply-adds through all layers, in the order of k. So its bits depend neither on the depth of a
 * layer nor on which operands are packed. Only with alpha and beta, where C cannot hold both the
 * sums and its own values, layers have LAYER elements at every level and are added in order.
 *
 * The file is included once per type, and a third time with PAIRS for f32 that is rounded to bf16.
 * One instruction then multiplies two pairs of bf16 and adds both products to an f32. Both operands
 * are packed in that instance. */
#ifndef elem
#include <string.h>

#include "base/cpu.h"
#include "tensor/gemm/loops.h"
#include "tensor/gemm/gemm_product.kernel.h"

/* DEPTH is the most elements of k in a layer. In bf16 it is the most pairs of them.
 *
 * A tile has HIGH rows of three vectors: 24 of 32 registers, or 12 of 16. The others hold a row of
 * B and an element of A. */
#ifdef ADZI_32_REGISTERS
enum { HIGH = 8, DEPTH = 768 };
#else
enum { HIGH = 4, DEPTH = 384 };
#endif
#define WIDE (3 * VW)

enum {
    LINE = 64,               /* bytes of a cache line */
    ROWS_AT_ONCE = 4,        /* rows that are packed at a time */
    LAYER = 384,             /* most elements of k in a layer of a product with alpha and beta */
    SHALLOW = 64,            /* most elements of k in a layer whose C takes most of the time */
    SHALLOW_GROUP = 1 << 18, /* most bytes of the strips of B in such a layer */
    NEAR_A = 1 << 16,        /* bytes of a layer of a transposed A that is read in place */
    NEAR_STRIP =
        8192,        /* bytes of a row of a transposed A that is read in place for one strip of C */
    NEAR_ROW = 1024, /* bytes of a row of B that is read in place for any number of rows of C */
    NEAR_PAGE = 4096,  /* bytes of a row of B that is read in place for up to NEAR_ROWS rows of C */
    NEAR_ROWS = 64,    /* more rows of C pay for a copy of B */
    SWAPPED_BLOCK = 64 /* columns of C at a time in a swapped product */
};

#define PAIRS     0
#define THIS_FILE "tensor/gemm/gemm_blocked.kernel.c"
#define F64_AT_ALL_LEVELS
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

#undef EACH
#undef SQUARE
#undef VMADD
#if PAIRS
#define EACH           2 /* elements of k in an element of a panel */
#define VMADD(x, y, c) ((VEC)_mm512_dpbf16_ps((__m512)(c), (__m512bh)(x), (__m512bh)(y)))
#else
#define EACH           1
#define VMADD(x, y, c) VFMA(x, y, c)
#endif

#include "tensor/gemm/gemm_pack.kernel.h"
#include "tensor/gemm/gemm_tile.kernel.h"

/* Memory for packed rows of A and packed strips of B. */
typedef struct KERNEL(room) {
    elem *a, *b;
} KERNEL(room);

/* Copies the part of C that a tile covers and that exists to `to`, HIGH rows of WIDE elements. */
static void KERNEL(copy_of_tile)(
    elem *to, const product *g, const elem *c, int64_t rows, int64_t columns)
{
    memset(to, 0, (size_t)(HIGH * WIDE) * sizeof(elem));
    for (int64_t i = 0; i < rows && i < HIGH; ++i) {
        const int64_t count = columns < WIDE ? columns : WIDE;
        memcpy(to + i * WIDE, c + i * g->ldc, (size_t)count * sizeof(elem));
    }
}

/* A tile: HIGH rows of C from row i, and `vecs` vectors of columns from column j. Sums that are not
 * the elements of C, or not all of them, go through memory. */
INLINE void KERNEL(any_tile)(
    const product *g, const KERNEL(reads) * from, int64_t i, int64_t j, const int vecs, elem *copy)
{
    elem *c = g->c + i * g->ldc + j;
    const int64_t rows = g->m - i, columns = g->n - j;
    const bool whole = rows >= HIGH && columns >= vecs * VW;
    const KERNEL(shape) shape = { HIGH, vecs, true, VW };
    _Alignas(64) elem part[HIGH * WIDE];
    VEC s[8][4];
    if (g->begin == ELEM(0)) {
#pragma GCC unroll 8
        for (int r = 0; r < HIGH; ++r) {
            __builtin_prefetch(c + r * g->ldc, 1);
            __builtin_prefetch(c + r * g->ldc + vecs * VW / 2, 1);
            __builtin_prefetch(c + r * g->ldc + vecs * VW - 1, 1);
        }
        KERNEL(clear_tile)(s);
    } else {
        if (!whole) {
            KERNEL(copy_of_tile)(part, g, c, rows, columns);
        }
        KERNEL(take_tile)(s, whole ? c : part, whole ? g->ldc : WIDE, g->begin, shape);
    }
    KERNEL(add_tile)(s, from, KERNEL(panel_rows)(g->k), shape, copy);
    if (whole && g->finish == BARE) {
        KERNEL(put_tile)(c, g->ldc, s, false, shape);
    } else {
        KERNEL(put_tile)(part, WIDE, s, false, shape);
        KERNEL(finish_sums)
        (g, &(KERNEL(sums)){ part, WIDE, i, j, rows < HIGH ? rows : HIGH,
                columns < vecs * VW ? columns : vecs * VW });
    }
}

/* One function per width, and one that copies the strip, so that the compiler allocates registers
 * for each alone. */
#define TILE(name, vecs, copies)                                                         \
    NOINLINE void KERNEL(name##_##vecs)(                                                 \
        const product *g, const KERNEL(reads) * from, int64_t i, int64_t j, elem * copy) \
    {                                                                                    \
        KERNEL(any_tile)(g, from, i, j, vecs, (copies) ? copy : NULL);                   \
    }
TILE(tile, 1, false)
TILE(tile, 2, false)
TILE(tile, 3, false)
TILE(copying_tile, 1, true)
TILE(copying_tile, 2, true)
TILE(copying_tile, 3, true)
#undef TILE

/* A block of rows of op(A), packed or where it lies. */
typedef struct KERNEL(rows) {
    const elem *at;
    int64_t row, step; /* as a_row and a_step of a tile */
    int64_t next;      /* from the first row of a tile to that of the next */
    const elem *tail;  /* a packed copy of the last rows if they are fewer than HIGH, or NULL */
} KERNEL(rows);

/* Rows row .. end - 1 of C across a strip of `vecs` vectors. If `copy` is not NULL, the first tile
 * reads the strip where it lies and copies it there, and the others read the copy. */
static void KERNEL(rows_of_strip)(const product *g, const KERNEL(rows) * a, const elem *b,
    int64_t b_step, int64_t vecs, int64_t row, int64_t end, int64_t column, elem *copy)
{
    static void (*const tiles[2][3])(
        const product *, const KERNEL(reads) *, int64_t, int64_t, elem *) = {
        { KERNEL(tile_1), KERNEL(tile_2), KERNEL(tile_3) },
        { KERNEL(copying_tile_1), KERNEL(copying_tile_2), KERNEL(copying_tile_3) },
    };
    KERNEL(reads) from = { a->at, b, a->row, a->step, b_step };
    for (; row < end; row += HIGH, from.a += a->next) {
        if (end - row < HIGH && a->tail != NULL) {
            from = (KERNEL(reads)){ a->tail, from.b, 1, HIGH, from.b_step };
        }
        tiles[copy != NULL][vecs - 1](g, &from, row, column, copy);
        if (copy != NULL) {
            from.b = copy;
            from.b_step = vecs * VW;
            copy = NULL;
        }
    }
}

/* Decides how rows i .. end - 1 of op(A) are read, and packs what has to be packed. Rows that are
 * contiguous along k are read where they lie. Of a transposed A, a tile reads a few elements per
 * row of memory: it is read where it lies if a layer of it stays in the cache, or if C is one
 * strip, so that every element of A is read once, and rows are not too far apart. */
static KERNEL(rows)
    KERNEL(feed_a)(const adzi_gemm_args *args, const product *g, elem *room, int64_t i, int64_t end)
{
    const elem *a = g->a + i * g->ai;
    const int64_t last = (end - i) % HIGH;
    const int64_t a_row = args->lda * (int64_t)sizeof(elem);
    const bool near = a_row * g->k <= NEAR_A || (g->n <= WIDE && a_row <= NEAR_STRIP);
    if (PAIRS || (args->ta && !near)) {
        const panels x = KERNEL(panels_of_rows)(end - i);
        KERNEL(pack)(room, &x, !args->ta, a, args->lda, g->k);
        return (KERNEL(rows)){ room, 1, HIGH, KERNEL(panel_rows)(g->k) * HIGH, NULL };
    }
    if (last > 0) {
        const panels x = KERNEL(panels_of_rows)(last);
        KERNEL(pack)(room, &x, !args->ta, g->a + (end - last) * g->ai, args->lda, g->k);
    }
    return (KERNEL(rows)){ a, g->ai, g->ap, HIGH * g->ai, room };
}

/* A group of strips of op(B), packed or where it lies. */
typedef struct KERNEL(strips) {
    panels x;
    const elem *in_place; /* the first element, or NULL if all strips are packed already */
    elem *packed;         /* memory for all strips; without `copied`, for a partial last one */
    bool copied;          /* the first tile of a strip reads it in place and packs it */
    int64_t ld, depth;
} KERNEL(strips);

/* Decides how strips of op(B) from element `b` on are read, and packs those of a B stored [n, k].
 * Strips of a B stored [k, n] are read where they lie if its rows are short, or if so few rows of C
 * use them that a copy costs more than it saves. Otherwise their first tiles copy them. Rows that
 * are a page apart cost more when they are read again, because neither the first-level cache nor
 * the TLB holds a strip of them. */
static KERNEL(strips) KERNEL(feed_b)(
    const adzi_gemm_args *args, const product *g, elem *room, const elem *b, int64_t columns)
{
    const panels x = KERNEL(panels_of_columns)(columns);
    KERNEL(strips) strips = { x, NULL, room, false, args->ldb, KERNEL(panel_rows)(g->k) };
    const int64_t row = args->ldb * (int64_t)sizeof(elem);
    const bool near = row <= NEAR_ROW || (row <= NEAR_PAGE && g->m <= NEAR_ROWS);
    if (PAIRS || args->tb) {
        KERNEL(pack)(room, &x, args->tb, b, args->ldb, g->k);
        return strips;
    }
    strips.in_place = b;
    strips.copied = !near && g->m > 2 * HIGH;
    if (columns % VW != 0) {
        const int64_t from = KERNEL(begin_of)(&x, x.count - 1);
        const panels last = KERNEL(panels_of_columns)(columns - from);
        elem *to = room + (strips.copied ? from * strips.depth : 0);
        KERNEL(pack)(to, &last, false, b + from, args->ldb, g->k);
    }
    return strips;
}

/* Strips of a B that adzi_gemm_pack() has ordered, from column j of C on. A strip holds all of k.
 */
static KERNEL(strips)
    KERNEL(packed_strips)(const adzi_gemm_args *args, const product *g, int64_t j, int64_t columns)
{
    const panels x = KERNEL(whole_strips)(columns);
    return (KERNEL(strips)){ x, NULL, (elem *)g->packed + j * args->k, false, 0, args->k };
}

/* Rows row .. end - 1 of C across all strips. C begins `first` columns before the strips. */
static void KERNEL(rows_of_strips)(const product *g, const KERNEL(rows) * a,
    const KERNEL(strips) * b, int64_t row, int64_t end, int64_t first)
{
    for (int64_t s = 0; s < b->x.count; ++s) {
        const int64_t column = KERNEL(begin_of)(&b->x, s);
        const int64_t wide = KERNEL(begin_of)(&b->x, s + 1) - column;
        const bool partial = column + wide > b->x.extent;
        const bool lies = b->in_place != NULL && !partial && !(b->copied && row > 0);
        const bool alone = b->in_place != NULL && !b->copied; /* one strip is packed at most */
        elem *packed = b->packed + (alone ? 0 : column * b->depth);
        KERNEL(rows_of_strip)
        (g, a, lies ? b->in_place + column : packed, lies ? b->ld : wide, wide / VW, row, end,
            first + column, lies && b->copied ? packed : NULL);
    }
}

/* One layer of k across all of C. Blocks of rows are made equally high, so that the last is not
 * short. Where k is short, the time goes into C. Then blocks are two tiles high and pass along all
 * strips of a group, so that C is written in the order of memory. */
static void KERNEL(layer)(const adzi_gemm_args *args, const product *g, const KERNEL(room) * room)
{
    const int64_t depth = KERNEL(panel_rows)(g->k);
    const bool shallow = depth <= SHALLOW;
    const int64_t group = shallow ? SHALLOW_GROUP : ADZI_GEMM_GROUP_BYTES;
    const int64_t most = group / (int64_t)sizeof(elem) / depth / WIDE * WIDE;
    const int64_t tallest = shallow ? 2 * HIGH : ADZI_GEMM_BLOCK / depth / HIGH * HIGH;
    const int64_t parts = (g->m + tallest - 1) / tallest;
    const int64_t high = ((g->m + parts - 1) / parts + HIGH - 1) / HIGH * HIGH;
    for (int64_t j = 0; j < g->n; j += most) {
        const elem *first = g->b + j * (args->tb ? g->ldb : 1);
        const int64_t columns = g->n - j < most ? g->n - j : most;
        const KERNEL(strips) b = g->packed != NULL
                                     ? KERNEL(packed_strips)(args, g, j, columns)
                                     : KERNEL(feed_b)(args, g, room->b, first, columns);
        for (int64_t i = 0; i < g->m; i += high) {
            const int64_t end = g->m - i < high ? g->m : i + high;
            const KERNEL(rows) a = KERNEL(feed_a)(args, g, room->a, i, end);
            KERNEL(rows_of_strips)(g, &a, &b, i, end, j);
        }
    }
}

/* All layers of k. Layers are made equally deep. */
static void KERNEL(layers)(const adzi_gemm_args *args, product *g, const KERNEL(room) * room)
{
    const product whole = *g;
    const bool chained = g->beta == ELEM(0) || g->alpha == ELEM(1);
    const int64_t most = chained ? EACH * DEPTH : LAYER, layers = (args->k + most - 1) / most;
    const int64_t depth = (args->k + layers - 1) / (layers > 0 ? layers : 1);
    if (chained) {
        g->begin = g->beta;
        g->beta = ELEM(0);
    }
    for (int64_t p = 0; p < args->k; p += depth) {
        const bool last = args->k - p <= depth;
        g->k = last ? args->k - p : depth;
        g->floor = last ? whole.floor : NO_FLOOR;
        if (chained) {
            g->alpha = last ? whole.alpha : ELEM(1);
            g->bias = last ? whole.bias : NULL;
        }
        g->finish = KERNEL(finish_of)(g);
        g->finish = last && g->floor == ELEM(0) ? GENERAL : g->finish;
        KERNEL(layer)(args, g, room);
        g->a += g->k * g->ap;
        g->b += g->k * (args->tb ? 1 : g->ldb);
        g->packed = g->packed != NULL ? g->packed + g->k * WIDE : NULL;
        if (chained) {
            g->begin = ELEM(1);
        } else {
            g->beta = ELEM(1);
            g->bias = NULL;
        }
    }
}

#if !PAIRS
#include "tensor/gemm/gemm_swapped.kernel.h"
#endif

#if !PAIRS
/* Orders B as tiles read it; see adzi_gemm_pack(). A unit is the columns of the widest strip. */
void KERNEL(gemm_pack)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_pack_args *pack = opaque;
    const adzi_gemm_args *g = pack->args;
    const int64_t unit = ADZI_GEMM_STRIP_BYTES / (int64_t)sizeof(elem);
    for (int64_t j = begin * unit; j < g->n && j < end * unit; j += unit) {
        const panels x = KERNEL(whole_strips)(g->n - j < unit ? g->n - j : unit);
        const elem *from = (const elem *)g->b + j * (g->tb ? g->ldb : 1);
        KERNEL(pack)((elem *)pack->to + j * g->k, &x, g->tb, from, g->ldb, g->k);
    }
}
#endif

/* The entry point; the launch has one unit. */
void KERNEL(gemm_blocked)(const void *opaque, int64_t begin, int64_t end)
{
    const adzi_gemm_blocked_args *blocked = opaque;
    const adzi_gemm_args *args = blocked->args;
    const KERNEL(room)
        room = { blocked->work, (elem *)((char *)blocked->work + ADZI_GEMM_WORK_A(sizeof(elem))) };
    if (begin == end) {
        return;
    }
    product g = KERNEL(product_of)(args, 0);
#if !PAIRS
    if (blocked->swapped) {
        KERNEL(swapped)(args, &g, &room);
        return;
    }
#endif
    KERNEL(layers)(args, &g, &room);
}

#undef panels
#undef product
#endif
