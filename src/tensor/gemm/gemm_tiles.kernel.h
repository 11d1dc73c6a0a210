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

/* One tile of C. A[i, p] is a[i * ai + p * ap]; ldb and ldc are leading dimensions. */
INLINE void KERNEL(tile)(const elem *a, int64_t ai, int64_t ap, const elem *b, int64_t ldb, elem *c,
    int64_t ldc, int64_t k, const bool add, const int rows, const int vecs)
{
    VEC s[8][4];
    KERNEL(sum_tile)(s, &(KERNEL(reads)){ a, b, ai, ap, ldb }, k, rows, vecs, true, VW);
    KERNEL(put_tile)(c, ldc, s, add, rows, vecs);
}

/* All rows of C across a strip of `vecs` vectors: eight rows at a time in narrow strips, MORE_ROWS
 * or four in wide ones, and the last ones alone. */
INLINE void KERNEL(strip)(const elem *a, int64_t ai, int64_t ap, const elem *b, int64_t ldb,
    elem *c, int64_t ldc, int64_t m, int64_t k, const bool add, const int vecs)
{
    int64_t i = 0;
    for (; vecs <= TALL_VECS && i + 8 <= m; i += 8) {
        KERNEL(tile)(a + i * ai, ai, ap, b, ldb, c + i * ldc, ldc, k, add, 8, vecs);
    }
    for (; vecs > TALL_VECS && MORE_ROWS > 4 && i + MORE_ROWS <= m; i += MORE_ROWS) {
        KERNEL(tile)(a + i * ai, ai, ap, b, ldb, c + i * ldc, ldc, k, add, MORE_ROWS, vecs);
    }
    for (; i + 4 <= m; i += 4) {
        KERNEL(tile)(a + i * ai, ai, ap, b, ldb, c + i * ldc, ldc, k, add, 4, vecs);
    }
    for (; i < m; ++i) {
        KERNEL(tile)(a + i * ai, ai, ap, b, ldb, c + i * ldc, ldc, k, add, 1, vecs);
    }
}

/* All of C, strip by strip. */
INLINE void KERNEL(strips)(const elem *a, int64_t ai, int64_t ap, const elem *b, int64_t ldb,
    elem *c, int64_t ldc, int64_t m, int64_t n, int64_t k, const bool add)
{
    for (int64_t j = 0; j < n; j += TILE_VECS * VW) {
        int64_t vecs = (n - j) / VW;
        if (vecs >= TILE_VECS) {
            KERNEL(strip)(a, ai, ap, b + j, ldb, c + j, ldc, m, k, add, TILE_VECS);
        } else if (vecs == 3) {
            KERNEL(strip)(a, ai, ap, b + j, ldb, c + j, ldc, m, k, add, 3);
        } else if (vecs == 2) {
            KERNEL(strip)(a, ai, ap, b + j, ldb, c + j, ldc, m, k, add, 2);
        } else {
            KERNEL(strip)(a, ai, ap, b + j, ldb, c + j, ldc, m, k, add, 1);
        }
    }
}

/* C = A B, with A[i, p] = a[i * ai + p * ap] and B[p, j] = b[p * ldb + j]. */
NOINLINE void KERNEL(multiply)(const elem *a, int64_t ai, int64_t ap, const elem *b, int64_t ldb,
    elem *c, int64_t ldc, int64_t m, int64_t n, int64_t k)
{
    KERNEL(strips)(a, ai, ap, b, ldb, c, ldc, m, n, k, false);
}

/* C += A B, with A[i, p] = a[i * ai + p * ap] and B[p, j] = b[p * ldb + j]. */
NOINLINE void KERNEL(multiply_add)(const elem *a, int64_t ai, int64_t ap, const elem *b,
    int64_t ldb, elem *c, int64_t ldc, int64_t m, int64_t n, int64_t k)
{
    KERNEL(strips)(a, ai, ap, b, ldb, c, ldc, m, n, k, true);
}
