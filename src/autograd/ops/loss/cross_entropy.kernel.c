#ifndef elem
#define THIS_FILE "autograd/ops/loss/cross_entropy.kernel.c"
#include "autograd/ops/loss/class_target.h"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/activation/softmax.kernel.h"

static inline double KERNEL(add_lanes)(double *lane)
{
    for (int width = KERNEL(lanes) / 2; width > 0; width /= 2) {
        for (int j = 0; j < width; ++j) {
            lane[j] += lane[j + width];
        }
    }
    return lane[0];
}

/* The sum of w_c q_c (lse - x_c) over the classes, where q_c is sharp t_c + even; w may be NULL for
 * 1, and t for q_c = even. A class that counts for nothing at all adds 0 times its surprise, which
 * is NaN where x_c is -inf: q_c has to be one number. The log of the sum of
 * e^x is kept in two parts, lse[0] the largest x and lse[1] the rest: their sum would lose the
 * digits of the rest where scores are far from 0. */
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

/* The sum of w_c t_c. */
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

static inline double KERNEL(weight)(const adzi_class_args *args, int64_t y)
{
    return args->weight != NULL ? (double)((const elem *)args->weight)[y] : 1;
}

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

/* dx = all p, then the shares of the classes are taken off: a loop without choices is a vector's.
 */
static inline void KERNEL(pull)(
    elem *restrict dx, const elem *restrict x, int64_t c, elem all, elem high, elem low)
{
    for (int64_t i = 0; i < c; ++i) {
        dx[i] = all * VMATH(exp)((x[i] - high) - low);
    }
}

/* dx_c = g (A p_c - q_c), where q_c multiplies -log p_c in the loss and A is the sum of all q. */
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
        KERNEL(pull)(dx, x, c, all, high, low);
        for (int64_t i = 0; i < c && (t != NULL || smooth != 0); ++i) {
            elem share = t != NULL ? smooth + sharp * t[i] : smooth;
            dx[i] -= w != NULL ? share * w[i] : share;
        }
        if (t == NULL) {
            dx[y] -= (elem)(g * own);
        }
    }
}

/* dt_c = -g (1 - e) w_c log p_c */
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
