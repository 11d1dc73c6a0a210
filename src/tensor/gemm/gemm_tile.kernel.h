/* The micro-kernel of large products, attention and convolutions: the sums of one tile of C.
 *
 * A tile is up to 8 rows of up to 4 vectors. Its sums stay in registers while p runs from 0 to
 * k - 1. Each sum is one chain of multiply-adds in the order of p, which may continue the chain of
 * an earlier tile. So its bits depend on k alone, and not on where k is cut.
 *
 * The header is included once per type, inside each_float.h and after vector.h, and has no
 * include guard. A file may define VMADD(x, y, c), the multiply-add; otherwise it is VFMA. */
#ifndef VMADD
#define VMADD(x, y, c) VFMA(x, y, c)
#endif

/* How many rows ahead a strip is prefetched while it is copied. */
#undef ROWS_AHEAD
#define ROWS_AHEAD 12

/* The shape of a tile: rows, and vectors per row. The last vector of a row has `lanes` columns in
 * memory, and VW if it is `whole`. Functions of this header are inlined into a caller that gives
 * constants for all but `lanes`. So loops over rows and vectors are written out, and each sum has a
 * register. */
typedef struct KERNEL(shape) {
    int rows, vecs; /* 1 .. 8, 1 .. 4 */
    bool whole;
    int lanes;
} KERNEL(shape);

/* Where a tile reads: element [r, p] of its rows of A is a[r * a_row + p * a_step], and row p of
 * its strip of B begins at b[p * b_step]. */
typedef struct KERNEL(reads) {
    const elem *a, *b;
    int64_t a_row, a_step, b_step;
} KERNEL(reads);

/* s[r][v] = 0. */
INLINE void KERNEL(clear_tile)(VEC s[8][4])
{
    const VEC zero = { 0 };
    ADZI_UNROLLED_FOR(int r = 0; r < 8; ++r)
    {
        s[r][0] = s[r][1] = s[r][2] = s[r][3] = zero;
    }
}

/* s[r][v] = factor times vector v of row r at `from`, whose rows are `ld` apart. */
INLINE void KERNEL(take_tile)(
    VEC s[8][4], const elem *from, int64_t ld, elem factor, const KERNEL(shape) t)
{
    const VEC factors = VSPLAT(factor);
    ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
    {
        ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
        {
            s[r][v] = VLOAD(from + r * ld + v * VW);
            if (factor != ELEM(1)) {
                s[r][v] *= factors;
            }
        }
    }
}

/* Writes the sums of a tile to `to`, whose rows are `ld` apart, or adds them to what is there. */
INLINE void KERNEL(put_tile)(
    elem *to, int64_t ld, VEC s[8][4], const bool add, const KERNEL(shape) t)
{
    ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
    {
        ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
        {
            elem *at = to + r * ld + v * VW;
            VSTORE(at, add ? VLOAD(at) + s[r][v] : s[r][v]);
        }
    }
}

#if defined(ADZI_NEON)
/* ADD_LANES adds a[r, p], which is a lane of x, times the vectors of b[p]. */
#undef ADD_LANES
#undef VFMA_LANE
#if ELEM_IS_F32
#define VFMA_LANE(x, lane, b, c) vfmaq_laneq_f32(c, b, x, lane)
#else
#define VFMA_LANE(x, lane, b, c) vfmaq_laneq_f64(c, b, x, lane)
#endif
#define ADD_LANES(r)                                             \
    s[r][0] = VFMA_LANE(x[(r) / VW], (r) % VW, b0, s[r][0]);     \
    if (vecs > 1) {                                              \
        s[r][1] = VFMA_LANE(x[(r) / VW], (r) % VW, b1, s[r][1]); \
    }                                                            \
    if (vecs > 2) {                                              \
        s[r][2] = VFMA_LANE(x[(r) / VW], (r) % VW, b2, s[r][2]); \
    }

