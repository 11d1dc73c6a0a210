/* Singular values and vectors of upper bidiagonal matrices by divide and conquer, and blocks of
 * Householder reflections. eigh and svd call them: loops/bidiagonal.kernel.h.
 *
 * Note [Divide and conquer]
 * Row k divides a bidiagonal matrix into two, which are solved first. In their vectors, the matrix
 * is diagonal but for row k, which is z:
 *
 *     [z_0 z_1 ... ]
 *     [    d_1     ]     whose singular values are the roots of 1 + sum of z_j^2 / (d_j^2 - x^2),
 *     [        ... ]     with d_0 = 0.
 *
 * A part but the last one has one column more than rows; the vector of that column is orthogonal to
 * the others, and is kept behind them. Where z_j is 0 to rounding, or where two d are equal to
 * rounding, a value and its vectors stay as they are, or after one rotation. The vectors of the
 * others are products with the old ones, in which each half of the columns has the vectors of its
 * own part. Values and vectors stay in their slots, in no order.
 *
 * Reference: M. Gu, S. C. Eisenstat, A divide-and-conquer algorithm for the bidiagonal SVD, SIAM J.
 * Matrix Anal. Appl. 16, 1995. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/bidiagonal.kernel.c"
#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "ops/linalg/decomposition/loops/room.h"
#include "tensor/gemm/gemm.h"
#include "tensor/kernel/real.h"
#include "tensor/kernel/registers.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/bidiagonal.kernel.h"
#include "ops/linalg/decomposition/loops/product.kernel.h"
#include "ops/linalg/decomposition/loops/wide.kernel.h"
#include "ops/linalg/decomposition/loops/reflectors.kernel.h"
#include "ops/linalg/decomposition/loops/bidiagonal_qr.kernel.h"
#include "ops/linalg/decomposition/loops/secular.kernel.h"

enum { KERNEL(bidiagonal_small) = 32 }; /* rows that are not divided */

/* The part of a matrix that is put together: rows first .. first + n - 1 with row k between. */
typedef struct KERNEL(merger) {
    int64_t first, n, k, columns;
    double scale;  /* the power of two that all numbers are divided by */
    double *d, *z; /* [n]: of the slots that take part, ascending */
    double *zs;    /* z of all slots */
    int64_t *slots, count;
    int64_t *type; /* of all slots: 1 or 2 if the vectors are those of one part, 3 if of both */
} KERNEL(merger);

/* Sorts n slots by the values that they have in d, ascending; equal ones keep their order. */
static void KERNEL(sort_slots)(int64_t *slots, int64_t n, const double *d, int64_t *work)
{
    for (int64_t width = 1; width < n; width *= 2) {
        for (int64_t from = 0; from < n; from += 2 * width) {
            const int64_t middle = from + width < n ? from + width : n;
            const int64_t end = middle + width < n ? middle + width : n;
            int64_t i = from, j = middle;
            for (int64_t at = from; at < end; ++at) {
                const bool left = j >= end || (i < middle && !(d[slots[j]] < d[slots[i]]));
                work[at] = left ? slots[i++] : slots[j++];
            }
        }
        memcpy(slots, work, (size_t)n * sizeof *slots);
    }
}

/* Writes row k in the vectors of the parts to zs, and puts the vectors of their spare columns
 * together. */
static void KERNEL(make_z)(const KERNEL(bidiagonal) * b, KERNEL(merger) * m, bool wide)
{
    const int64_t k = m->k, end = m->first + m->n;
    const double alpha = b->d[k], beta = b->e[k];
    double most = fmax(fabs(alpha), fabs(beta));
    for (int64_t i = m->first; i < end; ++i) {
        most = i == k ? most : fmax(most, b->d[i]);
    }
    int exponent = 0;
    frexp(most, &exponent);
    m->scale = most > 0 ? ldexp(1, exponent) : 0;
    if (m->scale == 0) {
        return;
    }
    const double up = alpha / m->scale, down = beta / m->scale;
    for (int64_t i = m->first; i < end; ++i) {
        const elem *row = b->vt + i * b->ld;
        m->zs[i] = i <= k ? up * (double)row[k] : down * (double)row[k + 1];
        m->type[i] = i < k ? 1 : 2;
        b->d[i] = i == k ? 0 : b->d[i] / m->scale;
    }
    m->type[k] = 1;
    if (wide) {
        double c, s;
        const double other = down * (double)b->vt[end * b->ld + k + 1];
        m->zs[k] = KERNEL(givens)(m->zs[k], other, &c, &s);
        KERNEL(rotate_vectors)(b, b->vt, m->first, m->columns, k, end, c, s);
        m->type[k] = 3;
    }
}

