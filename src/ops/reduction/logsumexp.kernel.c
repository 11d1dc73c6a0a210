/* Kernels of logsumexp and of its derivative.
 *
 *     y = m + log(sum_i e^(x_i - m)),   m = max_i x_i
 *     dx_i = dy e^(x_i - y)
 *
 * A unit is one result, or one block of a long one (reduce.kernel.h). A state holds m and the sum
 * of the elements so far. When a later chunk has a larger m, the sum is multiplied by e^(m_old -
 * m_new). Contiguous rows of up to 512 elements are computed several at a time, by the functions
 * that softmax uses. Sums run in f64, in an order that depends on the shape alone.
 */
#ifndef elem
#define THIS_FILE "ops/reduction/logsumexp.kernel.c"
#include <math.h>
#include "ops/slices.h"
#include "ops/reduction/reduce.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "ops/reduction/reduce.kernel.h"
#include "ops/reduction/softmax.kernel.h"

/* The state: the largest element so far and the sum of e^(x - max). While max is infinite, only
 * whether the sum is NaN matters. */
typedef struct {
    double sum;
    elem max;
} KERNEL(exponentials);

/* True for an ordinary number. NaN compares false with both bounds. */
static inline int KERNEL(finite)(elem max)
{
    return max > -(elem)INFINITY && max < (elem)INFINITY;
}

/* No elements: the sum is 0, and -inf is the neutral element of a maximum. The result is -inf. */
static inline void KERNEL(logsumexp_start)(KERNEL(exponentials) * s)
{
    s->sum = 0;
    s->max = -(elem)INFINITY;
}

/* Raises the maximum of a state to `max`, if that is larger, and rescales the sum by e^(old - max).
 * The factor is 1 where one of the two is infinite: the sum is then 0, NaN or of no account. The
 * factor is one exponential in f64. */
static inline void KERNEL(raise)(KERNEL(exponentials) * s, elem max)
{
    if (max > s->max) {
        s->sum *= KERNEL(finite)(s->max) && KERNEL(finite)(max)
                      ? adzi_exp_f64((double)s->max - (double)max)
                      : 1;
        s->max = max;
    }
}

/* Adds a chunk of n <= 512 contiguous elements in two passes over the L1 cache: the maximum, and
 * the exponentials. With an infinite maximum every exponential is 0, 1 or NaN, and only NaN matters
 * to the result. */
static inline void KERNEL(logsumexp_run)(
    KERNEL(exponentials) * s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    KERNEL(raise)(s, KERNEL(max_of)(x, n));
    if (KERNEL(finite)(s->max)) {
        s->sum += KERNEL(exp_sum)(x, n, s->max);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        s->sum += x[i] != x[i] ? (double)NAN : 0;
    }
}

/* Joins the states of two blocks. Both are raised to the larger maximum, so that their sums may be
 * added. */
static inline void KERNEL(logsumexp_join)(KERNEL(exponentials) * s, const KERNEL(exponentials) * t)
{
    KERNEL(exponentials) other = *t;
    KERNEL(raise)(s, t->max);
    KERNEL(raise)(&other, s->max);
    s->sum += other.sum;
}

/* Writes y = max + log(sum). An infinite maximum is the result itself, unless an element was NaN.
 */
static inline void KERNEL(logsumexp_end)(
    const KERNEL(exponentials) * s, const adzi_reduce_args *a, int64_t r)
{
    elem y = (elem)((double)s->max + adzi_log_f64(s->sum));
    if (!KERNEL(finite)(s->max)) {
        y = s->sum != s->sum ? (elem)NAN : s->max;
    }
    ((elem *)(void *)a->out)[r] = y;
}

/* Fast path for contiguous, adjacent rows x[N, D] with D at most 512. Returns the number of rows
 * that it has computed, or 0 where the layout is another one. Up to 16 rows go through each step
 * together, so that independent maxima, sums and logarithms overlap. A row is summed as one chunk
 * of the general walk and has its bits. A row with an infinite or NaN maximum is computed again by
 * the general functions. */
static int64_t KERNEL(logsumexp_rows)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    if (a->n == 0 || a->partial != NULL || a->n_kept != 1 || a->n_reduced != 1 ||
        a->reduced_strides[0] != 1 || a->kept_strides[0] != a->n || a->n > KERNEL(chunk)) {
        return 0;
    }
    const int64_t rows = KERNEL(rows_together)(end - begin, a->n);
    const elem *x = (const elem *)(const void *)a->in + begin * a->n;
    elem m[KERNEL(rows)], y[KERNEL(rows)];
    double sum[KERNEL(rows)];
    KERNEL(exp_sums)(sum, m, x, rows, a->n);
    /* A separate loop: the logarithm of one row does not wait for that of another. */
    for (int64_t r = 0; r < rows; ++r) {
        y[r] = (elem)((double)m[r] + adzi_log_f64(sum[r]));
    }
    for (int64_t r = 0; r < rows; ++r, x += a->n) {
        ((elem *)(void *)a->out)[begin + r] = y[r];
        if (!KERNEL(finite)(m[r])) { /* infinite or NaN */
            KERNEL(exponentials) s;
            KERNEL(logsumexp_start)(&s);
            KERNEL(logsumexp_run)(&s, x, a->n, 0, a);
            KERNEL(logsumexp_end)(&s, a, begin + r);
        }
    }
    return rows;
}

REDUCTION_WITH(logsumexp, KERNEL(exponentials), KERNEL(logsumexp_rows))

/* a = dy, b = x, c = y */
POINTWISE3(logsumexp_backward, elem, elem, elem, elem, a *VMATH(exp)(b - c))

#endif
