/* Kernels with LU factors: Note [LU] in lu.kernel.h. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/lu.kernel.c"
#include <math.h>
#include <string.h>

#include "ops/linalg/decomposition/lu.kernel.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/vmath.h"

enum { LOGARITHMS = 16 }; /* matrices whose logarithms are taken together */

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/lanes.kernel.h"
#include "ops/linalg/decomposition/loops/product.kernel.h"
#include "ops/linalg/decomposition/loops/triangular.kernel.h"

/* Factors several small matrices. */
static void KERNEL(factor_several)(const adzi_lu_args *args, int64_t first, int64_t matrices)
{
    const int64_t n = args->n;
    const KERNEL(group) g =
        KERNEL(group_of)((const elem *)(const void *)args->a + first * n * n, n * n, matrices);
    KERNEL(room) lu;
    elem pivots[LANE(ADZI_LANES_MOST)] __attribute__((aligned(64)));
    elem found[ADZI_MATRIX_LANES] __attribute__((aligned(64)));
    KERNEL(load_lanes)(lu, &g, n, n, n);
    for (int p = 0; p < KERNEL(parts); ++p) {
        ((KERNEL(lanes) *)found)[p] =
            KERNEL(factor_lanes)((KERNEL(lanes) *)lu + p, n, (KERNEL(lanes) *)pivots + p);
    }
    KERNEL(store_lanes)((elem *)(void *)args->lu + first * n * n, n * n, matrices, lu, n * n);
    for (int64_t l = 0; l < matrices; ++l) {
        args->found[first + l] = (int64_t)found[l];
        for (int64_t j = 0; j < n; ++j) {
            args->pivots[(first + l) * n + j] = (int64_t)pivots[LANE(j) + l];
        }
    }
}

void KERNEL(lu_factor)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_args *args = block;
    const int64_t n = args->n;
    for (int64_t item = begin, matrices; item < end; item += matrices) {
        matrices = KERNEL(matrices_together)(n, end - item);
        if (matrices > 1) {
            KERNEL(factor_several)(args, item, matrices);
            continue;
        }
        elem *a = KERNEL(copied_matrix)(args->lu, args->a, item, n);
        args->found[item] = KERNEL(factor_lu)(a, n, n, n, args->pivots + item * n);
    }
}

/* The first k columns have all exchanges. The columns to the right of them, if any, are only
 * rows of U: they follow the exchanges and are solved. */
void KERNEL(lu_factor_in_place)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_in_place_args *args = block;
    const int64_t m = args->m, n = args->n, k = m < n ? m : n;
    for (int64_t item = begin; item < end; ++item) {
        elem *a = (elem *)(void *)args->lu + item * m * n;
        int64_t *pivots = args->pivots + item * k;
        KERNEL(factor_lu)(a, n, m, k, pivots);
        if (n > k) {
            for (int64_t j = 0; j < k; ++j) {
                KERNEL(swap_rows)(a + k, n, j, pivots[j], n - k);
            }
            const KERNEL(triangle) l = { a, n, false, false, true };
            KERNEL(solve_triangle)(&l, k, a + k, n, n - k);
        }
    }
}

/* The exchanges of several matrices: row i of P b is row order[i] of b. */
typedef int KERNEL(orders)[ADZI_MATRIX_LANES][ADZI_LANES_MOST];

static void KERNEL(order_of)(const int64_t *pivots, int64_t n, int *order)
{
    for (int64_t i = 0; i < n; ++i) {
        order[i] = (int)i;
    }
    for (int64_t i = 0; i < n; ++i) {
        const int t = order[i];
        order[i] = order[pivots[i]];
        order[pivots[i]] = t;
    }
}

/* Loads the right-hand sides of several matrices, with the rows exchanged as P does. */
static inline void KERNEL(load_right)(elem *restrict to, const adzi_lu_solve_args *args,
    int64_t first, int64_t matrices, KERNEL(orders) at)
{
    const int64_t n = args->n, k = args->k;
    const elem *x = (const elem *)(const void *)args->x + first * n * k;
    if (args->transposed) {
        const KERNEL(group) g = KERNEL(group_of)(x, n * k, matrices);
        KERNEL(load_lanes)(to, &g, n, k, k);
        return;
    }
    if (args->identity) {
        memset(to, 0, (size_t)LANE(n * k) * sizeof *to);
    }
    for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
        const elem *from = x + (l < matrices ? l : matrices - 1) * n * k;
        for (int64_t i = 0; i < n; ++i) {
            if (args->identity) {
                to[LANE(i * k + at[l][i]) + l] = 1;
                continue;
            }
            for (int64_t c = 0; c < k; ++c) {
                to[LANE(i * k + c) + l] = from[at[l][i] * k + c];
            }
        }
    }
}

