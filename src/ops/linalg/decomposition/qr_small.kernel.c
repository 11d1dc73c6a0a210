/* Kernel of qr for small matrices, in lanes: Note [Lanes of matrices] in matrix_lanes.h.
 *
 * A reflection is I - tau v v^T with v_j = 1. V stays below the diagonal of a. The reflections
 * applied to the identity in reverse order give Q. */
#ifndef elem
#define THIS_FILE "ops/linalg/decomposition/qr_small.kernel.c"
#include <float.h>
#include <math.h>

#include "ops/linalg/decomposition/loops/matrix_lanes.h"
#include "ops/linalg/decomposition/qr.kernel.h"

#define F64_AT_ALL_LEVELS
#include "tensor/kernel/each_float.h"
#else
#include "ops/linalg/decomposition/loops/lanes.kernel.h"
#include "ops/linalg/decomposition/loops/root.kernel.h"

/* Several matrices in one part of their lanes. */
typedef struct KERNEL(small_qr) {
    KERNEL(lanes) * a, *q, *tau; /* [m, n], [m, k] and [k] */
    int64_t m, n, k;
} KERNEL(small_qr);

static inline KERNEL(lanes) KERNEL(size_of)(KERNEL(lanes) x)
{
    return KERNEL(pick)(x < (KERNEL(lanes)){ 0 }, -x, x);
}

static inline KERNEL(lanes) KERNEL(roots)(KERNEL(lanes) x)
{
    for (int l = 0; l < KERNEL(width); ++l) {
        x[l] = KERNEL(root)(x[l]);
    }
    return x;
}

/* x = (I - tau v v^T) x for the rows of a column from j on; v is column j of a. */
static inline void KERNEL(apply)(
    const KERNEL(small_qr) * s, int64_t j, KERNEL(lanes) * x, int64_t step)
{
    KERNEL(lanes) sum = AT(x, j * step);
    for (int64_t i = j + 1; i < s->m; ++i) {
        sum += AT(s->a, i * s->n + j) * AT(x, i * step);
    }
    sum *= AT(s->tau, j);
    AT(x, j * step) -= sum;
    for (int64_t i = j + 1; i < s->m; ++i) {
        AT(x, i * step) -= AT(s->a, i * s->n + j) * sum;
    }
}

/* The reflection that clears column j below row j, and its tau. Norms are taken of elements that
 * are divided by the largest one, because squares leave the range of elem. */
static inline void KERNEL(reflection)(const KERNEL(small_qr) * s, int64_t j)
{
    const KERNEL(lanes) none = { 0 }, one = none + 1;
    const KERNEL(lanes) least = none + (ELEM_IS_F32 ? ELEM(FLT_MIN) : ELEM(DBL_MIN));
    const KERNEL(lanes) alpha = AT(s->a, j * s->n + j);
    KERNEL(lanes) most = KERNEL(size_of)(alpha), below = none;
    for (int64_t i = j + 1; i < s->m; ++i) {
        const KERNEL(lanes) size = KERNEL(size_of)(AT(s->a, i * s->n + j));
        most = KERNEL(pick)(size > most, size, most);
    }
    most = KERNEL(pick)(most > least, most, least);
    for (int64_t i = j + 1; i < s->m; ++i) {
        const KERNEL(lanes) e = AT(s->a, i * s->n + j) / most;
        below += e * e;
    }
    const KERNEL(lanes) first = alpha / most, norm = most * KERNEL(roots)(first * first + below);
    const KERNEL(mask) clear = (KERNEL(mask))(below == none);
    const KERNEL(lanes) beta = KERNEL(pick)(clear, alpha, KERNEL(pick)(alpha < none, norm, -norm));
    const KERNEL(lanes) divisor = KERNEL(pick)(clear, one, alpha - beta);
    AT(s->tau, j) = KERNEL(pick)(clear, none, (beta - alpha) / KERNEL(pick)(clear, one, beta));
    AT(s->a, j * s->n + j) = beta;
    for (int64_t i = j + 1; i < s->m; ++i) {
        AT(s->a, i * s->n + j) /= divisor;
    }
}

/* Factors the matrices: R in the upper triangle of a, with a diagonal that is not negative. */
static inline void KERNEL(factor)(const KERNEL(small_qr) * s)
{
    const KERNEL(lanes) none = { 0 };
    const int64_t m = s->m, n = s->n, k = s->k;
    for (int64_t j = 0; j < k; ++j) {
        KERNEL(reflection)(s, j);
        for (int64_t c = j + 1; c < n; ++c) {
            KERNEL(apply)(s, j, s->a + c * KERNEL(parts), n);
        }
    }
    for (int64_t i = 0; i < m * k; ++i) {
        AT(s->q, i) = none + (elem)(i / k == i % k);
    }
    for (int64_t j = k - 1; j >= 0; --j) {
        for (int64_t c = j; c < k; ++c) {
            KERNEL(apply)(s, j, s->q + c * KERNEL(parts), k);
        }
    }
    for (int64_t i = 0; i < k; ++i) {
        const KERNEL(mask) flip = (KERNEL(mask))(AT(s->a, i * n + i) < none);
        for (int64_t j = 0; j < n; ++j) {
            const KERNEL(lanes) e = AT(s->a, i * n + j);
            AT(s->a, i * n + j) = j < i ? none : KERNEL(pick)(flip, -e, e);
        }
        for (int64_t j = 0; j < m; ++j) {
            const KERNEL(lanes) e = AT(s->q, j * k + i);
            AT(s->q, j * k + i) = KERNEL(pick)(flip, -e, e);
        }
    }
}

static void KERNEL(factor_several)(
    const adzi_qr_args *args, int64_t first, int64_t matrices, elem *memory)
{
    const int64_t m = args->m, n = args->n, k = m < n ? m : n;
    elem *q = memory + LANE(m * n), *tau = q + LANE(m * k);
    const KERNEL(group) g =
        KERNEL(group_of)((const elem *)(const void *)args->a + first * m * n, m * n, matrices);
    KERNEL(load_lanes)(memory, &g, m, n, n);
    for (int p = 0; p < KERNEL(parts); ++p) {
        const KERNEL(small_qr) s = { (KERNEL(lanes) *)memory + p, (KERNEL(lanes) *)q + p,
            (KERNEL(lanes) *)tau + p, m, n, k };
        KERNEL(factor)(&s);
    }
    KERNEL(store_lanes)((elem *)(void *)args->q + first * m * k, m * k, matrices, q, m * k);
    KERNEL(store_lanes)((elem *)(void *)args->r + first * k * n, k * n, matrices, memory, k * n);
}

void KERNEL(qr_small)(const void *block, int64_t begin, int64_t end)
{
    const adzi_qr_args *args = block;
    for (int64_t worker = begin; worker < end; ++worker) {
        const int64_t last = adzi_worker_begin(&args->workers, worker + 1);
        for (int64_t item = adzi_worker_begin(&args->workers, worker); item < last;
             item += ADZI_MATRIX_LANES) {
            KERNEL(factor_several)
            (args, item, last - item < ADZI_MATRIX_LANES ? last - item : ADZI_MATRIX_LANES,
                adzi_worker_memory(&args->workers, worker));
        }
    }
}

#endif
