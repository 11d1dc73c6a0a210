/* Dot products of rows of x with rows of B that consist of blocks of Q8_0.
 *
 * An element is summed in the order of KERNEL(sum_vectors), so its bits are those of a widened B.
 *
 * The header is included once per instruction set inside gemm_dots.kernel.h, in f32, and has no
 * include guard. */
#define BLOCKS_AHEAD 512 /* weights of a row in blocks of Q8_0 that are prefetched */

/* Registers for the sums of blocks in one pass: half of all, because the other half holds weights.
 */
#undef BLOCK_SUMS
#ifdef ADZI_32_REGISTERS
#define BLOCK_SUMS 16
#else
#define BLOCK_SUMS 8
#endif

/* Registers first .. first + wide - 1 of the sums of a block of dot products, where B consists of
 * blocks of Q8_0, which k fills. If `fetch` is set, bytes behind those in use are prefetched. */
INLINE void KERNEL(add_blocks)(VEC kept[DOT_ROWS][4][REGS], const product *g,
    const KERNEL(dots_block) * of, const int first, const int wide, const bool fetch,
    const int rows)
{
    const uint8_t *b[4];
    const VEC zero = { 0 };
    VEC s[DOT_ROWS][4][REGS];
    ADZI_UNROLLED_FOR(int c = 0; c < 4; ++c)
    {
        b[c] = (const uint8_t *)g->b + adzi_q8_0_offset(of->at + of->apart[c]);
        ADZI_UNROLLED_FOR(int i = 0; i < rows * wide; ++i)
        {
            s[i / wide][c][i % wide] = zero;
        }
    }
    const elem *x = of->x + first * VW;
    for (int64_t p = 0; p < g->k; p += ADZI_Q8_0_VALUES, x += ADZI_Q8_0_VALUES) {
        /* To the end of these rows of B, and then from the begin of the next four. */
        const int64_t ahead = p + BLOCKS_AHEAD < g->k ? 0 : 3 * adzi_q8_0_offset(g->ldb);
        ADZI_UNROLLED_FOR(int c = 0; c < 4; ++c)
        {
            if (fetch) {
                __builtin_prefetch(
                    b[c] + ahead + BLOCKS_AHEAD / ADZI_Q8_0_VALUES * ADZI_Q8_0_BYTES);
            }
            const VEC scale = KERNEL(vload_scale)(b[c]);
            const uint8_t *bytes = b[c] + 2 + first * VW;
            ADZI_UNROLLED_FOR(int i = 0; i < ADZI_Q8_0_VALUES / GW * wide; ++i)
            {
                const int q = i % wide, at = i / wide * GW + q * VW;
                const VEC w = scale * KERNEL(vload_bytes)(bytes + at);
                ADZI_UNROLLED_FOR(int r = 0; r < rows; ++r)
                {
                    s[r][c][q] = VFMA(VLOAD(x + r * of->ldx + at), w, s[r][c][q]);
                }
            }
            b[c] += ADZI_Q8_0_BYTES;
        }
    }
    ADZI_UNROLLED_FOR(int c = 0; c < 4; ++c)
    {
        ADZI_UNROLLED_FOR(int i = 0; i < rows * wide; ++i)
        {
            kept[i / wide][c][first + i % wide] = s[i / wide][c][i % wide];
        }
    }
}

/* The sums of one row of x with rows c and c + 1 of four rows of B. Their blocks are prefetched in
 * the order of memory, as in KERNEL(sum_two_in_order). */
INLINE void KERNEL(add_two_in_order)(
    VEC kept[DOT_ROWS][4][REGS], const product *g, const KERNEL(dots_block) * of, const int c)
{
    enum { AHEAD = 4096 }; /* bytes */
    const uint8_t *first = (const uint8_t *)g->b + adzi_q8_0_offset(of->at + of->apart[c]);
    const uint8_t *second = (const uint8_t *)g->b + adzi_q8_0_offset(of->at + of->apart[c + 1]);
    const uint8_t *fetched = first + AHEAD;
    const elem *x = of->x;
    VEC s[2][REGS];
    ADZI_UNROLLED_FOR(int q = 0; q < REGS; ++q)
    {
        s[0][q] = s[1][q] = (VEC){ 0 };
    }
    for (int64_t p = 0; p < g->k; p += ADZI_Q8_0_VALUES, x += ADZI_Q8_0_VALUES) {
        const VEC scale = KERNEL(vload_scale)(first), other = KERNEL(vload_scale)(second);
        __builtin_prefetch(fetched);
        __builtin_prefetch(fetched + ADZI_Q8_0_BYTES);
        ADZI_UNROLLED_FOR(int i = 0; i < ADZI_Q8_0_VALUES / VW; ++i)
        {
            const VEC v = VLOAD(x + i * VW);
            s[0][i % REGS] =
                VFMA(v, scale * KERNEL(vload_bytes)(first + 2 + i * VW), s[0][i % REGS]);
            s[1][i % REGS] =
                VFMA(v, other * KERNEL(vload_bytes)(second + 2 + i * VW), s[1][i % REGS]);
        }
        first += ADZI_Q8_0_BYTES;
        second += ADZI_Q8_0_BYTES;
        fetched += 2 * ADZI_Q8_0_BYTES;
    }
    ADZI_UNROLLED_FOR(int q = 0; q < REGS; ++q)
    {
        kept[0][c][q] = s[0][q];
        kept[0][c + 1][q] = s[1][q];
    }
}

/* The sums of a block of dot products, where B consists of blocks of Q8_0. One pass over B if the
 * registers hold all sums, else one for each register of a group. */
INLINE void KERNEL(sum_blocks)(VEC kept[DOT_ROWS][4][REGS], const product *g,
    const KERNEL(dots_block) * of, const bool fetch, const int rows)
{
    if (rows == 1 && REGS > 1) {
        KERNEL(add_two_in_order)(kept, g, of, 0);
        KERNEL(add_two_in_order)(kept, g, of, 2);
        return;
    }
    if (rows * 4 * REGS <= BLOCK_SUMS) {
        KERNEL(add_blocks)(kept, g, of, 0, REGS, fetch, rows);
        return;
    }
#define ADD_REGISTER(q) KERNEL(add_blocks)(kept, g, of, q, 1, fetch && (q) == 0, rows);
    EACH_REG(ADD_REGISTER)
#undef ADD_REGISTER
}
