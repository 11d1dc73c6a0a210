/* Kernels of batch_norm over x[N, C, L] (L is 1 for x[N, C]), per channel c.
 *
 *     mean = sum x / (N L),   var = sum (x - mean)^2 / (N L),   rstd = 1 / sqrt(var + eps)
 *     y  = (x - mean) rstd w + b
 *
 *     db = sum dy,   dw = sum dy (x - mean) rstd
 *     dx = rstd w (dy - db / (N L) - (x - mean) rstd dw / (N L))
 *
 * With constant statistics (evaluation), mean and rstd do not depend on x, and dx = rstd w dy.
 *
 * A unit of the kernels of statistics is a channel. A unit of the elementwise kernels is a row of L
 * elements, or of C elements where L is 1. If L = 1, channels are columns of a matrix. Up to 64 of
 * them are computed together, row by row, with their sums in buffers of 64 f64. Otherwise each
 * channel consists of N contiguous rows of L elements, which are summed in eight lanes of f64. The
 * order of a sum depends on the shape alone.
 *
 * Statistics and sums are f64 and are rounded to elem before the loops over elements. The forward
 * in training reads x three times: for the mean, for the variance, and for y. The moments are
 * launched before the elements, because every element needs the statistics of its whole channel. */
#ifndef elem
#define THIS_FILE "ops/norm/batch_norm.kernel.c"
#include "ops/norm/batch_norm.h"
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/each_float.h"
#else

enum {
    KERNEL(lanes) = 8,   /* independent sums of a row */
    KERNEL(columns) = 64 /* channels that are computed together where L is 1 */
};

/* x - mean, for a mean = high + low with more digits than elem has. Where x is far from 0, the
 * rounding of the mean would otherwise shift all elements. */
#define CENTRED(x, high, low) (((x) - (high)) - (low))

/* The sum of the eight lanes, always in one order. It is the order of Note [Eight lanes] in
 * wide.kernel.h. */
