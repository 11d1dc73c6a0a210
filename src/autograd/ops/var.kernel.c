#ifndef T
#define THIS_FILE "autograd/ops/var.kernel.c"
#include <math.h>
#include "autograd/ops/reduce.h"
#include "tensor/each_float.h"
#else

#include "autograd/ops/reduce.kernel.h"

enum { K(lanes) = 8 };

/* Mean and squared deviations from it: two passes over each chunk while it is at hand, and the rule
 * of Chan et al. to join chunks, so that a large mean costs no digits. */
typedef struct {
    double mean, squares;
    int64_t n;
} K(moments);

static inline double K(add_lanes)(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static inline double K(mean_of)(const T *x, int64_t n)
{
    double lane[K(lanes)] = { 0 };
    int64_t i = 0;
    for (; i + K(lanes) <= n; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            lane[j] += (double)x[i + j];
        }
    }
    for (int j = 0; i < n; ++i, ++j) {
        lane[j] += (double)x[i];
    }
    return K(add_lanes)(lane) / (double)n;
}

static inline double K(squares_of)(const T *x, int64_t n, double mean)
{
    double lane[K(lanes)] = { 0 };
    int64_t i = 0;
    for (; i + K(lanes) <= n; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            double d = (double)x[i + j] - mean;
            lane[j] += d * d;
        }
    }
    for (int j = 0; i < n; ++i, ++j) {
        double d = (double)x[i] - mean;
        lane[j] += d * d;
    }
    return K(add_lanes)(lane);
}

static inline void K(var_start)(K(moments) * s)
{
    s->mean = s->squares = 0;
    s->n = 0;
}

static inline void K(var_join)(K(moments) * s, const K(moments) * t)
{
    int64_t n = s->n + t->n;
    double d = t->mean - s->mean, part = (double)t->n / (double)n;
    s->mean += d * part;
    s->squares += t->squares + d * d * part * (double)s->n;
    s->n = n;
}

static inline void K(var_run)(
    K(moments) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    (void)first;
    (void)a;
    K(moments) chunk = { K(mean_of)(x, n), 0, n };
    chunk.squares = K(squares_of)(x, n, chunk.mean);
    if (s->n == 0) {
        *s = chunk;
    } else {
        K(var_join)(s, &chunk);
    }
}

/* p[0] is the correction; p[1] asks for the root. */
static inline void K(var_end)(const K(moments) * s, const adzi_reduce_args *a, int64_t r)
{
    double divisor = (double)s->n - a->p[0];
    double y = s->squares / (divisor > 0 ? divisor : 0);
    ((T *)(void *)a->out)[r] = (T)(a->p[1] != 0 ? sqrt(y) : y);
}

REDUCTION(var, K(moments))

#endif
