/* Products that consist of dot products: C has one column, or few rows and B is stored [n, k].
 *
 *     c[r] = alpha sum_p x[r, p] y[p] + beta c[r] + bias[r],   clipped at the floor
 *
 * Both operands of a dot product are contiguous along k, so k is what is vectorised. Rows of x are
 * taken four at a time, or one per lane of a vector, to hide the latency of a multiply-add. Lane l
 * of a sum holds p = l, l + GW, ... (Note [Groups of lanes] in tensor/kernel/vector.h). Both ways
 * give the same bits, which depend on k and on the stride of y.
 *
 * The header is included once per type, inside each_float.h and after gemm_product.kernel.h, and
 * has no include guard. */

/* Writes up to four dot products: c[r * ldc] = alpha sum[r] + bias[r * bias_step] + beta c[r *
 * ldc], clipped at the floor. */
INLINE void KERNEL(put_dots)(const product *g, elem *c, int64_t ldc, const elem *bias,
    int64_t bias_step, const elem *sum, int count)
{
    const elem alpha = g->alpha, beta = g->beta, floor = g->floor;
    for (int r = 0; r < 4 && r < count; ++r) {
        elem value = alpha * sum[r] + (bias != NULL ? bias[r * bias_step] : ELEM(0));
        value = beta == ELEM(0) ? value : value + beta * c[r * ldc];
        c[r * ldc] = value < floor ? floor : value;
    }
}

/* Rows of x for dot products with a vector. Row r of each four begins l1, l2 or l3 elements after
 * their first, and the fours are 4 * ldx apart. Indices of sums are literals, because gcc computes
 * more addresses if they come from a loop that it unrolls. */
typedef struct KERNEL(dot_rows) {
    int64_t ldx, l1, l2, l3;
    int fours; /* 1, 2 or 4 */
} KERNEL(dot_rows);

/* s[r][q] += v times row r of x, for four rows and register q of a group. */
INLINE void KERNEL(add_four)(VEC s[4][REGS], const int q, const VEC v, const elem *x,
    const KERNEL(dot_rows) rows, const bool whole, const int lanes)
{
    s[0][q] = VFMA(KERNEL(load)(x, whole, lanes), v, s[0][q]);
    s[1][q] = VFMA(KERNEL(load)(x + rows.l1, whole, lanes), v, s[1][q]);
    s[2][q] = VFMA(KERNEL(load)(x + rows.l2, whole, lanes), v, s[2][q]);
    s[3][q] = VFMA(KERNEL(load)(x + rows.l3, whole, lanes), v, s[3][q]);
}

/* s[r][q] += y times row r of x, for all rows and register q of a group. y and the rows are read as
 * whole registers, or as `lanes` elements. */
INLINE void KERNEL(add_row_products)(VEC s[16][REGS], const int q, const elem *x, const elem *y,
    const KERNEL(dot_rows) rows, const bool whole, const int lanes)
{
    const VEC v = KERNEL(load)(y, whole, lanes);
    KERNEL(add_four)(s, q, v, x, rows, whole, lanes);
    if (rows.fours > 1) {
        KERNEL(add_four)(s + 4, q, v, x + 4 * rows.ldx, rows, whole, lanes);
    }
    if (rows.fours > 2) {
        KERNEL(add_four)(s + 8, q, v, x + 8 * rows.ldx, rows, whole, lanes);
        KERNEL(add_four)(s + 12, q, v, x + 12 * rows.ldx, rows, whole, lanes);
    }
}

INLINE void KERNEL(clear_four)(VEC s[4][REGS], const int q)
{
    s[0][q] = s[1][q] = s[2][q] = s[3][q] = (VEC){ 0 };
}

INLINE void KERNEL(clear_rows)(VEC s[16][REGS], const int q, const int fours)
{
    KERNEL(clear_four)(s, q);
    if (fours > 1) {
        KERNEL(clear_four)(s + 4, q);
    }
    if (fours > 2) {
        KERNEL(clear_four)(s + 8, q);
        KERNEL(clear_four)(s + 12, q);
    }
}

