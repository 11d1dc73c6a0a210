/* Kernels of eigh: rotations for few rows; for more, divide and conquer of a tridiagonal
 * matrix.
 */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/eigh.kernel.c"
#include <math.h>
#include <string.h>

#include "ops/linalg/decomposition/jacobi.kernel.h"
#include "ops/linalg/decomposition/loops/room.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/real.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/product.kernel.h"
#include "ops/linalg/decomposition/loops/rotations.kernel.h"
#include "ops/linalg/decomposition/loops/wide.kernel.h"
#include "ops/linalg/decomposition/loops/bidiagonal.kernel.h"
#include "ops/linalg/decomposition/loops/tridiagonal.kernel.h"

/* Rotates the rows and the columns p < q of symmetric matrices, of which only the upper triangle is
 * kept. The element between the two becomes 0. */
static inline void KERNEL(turn)(
    const KERNEL(rotation) * r, elem *a, int64_t n, int64_t p, int64_t q, const int lanes)
{
    elem *rp = a + p * n * lanes, *rq = a + q * n * lanes;
    KERNEL(rotate)(r, a + p * lanes, n, a + q * lanes, n, p, lanes);
    KERNEL(rotate)
    (r, rp + (p + 1) * lanes, 1, a + ((p + 1) * n + q) * lanes, n, q - p - 1, lanes);
    KERNEL(rotate)(r, rp + (q + 1) * lanes, 1, rq + (q + 1) * lanes, 1, n - q - 1, lanes);
    for (int l = 0; l < lanes; ++l) {
        const elem moved = r->t[l] * rp[q * lanes + l];
        rp[p * lanes + l] -= moved;
        rq[q * lanes + l] += moved;
        rp[q * lanes + l] *= r->s[l] == 0; /* in lanes that have rotated */
    }
}

/* Makes the matrices diagonal. v gets their vectors as rows. */
static inline void KERNEL(diagonalise)(elem *a, elem *v, int64_t n, const int lanes)
{
    elem least[ADZI_JACOBI_LANES] = { 0 };
    for (int64_t i = 0; i < n * n; ++i) {
        for (int l = 0; l < lanes; ++l) {
            const elem e = a[i * lanes + l];
            least[l] += e * e;
            v[i * lanes + l] = i % (n + 1) == 0;
        }
    }
    for (int l = 0; l < lanes; ++l) {
        least[l] = KERNEL(root)(least[l]) * (ELEM_IS_F32 ? ELEM(0x1p-26) : ELEM(0x1p-55));
        least[l] /= (elem)n;
    }
    bool turned = true;
    for (int sweep = 0; sweep < ADZI_JACOBI_SWEEPS && turned; ++sweep) {
        turned = false;
        for (int64_t p = 0; p < n - 1; ++p) {
            for (int64_t q = p + 1; q < n; ++q) {
                KERNEL(rotation) r;
                elem *rp = a + p * n * lanes, *rq = a + q * n * lanes;
                if (!KERNEL(angles)(
                        &r, rp + p * lanes, rq + q * lanes, rp + q * lanes, least, lanes)) {
                    continue;
                }
                turned = true;
                KERNEL(turn)(&r, a, n, p, q, lanes);
                KERNEL(rotate)(&r, v + p * n * lanes, 1, v + q * n * lanes, 1, n, lanes);
            }
        }
    }
}

/* Loads the triangle of an item into a lane, scaled. Returns the factor. */
static double KERNEL(load)(const adzi_eigh_args *args, int64_t item, elem *to, int64_t step)
{
    const int64_t n = args->n;
    const elem *a = (const elem *)(const void *)args->a + item * n * n;
    bool finite;
    for (int64_t i = 0; i < n; ++i) {
        for (int64_t j = 0; j <= i; ++j) {
            const elem e = args->upper ? a[j * n + i] : a[i * n + j];
            to[(i * n + j) * step] = e;
            to[(j * n + i) * step] = e;
        }
    }
    const double factor = KERNEL(range)(to, n * n, step, &finite);
    for (int64_t i = 0; i < n * n; ++i) {
        to[i * step] = finite ? ELEM((double)to[i * step] * factor) : 0;
    }
    args->found[item] = !finite;
    return factor;
}

/* Writes values and vectors in ascending order. Vector i is row i of `v`; element j of it is `step`
 * elements after the one before. */
static void KERNEL(write)(const adzi_eigh_args *args, int64_t item, const elem *values,
    int64_t values_step, const elem *v, int64_t step, double factor, const int *order)
{
    const int64_t n = args->n;
    elem *w = (elem *)(void *)args->w + item * n, *to = (elem *)(void *)args->v + item * n * n;
    for (int64_t i = 0; i < n; ++i) {
        const elem *from = v + order[i] * n * step;
        const bool flip = KERNEL(is_negative)(from, n, step);
        w[i] = ELEM((double)values[order[i] * values_step] / factor);
        for (int64_t j = 0; j < n; ++j) {
            const elem e = from[j * step];
            to[j * n + i] = flip ? -e : e;
        }
    }
}

