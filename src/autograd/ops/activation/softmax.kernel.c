#ifndef elem
#define THIS_FILE "autograd/ops/activation/softmax.kernel.c"
#include "autograd/ops/lanes.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "autograd/ops/activation/softmax.kernel.h"

/* y = e^(x - m) / s. A lane with NaN or +inf, or of -inf alone, comes out NaN. */
static void KERNEL(softmax_rows)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t rows; begin < end; begin += rows) {
        rows = KERNEL(rows_together)(end - begin, a->n);
        elem *y = (elem *)(void *)a->out + begin * a->n;
        elem m[KERNEL(rows)];
        double sum[KERNEL(rows)];
        KERNEL(exp_rows)
        (sum, m, y, (const elem *)(const void *)a->in[0] + begin * a->n, rows, a->n);
        for (int64_t r = 0; r < rows; ++r, y += a->n) {
            const elem scale = (elem)(1 / sum[r]);
            for (int64_t i = 0; i < a->n; ++i) {
                y[i] *= scale;
            }
        }
    }
}

static void KERNEL(softmax_columns)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = KERNEL(group)(a, begin, end, &at);
        const elem *x = (const elem *)(const void *)a->in[0] + at;
        elem *y = (elem *)(void *)a->out + at;
        elem m[KERNEL(columns)];
        double sum[KERNEL(columns)] = { 0 };
        KERNEL(columns_max)(m, x, a->n, a->inner, w);
        for (int64_t i = 0; i < a->n; ++i) {
            const elem *from = x + i * a->inner;
            elem *to = y + i * a->inner;
            for (int64_t j = 0; j < w; ++j) {
                to[j] = VMATH(exp_nonpositive)(from[j] - m[j]);
            }
            for (int64_t j = 0; j < w; ++j) {
                sum[j] += (double)to[j];
            }
        }
        for (int64_t j = 0; j < w; ++j) {
            m[j] = (elem)(1 / sum[j]);
        }
        for (int64_t i = 0; i < a->n; ++i) {
            elem *to = y + i * a->inner;
            for (int64_t j = 0; j < w; ++j) {
                to[j] *= m[j];
            }
        }
    }
}

void KERNEL(softmax)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    (a->inner == 1 ? KERNEL(softmax_rows) : KERNEL(softmax_columns))(a, begin, end);
}

/* dx = y (dy - <dy, y>) */
static void KERNEL(softmax_backward_rows)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; ++r) {
        const elem *dy = (const elem *)(const void *)a->in[0] + r * a->n;
        const elem *y = (const elem *)(const void *)a->in[1] + r * a->n;
        elem *dx = (elem *)(void *)a->out + r * a->n;
        const elem dot = (elem)EIGHT(dot)(dy, y, a->n);
        for (int64_t i = 0; i < a->n; ++i) {
            dx[i] = y[i] * (dy[i] - dot);
        }
    }
}

static void KERNEL(softmax_backward_columns)(const adzi_lanes_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = KERNEL(group)(a, begin, end, &at);
        const elem *dy = (const elem *)(const void *)a->in[0] + at;
        const elem *y = (const elem *)(const void *)a->in[1] + at;
        elem *dx = (elem *)(void *)a->out + at;
        double dot[KERNEL(columns)] = { 0 };
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                dot[j] += (double)dy[i * a->inner + j] * (double)y[i * a->inner + j];
            }
        }
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                int64_t k = i * a->inner + j;
                dx[k] = y[k] * (dy[k] - (elem)dot[j]);
            }
        }
    }
}

void KERNEL(softmax_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_lanes_args *a = block;
    (a->inner == 1 ? KERNEL(softmax_backward_rows) : KERNEL(softmax_backward_columns))(
        a, begin, end);
}

#endif