/* s[r] = the products of y with row r of x, lane by lane, for `fours` times four rows, at most 16.
 * If `rows` is less than four, the first row is computed in place of the missing ones. */
INLINE void KERNEL(row_sums)(const elem *x, const int64_t ldx, const int fours, const int rows,
    const elem *y, const int64_t k, VEC s[16][REGS])
{
    const KERNEL(dot_rows)
        all = { ldx, rows > 1 ? ldx : 0, rows > 2 ? 2 * ldx : 0, rows > 3 ? 3 * ldx : 0, fours };
    int64_t p = 0;
#define CLEAR(q) KERNEL(clear_rows)(s, q, fours);
#define ADD(q, whole, lanes) \
    KERNEL(add_row_products)(s, q, x + p + (q)*VW, y + p + (q)*VW, all, whole, lanes);
#define ADD_WHOLE(q) ADD(q, true, VW)
#define ADD_REST(q)  ADD(q, false, KERNEL(lanes_of)((int)(k - p), q))
    EACH_REG(CLEAR)
    for (; p + GW <= k; p += GW) {
        EACH_REG(ADD_WHOLE)
    }
    if (p < k) {
        EACH_REG(ADD_REST)
    }
#undef CLEAR
#undef ADD
#undef ADD_WHOLE
#undef ADD_REST
}

/* alpha v + bias, clipped at the floor, for the vector of dot products from row r on. */
INLINE VEC KERNEL(finished_dots)(
    const product *g, VEC v, int64_t r, int64_t bias_step, const bool whole, const int lanes)
{
    v *= VSPLAT(g->alpha);
    if (g->bias != NULL && bias_step == 0) {
        v += VSPLAT(*g->bias);
    } else if (g->bias != NULL) {
        v += KERNEL(load)(g->bias + r, whole, lanes);
    }
    return VMAX(VSPLAT(g->floor), v);
}

#ifdef VJOIN
/* The dot products of y with VW rows of x, one per lane. If a group has several registers, the sums
 * of four rows fill half of all registers; else those of all VW rows do. */
INLINE VEC KERNEL(vector_of_dots)(const elem *x, const int64_t ldx, const elem *y, const int64_t k)
{
    enum { FOURS = REGS == 1 ? VW / 4 : 1 };
    VEC s[16][REGS], fours[4];
#define SUM_OF_FOUR(f) VFOUR(s[4 * (f)], s[4 * (f) + 1], s[4 * (f) + 2], s[4 * (f) + 3])
    for (int f = 0; f < VW / 4; f += FOURS, x += 4 * FOURS * ldx) {
        KERNEL(row_sums)(x, ldx, FOURS, 4, y, k, s);
        fours[f] = SUM_OF_FOUR(0);
        if (FOURS > 1) {
            fours[1] = SUM_OF_FOUR(1);
        }
        if (FOURS > 2) {
            fours[2] = SUM_OF_FOUR(2);
            fours[3] = SUM_OF_FOUR(3);
        }
    }
#undef SUM_OF_FOUR
    return VJOIN(fours);
}
#endif

/* c[r] = alpha <x_r, y> + bias[r * bias_step] for as many rows of x[rows, k] as fill whole vectors.
 * Returns their number, which is 0 on processors without AVX2 and for f64 with NEON. Not inlined,
 * so that the sums keep the registers. */
NOINLINE int64_t KERNEL(vectors_of_dots)(const product *g, int64_t rows, const elem *x, int64_t ldx,
    const elem *y, int64_t k, int64_t bias_step)
{
    int64_t r = 0;
#ifdef VJOIN
    for (; r + VW <= rows; r += VW, x += VW * ldx) {
        const VEC v = KERNEL(vector_of_dots)(x, ldx, y, k);
        VSTORE(g->c + r, KERNEL(finished_dots)(g, v, r, bias_step, true, VW));
    }
#else
    (void)g, (void)rows, (void)x, (void)ldx, (void)y, (void)k, (void)bias_step;
#endif
    return r;
}

