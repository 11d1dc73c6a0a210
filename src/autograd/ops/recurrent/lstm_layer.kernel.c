/* Kernels of one direction of an LSTM layer; see Note [Products of one step] in lstm_layer.h.
 *
 *     i, f, g, o = gates + h_(t-1) W^T + bias        W = weight_hh[4H, H], gates hold x_t's part
 *     i, f, o = sigmoid of themselves,   g = tanh(g)
 *     c_t = f c_(t-1) + i g,   h_t = o tanh(c_t)
 *
 *     dh = dy + dgates_(t+1) W,   dc += dh o (1 - tanh(c_t)^2)
 *     di = dc g i (1 - i),   df = dc c_(t-1) f (1 - f),   dg = dc i (1 - g^2)
 *     do = dh tanh(c_t) o (1 - o),   dc_(t-1) = dc f
 *
 * Shapes of one step for B batch rows: gates and dgates [B, 4H] with the four gates of a row one
 * after another; h, c, dh, dc and dy [B, H].
 *
 * lstm_pack copies W to packed panels once per sequence. A panel holds a group of columns of the
 * hidden state, VW wide, for all four gates. lstm_pack_rows packs h0. Each step packs its result
 * for the step after it.
 *
 * A unit of lstm_pack, lstm_step and lstm_step_back is 64 bytes of columns (16 in f32, 8 in f64). A
 * step multiplies groups of 16, 8, 4 or 1 batch rows by a panel, with the sums in registers. It
 * computes the cells of these rows while the sums are in first-level cache. Panels are the outer
 * loop and groups of rows the inner one: a thread multiplies all rows by one panel before the next
 * panel.
 *
 * Every sum is one chain of multiply-adds over the H elements in order, whatever the group. So the
 * bits depend neither on the batch nor on the threads. On the way back the four gates' shares of dh
 * are four such chains, which are added as (0 + 1) + (2 + 3). */
#ifndef elem
#include "autograd/ops/recurrent/lstm_layer.h"
#include "tensor/kernel/vmath.h"
#ifdef ADZI_X86
#include <immintrin.h>
#endif

#define INLINE static inline __attribute__((always_inline))

/* FETCH(p, bytes) prefetches the cache line at p + bytes. Panels come from the third-level cache,
 * gates and cells of other steps from further away. The address need not be valid. */
#ifdef ADZI_X86
#define FETCH(p, bytes) _mm_prefetch((const char *)((uintptr_t)(p) + (bytes)), _MM_HINT_T0)
#else
#define FETCH(p, bytes) ((void)(p))
#endif

enum {
    GATES = 4,
    DEPTH = 128, /* elements of packed rows that are multiplied by all gates before the next ones:
                    16 rows of f32 are 8 KiB and stay in the first-level cache */
    AHEAD = 2048 /* bytes between the element of a panel in use and the one that is prefetched */
};

/* The number of vectors of sums in registers: 16 where there are 32 registers, else 8. It is also
 * the size of the largest group of batch rows. */
#if defined(__AVX512F__)
enum { MOST_ROWS = 16 };
#else
enum { MOST_ROWS = 8 };
#endif

/* The size of the next group of batch rows, out of `rows` remaining ones. Fewer than four rows are
 * computed one by one. The packing and the steps use this function, so they agree on the groups. */
static inline int group_width(int64_t rows)
{
    return rows >= MOST_ROWS ? MOST_ROWS : rows >= 8 ? 8 : rows >= 4 ? 4 : 1;
}

#define THIS_FILE "autograd/ops/recurrent/lstm_layer.kernel.c"
#include "tensor/kernel/each_float.h"
#else
#include "tensor/gemm/gemm_vec.h"

/* ---- packing -------------------------------------------------------------------------------- */

enum { KERNEL(unit_columns) = ADZI_LSTM_COLUMNS / sizeof(elem) }; /* 16 or 8: one or more vectors */

/* The number of valid columns among the VW columns from j0 on. Less than VW in the last vector, if
 * H is no multiple of VW. */
INLINE int KERNEL(lanes_from)(int64_t n, int64_t j0)
{
    return n - j0 < VW ? (int)(n - j0) : VW;
}

/* The length of the block of k that begins at element p of n. */
INLINE int64_t KERNEL(deep_from)(int64_t n, int64_t p)
{
    return n - p < DEPTH ? n - p : DEPTH;
}

