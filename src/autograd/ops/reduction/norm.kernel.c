#ifndef T
#define THIS_FILE "autograd/ops/reduction/norm.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "autograd/ops/reduction/reduce.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/reduction/reduce.kernel.h"

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

/* What the elements so far amount to: for finite p the sum of their powers, which is `sum` times
 * scale^p; for infinite p the extreme magnitude, -1 before there was one. */
typedef struct {
    double sum, scale, extreme, p;
} K(magnitude);

static inline void K(norm_start)(K(magnitude) * s)
{
    s->sum = s->p = 0;
    s->scale = 1;
    s->extreme = -1;
}

/* NaN stays: nothing compares with it. */
static inline void K(widen)(K(magnitude) * s, double d)
{
    bool wider = s->p > 0 ? d > s->extreme : d < s->extreme;
    s->extreme = wider || d != d || s->extreme == -1 ? d : s->extreme;
}

/* Note [The scale of a norm]
 *
 * Powers of elements far from 1 overflow or vanish although the norm itself is an ordinary number.
 * Elements whose sum of powers leaves the range in which sums are exact are divided by one of them
 * before they are raised: by the largest for p > 0, by the smallest for p < 0. All others are
 * summed as they are, with the scale 1, and cost nothing more. */
static inline bool K(in_range)(double sum)
{
    return sum >= 1e-250 && sum <= 1e250;
}

/* Sums n elements again, divided by the one that dominates. Elements that have none (all are 0, one
 * is infinite or NaN, or 0 under a negative power) keep the sum that they have. Not inlined: few
 * inputs ever come here. */
static __attribute__((noinline)) void K(scaled)(K(magnitude) * run, const T *x, int64_t n, double p)
{
    double most = 0, least = (double)INFINITY;
    for (int64_t i = 0; i < n; ++i) {
        double d = fabs((double)x[i]);
        most = d > most ? d : most;
        least = d < least ? d : least;
    }
    const double scale = p > 0 ? most : least;
    if (scale == 0 || isinf(scale) || isnan(run->sum)) {
        return;
    }
    run->scale = scale;
    run->sum = 0;
    for (int64_t i = 0; i < n; ++i) {
        run->sum += pow(fabs((double)x[i]) / scale, p);
    }
}

/* Adds t's sum to that of s. Of two scales the one that dominates stays. */
static inline void K(add_sum)(K(magnitude) * s, const K(magnitude) * t)
{
    const double p = s->p;
    if (s->scale == t->scale || t->sum == 0 || isinf(s->sum) || !isfinite(t->sum)) {
        s->sum += t->sum;
    } else if (s->sum == 0) {
        s->sum = t->sum;
        s->scale = t->scale;
    } else if ((p > 0) == (t->scale > s->scale)) {
        s->sum = s->sum * pow(s->scale / t->scale, p) + t->sum;
        s->scale = t->scale;
    } else {
        s->sum += t->sum * pow(t->scale / s->scale, p);
    }
}

static inline void K(norm_run)(
    K(magnitude) * s, const T *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    const double p = s->p = a->p[0];
    (void)first;
    if (isinf(p)) {
        for (int64_t i = 0; i < n; ++i) {
            K(widen)(s, fabs((double)x[i]));
        }
        return;
    }
    if (p == 0 || p == 1) {
        s->sum += p == 0 ? K(nonzeros)(x, n, p) : K(magnitudes)(x, n, p);
        return;
    }
    K(magnitude) run = { .scale = 1, .sum = p == 2 ? EIGHT(squares)(x, n, 0) : K(powers)(x, n, p) };
    if (!K(in_range)(run.sum)) {
        K(scaled)(&run, x, n, p);
    }
    K(add_sum)(s, &run);
}

static inline void K(norm_join)(K(magnitude) * s, const K(magnitude) * t)
{
    if (isinf(s->p)) {
        K(widen)(s, t->extreme);
    } else {
        K(add_sum)(s, t);
    }
}

static inline void K(norm_end)(const K(magnitude) * s, const adzi_reduce_args *a, int64_t r)
{
    double p = a->p[0], y = isinf(p) ? s->extreme : s->sum;
    if (p == 2) {
        y = s->scale * sqrt(y);
    } else if (s->scale != 1) {
        double half = pow(y, 0.5 / p); /* in halves, of which none overflows before the product */
        y = s->scale * half * half;
    } else if (p != 0 && p != 1 && !isinf(p)) {
        y = pow(y, 1 / p);
    }
    ((T *)(void *)a->out)[r] = (T)y;
}

REDUCTION(norm, K(magnitude))

#endif