/* c[r * ldc] = alpha <x_r, y> + beta c[r * ldc] + bias[r * bias_step] for row r of x[rows, k]. A
 * contiguous result is written in vectors, four rows at a time are summed otherwise. It is not
 * NOINLINE, because a small product takes 5% fewer instructions if gcc makes a copy of the function
 * for the strides of rows_of_dots. */
static __attribute__((noinline)) void KERNEL(dots)(const product *g, int64_t rows, const elem *x,
    int64_t ldx, const elem *y, int64_t k, int64_t ldc, int64_t bias_step)
{
    int64_t i = 0;
    if (ldc == 1 && g->beta == ELEM(0)) {
        i = KERNEL(vectors_of_dots)(g, rows, x, ldx, y, k, bias_step);
    }
    for (; i < rows; i += 4) {
        const elem *bias = g->bias != NULL ? g->bias + i * bias_step : NULL;
        const int left = rows - i < 4 ? (int)(rows - i) : 4;
        VEC s[16][REGS];
        elem sum[4];
        KERNEL(row_sums)(x + i * ldx, ldx, 1, left, y, k, s);
        VSUM4(s[0], s[1], s[2], s[3], sum);
        KERNEL(put_dots)(g, g->c + i * ldc, ldc, bias, bias_step, sum, left);
    }
}

/* KERNEL(dots) for a y whose elements are y_step apart. They are copied to a contiguous buffer, a
 * block of k at a time. */
NOINLINE void KERNEL(dots_apart)(const product *g, int64_t rows, const elem *x, int64_t ldx,
    const elem *y, int64_t y_step, int64_t ldc, int64_t bias_step)
{
    enum { BLOCK = 1024 }; /* elements copied at a time: 4 or 8 kB */
    _Alignas(64) elem contiguous[BLOCK];
    product part = *g;
    for (int64_t p = 0; p < g->k; p += BLOCK) {
        int64_t k = g->k - p < BLOCK ? g->k - p : BLOCK;
        part.floor = p + k < g->k ? NO_FLOOR : g->floor;
        for (int64_t q = 0; q < k; ++q) {
            contiguous[q] = y[(p + q) * y_step];
        }
        KERNEL(dots)(&part, rows, x + p, ldx, contiguous, k, ldc, bias_step);
        part.beta = ELEM(1);
        part.bias = NULL;
        part.finish = GENERAL;
    }
}

/* KERNEL(dots) for any distance of the elements of y. */
INLINE void KERNEL(any_dots)(const product *g, int64_t rows, const elem *x, int64_t ldx,
    const elem *y, int64_t y_step, int64_t ldc, int64_t bias_step)
{
    if (y_step == 1 || g->k <= 1) {
        KERNEL(dots)(g, rows, x, ldx, y, g->k, ldc, bias_step);
    } else {
        KERNEL(dots_apart)(g, rows, x, ldx, y, y_step, ldc, bias_step);
    }
}

/* Rows of C one at a time, for B stored [n, k]. Use it where C has so few rows that a transposed
 * copy of B would not pay. */
NOINLINE void KERNEL(rows_of_dots)(const product *g)
{
    product row = *g;
    for (int64_t i = 0; i < g->m; ++i) {
        KERNEL(any_dots)(&row, g->n, g->b, g->ldb, row.a, g->ap, 1, 1);
        row.a += g->ai;
        row.c += g->ldc;
    }
}

#undef DOT_ROWS
#undef EACH_COUNT
#undef DOTS_AHEAD
#if defined(VFOUR) || defined(ADZI_NEON)
/* Up to DOT_ROWS rows of x by four rows of B: 24 sums in 32 registers, or 12 in 16. */
#define DOTS_AHEAD ((int64_t)(1024 / sizeof(elem))) /* elements of a row that are prefetched */
#ifdef ADZI_32_REGISTERS
#define DOT_ROWS            6
#define EACH_COUNT(X, name) X(1, name) X(2, name) X(3, name) X(4, name) X(5, name) X(6, name)
#else
#define DOT_ROWS            3
#define EACH_COUNT(X, name) X(1, name) X(2, name) X(3, name)
#endif