/* Chooses the slots that take part: Note [Divide and conquer]. */
static void KERNEL(deflate)(const KERNEL(bidiagonal) * b, KERNEL(merger) * m, int64_t *order)
{
    const double small = ELEM_IS_F32 ? 0x1p-24 : 0x1p-52;
    int64_t others = 0;
    for (int64_t i = m->first; i < m->first + m->n; ++i) {
        if (i != m->k) {
            order[others++] = i;
        }
    }
    KERNEL(sort_slots)(order, others, b->d, m->slots);
    m->slots[0] = m->k;
    m->count = 1;
    if (fabs(m->zs[m->k]) <= small) {
        m->zs[m->k] = copysign(small, m->zs[m->k]);
    }
    for (int64_t at = 0; at < others; ++at) {
        const int64_t j = order[at], before = m->slots[m->count - 1];
        if (fabs(m->zs[j]) <= small) {
            continue;
        }
        if (m->count > 1 && b->d[j] - b->d[before] <= small) {
            double c, s;
            m->zs[j] = KERNEL(givens)(m->zs[j], m->zs[before], &c, &s);
            KERNEL(rotate_vectors)(b, b->ut, m->first, m->n, j, before, c, s);
            KERNEL(rotate_vectors)(b, b->vt, m->first, m->columns, j, before, c, s);
            m->type[j] |= m->type[before];
            m->slots[m->count - 1] = j;
            continue;
        }
        m->slots[m->count++] = j;
    }
    for (int64_t i = 0; i < m->count; ++i) {
        m->d[i] = b->d[m->slots[i]];
        m->z[i] = m->zs[m->slots[i]];
    }
    if (m->count > 1 && m->d[1] < small / 2) {
        m->d[1] = small / 2; /* the roots need it above d_0 */
    }
}

/* Writes the vectors of the small matrix to w[count, count], as rows: the left ones if `left` is
 * set. */
static void KERNEL(small_vectors)(
    const KERNEL(bidiagonal) * b, const KERNEL(merger) * m, bool left, double *work)
{
    const int64_t n = m->count;
    for (int64_t i = 0; i < n; ++i) {
        const double *restrict gaps = b->gaps + i * n;
        double *restrict to = work;
        for (int64_t j = 0; j < n; ++j) {
            to[j] = (left ? m->d[j] : 1) * (m->z[j] / gaps[j]);
        }
        if (left) {
            to[0] = -1;
        }
        KERNEL(lanes8) sums = { 0 };
        int64_t j = 0;
        for (; j + 8 <= n; j += 8) {
            sums += EIGHT(to + j) * EIGHT(to + j);
        }
        double sum = 0;
        for (int l = 0; l < 8; ++l) {
            sum += sums[l];
        }
        for (; j < n; ++j) {
            sum += to[j] * to[j];
        }
        const double factor = 1 / sqrt(sum);
        for (j = 0; j < n; ++j) {
            b->w[0][i * n + j] = ELEM(to[j] * factor);
        }
    }
}

/* The new vectors in the columns from .. to - 1, which the slots of a type have. Slot k of left
 * vectors is the unit vector k, and is left out. */
static void KERNEL(multiply_vectors)(const KERNEL(bidiagonal) * b, const KERNEL(merger) * m,
    elem *vectors, bool left, int64_t type, int64_t from, int64_t to)
{
    const int64_t n = m->count, columns = to - from;
    elem *factors = b->w[1], *old = b->w[2], *now = b->w[3];
    int64_t used = 0;
    for (int64_t j = left; j < n; ++j) {
        used += (m->type[m->slots[j]] & type) != 0;
    }
    for (int64_t j = left, at = 0; j < n; ++j) {
        if ((m->type[m->slots[j]] & type) == 0) {
            continue;
        }
        memcpy(old + at * columns, vectors + m->slots[j] * b->ld + from,
            (size_t)columns * sizeof(elem));
        for (int64_t i = 0; i < n; ++i) {
            factors[i * used + at] = b->w[0][i * n + j];
        }
        ++at;
    }
    KERNEL(product)
    (false, false, n, columns, used, 1, factors, used, old, columns, 0, now, columns);
    for (int64_t i = 0; i < n; ++i) {
        memcpy(vectors + m->slots[i] * b->ld + from, now + i * columns,
            (size_t)columns * sizeof(elem));
    }
}

