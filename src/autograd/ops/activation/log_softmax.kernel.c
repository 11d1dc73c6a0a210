#ifndef T
#define THIS_FILE "autograd/ops/activation/log_softmax.kernel.c"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/activation/softmax.kernel.h"

/* y = (x - m) - log s; the two subtractions apart, so that huge logits keep their differences. */
static void K(log_softmax_rows)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t rows; begin < end; begin += rows) {
        rows = K(rows_together)(end - begin, a->n);
        const T *x = (const T *)(const void *)a->in[0] + begin * a->n;
        T *y = (T *)(void *)a->out + begin * a->n;
        T m[K(rows)], log_sum[K(rows)];
        double sum[K(rows)];
        K(exp_rows)(sum, m, y, x, rows, a->n); /* y to begin with holds the exponentials */
        for (int64_t r = 0; r < rows; ++r) {
            log_sum[r] = (T)adzi_log_f64(sum[r]);
        }
        for (int64_t r = 0; r < rows; ++r, x += a->n, y += a->n) {
            for (int64_t i = 0; i < a->n; ++i) {
                y[i] = (x[i] - m[r]) - log_sum[r];
            }
        }
    }
}

static void K(log_softmax_columns)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = K(group)(a, begin, end, &at);
        const T *x = (const T *)(const void *)a->in[0] + at;
        T *y = (T *)(void *)a->out + at;
        T m[K(columns)], log_sum[K(columns)];
        double sum[K(columns)];
        K(columns_max)(m, x, a->n, a->inner, w);
        K(columns_exp_sum)(sum, m, x, a->n, a->inner, w);
        for (int64_t j = 0; j < w; ++j) {
            log_sum[j] = (T)adzi_log_f64(sum[j]);
        }
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                y[i * a->inner + j] = (x[i * a->inner + j] - m[j]) - log_sum[j];
            }
        }
    }
}

void K(log_softmax)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    (a->inner == 1 ? K(log_softmax_rows) : K(log_softmax_columns))(a, begin, end);
}

/* dx = dy - e^y sum(dy) */
static void K(log_softmax_backward_rows)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; ++r) {
        const T *dy = (const T *)(const void *)a->in[0] + r * a->n;
        const T *y = (const T *)(const void *)a->in[1] + r * a->n;
        T *dx = (T *)(void *)a->out + r * a->n;
        const T sum = (T)EIGHT(sum)(dy, a->n, 0);
        for (int64_t i = 0; i < a->n; ++i) {
            dx[i] = dy[i] - VM(exp_nonpositive)(y[i]) * sum;
        }
    }
}

static void K(log_softmax_backward_columns)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = K(group)(a, begin, end, &at);
        const T *dy = (const T *)(const void *)a->in[0] + at;
        const T *y = (const T *)(const void *)a->in[1] + at;
        T *dx = (T *)(void *)a->out + at;
        double sum[K(columns)] = { 0 };
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                sum[j] += (double)dy[i * a->inner + j];
            }
        }
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                int64_t k = i * a->inner + j;
                dx[k] = dy[k] - VM(exp_nonpositive)(y[k]) * (T)sum[j];
            }
        }
    }
}

void K(log_softmax_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    (a->inner == 1 ? K(log_softmax_backward_rows) : K(log_softmax_backward_columns))(a, begin, end);
}

#endif
