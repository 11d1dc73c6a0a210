/* Kernels of cross_entropy over rows of C scores, and of its derivatives.
 *
 *     lse    = log(sum_c e^(x_c)),   -log p_c = lse - x_c
 *     loss   = sum_c w_c q_c (lse - x_c)
 *     dx_c   = g (A p_c - w_c q_c),   A = sum_c w_c q_c
 *     dt_c   = g (1 - e) w_c (lse - x_c)
 *
 * q is the target after label smoothing e: q_c = (1 - e) t_c + e / C. For a class index y, t_c is 1
 * for c = y and 0 elsewhere. w are the weights of the classes (1 without weights). g is the
 * gradient of the row's loss, times the scale of the reduction. Rows whose index is ignore_index
 * have loss and gradient 0.
 *
 * A unit is one row x[r, :], contiguous. The forward keeps lse per row for the backward, so that
 * p_c costs one exponential per element there. lse is kept as two numbers, the maximum and the
 * rest: their sum would lose the digits of the rest where scores are far from 0. Sums over a row
 * run in 16 lanes of f64 whose order depends on C alone.
 *
 * The loss and A are computed in f64 and rounded once per row. The elements of the gradients are
 * computed in elem, in loops over the C classes of a row, which are contiguous. Rows do not depend
 * on each other, so a cut into threads changes no bit.
 */
#ifndef elem
#define THIS_FILE "ops/loss/cross_entropy.kernel.c"
#include "ops/loss/class_target.h"
#include "ops/slices.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "ops/reduction/softmax.kernel.h"

/* The sum of the 16 lanes, by halves: lane j takes lane j + 8, then j + 4, j + 2 and j + 1. The
 * order is written out, so every instruction set adds in it. */
static inline double KERNEL(add_lanes)(double *lane)
{
    for (int width = KERNEL(lanes) / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; ++j) {
            lane[j] += lane[j + width];
        }
    }
    return lane[0];
}

/* sum_c w_c q_c (lse - x_c) with q_c = sharp t_c + even. If w is NULL, all weights are 1. If t is
 * NULL, q_c is `even`. lse[0] is the largest x, lse[1] the rest. q_c is one number before it is
 * multiplied, so a class with q_c = 0 and x_c = -inf gives NaN, as 0 times infinity does. */
static inline double KERNEL(cross)(const elem *x, const elem *w, const elem *t, int64_t c,
    const double *lse, double sharp, double even)
{
    double lane[KERNEL(lanes)] = { 0 };
    for (int64_t i = 0; i < c; i += KERNEL(lanes)) {
        int64_t n = c - i < KERNEL(lanes) ? c - i : KERNEL(lanes);
        for (int64_t j = 0; j < n; ++j) {
            double share = (w != NULL ? (double)w[i + j] : 1) *
                           (t != NULL ? sharp * (double)t[i + j] + even : even);
            lane[j] += share * (lse[0] - (double)x[i + j] + lse[1]);
        }
    }
    return KERNEL(add_lanes)(lane);
}

/* sum_c w_c t_c, which is A before smoothing for targets that are probabilities. Element c is added
 * to lane c % 16. */
static inline double KERNEL(mass)(const elem *w, const elem *t, int64_t c)
{
    double lane[KERNEL(lanes)] = { 0 };
    for (int64_t i = 0; i < c; i += KERNEL(lanes)) {
        int64_t n = c - i < KERNEL(lanes) ? c - i : KERNEL(lanes);
        for (int64_t j = 0; j < n; ++j) {
            lane[j] += (w != NULL ? (double)w[i + j] : 1) * (double)t[i + j];
        }
    }
    return KERNEL(add_lanes)(lane);
}

/* The weight w_y of class y in f64, or 1 if there are no class weights. */
static inline double KERNEL(weight)(const adzi_class_args *args, int64_t y)
{
    return args->weight != NULL ? (double)((const elem *)args->weight)[y] : 1;
}

/* losses[r] and lse[r]. The first loop computes lse of several rows at once (softmax.kernel.h), the
 * second one the losses, row by row. Without smoothing an index needs only x_y, not the whole row.
 * With smoothing the row is read once more for the equal share of all classes. An ignored row has
 * loss 0, but its lse is computed as well. */
