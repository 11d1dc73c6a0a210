/* Products that consist of dot products: C has one column, or few rows and B is stored [n, k].
 *
 *     c[r] = alpha sum_p x[r, p] y[p] + beta c[r] + bias[r],   clipped at the floor
 *
 * Both operands of a dot product are contiguous along k, so k is what is vectorised. Rows of x are
 * taken four at a time, or one per lane of a vector, to hide the latency of a multiply-add. Lane l
 * of a sum holds p = l, l + GW, ... (Note [Groups of lanes] in gemm_vec.h). Both ways give the same
 * bits, which depend on k and on the stride of y.
 *
 * The header is included once per type, inside each_float.h and after gemm_product.kernel.h, and
 * has no include guard. */

/* Writes up to four dot products: c[r * ldc] = alpha sum[r] + bias[r * bias_step] + beta c[r *
 * ldc], clipped at the floor. */
INLINE void KERNEL(put_dots)(const product *g, elem *c, int64_t ldc, const elem *bias,
    int64_t bias_step, const elem *sum, int count)
{
    for (int r = 0; r < 4 && r < count; ++r) {
        elem value = g->alpha * sum[r] + (bias != NULL ? bias[r * bias_step] : ELEM(0));
        value = g->beta == ELEM(0) ? value : value + g->beta * c[r * ldc];
        c[r * ldc] = value < g->floor ? g->floor : value;
    }
}

/* The products of y with four rows of x, lane by lane. Where `rows` is less than four, the first
 * row is computed in place of the missing ones. */
INLINE void KERNEL(four_sums)(
    const elem *x, int64_t ldx, const int rows, const elem *y, int64_t k, VEC s[4][REGS])
{
    const VEC zero = { 0 };
    const elem *x1 = rows > 1 ? x + ldx : x;
    const elem *x2 = rows > 2 ? x + 2 * ldx : x;
    const elem *x3 = rows > 3 ? x + 3 * ldx : x;
    int64_t p = 0;
#define CLEAR(q) s[0][q] = s[1][q] = s[2][q] = s[3][q] = zero;
#define ADD(q)                                              \
    {                                                       \
        const VEC v = VLOAD(y + p + (q)*VW);                \
        s[0][q] = VFMA(VLOAD(x + p + (q)*VW), v, s[0][q]);  \
        s[1][q] = VFMA(VLOAD(x1 + p + (q)*VW), v, s[1][q]); \
        s[2][q] = VFMA(VLOAD(x2 + p + (q)*VW), v, s[2][q]); \
        s[3][q] = VFMA(VLOAD(x3 + p + (q)*VW), v, s[3][q]); \
    }
#define ADD_REST(q)                                                    \
    {                                                                  \
        const int rest = KERNEL(lanes_of)((int)(k - p), q);            \
        const VEC v = VLOAD_PART(y + p + (q)*VW, rest);                \
        s[0][q] = VFMA(VLOAD_PART(x + p + (q)*VW, rest), v, s[0][q]);  \
        s[1][q] = VFMA(VLOAD_PART(x1 + p + (q)*VW, rest), v, s[1][q]); \
        s[2][q] = VFMA(VLOAD_PART(x2 + p + (q)*VW, rest), v, s[2][q]); \
        s[3][q] = VFMA(VLOAD_PART(x3 + p + (q)*VW, rest), v, s[3][q]); \
    }
    EACH_REG(CLEAR)
    for (; p + GW <= k; p += GW) {
        EACH_REG(ADD)
    }
    if (p < k) {
        EACH_REG(ADD_REST)
    }
#undef CLEAR
#undef ADD
#undef ADD_REST
}

