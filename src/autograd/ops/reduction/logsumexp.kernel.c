#ifndef T
#define THIS_FILE "autograd/ops/reduction/logsumexp.kernel.c"
#include <math.h>
#include "autograd/ops/lanes.h"
#include "autograd/ops/reduction/reduce.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/reduction/reduce.kernel.h"
#include "autograd/ops/activation/softmax.kernel.h"

/* The largest element so far, and the sum of e^(x - max). While max is infinite, the sum only tells
 * NaN from none. */
typedef struct {
    double sum;
    T max;
} K(exponentials);

static inline int K(finite)(T max)
{
    return max > -(T)INFINITY && max < (T)INFINITY;
}

static inline void K(logsumexp_start)(K(exponentials) * s)
{
    s->sum = 0;
    s->max = -(T)INFINITY;
}

static inline void K(raise)(K(exponentials) * s, T max)
{
    if (max > s->max) {
        s->sum *= K(finite)(s->max) && K(finite)(max) ? exp((double)s->max - (double)max) : 1;
        s->max = max;
    }
}

static inline void K(logsumexp_run)(
    K(exponentials) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    K(raise)(s, K(max_of)(x, n));
    if (K(finite)(s->max)) {
        s->sum += K(exp_sum)(x, n, s->max);
        return;
    }
    for (int64_t i = 0; i < n; ++i) {
        s->sum += x[i] != x[i] ? (double)NAN : 0;
    }
}

static inline void K(logsumexp_join)(K(exponentials) * s, const K(exponentials) * t)
{
    K(exponentials) other = *t;
    K(raise)(s, t->max);
    K(raise)(&other, s->max);
    s->sum += other.sum;
}

static inline void K(logsumexp_end)(const K(exponentials) * s, const adzi_reduce_args *a, int64_t r)
{
    T y = (T)((double)s->max + adzi_log_f64(s->sum));
    if (!K(finite)(s->max)) {
        y = s->sum != s->sum ? (T)NAN : s->max;
    }
    ((T *)(void *)a->out)[r] = y;
}

/* Rows of elements that lie side by side, several at a time. */
static int64_t K(logsumexp_rows)(const adzi_reduce_args *a, int64_t begin, int64_t end)
{
    if (a->n == 0 || a->partial != NULL || a->n_kept != 1 || a->n_reduced != 1 ||
        a->reduced_strides[0] != 1 || a->kept_strides[0] != a->n || a->n > K(chunk)) {
        return 0;
    }
    const int64_t rows = K(rows_together)(end - begin, a->n);
    const T *x = (const T *)(const void *)a->in + begin * a->n;
    T m[K(rows)], y[K(rows)];
    double sum[K(rows)];
    K(exp_sums)(sum, m, x, rows, a->n);
    for (int64_t r = 0; r < rows; ++r) {
        y[r] = (T)((double)m[r] + adzi_log_f64(sum[r]));
    }
    for (int64_t r = 0; r < rows; ++r, x += a->n) {
        ((T *)(void *)a->out)[begin + r] = y[r];
        if (!K(finite)(m[r])) { /* or NaN */
            K(exponentials) s;
            K(logsumexp_start)(&s);
            K(logsumexp_run)(&s, x, a->n, 0, a);
            K(logsumexp_end)(&s, a, begin + r);
        }
    }
    return rows;
}

REDUCTION_WITH(logsumexp, K(exponentials), K(logsumexp_rows))

/* a = dy, b = x, c = y */
POINTWISE3(logsumexp_backward, T, T, T, T, a *VM(exp)(b - c))

#endif
