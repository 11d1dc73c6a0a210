/* Kernels of softmax along one dimension, and of its derivative.
 *
 *     y_i  = e^(x_i - m) / sum_j e^(x_j - m),   m = max_j x_j
 *     dx_i = y_i (dy_i - sum_j dy_j y_j)
 *
 * A unit is one slice (ops/slices.h). Slices whose elements are contiguous (inner = 1) are
 * rows. All other slices are columns of an [n, inner] matrix, of which up to 256 are computed
 * together, so that memory is read row by row. The forward reads x twice, for m and for the
 * exponentials, and keeps the exponentials in y until they are divided by their sum.
 *
 * Sums run in f64. The order of a sum depends on n and on whether the slices are rows, never on the
 * number of threads or on the width of a register.
 */
#ifndef elem
#define THIS_FILE "ops/activation/softmax.kernel.c"
#include "ops/slices.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "ops/reduction/softmax.kernel.h"

/* Rows, up to 16 at a time. exp_rows runs the maximum, the exponentials and the sum over all of
 * them, so that the steps of different rows overlap. Together they have at most 2048 elements and
 * stay in the L1 cache; a longer row is computed alone. The sum becomes one reciprocal, since a
 * product is cheaper than a division. A slice that contains NaN or +inf, or only -inf, becomes NaN,
 * as in PyTorch. */
static void KERNEL(softmax_rows)(const adzi_slices_args *a, int64_t begin, int64_t end)
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

/* Columns: w neighbouring slices at once, with one maximum and one f64 sum per slice in a buffer.
 * The outer loops walk the elements of a slice and the inner ones the slices, which are contiguous,
 * so inner loops vectorise. Each slice is summed in the order of its elements, whatever w is. After
 * the sums are known, m[j] holds the reciprocal of the sum of slice j. */
static void KERNEL(softmax_columns)(const adzi_slices_args *a, int64_t begin, int64_t end)
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
            /* Two loops: f32 exponentials and f64 sums have registers of different widths. */
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

/* Chooses the walk by the layout, which is one for all units of a launch. */
void KERNEL(softmax)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = block;
    (a->inner == 1 ? KERNEL(softmax_rows) : KERNEL(softmax_columns))(a, begin, end);
}

/* Rows: in[0] is dy, in[1] is y. The dot product is summed in f64, in eight lanes, and rounded
 * once. The second loop reads both rows again, mostly from the cache. dx may be the memory of dy:
 * an element of dy is read before it is overwritten. */
static void KERNEL(softmax_backward_rows)(const adzi_slices_args *a, int64_t begin, int64_t end)
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

/* Columns: the dot products of w neighbouring slices are summed side by side in f64, each in the
 * order of its elements. Both loops read memory row by row. */
static void KERNEL(softmax_backward_columns)(const adzi_slices_args *a, int64_t begin, int64_t end)
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
    const adzi_slices_args *a = block;
    (a->inner == 1 ? KERNEL(softmax_backward_rows) : KERNEL(softmax_backward_columns))(
        a, begin, end);
}

#endif