/* Writes the solutions of several matrices, with the rows exchanged as the transpose of P does. */
static inline void KERNEL(store_solutions)(const adzi_lu_solve_args *args, int64_t first,
    int64_t matrices, const elem *from, KERNEL(orders) at)
{
    const int64_t n = args->n, k = args->k;
    elem *x = (elem *)(void *)args->x + first * n * k;
    if (!args->transposed) {
        KERNEL(store_lanes)(x, n * k, matrices, from, n * k);
        return;
    }
    for (int64_t l = 0; l < matrices; ++l) {
        for (int64_t i = 0; i < n; ++i) {
            for (int64_t c = 0; c < k; ++c) {
                x[l * n * k + at[l][i] * k + c] = from[LANE(i * k + c) + l];
            }
        }
    }
}

/* Solves for several small matrices. */
static void KERNEL(solve_several)(const adzi_lu_solve_args *args, int64_t first, int64_t matrices)
{
    const int64_t n = args->n, k = args->k;
    KERNEL(room) lu, b;
    KERNEL(orders) at;
    KERNEL(group) g;
    for (int l = 0; l < ADZI_MATRIX_LANES; ++l) {
        const int64_t of =
            adzi_batch_offset(&args->batch, first + (l < matrices ? l : matrices - 1));
        g.from[l] = (const elem *)(const void *)args->lu + of * n * n;
        KERNEL(order_of)(args->pivots + of * n, n, at[l]);
    }
    KERNEL(load_lanes)(lu, &g, n, n, n);
    KERNEL(load_right)(b, args, first, matrices, at);
    for (int p = 0; p < KERNEL(parts); ++p) {
        KERNEL(lanes) *t = (KERNEL(lanes) *)lu + p, *y = (KERNEL(lanes) *)b + p;
        KERNEL(solve_lanes)(t, n, args->transposed, false, !args->transposed, y, k);
        KERNEL(solve_lanes)(t, n, args->transposed, true, args->transposed, y, k);
    }
    KERNEL(store_solutions)(args, first, matrices, b, at);
}

/* x[n, n] = L^-1 of a lower triangle, by halves; x holds the identity. */
static void KERNEL(invert_lower)(const KERNEL(triangle) * l, int64_t n, elem *x, int64_t ldx)
{
    if (n <= KERNEL(triangle_block)) {
        KERNEL(solve_triangle)(l, n, x, ldx, n);
        return;
    }
    const int64_t half = KERNEL(half)(n), rest = n - half;
    KERNEL(triangle) last = *l;
    last.t = KERNEL(part)(l, half, half);
    elem *below = x + half * ldx;
    KERNEL(invert_lower)(l, half, x, ldx);
    KERNEL(product)
    (false, false, rest, half, half, -1, KERNEL(part)(l, half, 0), l->ld, x, ldx, 1, below, ldx);
    KERNEL(solve_triangle)(&last, rest, below, ldx, half);
    KERNEL(invert_lower)(&last, rest, below + half, ldx);
}

/* x = U^-1 L^-1 P. The exchanges come last, so that zeros of L^-1 need no work. */
static void KERNEL(invert)(const KERNEL(triangle) * l, const KERNEL(triangle) * u, int64_t n,
    const int64_t *pivots, elem *x)
{
    memset(x, 0, (size_t)(n * n) * sizeof *x);
    for (int64_t i = 0; i < n; ++i) {
        x[i * n + i] = 1;
    }
    KERNEL(invert_lower)(l, n, x, n);
    KERNEL(solve_triangle)(u, n, x, n, n);
    for (elem *row = x; row < x + n * n; row += n) {
        for (int64_t i = n - 1; i >= 0; --i) {
            const elem e = row[i];
            row[i] = row[pivots[i]];
            row[pivots[i]] = e;
        }
    }
}