/* out[r] = the dot product of y and row r of x, for four rows. */
INLINE void KERNEL(four_dots)(
    const elem *x, int64_t ldx, const int rows, const elem *y, int64_t k, elem *out)
{
    VEC s[4][REGS];
    KERNEL(four_sums)(x, ldx, rows, y, k, s);
    VSUM4(s[0], s[1], s[2], s[3], out);
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

#if defined(VJOIN) && REGS == 1
/* Adds one vector of products to each sum of four rows of x, the first of which is `row`. */
#define ADD_FOUR(row, s0, s1, s2, s3)                              \
    s0 = VFMA(KERNEL(load)((row), whole, lanes), v, s0);           \
    s1 = VFMA(KERNEL(load)((row) + ldx, whole, lanes), v, s1);     \
    s2 = VFMA(KERNEL(load)((row) + 2 * ldx, whole, lanes), v, s2); \
    s3 = VFMA(KERNEL(load)((row) + 3 * ldx, whole, lanes), v, s3);

/* Adds one vector of products to the sums of VW rows of x. */
#define ADD_ALL(whole_, lanes_)                          \
    {                                                    \
        const bool whole = (whole_);                     \
        const int lanes = (lanes_);                      \
        const VEC v = KERNEL(load)(y + p, whole, lanes); \
        const elem *row = x + p;                         \
        ADD_FOUR(row, s00, s01, s02, s03)                \
        if (VW > 4) {                                    \
            ADD_FOUR(row + 4 * ldx, s10, s11, s12, s13)  \
        }                                                \
        if (VW > 8) {                                    \
            ADD_FOUR(row + 8 * ldx, s20, s21, s22, s23)  \
            ADD_FOUR(row + 12 * ldx, s30, s31, s32, s33) \
        }                                                \
    }

/* The dot products of y with VW rows of x, one per lane. */
INLINE VEC KERNEL(vector_of_dots)(const elem *x, const int64_t ldx, const elem *y, const int64_t k)
{
    VEC zero = { 0 }, s00 = zero, s01 = zero, s02 = zero, s03 = zero;
    VEC s10 = zero, s11 = zero, s12 = zero, s13 = zero, s20 = zero, s21 = zero, s22 = zero;
    VEC s23 = zero, s30 = zero, s31 = zero, s32 = zero, s33 = zero;
    int64_t p = 0;
    for (; p + VW <= k; p += VW) {
        ADD_ALL(true, VW)
    }
    if (p < k) {
        ADD_ALL(false, (int)(k - p))
    }
    const VEC fours[] = { VFOUR(&s00, &s01, &s02, &s03), VFOUR(&s10, &s11, &s12, &s13),
        VFOUR(&s20, &s21, &s22, &s23), VFOUR(&s30, &s31, &s32, &s33) };
    return VJOIN(fours);
}
#undef ADD_ALL
#undef ADD_FOUR
#elif defined(VJOIN)
/* The dot products of y with VW rows of x, one per lane. Four rows at a time, because their sums
 * fill half of the registers. */
INLINE VEC KERNEL(vector_of_dots)(const elem *x, const int64_t ldx, const elem *y, const int64_t k)
{
    VEC fours[VW / 4];
    for (int f = 0; f < VW / 4; ++f, x += 4 * ldx) {
        VEC s[4][REGS];
        KERNEL(four_sums)(x, ldx, 4, y, k, s);
        fours[f] = VFOUR(s[0], s[1], s[2], s[3]);
    }
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
 * contiguous result is written in vectors, four rows at a time are summed otherwise. */
NOINLINE void KERNEL(dots)(const product *g, int64_t rows, const elem *x, int64_t ldx,
    const elem *y, int64_t k, int64_t ldc, int64_t bias_step)
{
    int64_t i = 0;
    if (ldc == 1 && g->beta == ELEM(0)) {
        i = KERNEL(vectors_of_dots)(g, rows, x, ldx, y, k, bias_step);
    }
    for (; i < rows; i += 4) {
        const elem *bias = g->bias != NULL ? g->bias + i * bias_step : NULL;
        const int left = rows - i < 4 ? (int)(rows - i) : 4;
        elem sum[4];
        KERNEL(four_dots)(x + i * ldx, ldx, left, y, k, sum);
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

/* Rows of C one at a time, for B stored [n, k]. Use it where C has so few rows that a transposed
 * copy of B would not pay. */
NOINLINE void KERNEL(rows_of_dots)(const product *g)
{
    product row = *g;
    for (int64_t i = 0; i < g->m; ++i) {
        if (g->ap == 1 || g->k <= 1) {
            KERNEL(dots)(&row, g->n, g->b, g->ldb, row.a, g->k, 1, 1);
        } else {
            KERNEL(dots_apart)(&row, g->n, g->b, g->ldb, row.a, g->ap, 1, 1);
        }
        row.a += g->ai;
        row.c += g->ldc;
    }
}

#undef DOT_ROWS
#undef EACH_DOT_ROW
#undef DOTS_AHEAD
#if defined(VFOUR) || defined(ADZI_NEON)
/* Up to DOT_ROWS rows of x by four rows of B: 24 sums in 32 registers, or 12 in 16. */
#define DOTS_AHEAD ((int64_t)(1024 / sizeof(elem))) /* elements of a row that are prefetched */
#ifdef ADZI_32_REGISTERS
#define DOT_ROWS        6
#define EACH_DOT_ROW(X) X(0) X(1) X(2) X(3) X(4) X(5)
#else
#define DOT_ROWS        3
#define EACH_DOT_ROW(X) X(0) X(1) X(2)
#endif

/* CLEAR_DOTS clears the sums of row r of x. ADD_DOTS adds one vector of products to them. KEEP_DOTS
 * stores them, and PUT_DOTS writes their elements of C. */
#define CLEAR_DOTS(r) s[r][0] = s[r][1] = s[r][2] = s[r][3] = zero;
#define ADD_DOTS(r)                                                  \
    if ((r) < rows) {                                                \
        const VEC v = KERNEL(load)(x + (r)*g->ai + p, whole, lanes); \
        s[r][0] = VFMA(v, b0, s[r][0]);                              \
        s[r][1] = VFMA(v, b1, s[r][1]);                              \
        s[r][2] = VFMA(v, b2, s[r][2]);                              \
        s[r][3] = VFMA(v, b3, s[r][3]);                              \
    }
#define ADD_ALL_DOTS(whole_, lanes_)                                                 \
    {                                                                                \
        const bool whole = (whole_);                                                 \
        const int lanes = (lanes_);                                                  \
        const VEC b0 = KERNEL(load_stored)(g->b, at + p, whole, lanes, stored);      \
        const VEC b1 = KERNEL(load_stored)(g->b, at + l1 + p, whole, lanes, stored); \
        const VEC b2 = KERNEL(load_stored)(g->b, at + l2 + p, whole, lanes, stored); \
        const VEC b3 = KERNEL(load_stored)(g->b, at + l3 + p, whole, lanes, stored); \
        EACH_DOT_ROW(ADD_DOTS)                                                       \
    }
#define KEEP_DOTS(r)             \
    if ((r) < rows) {            \
        kept[r][0][q] = s[r][0]; \
        kept[r][1][q] = s[r][1]; \
        kept[r][2][q] = s[r][2]; \
        kept[r][3][q] = s[r][3]; \
    }
#define PUT_DOTS(r)                                                                   \
    if ((r) < rows) {                                                                 \
        VSUM4(kept[r][0], kept[r][1], kept[r][2], kept[r][3], sum);                   \
        KERNEL(put_dots)(g, g->c + (i + (r)) * g->ldc + j, 1, bias, 1, sum, columns); \
    }

/* The dot products of `rows` rows of x from row i and up to four rows of B from row j. Where B has
 * fewer, its row j is computed in place of the missing ones. The registers of a group take turns:
 * each passes over all of k, because the sums of one fill the registers. The first pass of the
 * first block of rows of x prefetches B, because the processor stops at the end of each short row.
 * B is stored as in KERNEL(load_stored). */
INLINE void KERNEL(block_of_dots)(
    const product *g, int64_t i, int64_t j, const int rows, const int stored)
{
    const VEC zero = { 0 };
    const int columns = g->n - j < 4 ? (int)(g->n - j) : 4;
    const elem *x = g->a + i * g->ai;
    const int64_t at = j * g->ldb, size = stored == 0 ? (int64_t)sizeof(elem) : 2;
    const elem *bias = g->bias != NULL ? g->bias + j : NULL;
    const int64_t l1 = columns > 1 ? g->ldb : 0, l2 = columns > 2 ? 2 * g->ldb : 0;
    const int64_t l3 = columns > 3 ? 3 * g->ldb : 0;
    const int64_t next = 4 * g->ldb - g->k; /* from the end of row j to row j + 4 */
    const int64_t end = g->k - g->k % GW;
    VEC kept[DOT_ROWS][4][REGS] = { 0 };
    for (int q = 0; q < REGS; ++q) {
        VEC s[DOT_ROWS][4];
        EACH_DOT_ROW(CLEAR_DOTS)
        int64_t p = q * VW;
        for (; p < end; p += GW) {
            if (i == 0 && q == 0) {
                const int64_t skipped = p + DOTS_AHEAD < g->k ? 0 : next;
                const char *ahead = (const char *)g->b + (at + p + DOTS_AHEAD + skipped) * size;
                __builtin_prefetch(ahead);
                __builtin_prefetch(ahead + l1 * size);
                __builtin_prefetch(ahead + l2 * size);
                __builtin_prefetch(ahead + l3 * size);
            }
            ADD_ALL_DOTS(true, VW)
        }
        if (end < g->k) {
            ADD_ALL_DOTS(false, KERNEL(lanes_of)((int)(g->k - end), q))
        }
        EACH_DOT_ROW(KEEP_DOTS)
    }
    elem sum[4];
    EACH_DOT_ROW(PUT_DOTS)
}
#undef CLEAR_DOTS
#undef ADD_DOTS
#undef ADD_ALL_DOTS
#undef KEEP_DOTS
#undef PUT_DOTS

/* One function per number of rows and way to store B, so that the compiler allocates registers for
 * each alone. */
#define BLOCK_OF_DOTS(rows, name, stored)                                                       \
    NOINLINE void KERNEL(block_of_dots_##rows##_##name)(const product *g, int64_t i, int64_t j) \
    {                                                                                           \
        KERNEL(block_of_dots)(g, i, j, rows, stored);                                           \
    }
#if DOT_ROWS > 3
#define BLOCKS_OF_DOTS(name, stored) \
    BLOCK_OF_DOTS(1, name, stored)   \
    BLOCK_OF_DOTS(2, name, stored)   \
    BLOCK_OF_DOTS(3, name, stored)   \
    BLOCK_OF_DOTS(4, name, stored)   \
    BLOCK_OF_DOTS(5, name, stored)   \
    BLOCK_OF_DOTS(6, name, stored)
#define LIST_OF_DOTS(name)                                                  \
    {                                                                       \
        KERNEL(block_of_dots_1_##name), KERNEL(block_of_dots_2_##name),     \
            KERNEL(block_of_dots_3_##name), KERNEL(block_of_dots_4_##name), \
            KERNEL(block_of_dots_5_##name), KERNEL(block_of_dots_6_##name)  \
    }
#else
#define BLOCKS_OF_DOTS(name, stored) \
    BLOCK_OF_DOTS(1, name, stored)   \
    BLOCK_OF_DOTS(2, name, stored)   \
    BLOCK_OF_DOTS(3, name, stored)
#define LIST_OF_DOTS(name)                                              \
    {                                                                   \
        KERNEL(block_of_dots_1_##name), KERNEL(block_of_dots_2_##name), \
            KERNEL(block_of_dots_3_##name)                              \
    }
#endif
BLOCKS_OF_DOTS(whole, 0)
#if ELEM_IS_F32
BLOCKS_OF_DOTS(f16, ADZ_F16)
BLOCKS_OF_DOTS(bf16, ADZ_BF16)
#endif

/* A product of few rows with B stored [n, k] and rows of A that are contiguous along k. B is read
 * once; its four rows stay in the cache while the rows of A pass. B is stored as `stored` says, as
 * in adzi_gemm_args.b_stored. */
NOINLINE void KERNEL(few_rows)(const product *g, const int stored)
{
    static void (*const blocks[][DOT_ROWS])(const product *, int64_t, int64_t) = {
        LIST_OF_DOTS(whole),
#if ELEM_IS_F32
        LIST_OF_DOTS(f16),
        LIST_OF_DOTS(bf16),
#endif
    };
    const int way = stored == 0 ? 0 : stored == ADZ_F16 ? 1 : 2;
    const int64_t parts = (g->m + DOT_ROWS - 1) / DOT_ROWS, high = (g->m + parts - 1) / parts;
    for (int64_t j = 0; j < g->n; j += 4) {
        for (int64_t i = 0; i < g->m; i += high) {
            blocks[way][(g->m - i < high ? g->m - i : high) - 1](g, i, j);
        }
    }
}
#undef BLOCK_OF_DOTS
#undef BLOCKS_OF_DOTS
#undef LIST_OF_DOTS
#else
/* The baseline has too few registers for blocks of rows. It gets B in f32. */
static void KERNEL(few_rows)(const product *g, const int stored)
{
    (void)stored;
    KERNEL(rows_of_dots)(g);
}
#endif

/* C of one column: element i is the dot product of row i of A with the column of B, whose elements
 * are b_step apart. */
static void KERNEL(column_of_dots)(const product *g, int64_t b_step)
{
    if (b_step == 1 || g->k <= 1) {
        KERNEL(dots)(g, g->m, g->a, g->ai, g->b, g->k, g->ldc, 0);
    } else {
        KERNEL(dots_apart)(g, g->m, g->a, g->ai, g->b, b_step, g->ldc, 0);
    }
}
