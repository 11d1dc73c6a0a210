/* Kernels with LU factors: Note [LU] in lu.kernel.h. */
#ifndef elem
#define THIS_FILE "autograd/ops/decomposition/lu.kernel.c"
#include <math.h>

#include "autograd/ops/decomposition/lu.kernel.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/vmath.h"

#include "tensor/kernel/each_float.h"
#else
#include "autograd/ops/decomposition/lu_loops.kernel.h"

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
        sum += adzi_log_f64(fabs((double)u));
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
