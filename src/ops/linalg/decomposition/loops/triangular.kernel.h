/* Systems with a triangular matrix, for one item. Included after the element type is known
 * (tensor/kernel/each_float.h).
 *
 * Sums run in the order of the shape. The bits depend on neither threads nor the batch. */
#include "ops/linalg/decomposition/loops/product.kernel.h"

/* op(T), stored by rows with the leading dimension ld. */
typedef struct KERNEL(triangle) {
    const elem *t;
    int64_t ld;
    bool transposed; /* op transposes */
    bool upper;      /* op(T) is an upper triangle */
    bool unit;       /* its diagonal is taken as ones */
} KERNEL(triangle);

static inline elem KERNEL(at)(const KERNEL(triangle) * a, int64_t i, int64_t j)
{
    return a->transposed ? a->t[j * a->ld + i] : a->t[i * a->ld + j];
}

enum {
    KERNEL(triangle_block) = 32, /* rows that are solved without a product */
    KERNEL(chunk) = 128          /* columns of B at a time: a block of them stays in the cache */
};

/* Row i of B minus the rows j0 .. j1 - 1 times their factors, for w columns. */
static void KERNEL(subtract_rows)(
    const KERNEL(triangle) * a, int64_t i, int64_t j0, int64_t j1, elem *b, int64_t ldb, int64_t w)
{
    elem *restrict to = b + i * ldb; /* no other row is written */
    int64_t j = j0;
    for (; j + 4 <= j1; j += 4) {
        const elem t0 = KERNEL(at)(a, i, j), t1 = KERNEL(at)(a, i, j + 1);
        const elem t2 = KERNEL(at)(a, i, j + 2), t3 = KERNEL(at)(a, i, j + 3);
        const elem *b0 = b + j * ldb, *b1 = b0 + ldb, *b2 = b1 + ldb, *b3 = b2 + ldb;
        for (int64_t c = 0; c < w; ++c) {
            to[c] = to[c] - t0 * b0[c] - t1 * b1[c] - t2 * b2[c] - t3 * b3[c];
        }
    }
    for (; j < j1; ++j) {
        const elem t = KERNEL(at)(a, i, j), *from = b + j * ldb;
        for (int64_t c = 0; c < w; ++c) {
            to[c] -= t * from[c];
        }
    }
}

/* B = op(T)^-1 B for a block of rows from `first` on, in w columns. */
static void KERNEL(solve_block)(
    const KERNEL(triangle) * a, int64_t first, int64_t rows, elem *b, int64_t ldb, int64_t w)
{
    for (int64_t step = 0; step < rows; ++step) {
        const int64_t i = a->upper ? first + rows - 1 - step : first + step;
        KERNEL(subtract_rows)
        (a, i, a->upper ? i + 1 : first, a->upper ? first + rows : i, b, ldb, w);
        if (!a->unit) {
            const elem d = KERNEL(at)(a, i, i);
            for (int64_t c = 0; c < w; ++c) {
                b[i * ldb + c] /= d;
            }
        }
    }
}

/* One column: each solved element is taken from the others at once, so no sum waits. */
static void KERNEL(solve_column)(
    const KERNEL(triangle) * a, int64_t first, int64_t rows, elem *b, int64_t ldb)
{
    for (int64_t step = 0; step < rows; ++step) {
        const int64_t j = a->upper ? first + rows - 1 - step : first + step;
        const elem x = a->unit ? b[j * ldb] : b[j * ldb] / KERNEL(at)(a, j, j);
        const int64_t from = a->upper ? first : j + 1, to = a->upper ? j : first + rows;
        b[j * ldb] = x;
        for (int64_t i = from; i < to; ++i) {
            b[i * ldb] -= KERNEL(at)(a, i, j) * x;
        }
    }
}

/* The part of op(T) that begins at a row and a column. */
static inline const elem *KERNEL(part)(const KERNEL(triangle) * a, int64_t row, int64_t column)
{
    return a->transposed ? a->t + column * a->ld + row : a->t + row * a->ld + column;
}

/* The size of the first half of n rows: a multiple of the block. */
static inline int64_t KERNEL(half)(int64_t n)
{
    const int64_t block = KERNEL(triangle_block);
    return (n / 2 + block - 1) / block * block;
}

/* B[n, k] = op(T)^-1 B for op(T)[n, n], by halves of the rows: a product takes the half that is
 * solved from the other one. Halves keep the products large. */
static void KERNEL(solve_triangle)(
    const KERNEL(triangle) * a, int64_t n, elem *b, int64_t ldb, int64_t k)
{
    if (n <= KERNEL(triangle_block)) {
        if (k == 1) {
            KERNEL(solve_column)(a, 0, n, b, ldb);
            return;
        }
        for (int64_t c = 0; c < k; c += KERNEL(chunk)) {
            const int64_t w = k - c < KERNEL(chunk) ? k - c : KERNEL(chunk);
            KERNEL(solve_block)(a, 0, n, b + c, ldb, w);
        }
        return;
    }
    const int64_t half = KERNEL(half)(n), rest = n - half;
    KERNEL(triangle) upper = *a, lower = *a;
    lower.t = KERNEL(part)(a, half, half);
    elem *below = b + half * ldb;
    if (a->upper) {
        KERNEL(solve_triangle)(&lower, rest, below, ldb, k);
        KERNEL(product)
        (a->transposed, false, half, k, rest, -1, KERNEL(part)(a, 0, half), a->ld, below, ldb, 1, b,
            ldb);
        KERNEL(solve_triangle)(&upper, half, b, ldb, k);
        return;
    }
    KERNEL(solve_triangle)(&upper, half, b, ldb, k);
    KERNEL(product)
    (a->transposed, false, rest, k, half, -1, KERNEL(part)(a, half, 0), a->ld, b, ldb, 1, below,
        ldb);
    KERNEL(solve_triangle)(&lower, rest, below, ldb, k);
}
