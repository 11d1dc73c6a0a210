/* The product and the memory of one step, for kernels of recurrent layers. Included once per
 * element type, inside each_float.h. Define before:
 *
 *     STATES 2 if there is a cell state c next to h, else 1
 *     GATES  blocks of H rows of the weight, 1, 3 or 4
 *     SAVED  blocks of H numbers of `gates` and `dgates`
 *
 * A step multiplies groups of 16, 8, 4 or 1 batch rows by a panel, with the sums in registers. It
 * computes the cells of these rows while the sums are in first-level cache. Panels are the outer
 * loop and groups of rows the inner one: a thread multiplies all rows by one panel before the next
 * panel. A unit of a step is 64 bytes of columns (16 in f32, 8 in f64).
 *
 * Every sum is one chain of multiply-adds over the H elements in order, whatever the group. So the
 * bits depend neither on the batch nor on the threads. */
#include "ops/recurrent/recurrent_columns.h"

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
#define GATES_3(M, rows)     M(rows, 0) M(rows, 1) M(rows, 2)
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
/* How many gates a tile of 8 or 4 rows multiplies together. Rows times gates is the number of sums,
 * each a vector in a register: at most 24 of 32, or 12 of 16. */
#undef AT_8
#undef AT_4
#if GATES == 1
#define AT_8 1
#define AT_4 1
#elif defined(ADZI_32_REGISTERS)
#define AT_8 (GATES == 3 ? 3 : 2)
#define AT_4 GATES
#else
#define AT_8 1
#define AT_4 (GATES == 3 ? 3 : 2)
#endif
#if GATES == 4
TILE(1, 4)
#ifdef ADZI_32_REGISTERS
TILE(16, 1)
TILE(8, 2)
TILE(4, 4)
#else
TILE(8, 1)
TILE(4, 2)
#endif
#elif GATES == 3
TILE(1, 3)
TILE(4, 3)
#ifdef ADZI_32_REGISTERS
TILE(16, 1)
TILE(8, 3)
#else
TILE(8, 1)
#endif
#else
TILE(1, 1)
TILE(4, 1)
TILE(8, 1)
#ifdef ADZI_32_REGISTERS
TILE(16, 1)
#endif
#endif

/* sums[gate][r] += the products of all gates over `deep` elements, for a group of w rows. As many
 * gates at a time as have their sums in registers together. A single row takes all gates at once,
 * so that their independent chains overlap. */
INLINE void KERNEL(products_of)(
    const elem *a, int64_t next_a, const elem *b, int64_t deep, int w, elem (*sums)[MOST_ROWS][VW])
{
    const int64_t next_b = deep * VW;
    const int step = w == 1 ? GATES : w == 4 ? AT_4 : w == 8 ? AT_8 : 1;
    for (int gate = 0; gate < GATES; gate += step) {
        const elem *x = a + gate * next_a, *panel = b + gate * next_b;
        if (w == 1) {
            KERNEL(tile_1)(x, next_a, panel, next_b, deep, sums + gate);
        } else if (w == 4) {
            KERNEL(tile_4)(x, next_a, panel, next_b, deep, sums + gate);
        } else if (w == 8) {
            KERNEL(tile_8)(x, next_a, panel, next_b, deep, sums + gate);
        }
#ifdef ADZI_32_REGISTERS
        else {
            KERNEL(tile_16)(x, next_a, panel, next_b, deep, sums + gate);
        }
#endif
    }
}

/* sums[gate][r] = the products of all gates, for a group of w rows. The sums go to memory
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

/* What the cell of one batch row computes with, for VW columns. */
typedef struct {
    elem gates[SAVED][VW];   /* forward: the part of x of each gate on entry; then what is saved */
    elem product[GATES][VW]; /* forward: h_(t-1) W^T */
    elem bias[GATES][VW];    /* forward: of this product; 0 if there is none */
    elem before[VW];         /* c_(t-1) of an LSTM, else h_(t-1) */
    elem c[VW];              /* of an LSTM: c_t, which the forward computes */
    elem h[VW];              /* h_t, which the forward computes */
    elem dh[VW];             /* backward: the gradient of h_t */
    elem dc[VW];             /* backward of an LSTM: of c_t on entry, then of c_(t-1) */
    elem d[SAVED][VW];       /* backward: of the gates, as `gates` of adzi_recurrent_run has them */
    elem carry[VW];          /* backward: the part of dh_(t-1) that is no product, 0 on entry */
    bool relu;               /* of an RNN */
} KERNEL(cell_values);

#undef CELL_VALUES
#define CELL_VALUES KERNEL(cell_values)
