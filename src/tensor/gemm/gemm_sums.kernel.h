/* Products that are sums of rows: C has one row and B is stored [k, n], or C has one column and A
 * is stored [k, m].
 *
 *     c[j] = alpha sum_p x[p] rows[p, j] + beta c[j] + bias,   clipped at the floor
 *
 * Rows are read in the order of memory, eight at a time, so that a large matrix is streamed. The
 * sums of SUM_COLUMNS columns stay in the first-level cache. An element is one chain of
 * multiply-adds in the order of p. Rows in half precision are widened in registers.
 *
 * The header is included once per type, inside each_float.h and after gemm_dots.kernel.h, and has
 * no include guard. */
#undef SUM_COLUMNS
#define SUM_COLUMNS ((int)(8192 / sizeof(elem)))

/* s + the sum over p of x[p] b[at + p * ld ...], for one vector of columns and `high` rows.
 * `stored` as in KERNEL(load_stored). */
INLINE VEC KERNEL(add_rows_to)(VEC s, const VEC x[8], const int high, const void *b, int64_t at,
    int64_t ld, const bool whole, const int lanes, const int stored)
{
    ADZI_UNROLLED_FOR(int r = 0; r < high; ++r)
    {
        s = VFMA(x[r], KERNEL(load_stored)(b, at + r * ld, whole, lanes, stored), s);
    }
    return s;
}

/* sums[j] += x[p * x_step] b[at + p * ld + j] for j = 0 .. count - 1 and `high` rows, eight or one.
 */
INLINE void KERNEL(add_rows)(elem *sums, int64_t count, const elem *x, int64_t x_step,
    const void *b, int64_t at, int64_t ld, const int high, const int stored)
{
    VEC row[8];
    ADZI_UNROLLED_FOR(int r = 0; r < high; ++r)
    {
        row[r] = VSPLAT(x[r * x_step]);
    }
    for (int64_t j = 0; j < count; j += VW) {
        const int lanes = (int)(count - j);
        VEC s = VLOAD(sums + j);
        if (count - j >= VW) {
            s = KERNEL(add_rows_to)(s, row, high, b, at + j, ld, true, lanes, stored);
        } else {
            s = KERNEL(add_rows_to)(s, row, high, b, at + j, ld, false, lanes, stored);
        }
        VSTORE(sums + j, s);
    }
}

/* Writes `count` sums to C from element j on. The elements of C are `step` apart. */
static void KERNEL(put_sums)(
    const product *g, int64_t j, int64_t step, int64_t bias_step, const elem *sums, int64_t count)
{
    for (int64_t v = 0; step == 1 && g->beta == ELEM(0) && v < count; v += VW) {
        const bool whole = count - v >= VW;
        const int lanes = whole ? VW : (int)(count - v);
        const VEC sum = KERNEL(finished_dots)(g, VLOAD(sums + v), j + v, bias_step, whole, lanes);
        KERNEL(store)(g->c + j + v, sum, whole, lanes);
    }
    for (int64_t v = 0; (step != 1 || g->beta != ELEM(0)) && v < count; v += 4) {
        const int left = count - v < 4 ? (int)(count - v) : 4;
        const elem *bias = g->bias != NULL ? g->bias + (j + v) * bias_step : NULL;
        KERNEL(put_dots)(g, g->c + (j + v) * step, step, bias, bias_step, sums + v, left);
    }
}

INLINE void KERNEL(sums_of_rows)(const product *g, const elem *x, int64_t x_step, const void *rows,
    int64_t ld, int64_t n, int64_t step, int64_t bias_step, const int stored)
{
    _Alignas(64) elem sums[SUM_COLUMNS];
    for (int64_t j = 0; j < n; j += SUM_COLUMNS) {
        const int64_t count = n - j < SUM_COLUMNS ? n - j : SUM_COLUMNS;
        memset(sums, 0, sizeof sums);
        int64_t p = 0;
        for (; p + 8 <= g->k; p += 8) {
            KERNEL(add_rows)(sums, count, x + p * x_step, x_step, rows, p * ld + j, ld, 8, stored);
        }
        for (; p < g->k; ++p) {
            KERNEL(add_rows)(sums, count, x + p * x_step, x_step, rows, p * ld + j, ld, 1, stored);
        }
        KERNEL(put_sums)(g, j, step, bias_step, sums, count);
    }
}

/* C as a sum of the rows of `rows`, which has k rows of n elements. One function for each way in
 * which they are stored, and their list. */
#define SUM_FUNCTION(name)                                                                    \
    NOINLINE void KERNEL(sum_of_rows_##name)(const product *g, const elem *x, int64_t x_step, \
        const void *rows, int64_t ld, int64_t n, int64_t step, int64_t bias_step)             \
    {                                                                                         \
        KERNEL(sums_of_rows)(g, x, x_step, rows, ld, n, step, bias_step, STORED_##name);      \
    }
#define SUM_ENTRY(name) KERNEL(sum_of_rows_##name),
EACH_HALF(SUM_FUNCTION)
static void (*const KERNEL(sum_of_rows)[])(const product *, const elem *, int64_t, const void *,
    int64_t, int64_t, int64_t, int64_t) = { EACH_HALF(SUM_ENTRY) };
#undef SUM_FUNCTION
#undef SUM_ENTRY
