#ifndef elem
#define THIS_FILE "autograd/ops/reduction/norm.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "autograd/ops/reduction/reduce.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/reduction/reduce.kernel.h"

enum { KERNEL(lanes) = 8 };

/* The sum over n elements of an expression in d = |x|, in f64. */
#define SUM_OF(name, EXPRESSION)                                          \
    static inline double KERNEL(name)(const elem *x, int64_t n, double p) \
    {                                                                     \
        double lane[KERNEL(lanes)] = { 0 };                               \
        int64_t i = 0;                                                    \
        (void)p;                                                          \
        for (; i + KERNEL(lanes) <= n; i += KERNEL(lanes)) {              \
            for (int j = 0; j < KERNEL(lanes); ++j) {                     \
                double d = fabs((double)x[i + j]);                        \
                lane[j] += EXPRESSION;                                    \
            }                                                             \
        }                                                                 \
        for (int j = 0; i < n; ++i, ++j) {                                \
            double d = fabs((double)x[i]);                                \
            lane[j] += EXPRESSION;                                        \
        }                                                                 \
        return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +              \
               ((lane[1] + lane[5]) + (lane[3] + lane[7]));               \
    }

SUM_OF(magnitudes, d)
SUM_OF(powers, pow(d, p))
SUM_OF(nonzeros, d != 0 ? 1 : 0)

/* What the elements so far amount to: for finite p the sum of their powers, which is `sum` times
 * scale^p; for infinite p the extreme magnitude, -1 before there was one. */
typedef struct {
    double sum, scale, extreme, p;
} KERNEL(magnitude);

static inline void KERNEL(norm_start)(KERNEL(magnitude) * s)
{
    s->sum = s->p = 0;
    s->scale = 1;
    s->extreme = -1;
}

/* NaN stays: nothing compares with it. */
static inline void KERNEL(widen)(KERNEL(magnitude) * s, double d)
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
static inline bool KERNEL(in_range)(double sum)
{
    return sum >= 1e-250 && sum <= 1e250;
}

/* Sums n elements again, divided by the one that dominates. Elements that have none (all are 0, one
 * is infinite or NaN, or 0 under a negative power) keep the sum that they have. Not inlined: few
 * inputs ever come here. */
static __attribute__((noinline)) void KERNEL(scaled)(
    KERNEL(magnitude) * run, const elem *x, int64_t n, double p)
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
static inline void KERNEL(add_sum)(KERNEL(magnitude) * s, const KERNEL(magnitude) * t)
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

static inline void KERNEL(norm_run)(
    KERNEL(magnitude) * s, const elem *x, int64_t n, int64_t first, const adzi_reduce_args *a)
{
    const double p = s->p = a->p[0];
    (void)first;
    if (isinf(p)) {
        for (int64_t i = 0; i < n; ++i) {
            KERNEL(widen)(s, fabs((double)x[i]));
        }
        return;
    }
    if (p == 0 || p == 1) {
        s->sum += p == 0 ? KERNEL(nonzeros)(x, n, p) : KERNEL(magnitudes)(x, n, p);
        return;
    }
    KERNEL(magnitude)
    run = { .scale = 1, .sum = p == 2 ? EIGHT(squares)(x, n, 0) : KERNEL(powers)(x, n, p) };
    if (!KERNEL(in_range)(run.sum)) {
        KERNEL(scaled)(&run, x, n, p);
    }
    KERNEL(add_sum)(s, &run);
}

static inline void KERNEL(norm_join)(KERNEL(magnitude) * s, const KERNEL(magnitude) * t)
{
    if (isinf(s->p)) {
        KERNEL(widen)(s, t->extreme);
    } else {
        KERNEL(add_sum)(s, t);
    }
}

static inline void KERNEL(norm_end)(
    const KERNEL(magnitude) * s, const adzi_reduce_args *a, int64_t r)
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
    ((elem *)(void *)a->out)[r] = (elem)y;
}

REDUCTION(norm, KERNEL(magnitude))

#endif
