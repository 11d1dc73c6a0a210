/* Kernels with LU factors: Note [LU] in lu.kernel.h. */
#ifndef elem
#define THIS_FILE "autograd/ops/decomposition/lu.kernel.c"
#include <math.h>

#include "autograd/ops/decomposition/lu.kernel.h"
#include "tensor/gemm/gemm.h"

enum { LU_PANEL = 16 }; /* columns that are factored without a product */

#include "tensor/kernel/each_float.h"
#else
#include "autograd/ops/decomposition/triangular.kernel.h"

static void KERNEL(swap_rows)(elem *a, int64_t ld, int64_t i, int64_t j, int64_t columns)
{
    elem *restrict p = a + i * ld, *restrict q = a + j * ld;
    for (int64_t c = 0; c < columns && i != j; ++c) {
        const elem t = p[c];
        p[c] = q[c];
        q[c] = t;
    }
}

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

/* Factors a[rows, n], n <= rows: the left half of the columns, then the right one with what the
 * left half takes from it. Halves keep the products large. */
static int64_t KERNEL(factor_lu)(elem *a, int64_t ld, int64_t rows, int64_t n, int64_t *pivots)
{
    if (n <= LU_PANEL) {
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

void KERNEL(lu_factor)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_args *args = block;
    const int64_t n = args->n;
    for (int64_t item = begin; item < end; ++item) {
        elem *a = (elem *)(void *)args->lu + item * n * n;
        args->found[item] = KERNEL(factor_lu)(a, n, n, n, args->pivots + item * n);
    }
}

void KERNEL(lu_solve)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_solve_args *args = block;
    const int64_t n = args->n, k = args->k;
    for (int64_t item = begin; item < end; ++item) {
        const int64_t of = adzi_lead_offset(&args->lead, item);
        const elem *lu = (const elem *)(const void *)args->lu + of * n * n;
        const int64_t *pivots = args->pivots + of * n;
        elem *x = (elem *)(void *)args->x + item * n * k;
        const KERNEL(triangle) l = { lu, n, args->transposed, args->transposed, true };
        const KERNEL(triangle) u = { lu, n, args->transposed, !args->transposed, false };
        for (int64_t i = 0; i < n * k && args->identity; ++i) {
            x[i] = i % (n + 1) == 0;
        }
        if (args->transposed) {
            KERNEL(solve_triangle)(&u, n, x, k, k);
            KERNEL(solve_triangle)(&l, n, x, k, k);
            for (int64_t i = n - 1; i >= 0; --i) {
                KERNEL(swap_rows)(x, k, i, pivots[i], k);
            }
            continue;
        }
        for (int64_t i = 0; i < n; ++i) {
            KERNEL(swap_rows)(x, k, i, pivots[i], k);
        }
        KERNEL(solve_triangle)(&l, n, x, k, k);
        KERNEL(solve_triangle)(&u, n, x, k, k);
    }
}

/* The product of the pivots, with the sign of the exchanges. */
static elem KERNEL(product_of_pivots)(const elem *lu, const int64_t *pivots, int64_t n)
{
    elem det = 1;
    for (int64_t i = 0; i < n; ++i) {
        det *= pivots[i] != i ? -lu[i * n + i] : lu[i * n + i];
    }
    return det;
}

/* Sign and logarithm of the size of the product of the pivots, which may overflow itself. */
static void KERNEL(write_log)(
    const elem *lu, const int64_t *pivots, int64_t n, elem *sign, elem *logabs)
{
    double sum = 0;
    elem s = 1;
    for (int64_t i = 0; i < n; ++i) {
        const elem u = lu[i * n + i];
        sum += log(fabs((double)u));
        s *= (pivots[i] != i ? -ELEM(1) : ELEM(1)) * (u > 0 ? ELEM(1) : u < 0 ? -ELEM(1) : u);
    }
    *sign = s;
    *logabs = ELEM(sum);
}

/* Puts a small number in place of each pivot that is 0. */
static void KERNEL(fill_pivots)(elem *lu, int64_t n)
{
    elem most = 0;
    for (int64_t i = 0; i < n; ++i) {
        const elem size = ELEM(fabs((double)lu[i * n + i]));
        most = size > most ? size : most;
    }
    const elem small = (most > 0 ? most : 1) * (ELEM_IS_F32 ? ELEM(0x1p-23) : ELEM(0x1p-52));
    for (int64_t i = 0; i < n; ++i) {
        lu[i * n + i] = lu[i * n + i] == 0 ? small : lu[i * n + i];
    }
}

void KERNEL(lu_determinant)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_determinant_args *args = block;
    const int64_t n = args->n;
    for (int64_t item = begin; item < end; ++item) {
        elem *lu = (elem *)(void *)args->lu + item * n * n;
        const int64_t *pivots = args->pivots + item * n;
        if (args->det == NULL) {
            KERNEL(write_log)
            (lu, pivots, n, (elem *)(void *)args->sign + item, (elem *)(void *)args->logabs + item);
            continue;
        }
        const elem det = KERNEL(product_of_pivots)(lu, pivots, n);
        ((elem *)(void *)args->det)[item] = det;
        KERNEL(fill_pivots)(lu, n);
        ((elem *)(void *)args->missing)[item] =
            det == 0 ? KERNEL(product_of_pivots)(lu, pivots, n) : 0;
    }
}

#endif