/* Packs `deep` rows of one gate's panel. Row p of the panel holds element (j, p) of the matrix at
 * `from` for each column j, or element (p, j) if `transposed`. Columns beyond the last are 0, so
 * that products run over whole vectors. */
INLINE void KERNEL(pack_rows)(
    elem *restrict to, const elem *from, int64_t n, int64_t deep, int lanes, bool transposed)
{
    for (int64_t p = 0; p < deep; ++p, to += VW) {
        if (transposed) {
            const elem *row = from + p * n;
            VSTORE(to, lanes == VW ? VLOAD(row) : VLOAD_PART(row, lanes));
            continue;
        }
        for (int j = 0; j < VW; ++j) {
            to[j] = j < lanes ? from[j * n + p] : ELEM(0);
        }
    }
}

/* Packs panels of VW columns. Within a panel, each block of DEPTH rows holds the four gates one
 * after another, in the order in which a step reads them. A step then reads a panel block by block
 * in the order of memory. The panels of the forward hold W^T, those of the backward W. */
void KERNEL(lstm_pack)(const void *block, int64_t begin, int64_t end);
void KERNEL(lstm_pack)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lstm_pack_args *a = block;
    const int64_t n = a->hidden, columns = KERNEL(unit_columns);
    for (int64_t j0 = begin * columns; j0 < end * columns && j0 < n; j0 += VW) {
        elem *to = (elem *)a->to + j0 * GATES * n;
        int lanes = KERNEL(lanes_from)(n, j0);
        for (int64_t p = 0, deep; p < n; p += deep) {
            deep = KERNEL(deep_from)(n, p);
            for (int gate = 0; gate < GATES; ++gate, to += deep * VW) {
                const elem *from = (const elem *)a->from + gate * n * n;
                from += a->transposed ? p * n + j0 : j0 * n + p;
                KERNEL(pack_rows)(to, from, n, deep, lanes, a->transposed);
            }
        }
    }
}

/* Packs batch rows in groups. A group of w rows begins at row r0. Element p of its row r goes to
 * to[r0 * width + p * w + r]. A product then reads the w numbers of one p from neighbouring
 * addresses. It runs once per sequence, for h0, in a launch of one unit. */
void KERNEL(lstm_pack_rows)(const void *block, int64_t begin, int64_t end);
void KERNEL(lstm_pack_rows)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lstm_pack_rows_args *a = block;
    for (int64_t r0 = 0, w; begin < end && r0 < a->rows; r0 += w) {
        w = group_width(a->rows - r0);
        const elem *from = (const elem *)a->from + r0 * a->width;
        elem *restrict to = (elem *)a->to + r0 * a->width;
        for (int64_t p = 0; p < a->width; ++p) {
            for (int64_t r = 0; r < w; ++r) {
                to[p * w + r] = from[r * a->width + p];
            }
        }
    }
}

/* ---- products ------------------------------------------------------------------------------- */

/* TILE(rows, gates) makes tile_<rows>, the micro-kernel for a group of `rows` batch rows:
 *
 *     sums[gate][r] += sum over p of a[gate][p, r] * b[gate][p, 0 .. VW - 1]
 *
 * `a` is packed rows; those of the next gate are next_a elements further. In the forward next_a is
 * 0, because all gates multiply one state. Panels of gates are next_b elements apart. The macros
 * below expand to named variables s<gate>_<r>, because gcc keeps arrays of vectors in memory.
 *
 *     TAKE, ADD, PUT      load a sum, add one product to it, store it
 *     STEP                one p of one gate: loads the panel's vector, prefetches, adds to all rows
 *     ROWS_n, GATES_n     apply a macro to n rows or gates */
#define ROWS_1(M, gate) M(0, gate)
#define ROWS_4(M, gate) M(0, gate) M(1, gate) M(2, gate) M(3, gate)
#define ROWS_8(M, gate) ROWS_4(M, gate) M(4, gate) M(5, gate) M(6, gate) M(7, gate)
#define ROWS_16(M, gate) \
    ROWS_8(M, gate)      \
    M(8, gate) M(9, gate) M(10, gate) M(11, gate) M(12, gate) M(13, gate) M(14, gate) M(15, gate)
#define TAKE(r, gate) VEC s##gate##_##r = VLOAD(sums[gate][r]);
#define ADD(r, gate)  s##gate##_##r = VFMA(VSPLAT(x[r]), w, s##gate##_##r);
#define PUT(r, gate)  VSTORE(sums[gate][r], s##gate##_##r);
#define STEP(rows, gate)                                \
    {                                                   \
        const elem *panel = b + gate * next_b + p * VW; \
        const elem *x = a + gate * next_a + p * (rows); \
        VEC w = VLOAD(panel);                           \
        FETCH(panel, AHEAD);                            \
        ROWS_##rows(ADD, gate)                          \
    }