/* A block of dot products: rows of x from row i, and up to four rows of B from row j. Where B has
 * fewer, its row j is computed in place of the missing ones. Row c of B begins at element
 * at + apart[c]. */
typedef struct KERNEL(dots_block) {
    const elem *x; /* row i of x; its rows are ldx apart */
    int64_t ldx, at, apart[4];
} KERNEL(dots_block);

INLINE KERNEL(dots_block) KERNEL(dots_block_at)(const product *g, int64_t i, int64_t j)
{
    const int columns = g->n - j < 4 ? (int)(g->n - j) : 4;
    const int64_t ld = g->ldb;
    return (KERNEL(dots_block)){ g->a + i * g->ai, g->ai, j * ld,
        { 0, columns > 1 ? ld : 0, columns > 2 ? 2 * ld : 0, columns > 3 ? 3 * ld : 0 } };
}

/* s[r][c] += row r of x times row c of B, for one vector of elements from p on. B is stored as in
 * KERNEL(load_stored). */
INLINE void KERNEL(add_dots)(VEC s[DOT_ROWS][4], const product *g, const KERNEL(dots_block) * of,
    int64_t p, const KERNEL(shape) t, const int stored)
{
    const elem *x = of->x + p;
    VEC b[4];
    ADZI_UNROLLED_FOR(int c = 0; c < 4; ++c)
    {
        b[c] = KERNEL(load_stored)(g->b, of->at + of->apart[c] + p, t.whole, t.lanes, stored);
    }
    ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
    {
        const VEC v = KERNEL(load)(x + r * of->ldx, t.whole, t.lanes);
        ADZI_UNROLLED_FOR(int c = 0; c < 4; ++c)
        {
            s[r][c] = VFMA(v, b[c], s[r][c]);
        }
    }
}

/* add_dots for whole vectors from element p to before `end`, a group apart. Returns the first
 * element that is left. If `fetch` is set, the elements of B that are `ahead` behind those in use
 * are prefetched. */
INLINE int64_t KERNEL(add_whole_dots)(VEC s[DOT_ROWS][4], const product *g,
    const KERNEL(dots_block) * of, int64_t p, int64_t end, const bool fetch, int64_t ahead,
    const int rows, const int stored)
{
    const int64_t size = stored == 0 ? (int64_t)sizeof(elem) : 2;
    const char *b = (const char *)g->b;
    for (; p < end; p += GW) {
        ADZI_UNROLLED_FOR(int c = 0; fetch && c < 4; ++c)
        {
            __builtin_prefetch(b + (of->at + of->apart[c]) * size + (p + ahead) * size);
        }
        KERNEL(add_dots)(s, g, of, p, (KERNEL(shape)){ rows, 4, true, VW }, stored);
    }
    return p;
}

/* Four elements in memory. */
typedef elem KERNEL(quad)
    __attribute__((vector_size(4 * sizeof(elem)), aligned(sizeof(elem)), may_alias));

/* put_dots for four elements of a row that lie next to each other, with the same bits. */
INLINE void KERNEL(put_quad)(
    elem *c, const elem *sums, KERNEL(quad) bias, elem alpha, elem beta, elem floor)
{
    KERNEL(quad) *to = (KERNEL(quad) *)c;
    KERNEL(quad) value = *(const KERNEL(quad) *)sums * alpha + bias;
    if (beta != ELEM(0)) {
        value += *to * beta;
    }
    const KERNEL(quad) least = floor - (KERNEL(quad)){ 0 };
    const __typeof__(value < least) below = value < least;
    *to = (KERNEL(quad))((below & (__typeof__(below))least) | (~below & (__typeof__(below))value));
}

/* Writes a block of dot products to C: sums[r][c] is that of row i + r of x and row j + c of B. The
 * numbers of the product are copied, because a store to C cannot change a local variable. */
