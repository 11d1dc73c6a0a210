/* LU factors of one matrix: Note [LU] in lu.kernel.h. Included after the element type is known. */
#include "ops/linalg/decomposition/loops/triangular.kernel.h"

enum { KERNEL(lu_panel) = 16 }; /* columns that are factored without a product */

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
