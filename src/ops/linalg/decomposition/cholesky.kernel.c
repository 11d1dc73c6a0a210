/* Kernel of cholesky.
 *
 * The upper factor U of A = U^T U is computed by blocks of rows: a product takes the rows above
 * from a block, the block on the diagonal is factored, and a triangular solve finishes its rows. A
 * lower factor is the transpose of U, so rows are contiguous in both cases. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/cholesky.kernel.c"
#include <math.h>
#include <string.h>

#include "ops/linalg/decomposition/cholesky.kernel.h"
#include "tensor/gemm/gemm.h"

enum { CHOLESKY_BLOCK = 48 };

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/lanes.kernel.h"
#include "ops/linalg/decomposition/loops/product.kernel.h"
#include "ops/linalg/decomposition/loops/root.kernel.h"
#include "ops/linalg/decomposition/loops/triangular.kernel.h"

#define MOST (ELEM_IS_F32 ? ELEM(3.4028234e38) : ELEM(1.7976931348623157e308))

/* Factors a block on the diagonal. Returns the first pivot that is not positive, counted from 1, or
 * 0. NaN is not positive. */
static int64_t KERNEL(factor_block)(elem *a, int64_t ld, int64_t n)
{
    for (int64_t j = 0; j < n; ++j) {
        const elem pivot = a[j * ld + j];
        if (!(pivot > 0) || pivot > MOST) {
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
        if (first > 0) {
            KERNEL(product)
            (true, false, rows, n - first, first, -1, a + first, n, a + first, n, 1, block, n);
        }
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

/* factor_block in lanes; element (i, j) of U is i * row + j * column. A lane without a factor goes
 * on with numbers that nobody reads. */
static inline KERNEL(lanes)
    KERNEL(factor_block_lanes)(KERNEL(lanes) * a, int64_t n, int64_t row, int64_t column)
{
    const KERNEL(lanes) none = { 0 };
    KERNEL(lanes) found = none;
    for (int64_t j = 0; j < n; ++j) {
        KERNEL(lanes) root = AT(a, j * n + j), *from = &AT(a, j * row);
        const KERNEL(mask) good = (KERNEL(mask))((root > none) & (root <= none + MOST));
        found = KERNEL(pick)(~good & (KERNEL(mask))(found == none), none + (elem)(j + 1), found);
        root = KERNEL(pick)(good, root, none + 1);
        for (int l = 0; l < KERNEL(width); ++l) {
            root[l] = KERNEL(root)(root[l]);
        }
        AT(a, j * n + j) = root;
        for (int64_t c = j + 1; c < n; ++c) {
            AT(from, c * column) /= root;
            AT(a, j * column + c * row) = none;
        }
        for (int64_t i = j + 1; i < n; ++i) {
            KERNEL(lanes) *to = &AT(a, i * row);
            for (int64_t c = i; c < n; ++c) {
                AT(to, c * column) -= AT(from, i * column) * AT(from, c * column);
            }
        }
    }
    return found;
}

/* Factors several small matrices. */
static void KERNEL(factor_several)(const adzi_cholesky_args *args, int64_t first, int64_t matrices)
{
    const int64_t n = args->n, row = args->upper ? n : 1, column = args->upper ? 1 : n;
    const KERNEL(group) g =
        KERNEL(group_of)((const elem *)(const void *)args->a + first * n * n, n * n, matrices);
    KERNEL(room) lanes;
    elem found[ADZI_MATRIX_LANES] __attribute__((aligned(64)));
    KERNEL(load_lanes)(lanes, &g, n, n, n);
    for (int p = 0; p < KERNEL(parts); ++p) {
        ((KERNEL(lanes) *)found)[p] =
            KERNEL(factor_block_lanes)((KERNEL(lanes) *)lanes + p, n, row, column);
    }
    KERNEL(store_lanes)((elem *)(void *)args->y + first * n * n, n * n, matrices, lanes, n * n);
    for (int64_t l = 0; l < matrices; ++l) {
        args->found[first + l] = (int64_t)found[l];
    }
}

void KERNEL(cholesky)(const void *block, int64_t begin, int64_t end)
{
    const adzi_cholesky_args *args = block;
    const int64_t n = args->n;
    for (int64_t item = begin, matrices; item < end; item += matrices) {
        matrices = KERNEL(matrices_together)(n, end - item);
        if (matrices > 1) {
            KERNEL(factor_several)(args, item, matrices);
            continue;
        }
        elem *a = KERNEL(copied_matrix)(args->y, args->a, item, n);
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

#undef MOST
#endif
