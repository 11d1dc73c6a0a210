#ifndef T
#define THIS_FILE "autograd/ops/activation/softmax.kernel.c"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/activation/softmax.kernel.h"

/* y = e^(x - m) / s. A lane with NaN or +inf, or of -inf alone, comes out NaN. */
static void K(softmax_rows)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t rows; begin < end; begin += rows) {
        rows = K(rows_together)(end - begin, a->n);
        T *y = (T *)(void *)a->out + begin * a->n;
        T m[K(rows)];
        double sum[K(rows)];
        K(exp_rows)(sum, m, y, (const T *)(const void *)a->in[0] + begin * a->n, rows, a->n);
        for (int64_t r = 0; r < rows; ++r, y += a->n) {
            const T scale = (T)(1 / sum[r]);
            for (int64_t i = 0; i < a->n; ++i) {
                y[i] *= scale;
            }
        }
    }
}

static void K(softmax_columns)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = K(group)(a, begin, end, &at);
        const T *x = (const T *)(const void *)a->in[0] + at;
        T *y = (T *)(void *)a->out + at;
        T m[K(columns)];
        double sum[K(columns)] = { 0 };
        K(columns_max)(m, x, a->n, a->inner, w);
        for (int64_t i = 0; i < a->n; ++i) {
            const T *from = x + i * a->inner;
            T *to = y + i * a->inner;
            for (int64_t j = 0; j < w; ++j) {
                to[j] = VM(exp_nonpositive)(from[j] - m[j]);
            }
            for (int64_t j = 0; j < w; ++j) {
                sum[j] += (double)to[j];
            }
        }
        for (int64_t j = 0; j < w; ++j) {
            m[j] = (T)(1 / sum[j]);
        }
        for (int64_t i = 0; i < a->n; ++i) {
            T *to = y + i * a->inner;
            for (int64_t j = 0; j < w; ++j) {
                to[j] *= m[j];
            }
        }
    }
}

void K(softmax)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    (a->inner == 1 ? K(softmax_rows) : K(softmax_columns))(a, begin, end);
}

/* dx = y (dy - <dy, y>) */
static void K(softmax_backward_rows)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; ++r) {
        const T *dy = (const T *)(const void *)a->in[0] + r * a->n;
        const T *y = (const T *)(const void *)a->in[1] + r * a->n;
        T *dx = (T *)(void *)a->out + r * a->n;
        const T dot = (T)EIGHT(dot)(dy, y, a->n);
        for (int64_t i = 0; i < a->n; ++i) {
            dx[i] = y[i] * (dy[i] - dot);
        }
    }
}

static void K(softmax_backward_columns)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = K(group)(a, begin, end, &at);
        const T *dy = (const T *)(const void *)a->in[0] + at;
        const T *y = (const T *)(const void *)a->in[1] + at;
        T *dx = (T *)(void *)a->out + at;
        double dot[K(columns)] = { 0 };
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                dot[j] += (double)dy[i * a->inner + j] * (double)y[i * a->inner + j];
            }
        }
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                int64_t k = i * a->inner + j;
                dx[k] = y[k] * (dy[k] - (T)dot[j]);
            }
        }
    }
}

void K(softmax_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    (a->inner == 1 ? K(softmax_backward_rows) : K(softmax_backward_columns))(a, begin, end);
}

#endif