NOINLINE void KERNEL(put_block)(
    const product *g, int64_t i, int64_t j, const int rows, elem (*sums)[4])
{
    const elem alpha = g->alpha, beta = g->beta, floor = g->floor;
    const int64_t ldc = g->ldc;
    const elem *bias = g->bias != NULL ? g->bias + j : NULL;
    elem *c = g->c + i * ldc + j;
    if (g->n - j >= 4) {
        KERNEL(quad) four = { 0 };
        if (bias != NULL) {
            four = *(const KERNEL(quad) *)bias;
        }
        for (int r = 0; r < rows; ++r, c += ldc) {
            KERNEL(put_quad)(c, sums[r], four, alpha, beta, floor);
        }
        return;
    }
    for (int r = 0; r < rows; ++r, c += ldc) {
        KERNEL(put_dots)(g, c, 1, bias, 1, sums[r], (int)(g->n - j));
    }
}

#if ELEM_IS_F32
#include "tensor/gemm/gemm_q8_0.kernel.h"
#endif

/* The sums of one row of x with rows c and c + 1 of four rows of B, which is stored in 16 bits.
 * Such a product takes as long as reading B, and memory gives bytes that lie in order faster than
 * those of four places in turn. So there is one pass over two rows, and what is prefetched lies in
 * order, too. */
INLINE void KERNEL(sum_two_in_order)(VEC kept[DOT_ROWS][4][REGS], const product *g,
    const KERNEL(dots_block) * of, const int c, const int stored)
{
    enum { AHEAD = 4096 }; /* bytes that are prefetched, in the order of memory */
    const int64_t end = g->k - g->k % GW, first = of->at + of->apart[c],
                  second = of->at + of->apart[c + 1];
    const char *fetched = (const char *)g->b + first * 2 + AHEAD;
    VEC s[2][REGS];
    int64_t p = 0;
#define CLEAR(q) s[0][q] = s[1][q] = (VEC){ 0 };
#define ADD(q, whole, lanes)                                                                       \
    {                                                                                              \
        const VEC v = KERNEL(load)(of->x + p + (q)*VW, whole, lanes);                              \
        s[0][q] =                                                                                  \
            VFMA(v, KERNEL(load_stored)(g->b, first + p + (q)*VW, whole, lanes, stored), s[0][q]); \
        s[1][q] = VFMA(                                                                            \
            v, KERNEL(load_stored)(g->b, second + p + (q)*VW, whole, lanes, stored), s[1][q]);     \
    }
#define ADD_WHOLE(q) ADD(q, true, VW)
#define ADD_REST(q)  ADD(q, false, KERNEL(lanes_of)((int)(g->k - p), q))
#define KEEP(q)      kept[0][c][q] = s[0][q], kept[0][c + 1][q] = s[1][q];
    EACH_REG(CLEAR)
    for (; p < end; p += GW, fetched += 2 * GW * 2) {
        __builtin_prefetch(fetched);
        EACH_REG(ADD_WHOLE)
    }
    if (p < g->k) {
        EACH_REG(ADD_REST)
    }
    EACH_REG(KEEP)
#undef CLEAR
#undef ADD
#undef ADD_WHOLE
#undef ADD_REST
#undef KEEP
}

/* The sums of a block of dot products. The registers of a group take turns: each passes over all of
 * k, because the sums of one fill the registers. If `fetch` is set, the first pass prefetches B,
 * because the processor stops at the end of each short row. */
