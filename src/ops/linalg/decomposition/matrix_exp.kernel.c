/* Kernel of matrix_exp: scaling and squaring.
 *
 *     exp(A) = (exp(A / 2^s))^(2^s),   exp(X) = (V - U)^-1 (V + U),
 *
 * where V and U are the even and the odd terms of a Pade approximant, of degree 13 for f64 and 7
 * for f32. s is the least for which the norm of X is below the bound of Higham (2005), at which the
 * approximant is exact to rounding. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/matrix_exp.kernel.c"
#include <math.h>
#include <string.h>

#include "ops/linalg/decomposition/matrix_exp.kernel.h"
#include "tensor/gemm/gemm.h"

#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/product.kernel.h"
#include "ops/linalg/decomposition/loops/triangular.kernel.h"

static const double KERNEL(pade)[] = {
#if ELEM_IS_F32
    17297280, 8648640, 1995840, 277200, 25200, 1512, 56, 1
#else
    64764752532480000, 32382376266240000, 7771770303897600, 1187353796428800, 129060195264000,
    10559470521600, 670442572800, 33522128640, 1323241920, 40840800, 960960, 16380, 182, 1
#endif
};

/* to = alpha a b, all n x n. */
static void KERNEL(multiply)(int64_t n, const elem *a, const elem *b, elem *to)
{
    KERNEL(product)(false, false, n, n, n, 1, a, n, b, n, 0, to, n);
}

/* The number of halvings, and the scaled matrix. */
static int KERNEL(scale)(int64_t n, const elem *a, elem *to)
{
    const double bound = ELEM_IS_F32 ? 3.925724783138660 : 5.371920351148152;
    double norm = 0;
    for (int64_t i = 0; i < n; ++i) {
        double sum = 0;
        for (int64_t j = 0; j < n; ++j) {
            sum += fabs((double)a[i * n + j]);
        }
        norm = sum > norm ? sum : norm;
    }
    int s = 0;
    if (norm > bound && norm < (double)INFINITY) {
        frexp(norm / bound, &s);
    }
    const double factor = ldexp(1, -s);
    for (int64_t i = 0; i < n * n; ++i) {
        to[i] = ELEM((double)a[i] * factor);
    }
    return s;
}

/* to = c[0] I + c[2] A^2 + c[4] A^4 + c[6] A^6, added to what `to` holds if `more` is set. */
static void KERNEL(polynomial)(
    int64_t n, const double *c, bool identity, elem *const *powers, bool more, elem *to)
{
    const elem c2 = ELEM(c[2]), c4 = ELEM(c[4]), c6 = ELEM(c[6]);
    const elem *a2 = powers[0], *a4 = powers[1], *a6 = powers[2];
    for (int64_t i = 0; i < n * n; ++i) {
        const elem sum = c2 * a2[i] + c4 * a4[i] + c6 * a6[i];
        to[i] = more ? to[i] + sum : sum;
    }
    for (int64_t i = 0; i < n && identity; ++i) {
        to[i * (n + 1)] += ELEM(c[0]);
    }
}

/* The terms with even numbers from `first` on: those of V (0), or of U / A (1). */
static void KERNEL(terms)(int64_t n, int first, elem *const *powers, elem *work, elem *to)
{
    const double *c = KERNEL(pade) + first;
#if !ELEM_IS_F32
    KERNEL(polynomial)(n, c + 6, false, powers, false, work);
    KERNEL(multiply)(n, powers[2], work, to);
#else
    (void)work;
#endif
    KERNEL(polynomial)(n, c, true, powers, !ELEM_IS_F32, to);
}

static void KERNEL(exp_of)(int64_t n, const elem *a, elem *y, elem *memory)
{
    elem *x = memory, *u = x + n * n, *v = u + n * n, *work = v + n * n;
    elem *powers[3] = { work + n * n, work + 2 * n * n, work + 3 * n * n };
    int64_t *pivots = (int64_t *)(void *)(memory + (ADZI_EXP_MATRICES * n * n + 15) / 16 * 16);
    const int s = KERNEL(scale)(n, a, x);
    KERNEL(multiply)(n, x, x, powers[0]);
    KERNEL(multiply)(n, powers[0], powers[0], powers[1]);
    KERNEL(multiply)(n, powers[0], powers[1], powers[2]);
    KERNEL(terms)(n, 0, powers, work, v);
    KERNEL(terms)(n, 1, powers, u, y);
    KERNEL(multiply)(n, x, y, u);
    for (int64_t i = 0; i < n * n; ++i) {
        y[i] = v[i] + u[i];
        v[i] -= u[i];
    }
    KERNEL(factor_lu)(v, n, n, n, pivots);
    const KERNEL(triangle) l = { v, n, false, false, true }, r = { v, n, false, true, false };
    for (int64_t i = 0; i < n; ++i) {
        KERNEL(swap_rows)(y, n, i, pivots[i], n);
    }
    KERNEL(solve_triangle)(&l, n, y, n, n);
    KERNEL(solve_triangle)(&r, n, y, n, n);
    for (int i = 0; i < s; ++i) {
        memcpy(work, y, (size_t)(n * n) * sizeof *y);
        KERNEL(multiply)(n, work, work, y);
    }
}

void KERNEL(matrix_exp)(const void *block, int64_t begin, int64_t end)
{
    const adzi_matrix_exp_args *args = block;
    const int64_t n = args->n;
    for (int64_t worker = begin; worker < end; ++worker) {
        elem *memory = adzi_worker_memory(&args->workers, worker);
        const int64_t last = adzi_worker_begin(&args->workers, worker + 1);
        for (int64_t item = adzi_worker_begin(&args->workers, worker); item < last; ++item) {
            KERNEL(exp_of)
            (n, (const elem *)(const void *)args->a + item * n * n,
                (elem *)(void *)args->y + item * n * n, memory);
        }
    }
}

#endif
