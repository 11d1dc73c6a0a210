/* Products of small blocks in cache, C[m, n] = A[m, k] B[k, n] or C += A B. Attention and
 * convolutions multiply by them.
 *
 * The header is included once per type elem, inside each_float.h and after vector.h, and has no
 * include guard. n is a multiple of the vector width; m and k are any.
 *
 * C is computed in tiles of `rows` rows and `vecs` vectors. Every element of C is one chain of
 * multiply-adds in the order of p, whatever the tile, so its bits depend on k alone.
 *
 * TILE_VECS   vectors per row in tiles of four rows (or of MORE_ROWS)
 * TALL_VECS   the most vectors per row in tiles of eight rows
 * MORE_ROWS   rows of wide tiles where there are 32 registers (AVX-512 and NEON); else 4, as
 * elsewhere
 */

#undef TILE_VECS
#undef TALL_VECS
#ifdef ADZI_32_REGISTERS
#undef MORE_ROWS
#define MORE_ROWS 6
#define TILE_VECS 4 /* width of four rows in registers */
#define TALL_VECS 2 /* of eight */
#else
#undef MORE_ROWS
#define MORE_ROWS 4
#define TILE_VECS 2
#define TALL_VECS 1
#endif

#include "tensor/gemm/gemm_tile.kernel.h"

/* A product: A[i, p] is a.at[i * a.row + p * a.step], B[p, j] is b.at[p * b.ld + j], and C[i, j] is
 * c.at[i * c.ld + j]. */
typedef struct KERNEL(factors) {
    struct {
        const elem *at;
        int64_t row, step;
    } a;
    struct {
        const elem *at;
        int64_t ld;
    } b;
    struct {
        elem *at;
        int64_t ld;
    } c;
    struct {
        int64_t m, n, k;
    } size;
    bool add; /* to what C holds; otherwise C is written without being read */
} KERNEL(factors);

/* A file whose products have rows of A that are contiguous defines A_STEP(f) as 1: a constant saves
 * one instruction in twenty. */
#ifndef A_STEP
#define A_STEP(f) ((f)->a.step)
#endif

/* One tile of C, from row i and column j on. */
INLINE void KERNEL(tile)(
    const KERNEL(factors) * f, int64_t i, int64_t j, const int rows, const int vecs)
{
    const KERNEL(shape) shape = { rows, vecs, true, VW };
    const KERNEL(reads)
        from = { f->a.at + i * f->a.row, f->b.at + j, f->a.row, A_STEP(f), f->b.ld };
    elem *to = f->c.at + i * f->c.ld + j;
    VEC s[8][4];
    KERNEL(sum_tile)(s, &from, f->size.k, shape);
    if (f->add) {
        KERNEL(put_tile)(to, f->c.ld, s, true, shape);
    } else {
        KERNEL(put_tile)(to, f->c.ld, s, false, shape);
    }
}

/* All rows of C across a strip of `vecs` vectors from column j on: eight rows at a time in narrow
 * strips, MORE_ROWS or four in wide ones, and the last ones alone. */
INLINE void KERNEL(strip)(const KERNEL(factors) * f, int64_t j, const int vecs)
{
    int64_t i = 0;
    for (; vecs <= TALL_VECS && i + 8 <= f->size.m; i += 8) {
        KERNEL(tile)(f, i, j, 8, vecs);
    }
    for (; vecs > TALL_VECS && MORE_ROWS > 4 && i + MORE_ROWS <= f->size.m; i += MORE_ROWS) {
        KERNEL(tile)(f, i, j, MORE_ROWS, vecs);
    }
    for (; i + 4 <= f->size.m; i += 4) {
        KERNEL(tile)(f, i, j, 4, vecs);
    }
    for (; i < f->size.m; ++i) {
        KERNEL(tile)(f, i, j, 1, vecs);
    }
}

/* Computes C, strip by strip. */
NOINLINE void KERNEL(multiply)(const KERNEL(factors) * factors)
{
    const KERNEL(factors) f = *factors; /* which no store to C changes */
    for (int64_t j = 0; j < f.size.n; j += TILE_VECS * VW) {
        const int64_t vecs = (f.size.n - j) / VW;
        if (vecs >= TILE_VECS) {
            KERNEL(strip)(&f, j, TILE_VECS);
        } else if (vecs == 3) {
            KERNEL(strip)(&f, j, 3);
        } else if (vecs == 2) {
            KERNEL(strip)(&f, j, 2);
        } else {
            KERNEL(strip)(&f, j, 1);
        }
    }
}

/* MULTIPLY({ a, row, step }, { b, ld }, { c, ld }, { m, n, k }, add) */
#undef MULTIPLY
#define MULTIPLY(...) KERNEL(multiply)(&(KERNEL(factors)){ __VA_ARGS__ })
