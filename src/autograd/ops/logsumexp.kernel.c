#ifndef T
#define THIS_FILE "autograd/ops/logsumexp.kernel.c"
#include <math.h>
#include "autograd/ops/lanes.h"
#include "autograd/ops/reduce.h"
#include "tensor/pointwise.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

#include "autograd/ops/reduce.kernel.h"
#include "autograd/ops/softmax.kernel.h"

/* The largest element so far, and the sum of e^(x - base) where base is that element, or 0 while it
 * is infinite: then the sum only tells NaN from none. */
typedef struct {
    double sum;
    T max;
} K(exponentials);

static inline T K(base)(T max)
{
    return max == (T)INFINITY || max == -(T)INFINITY ? 0 : max;
}

static inline void K(logsumexp_start)(K(exponentials) * s)
{
    s->sum = 0;
    s->max = -(T)INFINITY;
}

/* Raises the base to that of a larger maximum. Where the old one was -inf, only NaN is in the sum.
 */
static inline void K(raise)(K(exponentials) * s, T max)
{
    if (max > s->max) {
        s->sum *= s->max == -(T)INFINITY ? 1 : exp((double)K(base)(s->max) - (double)K(base)(max));
        s->max = max;
    }
}

static inline void K(logsumexp_run)(
    K(exponentials) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    K(raise)(s, K(max_of)(x, n));
    s->sum += K(exp_sum)(x, n, K(base)(s->max));
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
    T y = (T)((double)s->max + log(s->sum));
    if (s->max == (T)INFINITY || s->max == -(T)INFINITY) {
        y = s->sum != s->sum ? (T)NAN : s->max;
    }
    ((T *)(void *)a->out)[r] = y;
}

REDUCTION(logsumexp, K(exponentials))

/* a = dy, b = x, c = y */
POINTWISE3(logsumexp_backward, T, T, T, T, a *VM(exp)(b - c))

#endif