static inline double KERNEL(gather)(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* ---- statistics ---------------------------------------------------------------------------- */

/* total += VALUE(i) over the elements i of one channel. In each row of L elements, element k is
 * added to lane k % 8; the lanes are joined row by row. The rows of a channel are C * L elements
 * apart. VALUE is a macro, because the four sums differ in one expression only. */
#define CHANNEL_SUM(total, VALUE)                                 \
    for (int64_t i_ = 0; i_ < a->n; ++i_) {                       \
        int64_t row_ = (i_ * a->c + channel) * a->l, k_ = 0;      \
        double lane_[KERNEL(lanes)] = { 0 };                      \
        for (; k_ + KERNEL(lanes) <= a->l; k_ += KERNEL(lanes)) { \
            for (int j_ = 0; j_ < KERNEL(lanes); ++j_) {          \
                lane_[j_] += VALUE(row_ + k_ + j_);               \
            }                                                     \
        }                                                         \
        for (int j_ = 0; k_ < a->l; ++k_, ++j_) {                 \
            lane_[j_] += VALUE(row_ + k_);                        \
        }                                                         \
        (total) += KERNEL(gather)(lane_);                         \
    }

/* total[j] += VALUE(i) over the rows of channels first .. first + columns - 1, where L is 1. The
 * inner loop runs over neighbouring channels, which are contiguous and independent. Each channel
 * has a single chain of additions in the order of the rows, so bits do not depend on how channels
 * are grouped. */
#define COLUMN_SUMS(total, VALUE)               \
    for (int64_t i_ = 0; i_ < a->n; ++i_) {     \
        int64_t row_ = i_ * a->c + first;       \
        for (int64_t j = 0; j < columns; ++j) { \
            (total)[j] += VALUE(row_ + j);      \
        }                                       \
    }

/* Mean and biased variance of contiguous channels. rstd receives the variance here; a later launch
 * turns it into the reciprocal of the root. The means of all channels are complete before the
 * second pass over x begins. */
static void KERNEL(moments_of_columns)(
    const adzi_batch_norm_args *a, int64_t first, int64_t columns)
{
    const elem *x = a->x;
    double mean[KERNEL(columns)] = { 0 }, variance[KERNEL(columns)] = { 0 };
#define VALUE(i) ((double)x[i])
    COLUMN_SUMS(mean, VALUE)
#undef VALUE
    for (int64_t j = 0; j < columns; ++j) {
        mean[j] /= (double)a->n;
    }
#define VALUE(i) (((double)x[i] - mean[j]) * ((double)x[i] - mean[j]))
    COLUMN_SUMS(variance, VALUE)
#undef VALUE
    for (int64_t j = 0; j < columns; ++j) {
        a->mean[first + j] = mean[j];
        a->rstd[first + j] = variance[j] / (double)a->n;
    }
}

/* Mean and biased variance of one channel of rows. */
static void KERNEL(moments_of_channel)(const adzi_batch_norm_args *a, int64_t channel)
{
    const elem *x = a->x;
    double mean = 0, variance = 0, count = (double)a->n * (double)a->l;
#define VALUE(i) ((double)x[i])
    CHANNEL_SUM(mean, VALUE)
#undef VALUE
    mean /= count;
#define VALUE(i) (((double)x[i] - mean) * ((double)x[i] - mean))
    CHANNEL_SUM(variance, VALUE)
#undef VALUE
    a->mean[channel] = mean;
    a->rstd[channel] = variance / count;
}

/* Mean and biased variance of channels begin .. end - 1. Two passes: the mean is subtracted before
 * squaring, so a large mean costs no digits. A unit is a channel, and no channel is divided between
 * threads. */
void KERNEL(batch_norm_moments)(const void *block, int64_t begin, int64_t end);
void KERNEL(batch_norm_moments)(const void *block, int64_t begin, int64_t end)
{
    const adzi_batch_norm_args *a = block;
    while (begin < end) {
        if (a->l == 1) {
            int64_t columns = end - begin < KERNEL(columns) ? end - begin : KERNEL(columns);
            KERNEL(moments_of_columns)(a, begin, columns);
            begin += columns;
        } else {
            KERNEL(moments_of_channel)(a, begin++);
        }
    }
}

/* sum = sum dy and along = sum dy (x - mean) rstd of contiguous channels. rstd is the same for all
 * rows of a channel and is multiplied once, after the sum. */
static void KERNEL(sums_of_columns)(const adzi_batch_norm_args *a, int64_t first, int64_t columns)
{
    const elem *x = a->x, *dy = a->dy;
    double sum[KERNEL(columns)] = { 0 }, along[KERNEL(columns)] = { 0 };
    const double *mean = a->mean + first;
#define VALUE(i) ((double)dy[i])
    COLUMN_SUMS(sum, VALUE)
#undef VALUE
#define VALUE(i) ((double)dy[i] * ((double)x[i] - mean[j]))
    COLUMN_SUMS(along, VALUE)
#undef VALUE
    for (int64_t j = 0; j < columns; ++j) {
        a->sum[first + j] = sum[j];
        a->along[first + j] = along[j] * a->rstd[first + j];
    }
}

/* sum = sum dy and along = sum dy (x - mean) rstd of one channel of rows. rstd is a factor of the
 * whole sum and is multiplied once, after it. */
static void KERNEL(sums_of_channel)(const adzi_batch_norm_args *a, int64_t channel)
{
    const elem *x = a->x, *dy = a->dy;
    double sum = 0, along = 0, mean = a->mean[channel];
#define VALUE(i) ((double)dy[i])
    CHANNEL_SUM(sum, VALUE)
#undef VALUE
#define VALUE(i) ((double)dy[i] * ((double)x[i] - mean))
    CHANNEL_SUM(along, VALUE)
#undef VALUE
    a->sum[channel] = sum;
    a->along[channel] = along * a->rstd[channel];
}

/* The sums of the backward, which are also db and dw. A unit is a channel. */
void KERNEL(batch_norm_sums)(const void *block, int64_t begin, int64_t end);
void KERNEL(batch_norm_sums)(const void *block, int64_t begin, int64_t end)
{
    const adzi_batch_norm_args *a = block;
    while (begin < end) {
        if (a->l == 1) {
            int64_t columns = end - begin < KERNEL(columns) ? end - begin : KERNEL(columns);
            KERNEL(sums_of_columns)(a, begin, columns);
            begin += columns;
        } else {
            KERNEL(sums_of_channel)(a, begin++);
        }
    }
}

/* ---- elements ------------------------------------------------------------------------------ */

/* The numbers of up to 64 channels, rounded to elem, for the loops over elements:
 * y = (x - mean) scale + shift and dx = scale (dy - level - (x - mean) slope). The mean is high +
 * low.
 */
typedef struct {
    elem high[KERNEL(columns)], low[KERNEL(columns)], scale[KERNEL(columns)],
        shift[KERNEL(columns)];
    elem level[KERNEL(columns)], slope[KERNEL(columns)];
} KERNEL(channels);

/* Computes the numbers of channels first .. first + n - 1. level = db / (N L) and slope = rstd dw /
 * (N L) are the terms of dx from the statistics. They are 0 in the forward and with constant
 * statistics. */
static void KERNEL(channels_of)(
    KERNEL(channels) * k, const adzi_batch_norm_args *a, int64_t first, int64_t n)
{
    const elem *w = a->weight, *b = a->bias;
    double count = (double)a->n * (double)a->l;
    bool moves = a->sum != NULL && !a->constant;
    for (int64_t j = 0; j < n; ++j) {
        int64_t c = first + j;
        k->high[j] = (elem)a->mean[c];
        k->low[j] = (elem)(a->mean[c] - (double)k->high[j]);
        k->scale[j] = (elem)(a->rstd[c] * (w != NULL ? (double)w[c] : 1));
        k->shift[j] = b != NULL ? b[c] : ELEM(0);
        k->level[j] = moves ? (elem)(a->sum[c] / count) : ELEM(0);
        k->slope[j] = moves ? (elem)(a->along[c] / count * a->rstd[c]) : ELEM(0);
    }
}

/* out[i] = Y(i, j) for all elements i of rows begin .. end - 1, where k.scale[j] and its neighbours
 * are the numbers of the element's channel. If L is 1, a unit is a row of all C channels. Then 64
 * channels at a time walk all rows of the part, so their numbers are computed once. Otherwise a
 * unit is a row of one channel, whose numbers are computed per row. */
#define ELEMENTS(Y)                                                                      \
    KERNEL(channels) k;                                                                  \
    if (a->l == 1) {                                                                     \
        for (int64_t first = 0; first < a->c; first += KERNEL(columns)) {                \
            int64_t n = a->c - first < KERNEL(columns) ? a->c - first : KERNEL(columns); \
            KERNEL(channels_of)(&k, a, first, n);                                        \
            for (int64_t r = begin; r < end; ++r) {                                      \
                int64_t at = r * a->c + first;                                           \
                POINTWISE_FOR(int64_t j = 0; j < n; ++j)                                 \
                {                                                                        \
                    out[at + j] = Y(at + j, j);                                          \
                }                                                                        \
            }                                                                            \
        }                                                                                \
        return;                                                                          \
    }                                                                                    \
    for (int64_t r = begin; r < end; ++r) {                                              \
        KERNEL(channels_of)(&k, a, r % a->c, 1);                                         \
        POINTWISE_FOR(int64_t i = r * a->l, stop = i + a->l; i < stop; ++i)              \
        {                                                                                \
            out[i] = Y(i, 0);                                                            \
        }                                                                                \
    }

/* The forward: y = (x - mean) scale + shift, in one pass over x. */
void KERNEL(batch_norm)(const void *block, int64_t begin, int64_t end);
void KERNEL(batch_norm)(const void *block, int64_t begin, int64_t end)
{
    const adzi_batch_norm_args *a = block;
    const elem *x = a->x;
    elem *out = a->out;
#define Y(i, j) (CENTRED(x[i], k.high[j], k.low[j]) * k.scale[j] + k.shift[j])
    ELEMENTS(Y)
#undef Y
}

/* The gradient of x, after batch_norm_sums: dx = scale (dy - level - (x - mean) slope). dx may be
 * the memory of dy: element i of dy is read before element i of dx is written. */
void KERNEL(batch_norm_dx)(const void *block, int64_t begin, int64_t end);
void KERNEL(batch_norm_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_batch_norm_args *a = block;
    const elem *x = a->x, *dy = a->dy;
    elem *out = a->out;
#define Y(i, j) \
    (k.scale[j] * (dy[i] - k.level[j] - CENTRED(x[i], k.high[j], k.low[j]) * k.slope[j]))
    ELEMENTS(Y)
#undef Y
}

#undef CENTRED
#undef CHANNEL_SUM
#undef COLUMN_SUMS
#undef ELEMENTS

#endif
