/* Systems with a triangular matrix, and LU factors, of one item. The kernels that call them do so
 * at their own level: loops/triangular.kernel.h.
 *
 * Sums run in the order of the shape. The bits depend on neither threads nor the batch. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/triangular.kernel.c"
#include <math.h>
#include <stdbool.h>

#include "tensor/gemm/gemm.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/product.kernel.h"
#include "ops/linalg/decomposition/loops/triangular.kernel.h"

enum { KERNEL(chunk) = 128 }; /* columns of B at a time: a block of them stays in the cache */

static inline elem KERNEL(at)(const KERNEL(triangle) * a, int64_t i, int64_t j)
{
    return a->transposed ? a->t[j * a->ld + i] : a->t[i * a->ld + j];
}

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

/* By halves of the rows: a product takes the half that is solved from the other one. Halves keep
 * the products large. */
void KERNEL(solve_triangle)(const KERNEL(triangle) * a, int64_t n, elem *b, int64_t ldb, int64_t k)
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

enum { KERNEL(lu_panel) = 16 }; /* columns that are factored without a product */

/* Factors a panel of few columns, a[rows, n] with n <= rows. Returns the first pivot that is 0,
 * counted from 1, or 0. */
static int64_t KERNEL(factor_panel)(elem *a, int64_t ld, int64_t rows, int64_t n, int64_t *pivots)
{
    int64_t found = 0;
    for (int64_t j = 0; j < n; ++j) {
        int64_t p = j;
        elem most = ELEM(fabs((double)a[j * ld + j]));
        for (int64_t i = j + 1; i < rows; ++i) {
            const elem size = ELEM(fabs((double)a[i * ld + j]));
            if (size > most) {
                most = size;
                p = i;
            }
        }
        pivots[j] = p;
        KERNEL(swap_rows)(a, ld, j, p, n);
        const elem *restrict top = a + j * ld;
        const elem pivot = top[j];
        if (pivot == 0) {
            found = found != 0 ? found : j + 1;
            continue;
        }
        for (int64_t i = j + 1; i < rows; ++i) {
            elem *restrict row = a + i * ld;
            const elem factor = row[j] / pivot;
            row[j] = factor;
            for (int64_t c = j + 1; c < n; ++c) {
                row[c] -= factor * top[c];
            }
        }
    }
    return found;
}

/* The left half of the columns, then the right one with what the left half takes from it. Halves
 * keep the products large. */
int64_t KERNEL(factor_lu)(elem *a, int64_t ld, int64_t rows, int64_t n, int64_t *pivots)
{
    if (n <= KERNEL(lu_panel)) {
        return KERNEL(factor_panel)(a, ld, rows, n, pivots);
    }
    const int64_t left = n / 2, right = n - left;
    elem *b = a + left, *below = a + left * ld, *rest = below + left;
    const int64_t first = KERNEL(factor_lu)(a, ld, rows, left, pivots);
    for (int64_t j = 0; j < left; ++j) {
        KERNEL(swap_rows)(b, ld, j, pivots[j], right);
    }
    const KERNEL(triangle) l = { a, ld, false, false, true };
    KERNEL(solve_triangle)(&l, left, b, ld, right);
    KERNEL(product)
    (false, false, rows - left, right, left, -1, below, ld, b, ld, 1, rest, ld);
    const int64_t second = KERNEL(factor_lu)(rest, ld, rows - left, right, pivots + left);
    for (int64_t j = left; j < n; ++j) {
        pivots[j] += left;
        KERNEL(swap_rows)(a, ld, j, pivots[j], left);
    }
    return first != 0 ? first : second != 0 ? left + second : 0;
}

#endif
