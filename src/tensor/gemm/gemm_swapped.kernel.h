/* Products of few rows with a weight that is stored [n, k], computed as C^T = B A^T.
 *
 * The header is included once per type, inside gemm_blocked.kernel.c, and has no include guard. */

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
    const adzi_gemm_args flipped = { .ta = !args->tb, .lda = args->ldb };
    KERNEL(pack)(room->b, &x, !args->ta, g->a, args->lda, args->k);
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
        KERNEL(transpose)(by_rows, SWAPPED_BLOCK, sums, ld, g->m, count);
        KERNEL(finish_sums)(g, &(KERNEL(sums)){ by_rows, SWAPPED_BLOCK, 0, j, g->m, count });
    }
}
