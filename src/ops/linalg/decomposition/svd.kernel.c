/* Kernels of svd: one-sided rotations if a side is short; else divide and conquer of a
 * bidiagonal matrix.
 *
 * The columns of A (of A^T if it is wide) are rotated in pairs until all are orthogonal: A V = G.
 * Their norms are the singular values, and the columns divided by them are U. Columns are stored as
 * rows. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/svd.kernel.c"
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
#include "ops/linalg/decomposition/loops/bidiagonalise.kernel.h"

/* What the columns of several matrices are: g[k, big] and v[k, k], lanes side by side. */
typedef struct KERNEL(sides) {
    elem *g, *v;
    int64_t k, big;
} KERNEL(sides);

/* The rotations of columns p and q. Returns true if some lane rotates. */
static inline bool KERNEL(turn)(const KERNEL(sides) * of, int64_t p, int64_t q, const int lanes)
{
    elem pp[ADZI_JACOBI_LANES] = { 0 }, qq[ADZI_JACOBI_LANES] = { 0 };
    elem pq[ADZI_JACOBI_LANES] = { 0 }, least[ADZI_JACOBI_LANES] = { 0 };
    elem *x = of->g + p * of->big * lanes, *y = of->g + q * of->big * lanes;
    for (int64_t i = 0; i < of->big; ++i) {
        for (int l = 0; l < lanes; ++l) {
            const elem a = x[i * lanes + l], b = y[i * lanes + l];
            pp[l] += a * a;
            qq[l] += b * b;
            pq[l] += a * b;
        }
    }
    /* the cosine of two columns that count as orthogonal: rounding of a sum of `big` products */
    const elem few = (elem)(of->big < 16 ? 4 : of->big / 4);
    const elem cosine = few * (ELEM_IS_F32 ? ELEM(0x1p-23) : ELEM(0x1p-52));
    for (int l = 0; l < lanes; ++l) {
        least[l] = cosine * KERNEL(root)(pp[l]) * KERNEL(root)(qq[l]);
    }
    KERNEL(rotation) r;
    if (!KERNEL(angles)(&r, pp, qq, pq, least, lanes)) {
        return false;
    }
    KERNEL(rotate)(&r, x, 1, y, 1, of->big, lanes);
    KERNEL(rotate)(&r, of->v + p * of->k * lanes, 1, of->v + q * of->k * lanes, 1, of->k, lanes);
    return true;
}

static inline void KERNEL(orthogonalise)(const KERNEL(sides) * of, const int lanes)
{
    for (int64_t i = 0; i < of->k * of->k; ++i) {
        for (int l = 0; l < lanes; ++l) {
            of->v[i * lanes + l] = i % (of->k + 1) == 0;
        }
    }
    bool turned = true;
    for (int sweep = 0; sweep < ADZI_JACOBI_SWEEPS && turned; ++sweep) {
        turned = false;
        for (int64_t p = 0; p < of->k - 1; ++p) {
            for (int64_t q = p + 1; q < of->k; ++q) {
                turned |= KERNEL(turn)(of, p, q, lanes);
            }
        }
    }
}

/* Loads an item into a lane, scaled, its short side as columns. Returns the factor. */
static double KERNEL(load)(
    const adzi_svd_args *args, int64_t item, const KERNEL(sides) * of, int64_t lane, int64_t step)
{
    const int64_t m = args->m, n = args->n;
    const elem *a = (const elem *)(const void *)args->a + item * m * n;
    bool finite;
    const double factor = KERNEL(range)(a, m * n, 1, &finite);
    for (int64_t c = 0; c < of->k; ++c) {
        for (int64_t r = 0; r < of->big; ++r) {
            const double e = (double)(m >= n ? a[r * n + c] : a[c * n + r]);
            of->g[(c * of->big + r) * step + lane] = finite ? ELEM(e * factor) : 0;
        }
    }
    args->found[item] = !finite;
    return factor;
}

/* Takes from x its parts along the columns of u[rows, k] but `skip`. */
static void KERNEL(subtract_parts)(
    elem *x, const elem *u, int64_t rows, int64_t down, int64_t k, int64_t right, int64_t skip)
{
    for (int64_t c = 0; c < k; ++c) {
        double part = 0;
        for (int64_t r = 0; r < rows && c != skip; ++r) {
            part += (double)x[r * down] * (double)u[r * down + c * right];
        }
        for (int64_t r = 0; r < rows && c != skip; ++r) {
            x[r * down] = ELEM((double)x[r * down] - part * (double)u[r * down + c * right]);
        }
    }
}

/* Column c of u has no direction. It becomes the first unit vector that is far from the others,
 * made orthogonal to them. Columns that are not filled yet hold zeros. */
