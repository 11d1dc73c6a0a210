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

/* EACH_OF_8 applies a macro to rows 0 .. 7. Conditions on `rows` and `vecs` are constants and
 * vanish. Literal indices are needed: an array that is indexed by a variable is kept in memory. */
#undef EACH_OF_8
#define EACH_OF_8(X) X(0) X(1) X(2) X(3) X(4) X(5) X(6) X(7)

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
#define CLEAR_ROW(r) s[r][0] = s[r][1] = s[r][2] = s[r][3] = zero;
    EACH_OF_8(CLEAR_ROW)
#undef CLEAR_ROW
}

/* s[r][v] = factor times vector v of row r at `from`, whose rows are `ld` apart. */
INLINE void KERNEL(take_tile)(
    VEC s[8][4], const elem *from, int64_t ld, elem factor, const int rows, const int vecs)
{
    const VEC factors = VSPLAT(factor);
#define TAKE(r, v)                               \
    if ((r) < rows && (v) < vecs) {              \
        s[r][v] = VLOAD(from + (r)*ld + (v)*VW); \
        if (factor != ELEM(1)) {                 \
            s[r][v] *= factors;                  \
        }                                        \
    }
#define TAKE_ROW(r) TAKE(r, 0) TAKE(r, 1) TAKE(r, 2) TAKE(r, 3)
    EACH_OF_8(TAKE_ROW)
#undef TAKE_ROW
#undef TAKE
}

/* Writes the sums of a tile to `to`, whose rows are `ld` apart, or adds them to what is there. */
INLINE void KERNEL(put_tile)(
    elem *to, int64_t ld, VEC s[8][4], const bool add, const int rows, const int vecs)
{
#define PUT(r, v)                                        \
    if ((r) < rows && (v) < vecs) {                      \
        elem *at = to + (r)*ld + (v)*VW;                 \
        VSTORE(at, add ? VLOAD(at) + s[r][v] : s[r][v]); \
    }
#define PUT_ROW(r) PUT(r, 0) PUT(r, 1) PUT(r, 2) PUT(r, 3)
    EACH_OF_8(PUT_ROW)
#undef PUT_ROW
#undef PUT
}

/* ADD_ROW adds a[row, p] times the vectors of b[p]; `far` is a + 4 rows, for shorter addresses. */
#define ADD_ROW(r)                                                  \
    if ((r) < rows) {                                               \
        const VEC x = VSPLAT(((r) < 4 ? a : far)[(r) % 4 * a_row]); \
        s[r][0] = VMADD(x, b0, s[r][0]);                            \
        if (vecs > 1) {                                             \
            s[r][1] = VMADD(x, b1, s[r][1]);                        \
        }                                                           \
        if (vecs > 2) {                                             \
            s[r][2] = VMADD(x, b2, s[r][2]);                        \
        }                                                           \
        if (vecs > 3) {                                             \
            s[r][3] = VMADD(x, b3, s[r][3]);                        \
        }                                                           \
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
        VEC x[8 / (VBYTES / sizeof(elem))];
        for (int i = 0; i < 8 / VW; ++i) {
            x[i] = VLOAD(a + i * VW);
        }
        const VEC b0 = VLOAD(b);
        const VEC b1 = vecs > 1 ? VLOAD(b + VW) : zero;
        const VEC b2 = vecs > 2 ? VLOAD(b + 2 * VW) : zero;
        EACH_OF_8(ADD_LANES)
    }
}
#endif

/* s[r][v] += the sum over p of A[r, p] times vector v of row p of B, whose last vector is
 * `whole` or has `lanes` lanes in memory; then there are at most two vectors. If `copy` is not
 * NULL, the rows of B, of at most three whole vectors, are also written there one behind another.
 * Use it for the first tile of a strip whose rows are far apart: other tiles then read the copy. */
INLINE void KERNEL(add_tile_and_copy)(VEC s[8][4], const KERNEL(reads) * from, int64_t k,
    const int rows, const int vecs, const bool whole, const int lanes, elem *copy)
{
    const VEC zero = { 0 };
    const int64_t a_row = from->a_row, a_step = from->a_step, b_step = from->b_step;
    const elem *a = from->a, *b = from->b;
    const elem *far = rows > 4 ? a + 4 * a_row : a;
#ifdef ADZI_NEON
    if (rows == 8 && vecs <= 3 && whole && a_row == 1 && copy == NULL) {
        KERNEL(add_packed_tile)(s, from, k, vecs);
        return;
    }
#endif
#pragma GCC unroll 4
    for (; k > 0; --k, a += a_step, far += a_step, b += b_step) {
        const VEC b0 = KERNEL(load)(b, whole || vecs > 1, lanes);
        const VEC b1 = vecs > 1 ? KERNEL(load)(b + VW, whole || vecs > 2, lanes) : zero;
        const VEC b2 = vecs > 2 ? VLOAD(b + 2 * VW) : zero;
        const VEC b3 = vecs > 3 ? VLOAD(b + 3 * VW) : zero;
        if (copy != NULL) {
            const elem *ahead = b + ROWS_AHEAD * b_step;
            for (int v = 0; v <= vecs; ++v) {
                __builtin_prefetch(ahead + (v < vecs ? v * VW : vecs * VW - 1));
            }
            VSTORE(copy, b0);
            if (vecs > 1) {
                VSTORE(copy + VW, b1);
            }
            if (vecs > 2) {
                VSTORE(copy + 2 * VW, b2);
            }
            copy += vecs * VW;
        }
        EACH_OF_8(ADD_ROW)
    }
}

/* s[r][v] = the sums of a tile whose strip is not copied. */
INLINE void KERNEL(sum_tile)(VEC s[8][4], const KERNEL(reads) * from, int64_t k, const int rows,
    const int vecs, const bool whole, const int lanes)
{
    KERNEL(clear_tile)(s);
    KERNEL(add_tile_and_copy)(s, from, k, rows, vecs, whole, lanes, NULL);
}

#undef ADD_ROW