INLINE void KERNEL(sum_vectors)(VEC kept[DOT_ROWS][4][REGS], const product *g,
    const KERNEL(dots_block) * of, const bool fetch, const int rows, const int stored)
{
    const VEC zero = { 0 };
    const int64_t end = g->k - g->k % GW;
    if (stored != 0 && rows == 1 && REGS > 1) {
        KERNEL(sum_two_in_order)(kept, g, of, 0, stored);
        KERNEL(sum_two_in_order)(kept, g, of, 2, stored);
        return;
    }
    for (int q = 0; q < REGS; ++q) {
        VEC s[DOT_ROWS][4];
        ADZI_UNROLLED_FOR(int r = 0; r < rows; ++r)
        {
            s[r][0] = s[r][1] = s[r][2] = s[r][3] = zero;
        }
        int64_t p = q * VW;
        if (fetch && q == 0) {
            /* To the end of these rows of B, and then from the begin of the next four. */
            int64_t ahead = DOTS_AHEAD, to = g->k - ahead < end ? g->k - ahead : end;
            for (; p < end; to = end, ahead += 4 * g->ldb - g->k) {
                p = KERNEL(add_whole_dots)(s, g, of, p, to, true, ahead, rows, stored);
            }
        }
        p = KERNEL(add_whole_dots)(s, g, of, p, end, false, 0, rows, stored);
        if (end < g->k) {
            const int lanes = KERNEL(lanes_of)((int)(g->k - end), q);
            KERNEL(add_dots)(s, g, of, p, (KERNEL(shape)){ rows, 4, false, lanes }, stored);
        }
        ADZI_UNROLLED_FOR(int r = 0; r < rows; ++r)
        {
            ADZI_UNROLLED_FOR(int c = 0; c < 4; ++c)
            {
                kept[r][c][q] = s[r][c];
            }
        }
    }
}

/* The dot products of a block with `rows` rows of x. The first block of rows of x prefetches B. */
INLINE void KERNEL(block_of_dots)(
    const product *g, int64_t i, int64_t j, const int rows, const int stored)
{
    const KERNEL(dots_block) of = KERNEL(dots_block_at)(g, i, j);
    VEC kept[DOT_ROWS][4][REGS];
#if ELEM_IS_F32
    if (stored == ADZI_STORED_Q8_0) {
        KERNEL(sum_blocks)(kept, g, &of, i == 0, rows);
    } else
#endif
    {
        KERNEL(sum_vectors)(kept, g, &of, i == 0, rows, stored);
    }
    elem sums[DOT_ROWS][4];
    ADZI_UNROLLED_FOR(int r = 0; r < rows; ++r)
    {
        VSUM4(kept[r][0], kept[r][1], kept[r][2], kept[r][3], sums[r]);
    }
    KERNEL(put_block)(g, i, j, rows, sums);
}

/* One function per number of rows and way to store B, so that the compiler allocates registers for
 * each alone. */
#define BLOCK(rows, name)                                                                       \
    NOINLINE void KERNEL(block_of_dots_##rows##_##name)(const product *g, int64_t i, int64_t j) \
    {                                                                                           \
        KERNEL(block_of_dots)(g, i, j, rows, STORED_##name);                                    \
    }
#define BLOCKS(name)      EACH_COUNT(BLOCK, name)
#define ENTRY(rows, name) KERNEL(block_of_dots_##rows##_##name),
#define ENTRIES(name)     { EACH_COUNT(ENTRY, name) },
EACH_STORED(BLOCKS)

/* A product of few rows with B stored [n, k] and rows of A that are contiguous along k. B is read
 * once; its four rows stay in the cache while the rows of A pass. B is stored as `stored` says, as
 * in adzi_gemm_args.b_stored. */
NOINLINE void KERNEL(few_rows)(const product *g, const int stored)
{
    static void (*const blocks[][DOT_ROWS])(
        const product *, int64_t, int64_t) = { EACH_STORED(ENTRIES) };
    const int way = KERNEL(way_stored)(stored);
    const int64_t parts = (g->m + DOT_ROWS - 1) / DOT_ROWS, high = (g->m + parts - 1) / parts;
    for (int64_t j = 0; j < g->n; j += 4) {
        for (int64_t i = 0; i < g->m; i += high) {
            blocks[way][(g->m - i < high ? g->m - i : high) - 1](g, i, j);
        }
    }
}
#undef BLOCK
#undef BLOCKS
#undef ENTRY
#undef ENTRIES
#else
/* The baseline has too few registers for blocks of rows. It gets B in f32. */
static void KERNEL(few_rows)(const product *g, const int stored)
{
    (void)stored;
    KERNEL(rows_of_dots)(g);
}
#endif
