/* Kernel of means of windows and of interpolation.
 *
 *     y[p][i][j] = scale sum_k sum_l a[i][k] b[j][l] x[p][rows[i] + k][columns[j] + l]
 *
 * and likewise along the slices of a volume, of which an image has one. A unit is row i of a slice
 * of y. The rows of its window are summed first, slice by slice, with columns next to
 * each other in vectors, into a buffer of f64. The results are sums of positions of this buffer. A
 * buffer holds 1024 positions; results are computed in groups whose windows fit into it. A window
 * that is wider is summed in pieces. All sums are f64, in an order that depends on the shape alone.
 */
#ifndef elem
#define THIS_FILE "ops/pool/resample.kernel.c"
#include "ops/pool/resample.h"
#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(span) = 1024 }; /* positions in the buffer */

/* sums[w] = sum_k a[i][k] x[start + k][from + w] for `n` columns. `i` is a row of all slices. */
static void KERNEL(sum_rows)(double *restrict sums, const elem *restrict x,
    const adzi_resample_args *args, int64_t i, int64_t from, int64_t n)
{
    const adzi_taps *slices = &args->slices, *rows = &args->rows;
    const int64_t slice = i / rows->n, width = args->columns.in;
    const adzi_window q = adzi_taps_window(slices, slice), p = rows->windows[i % rows->n];
    const double *b = slices->weights != NULL ? slices->weights + slice * slices->most : NULL;
    const double *a = rows->weights + i % rows->n * rows->most;
    for (int64_t w = 0; w < n; ++w) {
        sums[w] = 0;
    }
    for (int64_t l = 0; l < q.count; ++l) {
        for (int64_t k = 0; k < p.count; ++k) {
            const elem *restrict row = x + ((q.start + l) * rows->in + p.start + k) * width + from;
            const double weight = b != NULL ? b[l] * a[k] : a[k];
            for (int64_t w = 0; w < n; ++w) {
                sums[w] += weight * (double)row[w];
            }
        }
    }
}

/* sum_l b[l] sums[l] in four chains of additions, which do not wait for each other. */
static inline double KERNEL(weighted)(const double *b, const double *sums, int64_t n)
{
    double s[4] = { 0 };
    int64_t l = 0;
    for (; l + 4 <= n; l += 4) {
        for (int k = 0; k < 4; ++k) {
            s[k] += b[l + k] * sums[l + k];
        }
    }
    for (int k = 0; l < n; ++l, ++k) {
        s[k] += b[l] * sums[l];
    }
    return (s[0] + s[2]) + (s[1] + s[3]);
}

/* Results first .. last - 1 of a row from the sums, which begin with position `from`. */
static void KERNEL(sum_columns)(elem *restrict y, const double *restrict sums,
    const adzi_taps *columns, int64_t first, int64_t last, int64_t from, double scale)
{
    const int64_t most = columns->most;
    const double *b = columns->weights;
    if (columns->step == 2 && most == 2 && last - first > 1) {
        const double weight = b[0] * scale;
        for (int64_t j = 0; j < last - first; ++j) {
            y[first + j] = (elem)((sums[2 * j] + sums[2 * j + 1]) * weight);
        }
        return;
    }
    for (int64_t j = first; j < last; ++j) {
        const adzi_window p = columns->windows[j];
        const double *at = sums + (p.start - from);
        y[j] = (elem)(KERNEL(weighted)(b + j * most, at, p.count) * scale);
    }
}

/* One result whose window is wider than the buffer. */
static double KERNEL(wide)(const elem *x, const adzi_resample_args *a, int64_t i, int64_t j)
{
    double sums[KERNEL(span)], total = 0;
    const adzi_window p = a->columns.windows[j];
    const double *b = a->columns.weights + j * a->columns.most;
    for (int64_t l = 0; l < p.count; l += KERNEL(span)) {
        const int64_t left = p.count - l, n = left < KERNEL(span) ? left : KERNEL(span);
        KERNEL(sum_rows)(sums, x, a, i, p.start + l, n);
        total += KERNEL(weighted)(b + l, sums, n);
    }
    return total * a->scale;
}

static void KERNEL(resample_row)(const elem *x, elem *y, const adzi_resample_args *a, int64_t i)
{
    double sums[KERNEL(span)];
    const adzi_window *p = a->columns.windows;
    for (int64_t j = 0; j < a->columns.n;) {
        const int64_t from = p[j].start;
        int64_t last = j;
        if (a->columns.in - from <= KERNEL(span)) {
            last = a->columns.n;
        }
        while (last < a->columns.n && p[last].start + p[last].count - from <= KERNEL(span)) {
            ++last;
        }
        if (last == j) {
            y[j] = (elem)KERNEL(wide)(x, a, i, j);
            ++j;
            continue;
        }
        const int64_t n = p[last - 1].start + p[last - 1].count - from;
        KERNEL(sum_rows)(sums, x, a, i, from, n);
        KERNEL(sum_columns)(y, sums, &a->columns, j, last, from, a->scale);
        j = last;
    }
}

void KERNEL(resample)(const void *block, int64_t begin, int64_t end);
void KERNEL(resample)(const void *block, int64_t begin, int64_t end)
{
    const adzi_resample_args *a = block;
    const int64_t volume = a->slices.in * a->rows.in * a->columns.in;
    const int64_t rows = a->slices.n * a->rows.n;
    for (int64_t u = begin; u < end; ++u) {
        const elem *x = (const elem *)a->x + u / rows * volume;
        elem *y = (elem *)a->y + u * a->columns.n;
        KERNEL(resample_row)(x, y, a, u % rows);
    }
}

#endif