static void KERNEL(complete)(
    elem *u, int64_t rows, int64_t down, int64_t k, int64_t right, int64_t c)
{
    elem *x = u + c * right;
    for (int64_t unit = 0; unit < rows; ++unit) {
        double size = 0;
        for (int64_t r = 0; r < rows; ++r) {
            x[r * down] = r == unit;
        }
        KERNEL(subtract_parts)(x, u, rows, down, k, right, c);
        KERNEL(subtract_parts)(x, u, rows, down, k, right, c);
        for (int64_t r = 0; r < rows; ++r) {
            size += (double)x[r * down] * (double)x[r * down];
        }
        if (size * 2 * (double)rows < 1) {
            continue;
        }
        for (int64_t r = 0; r < rows; ++r) {
            x[r * down] = ELEM((double)x[r * down] / sqrt(size));
        }
        return;
    }
}

/* Makes the element of largest size of each column of u positive, by the signs of u and vh. */
static void KERNEL(fix_signs)(elem *u, elem *vh, int64_t m, int64_t n, int64_t k)
{
    for (int64_t i = 0; i < k; ++i) {
        if (!KERNEL(is_negative)(u + i, m, k)) {
            continue;
        }
        for (int64_t r = 0; r < m; ++r) {
            u[r * k + i] = -u[r * k + i];
        }
        for (int64_t c = 0; c < n; ++c) {
            vh[i * n + c] = -vh[i * n + c];
        }
    }
}

/* Writes the factors of one lane. The normed columns of G are those of u, or the rows of vh if the
 * matrix is wide; V is the other factor. */
static void KERNEL(write)(const adzi_svd_args *args, int64_t item, const KERNEL(sides) * of,
    int64_t lane, int64_t step, double factor)
{
    const int64_t m = args->m, n = args->n, k = of->k, big = of->big;
    elem *u = (elem *)(void *)args->u + item * m * k, *s = (elem *)(void *)args->s + item * k;
    elem *vh = (elem *)(void *)args->vh + item * k * n;
    const bool tall = m >= n;
    elem *const normed = tall ? u : vh, *const other = tall ? vh : u;
    const int64_t down = tall ? k : 1, right = tall ? 1 : n;
    elem norms[ADZI_JACOBI_MOST];
    int order[ADZI_JACOBI_MOST];
    for (int64_t c = 0; c < k; ++c) {
        double sum = 0;
        for (int64_t r = 0; r < big; ++r) {
            const double e = (double)of->g[(c * big + r) * step + lane];
            sum += e * e;
        }
        norms[c] = ELEM(sqrt(sum));
    }
    KERNEL(order)(norms, k, 1, true, order);
    for (int64_t i = 0; i < k; ++i) {
        const int64_t c = order[i];
        const bool none = (double)norms[c] < (ELEM_IS_F32 ? 1e-18 : 1e-145);
        s[i] = none ? 0 : ELEM((double)norms[c] / factor);
        for (int64_t r = 0; r < big; ++r) {
            const elem e = of->g[(c * big + r) * step + lane];
            normed[r * down + i * right] = none ? 0 : e / norms[c];
        }
        for (int64_t r = 0; r < k; ++r) {
            other[tall ? i * n + r : r * k + i] = of->v[(c * k + r) * step + lane];
        }
    }
    for (int64_t i = 0; i < k; ++i) {
        if (s[i] == 0) {
            KERNEL(complete)(normed, big, down, k, right, i);
        }
    }
    KERNEL(fix_signs)(u, vh, m, n, k);
}

static inline void KERNEL(svd_lanes)(
    const adzi_svd_args *args, int64_t first, int64_t matrices, elem *memory, const int lanes)
{
    const int64_t k = args->m < args->n ? args->m : args->n, big = args->m + args->n - k;
    const KERNEL(sides) of = { memory, memory + k * big * lanes, k, big };
    double factors[ADZI_JACOBI_LANES];
    for (int l = 0; l < lanes; ++l) {
        /* lanes without an item repeat the last one */
        factors[l] = KERNEL(load)(args, first + (l < matrices ? l : matrices - 1), &of, l, lanes);
    }
    KERNEL(orthogonalise)(&of, lanes);
    for (int l = 0; l < matrices; ++l) {
        KERNEL(write)(args, first + l, &of, l, lanes, factors[l]);
    }
}

JACOBI_KERNEL(svd)

/* Writes the rows x[k, n] in an order, or their transpose. */
static void KERNEL(write_rows)(
    const elem *x, int64_t k, int64_t n, const int *order, bool transposed, elem *to)
{
    enum { TILE = 16 };
    for (int64_t i = 0; i < k && !transposed; ++i) {
        memcpy(to + i * n, x + order[i] * n, (size_t)n * sizeof *x);
    }
    for (int64_t first = 0; first < k && transposed; first += TILE) {
        const int64_t last = first + TILE < k ? first + TILE : k;
        for (int64_t j = 0; j < n; ++j) {
            for (int64_t i = first; i < last; ++i) {
                to[j * k + i] = x[order[i] * n + j];
            }
        }
    }
}

