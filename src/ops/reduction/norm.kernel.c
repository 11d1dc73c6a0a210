/* Kernel of the p-norm.
 *
 *     y = (sum_i |x_i|^p)^(1/p),   max |x_i| for p = inf,   min |x_i| for p = -inf
 *     y = the number of elements that are not 0, for p = 0
 *
 * A unit is one result, or one block of a long one (reduce.kernel.h). p is p[0] of the arguments.
 * p = 2, 1 and 0 have loops of their own without adzi_real_pow(). Sums run in eight lanes of f64
 * per chunk of 512 elements, in an order that depends on the shape alone. The derivative is an
 * expression of operators (norm.c).
 */
#ifndef elem
#define THIS_FILE "ops/reduction/norm.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "ops/reduction/reduce.h"
#include "tensor/kernel/real.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "ops/reduction/reduce.kernel.h"

enum { KERNEL(lanes) = 8 };

/* SUM_OF(name, EXPRESSION) makes name(x, n, p): the sum over n contiguous elements of an expression
 * in d = |x|. Element i is added to lane i % 8, and the lanes are added in one order, in f64. */
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

/* The sums for p = 1, for any other finite p, and for p = 0. p = 2 takes EIGHT(squares). */
SUM_OF(magnitudes, d)
SUM_OF(powers, adzi_real_pow(d, p))
SUM_OF(nonzeros, d != 0 ? 1 : 0)

/* The state of a reduction. For a finite p, the sum of powers so far is sum * scale^p. For an
 * infinite p, `extreme` is the largest or smallest magnitude so far, and -1 before the first one.
 */
typedef struct {
    double sum, scale, extreme, p;
} KERNEL(magnitude);

/* No elements: the sum is 0 at the scale 1, and there is no extreme yet. */
static inline void KERNEL(norm_start)(KERNEL(magnitude) * s)
{
    s->sum = s->p = 0;
    s->scale = 1;
    s->extreme = -1;
}

/* Takes a magnitude d into the extreme, which is a maximum for p = inf and a minimum for p = -inf.
 * A NaN d is taken always, and a NaN extreme stays, because no comparison with it is true. So a NaN
 * anywhere makes the norm NaN. */
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

/* Slow path: sums n elements again, divided by the magnitude that dominates. If that is 0 or
 * infinite, or the sum is NaN, dividing would not help and the sum stays as it is. */
static __attribute__((noinline)) void KERNEL(scaled)(
    KERNEL(magnitude) * run, const elem *x, int64_t n, double p)
{
    /* No comparison with NaN is true, so both bounds ignore NaN elements. */
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
        run->sum += adzi_real_pow(fabs((double)x[i]) / scale, p);
    }
}

/* Adds the sum of t to the sum of s. If the scales differ, the dominating one is kept, and the
 * other sum is converted to it; its factor is then at most 1. */
static inline void KERNEL(add_sum)(KERNEL(magnitude) * s, const KERNEL(magnitude) * t)
{
    const double p = s->p;
    if (s->scale == t->scale || t->sum == 0 || isinf(s->sum) || !isfinite(t->sum)) {
        s->sum += t->sum;
    } else if (s->sum == 0) {
        s->sum = t->sum;
        s->scale = t->scale;
    } else if ((p > 0) == (t->scale > s->scale)) {
        s->sum = s->sum * adzi_real_pow(s->scale / t->scale, p) + t->sum;
        s->scale = t->scale;
    } else {
        s->sum += t->sum * adzi_real_pow(t->scale / s->scale, p);
    }
}

/* Adds a chunk of n <= 512 contiguous elements. p is copied to the state, because norm_join gets no
 * arguments. p = 0 and p = 1 need no scale: their sums cannot leave the range of f64 before the
 * result does. Every other finite p sums powers first and checks the range of the sum afterwards,
 * so the usual chunk is read once. */
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

/* Joins the state of the following block. Blocks come in order, so the sum has one order. */
static inline void KERNEL(norm_join)(KERNEL(magnitude) * s, const KERNEL(magnitude) * t)
{
    if (isinf(s->p)) {
        KERNEL(widen)(s, t->extreme);
    } else {
        KERNEL(add_sum)(s, t);
    }
}

/* Writes the p-th root of the sum, times the scale, or the extreme for an infinite p. p = 2 takes
 * sqrt, which is exact to half a unit in the last digit. p = 0 and p = 1 need no root. The
 * result is computed in f64 and rounded once. */
static inline void KERNEL(norm_end)(
    const KERNEL(magnitude) * s, const adzi_reduce_args *a, int64_t r)
{
    double p = a->p[0], y = isinf(p) ? s->extreme : s->sum;
    if (p == 2) {
        y = s->scale * sqrt(y);
    } else if (s->scale != 1) {
        double half =
            adzi_real_pow(y, 0.5 / p); /* in halves, of which none overflows before the product */
        y = s->scale * half * half;
    } else if (p != 0 && p != 1 && !isinf(p)) {
        y = adzi_real_pow(y, 1 / p);
    }
    ((elem *)(void *)a->out)[r] = (elem)y;
}

REDUCTION(norm, KERNEL(magnitude))

#endif
