/* What softmax, log_softmax and logsumexp share, per type T; inside each_float.h. No include guard:
 * that is the point. Sums run in f64, in an order that the lane's length gives. */

#include "tensor/kernel/fold.kernel.h"

/* Elements go by sixteens. Logarithms of several rows' sums are taken together. */
enum { K(lanes) = 16, K(columns) = 256, K(rows) = 16, K(together) = 2048, K(chunk_of_row) = 512 };

/* The largest of n elements. NaN may count or not: it shows in the sum. */
#undef IS_LARGER
#define IS_LARGER(x, y) ((x) > (y))
PICK(max_of, IS_LARGER)

/* e = e^(x - m), none above 1. The last ones are filled up to a vector's worth. */
static inline void K(exponentials_of)(T *e, const T *x, int64_t n, T m)
{
    int64_t i = 0;
    for (; i + K(lanes) <= n; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            e[i + j] = VM(exp_nonpositive)(x[i + j] - m);
        }
    }
    if (i < n) {
        T last[K(lanes)];
        for (int j = 0; j < K(lanes); ++j) {
            last[j] = i + j < n ? x[i + j] : m;
        }
        for (int j = 0; j < K(lanes); ++j) {
            last[j] = VM(exp_nonpositive)(last[j] - m);
        }
        for (int j = 0; i + j < n; ++j) {
            e[i + j] = last[j];
        }
    }
}

/* The sum of e^(x - m) over n elements. */
static inline double K(exp_sum)(const T *x, int64_t n, T m)
{
    T e[K(chunk_of_row)];
    double sum = 0;
    for (int64_t i = 0, some; i < n; i += some) {
        some = n - i < K(chunk_of_row) ? n - i : K(chunk_of_row);
        K(exponentials_of)(e, x + i, some, m);
        sum += EIGHT(sum)(e, some, 0);
    }
    return sum;
}

/* How many of `left` rows of n elements go together. */
static inline int64_t K(rows_together)(int64_t left, int64_t n)
{
    int64_t most = K(rows) * n <= K(together) ? K(rows) : n <= K(together) ? K(together) / n : 1;
    return left < most ? left : most;
}

/* Largest elements of w neighbouring lanes, whose elements lie `stride` apart. */
static inline void K(columns_max)(T *m, const T *x, int64_t n, int64_t stride, int64_t w)
{
    for (int64_t j = 0; j < w; ++j) {
        m[j] = -(T)INFINITY;
    }
    for (int64_t i = 0; i < n; ++i) {
        const T *row = x + i * stride;
        for (int64_t j = 0; j < w; ++j) {
            m[j] = row[j] > m[j] ? row[j] : m[j];
        }
    }
}

/* Sums of e^(x - m) of w neighbouring lanes. */
static inline void K(columns_exp_sum)(
    double *sum, const T *m, const T *x, int64_t n, int64_t stride, int64_t w)
{
    for (int64_t j = 0; j < w; ++j) {
        sum[j] = 0;
    }
    for (int64_t i = 0; i < n; ++i) {
        const T *row = x + i * stride;
        T e[K(columns)];
        for (int64_t j = 0; j < w; ++j) {
            e[j] = VM(exp_nonpositive)(row[j] - m[j]);
        }
        for (int64_t j = 0; j < w; ++j) {
            sum[j] += (double)e[j];
        }
    }
}

/* The group of up to 256 neighbouring lanes at the front of [begin, end): its width, and the place
 * of its first element. */
static inline int64_t K(group)(const adzi_lanes_args *a, int64_t begin, int64_t end, int64_t *place)
{
    int64_t column = begin % a->inner, w = a->inner - column;
    w = w < end - begin ? w : end - begin;
    *place = begin / a->inner * a->n * a->inner + column;
    return w < K(columns) ? w : K(columns);
}

/* The largest elements m of rows that go together, y = e^(x - m) and its sums. A step at a time
 * over all of them, since within a row each step waits for the one before. */
static inline void K(exp_rows)(double *sum, T *m, T *y, const T *x, int64_t rows, int64_t n)
{
    for (int64_t r = 0; r < rows; ++r) {
        m[r] = K(max_of)(x + r * n, n);
    }
    for (int64_t r = 0; r < rows; ++r) {
        K(exponentials_of)(y + r * n, x + r * n, n, m[r]);
    }
    for (int64_t r = 0; r < rows; ++r) {
        sum[r] = EIGHT(sum)(y + r * n, n, 0);
    }
}

/* The same without y. */
static inline void K(exp_sums)(double *sum, T *m, const T *x, int64_t rows, int64_t n)
{
    T y[K(together)];
    if (n <= K(chunk_of_row)) {
        K(exp_rows)(sum, m, y, x, rows, n);
        return;
    }
    for (int64_t r = 0; r < rows; ++r) {
        m[r] = K(max_of)(x + r * n, n);
        sum[r] = K(exp_sum)(x + r * n, n, m[r]);
    }
}