/* Copies an item, scaled and tall: its longer side is the rows. Returns the factor, or 0 if an
 * element is not finite. */
static double KERNEL(load_tall)(const adzi_svd_args *args, int64_t item, elem *to)
{
    const int64_t m = args->m, n = args->n;
    const elem *a = (const elem *)(const void *)args->a + item * m * n;
    bool finite;
    const double factor = KERNEL(range)(a, m * n, 1, &finite);
    for (int64_t i = 0; i < m; ++i) {
        for (int64_t j = 0; j < n; ++j) {
            to[m >= n ? i * n + j : j * m + i] = ELEM((double)a[i * n + j] * factor);
        }
    }
    return finite ? factor : 0;
}

/* The vectors of A from those of its bidiagonal matrix: left[k, big] and b->vt[k, k], as rows. */
static void KERNEL(vectors_of)(const KERNEL(bidiagonaliser) * a, const KERNEL(bidiagonal) * b,
    KERNEL(reflectors) * r, elem *left)
{
    const int64_t k = a->n, big = a->m;
    for (int64_t i = 0; i < k; ++i) {
        memcpy(left + i * big, b->ut + i * k, (size_t)k * sizeof *left);
        memset(left + i * big + k, 0, (size_t)(big - k) * sizeof *left);
    }
    r->v = a->u;
    r->ld = r->width = big;
    r->tau = a->tau_u;
    r->count = k;
    r->shift = 0;
    KERNEL(apply_reflectors)(r, k, left, big);
    r->v = a->v;
    r->ld = r->width = k;
    r->tau = a->tau_v;
    r->count = k - 1;
    r->shift = 1;
    KERNEL(apply_reflectors)(r, k, b->vt, k);
}

static bool KERNEL(svd_of)(const adzi_svd_args *args, int64_t item, char *memory)
{
    const int64_t m = args->m, n = args->n, k = m < n ? m : n, big = m + n - k;
    const int64_t size = (int64_t)sizeof(elem), rows = 2 * ADZI_REFLECTORS;
    KERNEL(bidiagonaliser) a = { .a = adzi_take(&memory, big * k * size), .m = big, .n = k };
    a.u = adzi_take(&memory, big * k * size);
    elem *left = adzi_take(&memory, big * k * size), *values;
    a.v = adzi_take(&memory, k * k * size);
    a.left = adzi_take(&memory, rows * big * size);
    a.right = adzi_take(&memory, rows * big * size);
    a.tau_u = adzi_take(&memory, big * size);
    a.tau_v = adzi_take(&memory, big * size);
    values = adzi_take(&memory, big * size);
    int *order = adzi_take(&memory, k * (int64_t)sizeof *order);
    KERNEL(reflectors) r = KERNEL(reflectors_of)(&memory, big);
    KERNEL(bidiagonal) b = KERNEL(bidiagonal_of)(&memory, k, true);
    a.d = b.d;
    a.e = b.e;
    const double factor = KERNEL(load_tall)(args, item, a.a);
    if (factor == 0) {
        return false;
    }
    KERNEL(bidiagonalise)(&a);
    if (!KERNEL(divide)(&b, 0, k, false)) {
        return false;
    }
    KERNEL(vectors_of)(&a, &b, &r, left);
    for (int64_t i = 0; i < k; ++i) {
        values[i] = ELEM(b.d[i] / factor);
    }
    KERNEL(order)(values, k, 1, true, order);
    elem *u = (elem *)(void *)args->u + item * m * k, *s = (elem *)(void *)args->s + item * k;
    elem *vh = (elem *)(void *)args->vh + item * k * n;
    for (int64_t i = 0; i < k; ++i) {
        s[i] = values[order[i]];
    }
    KERNEL(write_rows)(m >= n ? left : b.vt, k, m, order, true, u);
    KERNEL(write_rows)(m >= n ? b.vt : left, k, n, order, false, vh);
    KERNEL(fix_signs)(u, vh, m, n, k);
    return true;
}

void KERNEL(svd_large)(const void *block, int64_t begin, int64_t end)
{
    const adzi_svd_args *args = block;
    for (int64_t worker = begin; worker < end; ++worker) {
        char *memory = adzi_worker_memory(&args->workers, worker);
        const int64_t last = adzi_worker_begin(&args->workers, worker + 1);
        for (int64_t i = adzi_worker_begin(&args->workers, worker); i < last; ++i) {
            args->found[i] = KERNEL(svd_of)(args, i, memory) ? 0 : 1;
        }
    }
}

#endif