#define GATES_1(M, rows)     M(rows, 0)
#define GATES_2(M, rows)     M(rows, 0) M(rows, 1)
#define GATES_4(M, rows)     M(rows, 0) M(rows, 1) M(rows, 2) M(rows, 3)
#define ALL_TAKE(rows, gate) ROWS_##rows(TAKE, gate)
#define ALL_PUT(rows, gate)  ROWS_##rows(PUT, gate)
/* clang-format off */
#define TILE(rows, gates)                                                                         \
    INLINE void KERNEL(tile_##rows)(const elem *a, int64_t next_a, const elem *b, int64_t next_b, int64_t n, \
        elem(*sums)[MOST_ROWS][VW])                                                                  \
    {                                                                                             \
        GATES_##gates(ALL_TAKE, rows)                                                             \
        for (int64_t p = 0; p < n; ++p) {                                                         \
            GATES_##gates(STEP, rows)                                                             \
        }                                                                                         \
        GATES_##gates(ALL_PUT, rows)                                                              \
    }
/* clang-format on */
/* The tiles of all group sizes. Rows times gates is the number of sums, each a vector in a
 * register: 16 with AVX-512 and 8 elsewhere, or 4 for a single row. */
#if defined(__AVX512F__)
TILE(16, 1)
TILE(8, 2)
TILE(4, 4)
#else
TILE(8, 1)
TILE(4, 2)
#endif
TILE(1, 4)

/* sums[gate][r] += the products of all four gates over `deep` elements, for a group of w rows. As
 * many gates at a time as have their sums in registers together: 4, 2 or 1. A single row takes all
 * four gates at once, so that four independent chains overlap. */
INLINE void KERNEL(products_of)(
    const elem *a, int64_t next_a, const elem *b, int64_t deep, int w, elem (*sums)[MOST_ROWS][VW])
{
    const int64_t next_b = deep * VW;
    if (w == 1) {
        KERNEL(tile_1)(a, next_a, b, next_b, deep, sums);
        return;
    }
    const int step = w * GATES > MOST_ROWS ? MOST_ROWS / w : GATES;
    for (int gate = 0; gate < GATES; gate += step) {
        const elem *x = a + gate * next_a, *panel = b + gate * next_b;
        if (w == 4) {
            KERNEL(tile_4)(x, next_a, panel, next_b, deep, sums + gate);
        } else if (w == 8) {
            KERNEL(tile_8)(x, next_a, panel, next_b, deep, sums + gate);
        }
#if defined(__AVX512F__)
        else {
            KERNEL(tile_16)(x, next_a, panel, next_b, deep, sums + gate);
        }
#endif
    }
}

/* sums[gate][r] = the products of all four gates, for a group of w rows. The sums go to memory
 * between blocks of DEPTH elements, so that all gates of the forward read a block of rows from
 * first-level cache. A store and a load change no bit, so the chains do not depend on DEPTH. */
INLINE void KERNEL(products)(
    const elem *a, int64_t next_a, const elem *b, int64_t n, int w, elem (*sums)[MOST_ROWS][VW])
{
    memset(sums, 0, GATES * sizeof *sums);
    for (int64_t p = 0, deep; p < n; p += deep) {
        deep = KERNEL(deep_from)(n, p);
        KERNEL(products_of)(a + p * w, next_a, b + p * GATES * VW, deep, w, sums);
    }
}

/* ---- cells ---------------------------------------------------------------------------------- */

/* Loads VW elements, or `lanes` and zeros. */
INLINE void KERNEL(take)(elem *to, const elem *from, int lanes)
{
    VSTORE(to, lanes == VW ? VLOAD(from) : VLOAD_PART(from, lanes));
}

/* Stores VW elements, or the first `lanes` of them. */
INLINE void KERNEL(give)(elem *to, const elem *from, int lanes)
{
    if (lanes == VW) {
        VSTORE(to, VLOAD(from));
    } else {
        VSTORE_PART(to, VLOAD(from), lanes);
    }
}

/* Prefetches what the cells of batch rows r0 .. end - 1 will read after their product. So memory is
 * read while the product runs. The backward also reads c_t and dy. */