void KERNEL(lu_solve)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_solve_args *args = block;
    const int64_t n = args->n, k = args->k;
    const bool small = n <= ADZI_LANES_MOST && k <= ADZI_LANES_MOST;
    for (int64_t item = begin, matrices; item < end; item += matrices) {
        matrices = small ? adzi_lanes_of(end - item, ADZI_MATRIX_LANES) : 1;
        if (matrices > 1) {
            KERNEL(solve_several)(args, item, matrices);
            continue;
        }
        const int64_t of = adzi_batch_offset(&args->batch, item);
        const elem *lu = (const elem *)(const void *)args->lu + of * n * n;
        const int64_t *pivots = args->pivots + of * n;
        elem *x = (elem *)(void *)args->x + item * n * k;
        const KERNEL(triangle) l = { lu, n, args->transposed, args->transposed, true };
        const KERNEL(triangle) u = { lu, n, args->transposed, !args->transposed, false };
        if (args->identity) {
            KERNEL(invert)(&l, &u, n, pivots, x);
            continue;
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

/* The product of the pivots, with the sign of the exchanges, is result 2^exponent. As long as no
 * partial product comes near an end of the range, the exponent is 0. Otherwise each partial product
 * is brought to a size of about 1, because the last one may be in the range again. */
static elem KERNEL(product_of_pivots)(
    const elem *lu, const int64_t *pivots, int64_t n, int64_t *exponent)
{
    const double least = ELEM_IS_F32 ? 0x1p-100 : 0x1p-900, most = 1 / least;
    elem det = 1;
    *exponent = 0;
    bool usual = true;
    for (int64_t i = 0; i < n; ++i) {
        det *= pivots[i] != i ? -lu[i * n + i] : lu[i * n + i];
        const double size = fabs((double)det);
        usual = usual & (size > least) & (size < most);
    }
    if (usual) {
        return det;
    }
    det = 1;
    for (int64_t i = 0; i < n; ++i) {
        const double u = (double)(pivots[i] != i ? -lu[i * n + i] : lu[i * n + i]);
        int of_pivot = 0, of_product = 0;
        det *= ELEM(frexp(u, &of_pivot));
        det = ELEM(frexp((double)det, &of_product));
        *exponent += (fabs(u) < (double)INFINITY ? of_pivot : 0) + of_product;
    }
    return det;
}

/* x 2^exponent, rounded once. */
static elem KERNEL(with_exponent)(elem x, int64_t exponent)
{
    const int64_t e = exponent < -5000 ? -5000 : exponent > 5000 ? 5000 : exponent;
    return e == 0 ? x : ELEM(ldexp((double)x, (int)e));
}

/* The product of the pivots of one matrix, which may overflow itself: its sign, and two parts of
 * the logarithm of its size. What stays far from the ends of the range is multiplied. */
static inline elem KERNEL(parts_of_log)(
    const elem *lu, const int64_t *pivots, int64_t n, double *sum, double *product)
{
    /* Usually no product of pivots comes near an end of the range. */
    bool usual = n <= ADZI_LU_ALONE, negative = false;
    *sum = 0;
    *product = 1;
    for (int64_t i = 0; i < n && usual; ++i) {
        const double u = (double)lu[i * n + i], size = fabs(u);
        usual = (size > 0x1p-25) & (size < 0x1p25);
        negative ^= (u < 0) ^ (pivots[i] != i);
        *product *= size;
    }
    if (usual) {
        return negative ? -ELEM(1) : ELEM(1);
    }
    elem sign = 1;
    *product = 1;
    for (int64_t i = 0; i < n; ++i) {
        const elem u = lu[i * n + i];
        const double size = fabs((double)u), next = *product * size;
        sign *= (pivots[i] != i ? -ELEM(1) : ELEM(1)) * (u > 0 ? ELEM(1) : u < 0 ? -ELEM(1) : u);
        if (size > 0x1p-400 && size < 0x1p400 && next > 0x1p-400 && next < 0x1p400) {
            *product = next;
        } else {
            *sum += adzi_log_f64(size);
        }
    }
    return sign;
}

/* Signs and logarithms of determinants. Several logarithms at a time are vectors. */
static void KERNEL(write_logs)(const adzi_lu_determinant_args *args, int64_t begin, int64_t end)
{
    const int64_t n = args->n;
    elem *sign = (elem *)(void *)args->sign, *logabs = (elem *)(void *)args->logabs;
    for (int64_t first = begin; first < end; first += LOGARITHMS) {
        const int64_t matrices = end - first < LOGARITHMS ? end - first : LOGARITHMS;
        double sum[LOGARITHMS] = { 0 }, product[LOGARITHMS] = { 0 };
        for (int64_t l = 0; l < matrices; ++l) {
            const elem *lu = (const elem *)(const void *)args->lu + (first + l) * n * n;
            sign[first + l] =
                KERNEL(parts_of_log)(lu, args->pivots + (first + l) * n, n, sum + l, product + l);
        }
        for (int64_t l = 0; l < LOGARITHMS; ++l) {
            sum[l] += adzi_log_f64(product[l]);
        }
        for (int64_t l = 0; l < matrices; ++l) {
            logabs[first + l] = ELEM(sum[l]);
        }
    }
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

#undef LEAST
#define LEAST (ELEM_IS_F32 ? 0x1p-126 : 0x1p-1022) /* the least normal number */

/* The determinants of factors. */
static void KERNEL(determinants)(const adzi_lu_determinant_args *args, int64_t begin, int64_t end)
{
    const int64_t n = args->n;
    if (args->det == NULL) {
        KERNEL(write_logs)(args, begin, end);
        return;
    }
    for (int64_t item = begin; item < end; ++item) {
        elem *lu = (elem *)(void *)args->lu + item * n * n;
        const int64_t *pivots = args->pivots + item * n;
        int64_t exponent;
        elem product = KERNEL(product_of_pivots)(lu, pivots, n, &exponent);
        const elem det = KERNEL(with_exponent)(product, exponent);
        ((elem *)(void *)args->det)[item] = det;
        if (args->parts == NULL) {
            continue;
        }
        if (product == 0) {
            KERNEL(fill_pivots)(lu, n);
            product = KERNEL(product_of_pivots)(lu, pivots, n, &exponent);
        }
        int more = 0;
        product = ELEM(frexp((double)product, &more));
        exponent += more;
        elem *parts = (elem *)(void *)args->parts + 2 * item;
        const double size = fabs((double)det);
        parts[0] = size >= LEAST && size < (double)INFINITY ? 0 : product;
        if (size > 0 && size < LEAST) { /* denormal: what rounding has taken */
            parts[0] -= KERNEL(with_exponent)(det, -exponent);
        }
        parts[1] = (elem)exponent;
    }
}

/* An array of elements from item `first` on; NULL stays NULL. */
static char *KERNEL(from_item)(char *array, int64_t first)
{
    return array != NULL ? array + first * (int64_t)sizeof(elem) : NULL;
}

void KERNEL(lu_determinant)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lu_determinant_args *args = block;
    if (args->pivots != NULL) {
        KERNEL(determinants)(args, begin, end);
        return;
    }
    /* Factors of some matrices stay in the first-level cache, where the determinants read them. */
    elem lu[LOGARITHMS * ADZI_LU_ALONE * ADZI_LU_ALONE] __attribute__((aligned(64)));
    int64_t pivots[LOGARITHMS * ADZI_LU_ALONE], found[LOGARITHMS];
    for (int64_t first = begin; first < end; first += LOGARITHMS) {
        const int64_t matrices = end - first < LOGARITHMS ? end - first : LOGARITHMS;
        const adzi_lu_args factor = { KERNEL(from_item)(args->lu, first * args->n * args->n),
            (char *)lu, pivots, found, args->n };
        KERNEL(lu_factor)(&factor, 0, matrices);
        const adzi_lu_determinant_args rest = { .lu = (char *)lu,
            .pivots = pivots,
            .n = args->n,
            .det = KERNEL(from_item)(args->det, first),
            .sign = KERNEL(from_item)(args->sign, first),
            .logabs = KERNEL(from_item)(args->logabs, first) };
        KERNEL(determinants)(&rest, 0, matrices);
    }
}

#endif
