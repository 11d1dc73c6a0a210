/* What softmax, log_softmax and logsumexp share, per type elem; inside each_float.h. No include
 * guard: that is the point. Sums run in f64, in an order that the lane's length gives. */

#include "tensor/kernel/fold.kernel.h"

/* Elements go by sixteens. Logarithms of several rows' sums are taken together. */
enum {
    KERNEL(lanes) = 16,
    KERNEL(columns) = 256,
    KERNEL(rows) = 16,
    KERNEL(together) = 2048,
    KERNEL(chunk_of_row) = 512
};

/* The largest of n elements. NaN may count or not: it shows in the sum. */
#undef IS_LARGER
#define IS_LARGER(x, y) ((x) > (y))
PICK(max_of, IS_LARGER)

/* e = e^(x - m), none above 1. The last ones are filled up to a vector's worth. */
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

/* The sum of e^(x - m) over n elements. */
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

/* How many of `left` rows of n elements go together. */
static inline int64_t KERNEL(rows_together)(int64_t left, int64_t n)
{
    int64_t most = KERNEL(rows) * n <= KERNEL(together) ? KERNEL(rows)
                   : n <= KERNEL(together)              ? KERNEL(together) / n
                                                        : 1;
    return left < most ? left : most;
}

/* Largest elements of w neighbouring lanes, whose elements lie `stride` apart. */
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

/* Sums of e^(x - m) of w neighbouring lanes. */
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

/* The group of up to 256 neighbouring lanes at the front of [begin, end): its width, and the place
 * of its first element. */
static inline int64_t KERNEL(group)(
    const adzi_lanes_args *a, int64_t begin, int64_t end, int64_t *place)
{
    int64_t column = begin % a->inner, w = a->inner - column;
    w = w < end - begin ? w : end - begin;
    *place = begin / a->inner * a->n * a->inner + column;
    return w < KERNEL(columns) ? w : KERNEL(columns);
}

/* The largest elements m of rows that go together, y = e^(x - m) and its sums. A step at a time
 * over all of them, since within a row each step waits for the one before. */
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