static inline void KERNEL(eigh_lanes)(
    const adzi_eigh_args *args, int64_t first, int64_t matrices, elem *memory, const int lanes)
{
    const int64_t n = args->n;
    elem *a = memory, *v = a + n * n * lanes;
    double factors[ADZI_JACOBI_LANES];
    for (int l = 0; l < lanes; ++l) {
        /* lanes without an item repeat the last one */
        factors[l] = KERNEL(load)(args, first + (l < matrices ? l : matrices - 1), a + l, lanes);
    }
    KERNEL(diagonalise)(a, v, n, lanes);
    for (int l = 0; l < matrices; ++l) {
        int order[ADZI_JACOBI_MOST];
        KERNEL(order)(a + l, n, (n + 1) * lanes, false, order);
        KERNEL(write)
        (args, first + l, a + l, (n + 1) * lanes, v + l, lanes, factors[l], order);
    }
}

JACOBI_KERNEL(eigh)

/* True if T - x is positive definite. */
static bool KERNEL(is_above)(const KERNEL(tridiagonal) * t, double x)
{
    double rest = t->d[0] - x;
    for (int64_t i = 1; i < t->n && rest > 0; ++i) {
        rest = t->d[i] - x - t->e[i - 1] * t->e[i - 1] / rest;
    }
    return rest > 0;
}

/* A number a little below the least eigenvalue of T, by bisection between Gershgorin's bounds. */
static double KERNEL(lower_bound)(const KERNEL(tridiagonal) * t)
{
    double low = (double)INFINITY, high = low, size = 0;
    for (int64_t i = 0; i < t->n; ++i) {
        const double left = i > 0 ? fabs(t->e[i - 1]) : 0;
        const double both = left + (i + 1 < t->n ? fabs(t->e[i]) : 0);
        low = fmin(low, t->d[i] - both);
        high = fmin(high, t->d[i]);
        size = fmax(size, fabs(t->d[i]) + both);
    }
    for (int step = 0; step < 12; ++step) {
        const double middle = low + (high - low) / 2;
        if (KERNEL(is_above)(t, middle)) {
            low = middle;
        } else {
            high = middle;
        }
    }
    return low - size * 0x1p-20;
}

/* The eigenvalues of a tridiagonal matrix T, and its vectors as rows of b->vt. T - x with an x
 * below the values is B^T B with an upper bidiagonal B. The right singular vectors of B are the
 * vectors of T, and the values of T are those of B, squared, plus x. */
static bool KERNEL(tridiagonal_values)(
    const KERNEL(tridiagonal) * t, const KERNEL(bidiagonal) * b, elem *values)
{
    const int64_t n = t->n;
    const double low = KERNEL(lower_bound)(t);
    double rest = t->d[0] - low;
    for (int64_t i = 0; i < n; ++i) {
        b->d[i] = sqrt(rest > 0 ? rest : 0);
        b->e[i] = i + 1 < n && b->d[i] > 0 ? t->e[i] / b->d[i] : 0;
        rest = i + 1 < n ? t->d[i + 1] - low - b->e[i] * b->e[i] : 0;
    }
    const bool good = KERNEL(divide)(b, 0, n, false);
    for (int64_t i = 0; i < n; ++i) {
        values[i] = ELEM(b->d[i] * b->d[i] + low);
    }
    return good;
}

static bool KERNEL(eigh_of)(const adzi_eigh_args *args, int64_t item, char *memory)
{
    const int64_t n = args->n, size = (int64_t)sizeof(elem), rows = 2 * ADZI_REFLECTORS;
    KERNEL(tridiagonal) t = { .a = adzi_take(&memory, n * n * size), .n = n };
    t.x = adzi_take(&memory, rows * n * size);
    t.y = adzi_take(&memory, rows * n * size);
    t.tau = adzi_take(&memory, n * size);
    elem *values = adzi_take(&memory, n * size);
    int *order = adzi_take(&memory, n * (int64_t)sizeof *order);
    KERNEL(reflectors) r = KERNEL(reflectors_of)(&memory, n);
    KERNEL(bidiagonal) b = KERNEL(bidiagonal_of)(&memory, n, false);
    t.d = b.gaps; /* not in use yet */
    t.e = b.gaps + n;
    const double factor = KERNEL(load)(args, item, t.a, 1);
    if (args->found[item] != 0) {
        return false;
    }
    KERNEL(tridiagonalise)(&t);
    if (!KERNEL(tridiagonal_values)(&t, &b, values)) {
        return false;
    }
    r.v = t.a;
    r.ld = n;
    r.tau = t.tau;
    r.count = n - 1;
    r.width = n;
    r.shift = 1;
    KERNEL(apply_reflectors)(&r, n, b.vt, n);
    KERNEL(order)(values, n, 1, false, order);
    KERNEL(write)(args, item, values, 1, b.vt, 1, factor, order);
    return true;
}

void KERNEL(eigh_large)(const void *block, int64_t begin, int64_t end)
{
    const adzi_eigh_args *args = block;
    for (int64_t worker = begin; worker < end; ++worker) {
        char *memory = adzi_worker_memory(&args->workers, worker);
        const int64_t last = adzi_worker_begin(&args->workers, worker + 1);
        for (int64_t i = adzi_worker_begin(&args->workers, worker); i < last; ++i) {
            args->found[i] = KERNEL(eigh_of)(args, i, memory) ? 0 : 1;
        }
    }
}

#endif