void KERNEL(cross_entropy)(const void *block, int64_t begin, int64_t end);
void KERNEL(cross_entropy)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    int64_t c = args->c;
    const double e = args->smoothing, even = e / (double)c;
    for (int64_t r = begin, rows; r < end; r += rows) {
        rows = KERNEL(rows_together)(end - r, c);
        elem m[KERNEL(rows)];
        double sum[KERNEL(rows)];
        KERNEL(exp_sums)(sum, m, (const elem *)args->x + r * c, rows, c);
        for (int64_t k = 0; k < rows; ++k) {
            sum[k] = adzi_log_f64(sum[k]);
        }
        for (int64_t k = 0; k < rows; ++k) {
            args->lse[2 * (r + k)] = (double)m[k];
            args->lse[2 * (r + k) + 1] = sum[k];
        }
    }
    for (int64_t r = begin; r < end; ++r) {
        const elem *x = (const elem *)args->x + r * c;
        const double *lse = args->lse + 2 * r;
        double loss = 0;
        if (args->target == NULL) {
            const elem *t = (const elem *)args->probabilities + r * c;
            loss = KERNEL(cross)(x, args->weight, t, c, lse, 1 - e, even);
        } else if (args->target[r] != args->ignore_index) {
            int64_t y = args->target[r];
            loss = (1 - e) * KERNEL(weight)(args, y) * (lse[0] - (double)x[y] + lse[1]);
            loss += e > 0 ? even * KERNEL(cross)(x, args->weight, NULL, c, lse, 0, 1) : 0;
        }
        ((elem *)args->losses)[r] = (elem)loss;
    }
}

/* dx_c = all p_c for every class, with p_c = e^(x_c - high - low). `high` is the largest x, so the
 * exponent is 0 or less. A loop of its own, without conditions, so that it vectorises; the caller
 * subtracts the targets afterwards. */
static inline void KERNEL(scaled_softmax)(
    elem *restrict dx, const elem *restrict x, int64_t c, elem all, elem high, elem low)
{
    for (int64_t i = 0; i < c; ++i) {
        dx[i] = all * VMATH(exp)((x[i] - high) - low);
    }
}

/* dx_c = g (A p_c - w_c q_c). `own` is A without smoothing, `total` the sum of all weights, so A is
 * own + even * total. dy_stride is 0 where one number is the gradient of all losses. An index
 * without smoothing, the usual target, takes one pass over the row: after it only dx_y changes.
 * Probabilities or smoothing take a second pass. */
void KERNEL(cross_entropy_dx)(const void *block, int64_t begin, int64_t end);
void KERNEL(cross_entropy_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    const elem *w = args->weight;
    int64_t c = args->c;
    const double e = args->smoothing, even = e / (double)c, total = args->numbers->total;
    for (int64_t r = begin; r < end; ++r) {
        const elem *x = (const elem *)args->x + r * c;
        elem *dx = (elem *)args->dx + r * c;
        int64_t y = args->target != NULL ? args->target[r] : 0;
        double g = (double)((const elem *)args->dy)[r * args->dy_stride] * args->numbers->scale;
        if (args->target != NULL && y == args->ignore_index) {
            for (int64_t i = 0; i < c; ++i) {
                dx[i] = 0;
            }
            continue;
        }
        const elem *t = args->target == NULL ? (const elem *)args->probabilities + r * c : NULL;
        double own = (1 - e) * (t != NULL ? KERNEL(mass)(w, t, c) : KERNEL(weight)(args, y));
        elem all = (elem)(g * (own + even * total)), smooth = (elem)(g * even),
             sharp = (elem)(g * (1 - e));
        elem high = (elem)args->lse[2 * r], low = (elem)args->lse[2 * r + 1];
        KERNEL(scaled_softmax)(dx, x, c, all, high, low);
        for (int64_t i = 0; i < c && (t != NULL || smooth != 0); ++i) {
            elem share = t != NULL ? smooth + sharp * t[i] : smooth;
            dx[i] -= w != NULL ? share * w[i] : share;
        }
        if (t == NULL) {
            dx[y] -= (elem)(g * own);
        }
    }
}

/* dt_c = g (1 - e) w_c (lse - x_c), for targets that are probabilities. One pass per row, without
 * an exponential. No row is ignored, because ignore_index is for class indices. */
void KERNEL(cross_entropy_dt)(const void *block, int64_t begin, int64_t end);
void KERNEL(cross_entropy_dt)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    const elem *w = args->weight;
    int64_t c = args->c;
    for (int64_t r = begin; r < end; ++r) {
        const elem *x = (const elem *)args->x + r * c;
        elem *dt = (elem *)args->dt + r * c;
        double g = (double)((const elem *)args->dy)[r * args->dy_stride] * args->numbers->scale;
        elem sharp = (elem)(g * (1 - args->smoothing));
        elem high = (elem)args->lse[2 * r], low = (elem)args->lse[2 * r + 1];
        for (int64_t i = 0; i < c; ++i) {
            elem surprise = sharp * ((high - x[i]) + low);
            dt[i] = w != NULL ? w[i] * surprise : surprise;
        }
    }
}

#endif
