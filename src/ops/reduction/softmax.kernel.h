/* Maxima and sums of exponentials, which softmax, log_softmax, logsumexp and cross_entropy share.
 *
 *     m = max_j x_j,   s = sum_j e^(x_j - m)
 *
 * Subtracting m keeps every exponent at 0 or below, so that nothing overflows. Where m is
 * finite, s is at least 1.
 * The header is included once per type elem, inside each_float.h, and therefore has no include
 * guard. Sums run in f64. Their order depends on the length of the slice and on its layout alone.
 */

#include "tensor/kernel/fold.kernel.h"

enum {
    KERNEL(lanes) = 16,      /* elements per step of a loop: one register of f32 with AVX-512 */
    KERNEL(columns) = 256,   /* neighbouring slices of a strided layout that are walked together */
    KERNEL(rows) = 16,       /* the most contiguous slices that are computed together */
    KERNEL(together) = 2048, /* the most elements of such rows: at most 16 KiB, in L1 cache */
    KERNEL(chunk_of_row) = 512 /* exponentials of a long row in a buffer at a time */
};

/* The largest of n contiguous elements. A NaN may be passed over, because the sum of exponentials
 * becomes NaN anyway. */
NOINLINE elem KERNEL(max_of)(const elem *x, int64_t n)
{
    return KERNEL(pick)(x, n, LARGER);
}

/* e[i] = e^(x[i] - m). The last group of fewer than 16 elements is padded with m to a full group,
 * so that the compiler vectorises it, and each element has one result whatever its offset. */
static inline void KERNEL(exponentials_of)(elem *e, const elem *x, int64_t n, elem m)
{
    int64_t i = 0;
    for (; i + KERNEL(lanes) <= n; i += KERNEL(lanes)) {
        for (int j = 0; j < KERNEL(lanes); ++j) {
            e[i + j] = VMATH(exp_nonpositive)(x[i + j] - m);
        }
    }
    if (i < n) {
        elem last[KERNEL(lanes)];
        for (int j = 0; j < KERNEL(lanes); ++j) {
            last[j] = i + j < n ? x[i + j] : m;
        }
        for (int j = 0; j < KERNEL(lanes); ++j) {
            last[j] = VMATH(exp_nonpositive)(last[j] - m);
        }
        for (int j = 0; i + j < n; ++j) {
            e[i + j] = last[j];
        }
    }
}

/* The sum of e^(x - m) over n contiguous elements. The exponentials go through a buffer of 512
 * elements, whose sums are added in order. */
static inline double KERNEL(exp_sum)(const elem *x, int64_t n, elem m)
{
    elem e[KERNEL(chunk_of_row)];
    double sum = 0;
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < KERNEL(chunk_of_row) ? n - i : KERNEL(chunk_of_row);
        KERNEL(exponentials_of)(e, x + i, some, m);
        sum += EIGHT(sum)(e, some, 0);
    }
    return sum;
}

/* How many of the `left` remaining rows of n elements are computed together: at least one. */
static inline int64_t KERNEL(rows_together)(int64_t left, int64_t n)
{
    int64_t most = KERNEL(rows) * n <= KERNEL(together) ? KERNEL(rows)
                   : n <= KERNEL(together)              ? KERNEL(together) / n
                                                        : 1;
    return left < most ? left : most;
}

/* m[j] = the largest of the n elements of slice j, for w neighbouring slices. `stride` is the
 * distance between two elements of a slice. */
static inline void KERNEL(columns_max)(elem *m, const elem *x, int64_t n, int64_t stride, int64_t w)
{
    for (int64_t j = 0; j < w; ++j) {
        m[j] = -(elem)INFINITY;
    }
    for (int64_t i = 0; i < n; ++i) {
        const elem *row = x + i * stride;
        for (int64_t j = 0; j < w; ++j) {
            m[j] = row[j] > m[j] ? row[j] : m[j];
        }
    }
}

/* sum[j] = the sum of e^(x - m[j]) over slice j, for w neighbouring slices. The exponentials of one
 * row go through a buffer: the f32 loop and the f64 loop vectorise separately. */
static inline void KERNEL(columns_exp_sum)(
    double *sum, const elem *m, const elem *x, int64_t n, int64_t stride, int64_t w)
{
    for (int64_t j = 0; j < w; ++j) {
        sum[j] = 0;
    }
    for (int64_t i = 0; i < n; ++i) {
        const elem *row = x + i * stride;
        elem e[KERNEL(columns)];
        for (int64_t j = 0; j < w; ++j) {
            e[j] = VMATH(exp_nonpositive)(row[j] - m[j]);
        }
        for (int64_t j = 0; j < w; ++j) {
            sum[j] += (double)e[j];
        }
    }
}

/* The width of the group of neighbouring slices that starts at slice `begin`: at most 256, within
 * [begin, end), and within one outer index. `offset` becomes the offset of its first element. */
static inline int64_t KERNEL(group)(
    const adzi_slices_args *a, int64_t begin, int64_t end, int64_t *start)
{
    int64_t column = begin % a->inner, w = a->inner - column;
    w = w < end - begin ? w : end - begin;
    *start = begin / a->inner * a->n * a->inner + column;
    return w < KERNEL(columns) ? w : KERNEL(columns);
}

/* For each of `rows` contiguous rows: its maximum m, the exponentials y = e^(x - m) and their sum.
 * Each of the three steps runs over all rows before the next one begins. Within a row every step
 * waits for the one before, but the same step of different rows overlaps. */
static inline void KERNEL(exp_rows)(
    double *sum, elem *m, elem *y, const elem *x, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; ++r) {
        m[r] = KERNEL(max_of)(x + r * n, n);
    }
    for (int64_t r = 0; r < rows; ++r) {
        KERNEL(exponentials_of)(y + r * n, x + r * n, n, m[r]);
    }
    for (int64_t r = 0; r < rows; ++r) {
        sum[r] = EIGHT(sum)(y + r * n, n, 0);
    }
}

/* The sums of the exponentials and the maxima m of several rows, without keeping the exponentials.
 * logsumexp and cross_entropy need no more. */
static inline void KERNEL(exp_sums)(double *sum, elem *m, const elem *x, int64_t rows, int64_t n)
{
    elem y[KERNEL(together)];
    if (n <= KERNEL(chunk_of_row)) {
        KERNEL(exp_rows)(sum, m, y, x, rows, n);
        return;
    }
    for (int64_t r = 0; r < rows; ++r) {
        m[r] = KERNEL(max_of)(x + r * n, n);
        sum[r] = KERNEL(exp_sum)(x + r * n, n, m[r]);
    }
}
