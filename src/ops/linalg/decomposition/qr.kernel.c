/* Kernel of qr for large matrices: Householder reflections, in blocks.
 *
 * A reflection is I - tau v v^T with v_j = 1. A block of them is I - V T V^T with an upper triangle
 * T, so that products apply it to the columns on the right. V stays below the diagonal of a. The
 * blocks applied to the identity in reverse order give Q. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/qr.kernel.c"
#include <math.h>
#include <string.h>

#include "ops/linalg/decomposition/qr.kernel.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/real.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/product.kernel.h"

/* The matrices of one item; see adzi_qr_room. */
typedef struct KERNEL(qr_room) {
    elem *a;      /* [m, n]: R above, V below the diagonal */
    elem *v;      /* [m, b]: V of one block, with its ones and zeros */
    elem *w, *tw; /* [b, n] each */
    elem *t;      /* [b, b] for each block */
    elem *inner;  /* [b, b]: V^T V */
    int64_t m, n, k;
} KERNEL(qr_room);

static KERNEL(qr_room) KERNEL(room_of)(void *memory, int64_t m, int64_t n)
{
    const int64_t b = ADZI_QR_BLOCK;
    KERNEL(qr_room) r = { .a = memory, .m = m, .n = n, .k = m < n ? m : n };
    r.v = r.a + m * n;
    r.w = r.v + m * b;
    r.tw = r.w + b * n;
    r.t = r.tw + b * n;
    r.inner = r.t + r.k * b;
    return r;
}

/* The norm of a column. The squares of very large or small elements leave the range of elem, so
 * these are scaled first. */
static double KERNEL(norm)(const elem *x, int64_t step, int64_t n)
{
    double sum = 0, most = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double e = (double)x[i * step], size = fabs(e);
        sum += e * e;
        most = size > most ? size : most;
    }
    if ((sum > 1e-280 && sum < 1e300) || most == 0 || !(most < (double)INFINITY)) {
        return sqrt(sum);
    }
    sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        const double e = (double)x[i * step] / most;
        sum += e * e;
    }
    return most * sqrt(sum);
}

/* The reflection that clears column j of a[rows, columns] below row j, applied to the columns up to
 * `end`. Returns its tau. */
static elem KERNEL(reflect)(KERNEL(qr_room) * r, int64_t j, int64_t end)
{
    const int64_t n = r->n, rest = r->m - j - 1, width = end - j - 1;
    elem *top = r->a + j * n + j, *restrict w = r->w;
    const double alpha = (double)*top, below = KERNEL(norm)(top + n, n, rest);
    if (below == 0) {
        return 0;
    }
    const double beta = -copysign(adzi_real_hypot(alpha, below), alpha);
    const elem tau = ELEM((beta - alpha) / beta);
    *top = ELEM(beta);
    for (int64_t c = 0; c < width; ++c) {
        w[c] = top[1 + c];
    }
    for (int64_t i = 1; i <= rest; ++i) {
        elem *row = top + i * n;
        const elem v = row[0] = ELEM((double)row[0] / (alpha - beta));
        for (int64_t c = 0; c < width; ++c) {
            w[c] += v * row[1 + c];
        }
    }
    for (int64_t c = 0; c < width; ++c) {
        w[c] *= tau;
        top[1 + c] -= w[c];
    }
    for (int64_t i = 1; i <= rest; ++i) {
        elem *row = top + i * n;
        const elem v = row[0];
        for (int64_t c = 0; c < width; ++c) {
            row[1 + c] -= v * w[c];
        }
    }
    return tau;
}

/* Copies V of the block that begins at column `first` out of a. */
static void KERNEL(copy_v)(KERNEL(qr_room) * r, int64_t first, int64_t columns)
{
    for (int64_t i = first; i < r->m; ++i) {
        for (int64_t c = 0; c < columns; ++c) {
            const int64_t j = first + c;
            r->v[(i - first) * columns + c] = i > j ? r->a[i * r->n + j] : i == j;
        }
    }
}

/* T of a block: T_jj = tau_j, and above it -tau_j T V^T v_j. */
static void KERNEL(make_t)(KERNEL(qr_room) * r, int64_t first, int64_t columns, const elem *tau)
{
    elem *t = r->t + first * ADZI_QR_BLOCK;
    KERNEL(product)
    (true, false, columns, columns, r->m - first, 1, r->v, columns, r->v, columns, 0, r->inner,
        columns);
    for (int64_t j = 0; j < columns; ++j) {
        for (int64_t i = 0; i < columns; ++i) {
            elem sum = 0;
            for (int64_t c = i; c < j; ++c) {
                sum += t[i * columns + c] * r->inner[c * columns + j];
            }
            t[i * columns + j] = i < j ? -tau[j] * sum : i == j ? tau[j] : 0;
        }
    }
}