/* s[r][v] += the sum over p of A[r, p] times vector v of row p of B, for eight rows of A that are
 * packed, so that element [r, p] lies next to [r + 1, p]. An instruction of NEON multiplies by a
 * lane of a register, so eight elements of A are two loads of f32 or four of f64. */
INLINE void KERNEL(add_packed_tile)(
    VEC s[8][4], const KERNEL(reads) * from, int64_t k, const int vecs)
{
    const VEC zero = { 0 };
    const elem *a = from->a, *b = from->b;
#pragma GCC unroll 4
    for (; k > 0; --k, a += from->a_step, b += from->b_step) {
        VEC x[8 / (ADZI_REGISTER_BYTES / sizeof(elem))];
        for (int i = 0; i < 8 / VW; ++i) {
            x[i] = VLOAD(a + i * VW);
        }
        const VEC b0 = VLOAD(b);
        const VEC b1 = vecs > 1 ? VLOAD(b + VW) : zero;
        const VEC b2 = vecs > 2 ? VLOAD(b + 2 * VW) : zero;
        ADD_LANES(0)
        ADD_LANES(1) ADD_LANES(2) ADD_LANES(3) ADD_LANES(4) ADD_LANES(5) ADD_LANES(6) ADD_LANES(7)
    }
}
#endif

/* Writes row p of a strip to `copy`, and prefetches the row that is copied ROWS_AHEAD rows later.
 */
INLINE void KERNEL(copy_strip_row)(elem *copy, const VEC b[4], const elem *ahead, const int vecs)
{
    for (int v = 0; v <= vecs; ++v) {
        __builtin_prefetch(ahead + (v < vecs ? v * VW : vecs * VW - 1));
    }
    ADZI_UNROLLED_FOR(int v = 0; v < vecs; ++v)
    {
        VSTORE(copy + v * VW, b[v]);
    }
}

/* The loop of every product in tiles: s[r][v] += the sum over p of A[r, p] times vector v of row p
 * of B. If `copy` is not NULL, the rows of B, of at most three whole vectors, are also written
 * there one behind another. Use it for the first tile of a strip whose rows are far apart: other
 * tiles then read the copy. `far` is a + 4 rows, for shorter addresses. */
INLINE void KERNEL(add_tile)(
    VEC s[8][4], const KERNEL(reads) * from, int64_t k, const KERNEL(shape) t, elem *copy)
{
    const int64_t a_row = from->a_row, a_step = from->a_step, b_step = from->b_step;
    const elem *a = from->a, *b = from->b;
    const elem *far = t.rows > 4 ? a + 4 * a_row : a;
#ifdef ADZI_NEON
    if (t.rows == 8 && t.vecs <= 3 && t.whole && a_row == 1 && copy == NULL) {
        KERNEL(add_packed_tile)(s, from, k, t.vecs);
        return;
    }
#endif
#pragma GCC unroll 4
    for (; k > 0; --k, a += a_step, far += a_step, b += b_step) {
        VEC row[4];
        ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
        {
            row[v] = KERNEL(load)(b + v * VW, t.whole || v < t.vecs - 1, t.lanes);
        }
        if (copy != NULL) {
            KERNEL(copy_strip_row)(copy, row, b + ROWS_AHEAD * b_step, t.vecs);
            copy += t.vecs * VW;
        }
        ADZI_UNROLLED_FOR(int r = 0; r < t.rows; ++r)
        {
            const VEC x = VSPLAT((r < 4 ? a : far)[r % 4 * a_row]);
            ADZI_UNROLLED_FOR(int v = 0; v < t.vecs; ++v)
            {
                s[r][v] = VMADD(x, row[v], s[r][v]);
            }
        }
    }
}

/* s[r][v] = the sums of a tile whose strip is not copied. */
INLINE void KERNEL(sum_tile)(
    VEC s[8][4], const KERNEL(reads) * from, int64_t k, const KERNEL(shape) t)
{
    KERNEL(clear_tile)(s);
    KERNEL(add_tile)(s, from, k, t, NULL);
}