INLINE void KERNEL(fetch_cells)(
    const adzi_lstm_step_args *a, int64_t r0, int64_t end, int64_t j0, bool back)
{
    const int64_t n = a->hidden;
    for (int64_t row = r0; row < end; ++row) {
        const int64_t at = row * n + j0;
        for (int gate = 0; gate < GATES; ++gate) {
            FETCH((const elem *)a->gates + (row * GATES + gate) * n + j0, 0);
        }
        FETCH((const elem *)a->c_before + at, 0);
        if (back) {
            FETCH((const elem *)a->c + at, 0);
        }
        if (back && a->dy != NULL) {
            FETCH((const elem *)a->dy + at, 0);
        }
    }
}

/* The cell of one batch row for columns j0 .. j0 + lanes - 1. `sums` is h_(t-1) W^T. The activated
 * gates replace the pre-activations in `gates`, for the backward. Loops run over VW columns,
 * padding included, so that they have a constant length; only the first `lanes` are stored. */
INLINE void KERNEL(cell)(const adzi_lstm_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r, elem *h)
{
    const int64_t n = a->hidden;
    elem *gates = (elem *)a->gates + row * GATES * n + j0;
    const elem *bias = a->bias;
    elem s[GATES][VW], part[VW], c[VW];
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(take)(part, gates + gate * n, lanes);
        for (int j = 0; j < VW; ++j) {
            s[gate][j] = part[j] + sums[gate][r][j];
        }
        if (bias != NULL) {
            KERNEL(take)(part, bias + gate * n + j0, lanes);
            for (int j = 0; j < VW; ++j) {
                s[gate][j] += part[j];
            }
        }
    }
    KERNEL(take)(c, (const elem *)a->c_before + row * n + j0, lanes);
    for (int j = 0; j < VW; ++j) {
        s[0][j] = VMATH(sigmoid)(s[0][j]);
        s[1][j] = VMATH(sigmoid)(s[1][j]);
        s[2][j] = VMATH(tanh)(s[2][j]);
        s[3][j] = VMATH(sigmoid)(s[3][j]);
        c[j] = s[1][j] * c[j] + s[0][j] * s[2][j];
        h[j] = s[3][j] * VMATH(tanh)(c[j]);
    }
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(give)(gates + gate * n, s[gate], lanes);
    }
    KERNEL(give)((elem *)a->c + row * n + j0, c, lanes);
    KERNEL(give)((elem *)a->h + row * n + j0, h, lanes);
}

/* One step forward. A unit is ADZI_LSTM_COLUMNS bytes of columns of the hidden state. For each
 * group of rows: prefetch, product, cells, and then h_t in the packed order that the step after
 * reads. `to` is another buffer than `from`, because other units still read h_(t-1). */
void KERNEL(lstm_step)(const void *block, int64_t begin, int64_t end);
void KERNEL(lstm_step)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lstm_step_args *a = block;
    const int64_t n = a->hidden, columns = KERNEL(unit_columns);
    elem sums[GATES][MOST_ROWS][VW], h[MOST_ROWS][VW];
    for (int64_t j0 = begin * columns; j0 < end * columns && j0 < n; j0 += VW) {
        const elem *panels = (const elem *)a->panels + j0 * GATES * n;
        int lanes = KERNEL(lanes_from)(n, j0);
        for (int64_t r0 = 0, w; r0 < a->rows; r0 += w) {
            w = group_width(a->rows - r0);
            KERNEL(fetch_cells)(a, r0, r0 + w, j0, false);
            KERNEL(products)((const elem *)a->from + r0 * n, 0, panels, n, (int)w, sums);
            for (int64_t r = 0; r < w; ++r) {
                KERNEL(cell)(a, r0 + r, j0, lanes, sums, (int)r, h[r]);
            }
            elem *restrict to = (elem *)a->to + r0 * n + j0 * w;
            for (int64_t j = 0; j < lanes; ++j) {
                for (int64_t r = 0; r < w; ++r) {
                    to[j * w + r] = h[r][j];
                }
            }
        }
    }
}

/* The backward of the cell of one batch row. dh is the gradient of h_t from later steps, without
 * dy. Writes dgates to memory and to d, for packing, and replaces dc by dc_(t-1). tanh(c_t) is
 * computed again, because only c_t is saved. The derivatives of sigmoid and tanh need no more than
 * the saved gates. */
