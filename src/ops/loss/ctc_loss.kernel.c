/* Kernels of ctc_loss (Graves et al., 2006). State i of a target is a blank if i is even, and label
 * (i - 1) / 2 if it is odd.
 *
 *     a_t(i) = x_t(i) + log(e^a_(t-1)(i) + e^a_(t-1)(i-1) + e^a_(t-1)(i-2))
 *     b_t(i) = log(e^(b_(t+1)(i) + x_(t+1)(i)) + ... of i+1 and i+2)
 *     loss   = -log(e^a_(T-1)(last) + e^a_(T-1)(last - 1))
 *     dx_t(c) = -dy sum over states i of class c of e^(a_t(i) + b_t(i) + loss)
 *
 * The way from i - 2 exists only if i is a label that differs from the label before it. All sums
 * are in f64. A unit is one sequence, so neither threads nor the batch change a bit.
 */
#ifndef elem
#include <math.h>
#include <string.h>

#include "ops/loss/ctc_loss.h"
#include "tensor/kernel/vmath.h"

/* log(e^a + e^b), -inf if both are. */
static inline double join(double a, double b)
{
    const double most = a > b ? a : b, least = a > b ? b : a;
    return most == -INFINITY ? most
                             : most + adzi_log1p_unit_f64(adzi_exp_nonpositive_f64(least - most));
}

/* The number of labels before those of sequence k, padding included. */
static inline int64_t start_of(const adzi_ctc_args *a, int64_t k)
{
    int64_t at = a->joined ? 0 : k * a->s;
    for (int64_t i = 0; a->joined && i < k; ++i) {
        at += a->labels[i];
    }
    return at;
}

/* One sequence: where its labels and its states begin, and how many states a step has in memory. */
typedef struct sequence {
    const int64_t *labels;
    int64_t steps, last; /* the last state is 2 L */
    int64_t first, states;
} sequence;

static inline sequence sequence_of(const adzi_ctc_args *a, int64_t k)
{
    const int64_t start = start_of(a, k), n = a->joined ? a->labels[k] : a->s;
    return (
        sequence){ a->targets + start, a->steps[k], 2 * a->labels[k], 2 * start + k, 2 * n + 1 };
}

static inline int64_t class_of(const adzi_ctc_args *a, const int64_t *labels, int64_t state)
{
    return state % 2 == 0 ? a->blank : labels[state / 2];
}

/* True if a way leads from state - 2 to state. */
static inline bool skips(const int64_t *labels, int64_t state)
{
    return state % 2 == 1 && state >= 3 && labels[state / 2] != labels[state / 2 - 1];
}

#define THIS_FILE "ops/loss/ctc_loss.kernel.c"
#include "tensor/kernel/each_float.h"
#else

/* -log of the ways to the last two states, whose values at the last step are `alpha`. */
static inline double KERNEL(loss_of)(const double *alpha, int64_t last)
{
    return -(last > 0 ? join(alpha[last], alpha[last - 1]) : alpha[last]);
}

/* Fills alpha of sequence k and returns its loss. */
static double KERNEL(forward_of)(const adzi_ctc_args *a, int64_t k)
{
    const sequence q = sequence_of(a, k);
    double *alpha = a->alpha + a->t * q.first;
    for (int64_t t = 0; t < q.steps; ++t, alpha += q.states) {
        const elem *x = (const elem *)a->x + (t * a->n + k) * a->c;
        const double *before = alpha - q.states;
        for (int64_t i = 0; i <= q.last; ++i) {
            double ways = t == 0 && i < 2 ? 0 : -INFINITY;
            if (t > 0) {
                ways = i > 0 ? join(before[i], before[i - 1]) : before[i];
                ways = skips(q.labels, i) ? join(ways, before[i - 2]) : ways;
            }
            alpha[i] = ways + (double)x[class_of(a, q.labels, i)];
        }
    }
    if (q.steps == 0) {
        return q.last == 0 ? 0 : INFINITY;
    }
    return KERNEL(loss_of)(alpha - q.states, q.last);
}

void KERNEL(ctc_loss)(const void *block, int64_t begin, int64_t end);
void KERNEL(ctc_loss)(const void *block, int64_t begin, int64_t end)
{
    const adzi_ctc_args *a = block;
    for (int64_t k = begin; k < end; ++k) {
        const double loss = KERNEL(forward_of)(a, k);
        ((elem *)a->losses)[k] = a->zero_infinity && isinf(loss) ? ELEM(0) : (elem)loss;
    }
}

/* b_t of all states from b_(t+1) in `after` and the classes' x_(t+1). */
static void KERNEL(step_back)(const adzi_ctc_args *a, const int64_t *labels, int64_t last,
    const double *after, const elem *x, double *beta)
{
    for (int64_t i = 0; i <= last; ++i) {
        double ways = after[i] + (double)x[class_of(a, labels, i)];
        if (i + 1 <= last) {
            ways = join(ways, after[i + 1] + (double)x[class_of(a, labels, i + 1)]);
        }
        if (i + 2 <= last && skips(labels, i + 2)) {
            ways = join(ways, after[i + 2] + (double)x[class_of(a, labels, i + 2)]);
        }
        beta[i] = ways;
    }
}

/* The gradient of sequence k. Its loss is computed again from alpha, because f32 losses are
 * rounded. Steps beyond its end get 0. */
static void KERNEL(backward_of)(const adzi_ctc_args *a, int64_t k)
{
    const sequence q = sequence_of(a, k);
    const double *alpha = a->alpha + a->t * q.first + (q.steps - 1) * q.states;
    const elem *xs = a->x, dy = ((const elem *)a->dy)[k];
    double *beta = a->beta + 2 * q.first, *after = beta + q.states;
    for (int64_t t = 0; t < a->t; ++t) {
        memset((elem *)a->dx + (t * a->n + k) * a->c, 0, (size_t)a->c * sizeof(elem));
    }
    if (q.steps == 0) {
        return;
    }
    const double loss = KERNEL(loss_of)(alpha, q.last);
    if (a->zero_infinity && isinf(loss)) {
        return;
    }
    for (int64_t t = q.steps - 1; t >= 0; --t, alpha -= q.states) {
        elem *dx = (elem *)a->dx + (t * a->n + k) * a->c;
        if (t == q.steps - 1) {
            for (int64_t i = 0; i <= q.last; ++i) {
                beta[i] = i >= q.last - 1 ? 0 : -INFINITY;
            }
        } else {
            KERNEL(step_back)(a, q.labels, q.last, after, xs + ((t + 1) * a->n + k) * a->c, beta);
        }
        for (int64_t i = 0; i <= q.last; ++i) {
            dx[class_of(a, q.labels, i)] -= dy * (elem)adzi_exp_f64(alpha[i] + beta[i] + loss);
        }
        double *swapped = beta;
        beta = after;
        after = swapped;
    }
}

void KERNEL(ctc_loss_backward)(const void *block, int64_t begin, int64_t end);
void KERNEL(ctc_loss_backward)(const void *block, int64_t begin, int64_t end)
{
    for (int64_t k = begin; k < end; ++k) {
        KERNEL(backward_of)(block, k);
    }
}

#endif
