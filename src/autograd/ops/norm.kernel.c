#ifndef T
#define THIS_FILE "autograd/ops/norm.kernel.c"
#include <math.h>
#include "autograd/ops/reduce.h"
#include "tensor/wide.kernel.h"
#include "tensor/each_float.h"
#else

#include "autograd/ops/reduce.kernel.h"

enum { K(lanes) = 8 };

/* The sum over n elements of an expression in d = |x|, in f64. */
#define SUM_OF(name, EXPRESSION)                                  \
    static inline double K(name)(const T *x, int64_t n, double p) \
    {                                                             \
        double lane[K(lanes)] = { 0 };                            \
        int64_t i = 0;                                            \
        (void)p;                                                  \
        for (; i + K(lanes) <= n; i += K(lanes)) {                \
            for (int j = 0; j < K(lanes); ++j) {                  \
                double d = fabs((double)x[i + j]);                \
                lane[j] += EXPRESSION;                            \
            }                                                     \
        }                                                         \
        for (int j = 0; i < n; ++i, ++j) {                        \
            double d = fabs((double)x[i]);                        \
            lane[j] += EXPRESSION;                                \
        }                                                         \
        return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +      \
               ((lane[1] + lane[5]) + (lane[3] + lane[7]));       \
    }

SUM_OF(magnitudes, d)
SUM_OF(powers, pow(d, p))
SUM_OF(nonzeros, d != 0 ? 1 : 0)

/* p[0] decides which of the three counts. */
typedef struct {
    double sum, largest, smallest;
} K(magnitude);

static inline void K(norm_start)(K(magnitude) * s)
{
    s->sum = s->largest = 0;
    s->smallest = (double)INFINITY;
}

/* NaN stays: nothing compares with it. */
static inline void K(widen)(K(magnitude) * s, double largest, double smallest)
{
    s->largest = largest > s->largest || largest != largest ? largest : s->largest;
    s->smallest = smallest < s->smallest || smallest != smallest ? smallest : s->smallest;
}

static inline void K(norm_run)(
    K(magnitude) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    double p = a->p[0];
    (void)first;
    if (isinf(p)) {
        for (int64_t i = 0; i < n; ++i) {
            double d = fabs((double)x[i]);
            K(widen)(s, d, d);
        }
        return;
    }
    s->sum += p == 2   ? EIGHT(squares)(x, n, 0)
              : p == 1 ? K(magnitudes)(x, n, p)
              : p == 0 ? K(nonzeros)(x, n, p)
                       : K(powers)(x, n, p);
}

static inline void K(norm_join)(K(magnitude) * s, const K(magnitude) * t)
{
    s->sum += t->sum;
    K(widen)(s, t->largest, t->smallest);
}

static inline void K(norm_end)(const K(magnitude) * s, const adzi_reduce_args *a, int64_t r)
{
    double p = a->p[0], y = isinf(p) ? (p > 0 ? s->largest : s->smallest) : s->sum;
    if (p == 2) {
        y = sqrt(y);
    } else if (p != 0 && p != 1 && !isinf(p)) {
        y = pow(y, 1 / p);
    }
    ((T *)(void *)a->out)[r] = (T)y;
}

REDUCTION(norm, K(magnitude))

#endif