INLINE void KERNEL(cell_back)(const adzi_lstm_step_args *a, int64_t row, int64_t j0, int lanes,
    const elem *dh, elem (*d)[MOST_ROWS][VW], int r)
{
    const int64_t n = a->hidden, at = row * n + j0;
    elem s[GATES][VW], c[VW], before[VW], dc[VW], whole[VW], dy[VW] = { 0 };
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(take)(s[gate], (const elem *)a->gates + row * GATES * n + gate * n + j0, lanes);
    }
    KERNEL(take)(c, (const elem *)a->c + at, lanes);
    KERNEL(take)(before, (const elem *)a->c_before + at, lanes);
    KERNEL(take)(dc, (elem *)a->dc + at, lanes);
    if (a->dy != NULL) {
        KERNEL(take)(dy, (const elem *)a->dy + at, lanes);
    }
    for (int j = 0; j < VW; ++j) {
        const elem i = s[0][j], f = s[1][j], g = s[2][j], o = s[3][j], out = VMATH(tanh)(c[j]);
        whole[j] = dh[j] + dy[j];
        /* The gradient of c_t: from later steps by dc, and from h_t. */
        const elem cell = dc[j] + whole[j] * o * (ELEM(1) - out * out);
        d[0][r][j] = cell * g * i * (ELEM(1) - i);
        d[1][r][j] = cell * before[j] * f * (ELEM(1) - f);
        d[2][r][j] = cell * i * (ELEM(1) - g * g);
        d[3][r][j] = whole[j] * out * o * (ELEM(1) - o);
        dc[j] = cell * f;
    }
    for (int gate = 0; gate < GATES; ++gate) {
        KERNEL(give)((elem *)a->dgates + row * GATES * n + gate * n + j0, d[gate][r], lanes);
    }
    KERNEL(give)((elem *)a->dc + at, dc, lanes);
}

/* dh of one batch row: the sum of the four gates' shares, or the given dh at the last step. The
 * last step has no step after it, so its dh is the gradient of the layer's last state. */
INLINE void KERNEL(state_gradient)(const adzi_lstm_step_args *a, int64_t row, int64_t j0, int lanes,
    elem (*sums)[MOST_ROWS][VW], int r, elem *dh)
{
    if (a->from == NULL) {
        KERNEL(take)(dh, (elem *)a->dh + row * a->hidden + j0, lanes);
        return;
    }
    for (int j = 0; j < VW; ++j) {
        dh[j] = (sums[0][r][j] + sums[1][r][j]) + (sums[2][r][j] + sums[3][r][j]);
    }
}

/* One step backward: dh by products with `from`, the dgates of the step after it, then the cells,
 * then packs dgates for the step before. With dgates NULL only dh of the initial state is computed.
 * The sums of a row are read before cell_back writes its dgates over them. */
void KERNEL(lstm_step_back)(const void *block, int64_t begin, int64_t end);
void KERNEL(lstm_step_back)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lstm_step_args *a = block;
    const int64_t n = a->hidden, columns = KERNEL(unit_columns);
    elem sums[GATES][MOST_ROWS][VW], dh[VW];
    for (int64_t j0 = begin * columns; j0 < end * columns && j0 < n; j0 += VW) {
        const elem *panels = (const elem *)a->panels + j0 * GATES * n;
        int lanes = KERNEL(lanes_from)(n, j0);
        for (int64_t r0 = 0, w; r0 < a->rows; r0 += w) {
            w = group_width(a->rows - r0);
            if (a->dgates != NULL) {
                KERNEL(fetch_cells)(a, r0, r0 + w, j0, true);
            }
            if (a->from != NULL) {
                KERNEL(products)
                ((const elem *)a->from + r0 * GATES * n, n * w, panels, n, (int)w, sums);
            }
            for (int64_t r = 0; r < w; ++r) {
                KERNEL(state_gradient)(a, r0 + r, j0, lanes, sums, (int)r, dh);
                if (a->dgates != NULL) {
                    KERNEL(cell_back)(a, r0 + r, j0, lanes, dh, sums, (int)r);
                } else {
                    KERNEL(give)((elem *)a->dh + (r0 + r) * n + j0, dh, lanes);
                }
            }
            for (int64_t gate = 0; gate < GATES && a->dgates != NULL; ++gate) {
                elem *restrict to = (elem *)a->to + r0 * GATES * n + (gate * n + j0) * w;
                for (int64_t j = 0; j < lanes; ++j) {
                    for (int64_t r = 0; r < w; ++r) {
                        to[j * w + r] = sums[gate][r][j];
                    }
                }
            }
        }
    }
}

#endif
