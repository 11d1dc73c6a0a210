/* Kernels of log_softmax along one dimension, and of its derivative.
 *
 *     y_i  = (x_i - m) - log(sum_j e^(x_j - m)),   m = max_j x_j
 *     dx_i = dy_i - e^(y_i) sum_j dy_j
 *
 * A unit is one slice (ops/slices.h). Slices whose elements are contiguous (inner = 1) are
 * rows. All other slices are columns of an [n, inner] matrix, of which up to 256 are computed
 * together, so that memory is read row by row. Sums run in f64, in an order that depends on the
 * shape alone.
 *
 * m and the logarithm are subtracted one after the other. Their sum would be rounded to the
 * precision of m, and logits far from 0 would lose the digits of the logarithm.
 */
#ifndef elem
#define THIS_FILE "ops/activation/log_softmax.kernel.c"
#include "ops/slices.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

#include "ops/reduction/softmax.kernel.h"

/* Rows, up to 16 at a time. Each step runs over all of them before the next one begins. The
 * logarithms of their sums are taken in one loop, so that independent evaluations overlap. exp_rows
 * leaves the exponentials in y, which is a free buffer of the right size. The last loop reads x
 * again and writes over them. */
static void KERNEL(log_softmax_rows)(const adzi_slices_args *a, int64_t begin, int64_t end)
{
    for (int64_t rows; begin < end; begin += rows) {
        rows = KERNEL(rows_together)(end - begin, a->n);
        const elem *x = (const elem *)(const void *)a->in[0] + begin * a->n;
        elem *y = (elem *)(void *)a->out + begin * a->n;
        elem m[KERNEL(rows)], log_sum[KERNEL(rows)];
        double sum[KERNEL(rows)];
        KERNEL(exp_rows)(sum, m, y, x, rows, a->n); /* y is scratch memory until here */
        for (int64_t r = 0; r < rows; ++r) {
            log_sum[r] = (elem)adzi_log_f64(sum[r]);
        }
        for (int64_t r = 0; r < rows; ++r, x += a->n, y += a->n) {
            for (int64_t i = 0; i < a->n; ++i) {
                y[i] = (x[i] - m[r]) - log_sum[r];
            }
        }
    }
}

/* Columns: w neighbouring slices at once, in three walks over x: maximum, sum of exponentials,
 * result. Each walk reads memory row by row and vectorises over the slices. The exponentials are
 * summed and not stored. Each slice is summed in the order of its elements, whatever w is. */
static void KERNEL(log_softmax_columns)(const adzi_slices_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = KERNEL(group)(a, begin, end, &at);
        const elem *x = (const elem *)(const void *)a->in[0] + at;
        elem *y = (elem *)(void *)a->out + at;
        elem m[KERNEL(columns)], log_sum[KERNEL(columns)];
        double sum[KERNEL(columns)];
        KERNEL(columns_max)(m, x, a->n, a->inner, w);
        KERNEL(columns_exp_sum)(sum, m, x, a->n, a->inner, w);
        for (int64_t j = 0; j < w; ++j) {
            log_sum[j] = (elem)adzi_log_f64(sum[j]);
        }
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                y[i * a->inner + j] = (x[i * a->inner + j] - m[j]) - log_sum[j];
            }
        }
    }
}

/* Chooses the walk by the layout, which is one for all units of a launch. */
void KERNEL(log_softmax)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = block;
    (a->inner == 1 ? KERNEL(log_softmax_rows) : KERNEL(log_softmax_columns))(a, begin, end);
}

/* Rows: in[0] is dy, in[1] is y. The sum of dy runs in eight lanes of f64 and is rounded once, to
 * elem. y is the logarithm of a probability, so it is at most 0 and exp_nonpositive applies. dx may
 * be the memory of dy: an element of dy is read before it is overwritten. */
static void KERNEL(log_softmax_backward_rows)(const adzi_slices_args *a, int64_t begin, int64_t end)
{
    for (int64_t r = begin; r < end; ++r) {
        const elem *dy = (const elem *)(const void *)a->in[0] + r * a->n;
        const elem *y = (const elem *)(const void *)a->in[1] + r * a->n;
        elem *dx = (elem *)(void *)a->out + r * a->n;
        const elem sum = (elem)EIGHT(sum)(dy, a->n, 0);
        for (int64_t i = 0; i < a->n; ++i) {
            dx[i] = dy[i] - VMATH(exp_nonpositive)(y[i]) * sum;
        }
    }
}

/* Columns: the sums of dy of w neighbouring slices are taken side by side in f64, each in the order
 * of its elements. Both loops read memory row by row. */
static void KERNEL(log_softmax_backward_columns)(
    const adzi_slices_args *a, int64_t begin, int64_t end)
{
    for (int64_t at, w; begin < end; begin += w) {
        w = KERNEL(group)(a, begin, end, &at);
        const elem *dy = (const elem *)(const void *)a->in[0] + at;
        const elem *y = (const elem *)(const void *)a->in[1] + at;
        elem *dx = (elem *)(void *)a->out + at;
        double sum[KERNEL(columns)] = { 0 };
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                sum[j] += (double)dy[i * a->inner + j];
            }
        }
        for (int64_t i = 0; i < a->n; ++i) {
            for (int64_t j = 0; j < w; ++j) {
                int64_t k = i * a->inner + j;
                dx[k] = dy[k] - VMATH(exp_nonpositive)(y[k]) * (elem)sum[j];
            }
        }
    }
}

void KERNEL(log_softmax_backward)(const void *block, int64_t begin, int64_t end)
{
    const adzi_slices_args *a = block;
    (a->inner == 1 ? KERNEL(log_softmax_backward_rows) : KERNEL(log_softmax_backward_columns))(
        a, begin, end);
}

#endif