/* C = (I - V op(T) V^T) C for C[m - first, w]. */
static void KERNEL(apply_block)(KERNEL(qr_room) * r, int64_t first, int64_t columns,
    bool transposed, elem *c, int64_t ld, int64_t w)
{
    const int64_t rows = r->m - first;
    const elem *t = r->t + first * ADZI_QR_BLOCK;
    if (w <= 0) {
        return;
    }
    KERNEL(product)(true, false, columns, w, rows, 1, r->v, columns, c, ld, 0, r->w, w);
    KERNEL(product)(transposed, false, columns, w, columns, 1, t, columns, r->w, w, 0, r->tw, w);
    KERNEL(product)(false, false, rows, w, columns, -1, r->v, columns, r->tw, w, 1, c, ld);
}

/* Applies the blocks to the identity, from the last one on. Columns on the left of a block are
 * still those of the identity in its rows, so they stay. */
static void KERNEL(make_q)(KERNEL(qr_room) * r, elem *q)
{
    const int64_t b = ADZI_QR_BLOCK, k = r->k;
    memset(q, 0, (size_t)(r->m * k) * sizeof *q);
    for (int64_t i = 0; i < k; ++i) {
        q[i * k + i] = 1;
    }
    for (int64_t first = (k - 1) / b * b; first >= 0; first -= b) {
        const int64_t columns = k - first < b ? k - first : b;
        KERNEL(copy_v)(r, first, columns);
        KERNEL(apply_block)(r, first, columns, false, q + first * k + first, k, k - first);
    }
}

/* Writes R, and makes its diagonal positive by the signs of the columns of Q. */
static void KERNEL(write_r)(const KERNEL(qr_room) * r, elem *q, elem *to)
{
    const int64_t n = r->n, k = r->k;
    for (int64_t i = 0; i < k; ++i) {
        const bool flip = r->a[i * n + i] < 0;
        for (int64_t j = 0; j < n; ++j) {
            const elem e = j < i ? 0 : r->a[i * n + j];
            to[i * n + j] = flip && j >= i ? -e : e;
        }
        for (int64_t j = 0; j < r->m && flip; ++j) {
            q[j * k + i] = -q[j * k + i];
        }
    }
}

void KERNEL(qr)(const void *block, int64_t begin, int64_t end)
{
    const adzi_qr_args *args = block;
    const int64_t m = args->m, n = args->n, b = ADZI_QR_BLOCK;
    for (int64_t worker = begin; worker < end; ++worker) {
        KERNEL(qr_room) r = KERNEL(room_of)(adzi_worker_memory(&args->workers, worker), m, n);
        const int64_t last = adzi_worker_begin(&args->workers, worker + 1);
        for (int64_t item = adzi_worker_begin(&args->workers, worker); item < last; ++item) {
            const elem *a = (const elem *)(const void *)args->a + item * m * n;
            elem *q = (elem *)(void *)args->q + item * m * r.k;
            memcpy(r.a, a, (size_t)(m * n) * sizeof *a);
            for (int64_t first = 0; first < r.k; first += b) {
                const int64_t columns = r.k - first < b ? r.k - first : b;
                elem tau[ADZI_QR_BLOCK];
                for (int64_t j = 0; j < columns; ++j) {
                    tau[j] = KERNEL(reflect)(&r, first + j, first + columns);
                }
                KERNEL(copy_v)(&r, first, columns);
                KERNEL(make_t)(&r, first, columns, tau);
                const int64_t next = first + columns;
                KERNEL(apply_block)(&r, first, columns, true, r.a + first * n + next, n, n - next);
            }
            KERNEL(make_q)(&r, q);
            KERNEL(write_r)(&r, q, (elem *)(void *)args->r + item * r.k * n);
        }
    }
}

/* The largest element of column j is at most its norm, and at least the norm over the root of j. */
static elem KERNEL(largest)(const elem *r, int64_t n, int64_t j)
{
    elem most = 0;
    for (int64_t i = 0; i <= j; ++i) {
        const elem size = ELEM(fabs((double)r[i * n + j]));
        most = size > most ? size : most;
    }
    return most;
}

/* Which R have full rank. Element (j, j) is the distance of column j from the space of the columns
 * before it. If that is no more than rounding of the column, column j depends on the others. */
void KERNEL(low_rank)(const void *block, int64_t begin, int64_t end)
{
    const adzi_low_rank_args *args = block;
    const int64_t n = args->n;
    for (int64_t item = begin; item < end; ++item) {
        const elem *r = (const elem *)(const void *)args->r + item * n * n;
        args->found[item] = 0;
        for (int64_t j = n - 1; j >= 0; --j) {
            const double size = fabs((double)r[j * n + j]);
            const double least = args->rtol * (double)KERNEL(largest)(r, n, j);
            if (!(size > least && size < (double)INFINITY)) { /* NaN is not above */
                args->found[item] = j + 1;
            }
        }
    }
}

#endif
