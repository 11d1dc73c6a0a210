#ifndef T
#define THIS_FILE "autograd/ops/loss/cross_entropy.kernel.c"
#include "autograd/ops/loss/class_target.h"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/activation/softmax.kernel.h"

static inline double K(add_lanes)(double *lane)
{
    for (int width = K(lanes) / 2; width > 0; width /= 2) {
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
static inline double K(cross)(
    const T *x, const T *w, const T *t, int64_t c, const double *lse, double sharp, double even)
{
    double lane[K(lanes)] = { 0 };
    for (int64_t i = 0; i < c; i += K(lanes)) {
        int64_t n = c - i < K(lanes) ? c - i : K(lanes);
        for (int64_t j = 0; j < n; ++j) {
            double share = (w != NULL ? (double)w[i + j] : 1) *
                           (t != NULL ? sharp * (double)t[i + j] + even : even);
            lane[j] += share * (lse[0] - (double)x[i + j] + lse[1]);
        }
    }
    return K(add_lanes)(lane);
}

/* The sum of w_c t_c. */
static inline double K(mass)(const T *w, const T *t, int64_t c)
{
    double lane[K(lanes)] = { 0 };
    for (int64_t i = 0; i < c; i += K(lanes)) {
        int64_t n = c - i < K(lanes) ? c - i : K(lanes);
        for (int64_t j = 0; j < n; ++j) {
            lane[j] += (w != NULL ? (double)w[i + j] : 1) * (double)t[i + j];
        }
    }
    return K(add_lanes)(lane);
}

static inline double K(weight)(const adzi_class_args *args, int64_t y)
{
    return args->weight != NULL ? (double)((const T *)args->weight)[y] : 1;
}

void K(cross_entropy)(const void *block, int64_t begin, int64_t end);
void K(cross_entropy)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    int64_t c = args->c;
    const double e = args->smoothing, even = e / (double)c;
    for (int64_t r = begin, rows; r < end; r += rows) {
        rows = K(rows_together)(end - r, c);
        T m[K(rows)];
        double sum[K(rows)];
        K(exp_sums)(sum, m, (const T *)args->x + r * c, rows, c);
        for (int64_t k = 0; k < rows; ++k) {
            sum[k] = adzi_log_f64(sum[k]);
        }
        for (int64_t k = 0; k < rows; ++k) {
            args->lse[2 * (r + k)] = (double)m[k];
            args->lse[2 * (r + k) + 1] = sum[k];
        }
    }
    for (int64_t r = begin; r < end; ++r) {
        const T *x = (const T *)args->x + r * c;
        const double *lse = args->lse + 2 * r;
        double loss = 0;
        if (args->target == NULL) {
            const T *t = (const T *)args->probabilities + r * c;
            loss = K(cross)(x, args->weight, t, c, lse, 1 - e, even);
        } else if (args->target[r] != args->ignore_index) {
            int64_t y = args->target[r];
            loss = (1 - e) * K(weight)(args, y) * (lse[0] - (double)x[y] + lse[1]);
            loss += e > 0 ? even * K(cross)(x, args->weight, NULL, c, lse, 0, 1) : 0;
        }
        ((T *)args->losses)[r] = (T)loss;
    }
}

/* dx = all p, then the shares of the classes are taken off: a loop without choices is a vector's.
 */
static inline void K(pull)(T *restrict dx, const T *restrict x, int64_t c, T all, T high, T low)
{
    for (int64_t i = 0; i < c; ++i) {
        dx[i] = all * VM(exp)((x[i] - high) - low);
    }
}

/* dx_c = g (A p_c - q_c), where q_c multiplies -log p_c in the loss and A is the sum of all q. */
void K(cross_entropy_dx)(const void *block, int64_t begin, int64_t end);
void K(cross_entropy_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    const T *w = args->weight;
    int64_t c = args->c;
    const double e = args->smoothing, even = e / (double)c, total = args->numbers->total;
    for (int64_t r = begin; r < end; ++r) {
        const T *x = (const T *)args->x + r * c;
        T *dx = (T *)args->dx + r * c;
        int64_t y = args->target != NULL ? args->target[r] : 0;
        double g = (double)((const T *)args->dy)[r * args->dy_stride] * args->numbers->scale;
        if (args->target != NULL && y == args->ignore_index) {
            for (int64_t i = 0; i < c; ++i) {
                dx[i] = 0;
            }
            continue;
        }
        const T *t = args->target == NULL ? (const T *)args->probabilities + r * c : NULL;
        double own = (1 - e) * (t != NULL ? K(mass)(w, t, c) : K(weight)(args, y));
        T all = (T)(g * (own + even * total)), smooth = (T)(g * even), sharp = (T)(g * (1 - e));
        T high = (T)args->lse[2 * r], low = (T)args->lse[2 * r + 1];
        K(pull)(dx, x, c, all, high, low);
        for (int64_t i = 0; i < c && (t != NULL || smooth != 0); ++i) {
            T share = t != NULL ? smooth + sharp * t[i] : smooth;
            dx[i] -= w != NULL ? share * w[i] : share;
        }
        if (t == NULL) {
            dx[y] -= (T)(g * own);
        }
    }
}

/* dt_c = -g (1 - e) w_c log p_c */
void K(cross_entropy_dt)(const void *block, int64_t begin, int64_t end);
void K(cross_entropy_dt)(const void *block, int64_t begin, int64_t end)
{
    const adzi_class_args *args = block;
    const T *w = args->weight;
    int64_t c = args->c;
    for (int64_t r = begin; r < end; ++r) {
        const T *x = (const T *)args->x + r * c;
        T *dt = (T *)args->dt + r * c;
        double g = (double)((const T *)args->dy)[r * args->dy_stride] * args->numbers->scale;
        T sharp = (T)(g * (1 - args->smoothing));
        T high = (T)args->lse[2 * r], low = (T)args->lse[2 * r + 1];
        for (int64_t i = 0; i < c; ++i) {
            T surprise = sharp * ((high - x[i]) + low);
            dt[i] = w != NULL ? w[i] * surprise : surprise;
        }
    }
}

#endif
