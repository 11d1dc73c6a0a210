/* Kernel of cholesky.
 *
 * The upper factor U of A = U^T U is computed by blocks of rows: a product takes the rows above
 * from a block, the block on the diagonal is factored, and a triangular solve finishes its rows. A
 * lower factor is the transpose of U, so rows are contiguous in both cases. */
#ifndef elem
#define THIS_FILE "autograd/ops/decomposition/cholesky.kernel.c"
#include <math.h>

#include "autograd/ops/decomposition/cholesky.kernel.h"
#include "tensor/gemm/gemm.h"

enum { CHOLESKY_BLOCK = 48 };

#include "tensor/kernel/each_float.h"
#else
#include "autograd/ops/decomposition/triangular.kernel.h"

/* Factors a block on the diagonal. Returns the first pivot that is not positive, counted from 1, or
 * 0. NaN is not positive. */
static int64_t KERNEL(factor_block)(elem *a, int64_t ld, int64_t n)
{
    for (int64_t j = 0; j < n; ++j) {
        const elem pivot = a[j * ld + j];
        if (!(pivot > 0) ||
            pivot > (ELEM_IS_F32 ? ELEM(3.4028234e38) : ELEM(1.7976931348623157e308))) {
            return j + 1;
        }
        const elem d = ELEM(sqrt((double)pivot));
        elem *row = a + j * ld;
        row[j] = d;
        for (int64_t c = j + 1; c < n; ++c) {
            row[c] /= d;
        }
        for (int64_t i = j + 1; i < n; ++i) {
            const elem factor = row[i];
            for (int64_t c = i; c < n; ++c) {
                a[i * ld + c] -= factor * row[c];
            }
        }
    }
    return 0;
}

static int64_t KERNEL(factor)(elem *a, int64_t n)
{
    for (int64_t first = 0, rows; first < n; first += rows) {
        rows = n - first < CHOLESKY_BLOCK ? n - first : CHOLESKY_BLOCK;
        elem *block = a + first * n + first;
        KERNEL(product)
        (true, false, rows, n - first, first, -1, a + first, n, a + first, n, 1, block, n);
        const int64_t found = KERNEL(factor_block)(block, n, rows);
        if (found != 0) {
            return first + found;
        }
        const KERNEL(triangle) u = { block, n, true, false, false };
        KERNEL(solve_triangle)(&u, rows, block + rows, n, n - first - rows);
    }
    return 0;
}

/* Exchanges the triangles, and clears the lower one of the result, or the upper one. */
static void KERNEL(mirror)(elem *a, int64_t n, bool clear)
{
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j < i; ++j) {
            const elem below = a[i * n + j];
            a[i * n + j] = a[j * n + i];
            a[j * n + i] = clear ? 0 : below;
        }
    }
}

void KERNEL(cholesky)(const void *block, int64_t begin, int64_t end)
{
    const adzi_cholesky_args *args = block;
    const int64_t n = args->n;
    for (int64_t item = begin; item < end; ++item) {
        elem *a = (elem *)(void *)args->y + item * n * n;
        if (!args->upper) {
            KERNEL(mirror)(a, n, false);
        }
        args->found[item] = KERNEL(factor)(a, n);
        if (!args->upper) {
            KERNEL(mirror)(a, n, true);
            continue;
        }
        for (int64_t i = 1; i < n; ++i) {
            for (int64_t j = 0; j < i; ++j) {
                a[i * n + j] = 0;
            }
        }
    }
}

#endif