/* Puts two parts together. */
static void KERNEL(merge)(
    const KERNEL(bidiagonal) * b, int64_t first, int64_t n, int64_t k, bool wide)
{
    const int64_t end = first + n;
    KERNEL(merger)
    m = { .first = first,
        .n = n,
        .k = k,
        .columns = n + wide,
        .zs = b->numbers,
        .d = b->numbers + b->n,
        .z = b->numbers + 2 * b->n,
        .type = b->slots,
        .slots = b->slots + b->n };
    double *work = b->numbers + 3 * b->n, *squares = work + b->n, *roots = squares + b->n;
    KERNEL(make_z)(b, &m, wide);
    if (m.scale == 0) {
        return;
    }
    KERNEL(deflate)(b, &m, b->slots + 2 * b->n);
    for (int64_t i = 0; i < m.count; ++i) {
        squares[i] = m.z[i] * m.z[i];
    }
    for (int64_t i = 0; i < m.count; ++i) {
        roots[i] = KERNEL(secular_root)(m.d, squares, m.count, i, b->gaps + i * m.count);
    }
    KERNEL(secular_z)(m.d, b->gaps, m.count, m.z, work);
    KERNEL(small_vectors)(b, &m, false, work);
    KERNEL(multiply_vectors)(b, &m, b->vt, false, 1, first, k + 1);
    KERNEL(multiply_vectors)(b, &m, b->vt, false, 2, k + 1, end + wide);
    if (b->ut != NULL) {
        KERNEL(small_vectors)(b, &m, true, work);
        KERNEL(multiply_vectors)(b, &m, b->ut, true, 1, first, k);
        KERNEL(multiply_vectors)(b, &m, b->ut, true, 2, k + 1, end);
        for (int64_t i = 0; i < m.count; ++i) {
            b->ut[m.slots[i] * b->ld + k] = b->w[0][i * m.count];
        }
    }
    for (int64_t i = 0; i < m.count; ++i) {
        b->d[m.slots[i]] = roots[i];
    }
    for (int64_t i = first; i < end; ++i) {
        b->d[i] *= m.scale;
    }
}

bool KERNEL(divide)(const KERNEL(bidiagonal) * b, int64_t first, int64_t n, bool wide)
{
    if (n <= KERNEL(bidiagonal_small)) {
        return KERNEL(small_bidiagonal)(b, first, n, wide);
    }
    const int64_t above = n / 2, k = first + above;
    if (!KERNEL(divide)(b, first, above, true) || !KERNEL(divide)(b, k + 1, n - above - 1, wide)) {
        return false;
    }
    KERNEL(merge)(b, first, n, k, wide);
    return true;
}

KERNEL(bidiagonal) KERNEL(bidiagonal_of)(char **memory, int64_t n, bool left)
{
    KERNEL(bidiagonal) b = { .n = n, .ld = n };
    double *numbers = adzi_take(memory, 8 * n * (int64_t)sizeof(double));
    b.d = numbers;
    b.e = numbers + n;
    b.numbers = numbers + 2 * n;
    b.slots = adzi_take(memory, 3 * n * (int64_t)sizeof(int64_t));
    b.gaps = adzi_take(memory, n * n * (int64_t)sizeof(double));
    for (int i = 0; i < 4; ++i) {
        b.w[i] = adzi_take(memory, n * n * (int64_t)sizeof(elem));
    }
    b.vt = adzi_take(memory, n * n * (int64_t)sizeof(elem));
    b.ut = left ? adzi_take(memory, n * n * (int64_t)sizeof(elem)) : NULL;
    for (int64_t i = 0; i < n * n; ++i) {
        b.vt[i] = i % (n + 1) == 0;
    }
    if (left) {
        memcpy(b.ut, b.vt, (size_t)(n * n) * sizeof(elem));
    }
    return b;
}

#endif
