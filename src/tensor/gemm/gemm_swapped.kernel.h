/* Products of few rows with a weight that is stored [n, k], computed as C^T = B A^T.
 *
 * The header is included once per type, inside gemm_blocked.kernel.c, and has no include guard. */
/* Writes columns j .. j + count - 1 of C from sums[column of C, row of C], whose rows are `ld`
 * apart. `by_rows` holds g->m rows of SWAPPED_BLOCK elements. */
static void KERNEL(finish_swapped)(
    const product *g, int64_t j, int64_t count, const elem *sums, int64_t ld, elem *by_rows)
{
    const VEC floor = VSPLAT(g->floor);
    KERNEL(transpose)(by_rows, SWAPPED_BLOCK, sums, ld, g->m, count);
    for (int64_t i = 0; i < g->m; ++i, by_rows += SWAPPED_BLOCK) {
        elem *c = g->c + i * g->ldc + j;
        for (int64_t v = 0; v < count; v += VW) {
            const bool whole = count - v >= VW;
            const int lanes = whole ? VW : (int)(count - v);
            const elem *bias = g->bias != NULL ? g->bias + j + v : NULL;
            VEC sum = KERNEL(finished)(g, c + v, bias, VLOAD(by_rows + v), whole, lanes);
            KERNEL(store)(c + v, VMAX(floor, sum), whole, lanes);
        }
    }
}

/* A product of few rows with B stored [n, k], computed as C^T = B A^T. The rows of B stand
 * in the tiles where those of A do otherwise, and are read once, where they lie. A^T is small and
 * packed once for all of k. The sums of SWAPPED_BLOCK columns of C are kept in the cache through
 * all layers. */
static void KERNEL(swapped)(const adzi_gemm_args *args, const product *g, const KERNEL(room) * room)
{
    const panels x = KERNEL(panels_of_columns)(g->m);
    const int64_t ld = x.units * VW;
    elem *sums = room->a, *by_rows = sums + SWAPPED_BLOCK * ld,
         *tail = by_rows + SWAPPED_BLOCK * ld;
    const adzi_gemm_args flipped = {
        .ta = !args->tb, .lda = args->ldb, .tb = !args->ta, .ldb = args->lda
    };
    KERNEL(copy_b)(room->b, &flipped, g->a, args->k, &x);
    for (int64_t j = 0; j < g->n; j += SWAPPED_BLOCK) {
        const int64_t count = g->n - j < SWAPPED_BLOCK ? g->n - j : SWAPPED_BLOCK;
        product part = { .a = g->b + j * g->ldb,
            .ai = g->ldb,
            .ap = 1,
            .c = sums,
            .ldc = ld,
            .m = count,
            .n = ld,
            .finish = BARE,
            .alpha = ELEM(1),
            .floor = NO_FLOOR };
        for (int64_t p = 0; p < args->k; p += part.k) {
            part.k = args->k - p < DEPTH ? args->k - p : DEPTH;
            const KERNEL(rows) a = KERNEL(feed_a)(&flipped, &part, tail, 0, count);
            for (int64_t s = 0; s < x.count; ++s) {
                const int64_t column = KERNEL(begin_of)(&x, s);
                const int64_t wide = KERNEL(begin_of)(&x, s + 1) - column;
                const elem *b = room->b + column * args->k + p * wide;
                KERNEL(rows_of_strip)(&part, &a, b, wide, wide / VW, 0, count, column, NULL);
            }
            part.a += part.k;
            part.begin = ELEM(1);
        }
        KERNEL(finish_swapped)(g, j, count, sums, ld, by_rows);
    }
}
