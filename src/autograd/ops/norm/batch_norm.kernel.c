#ifndef elem
#define THIS_FILE "autograd/ops/norm/batch_norm.kernel.c"
#include "autograd/ops/norm/batch_norm.h"
#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(lanes) = 8, KERNEL(columns) = 64 };

/* x minus a mean that elem alone would round. */
#define CENTRED(x, high, low) (((x) - (high)) - (low))

static inline double KERNEL(gather)(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* ---- statistics ---------------------------------------------------------------------------- */

/* The sum over one channel of VALUE(place), in eight lanes of f64 within a row of L. */
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

/* Channels that lie side by side (L = 1) are summed together, row by row. */
#define COLUMN_SUMS(total, VALUE)               \
    for (int64_t i_ = 0; i_ < a->n; ++i_) {     \
        int64_t row_ = i_ * a->c + first;       \
        for (int64_t j = 0; j < columns; ++j) { \
            (total)[j] += VALUE(row_ + j);      \
        }                                       \
    }

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

/* Mean and biased variance, in two passes: a large mean cancels before anything is squared. */
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

/* What a channel does to its elements: y = (x - mean) scale + shift, and
 * dx = scale (dy - level - (x - mean) slope). */
typedef struct {
    elem high[KERNEL(columns)], low[KERNEL(columns)], scale[KERNEL(columns)],
        shift[KERNEL(columns)];
    elem level[KERNEL(columns)], slope[KERNEL(columns)];
} KERNEL(channels);

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

/* Y(place, channel's number in k) for all elements of the rows [begin, end). */
#define ELEMENTS(Y)                                                                      \
    KERNEL(channels) k;                                                                  \
    if (a->l == 1) {                                                                     \
        for (int64_t first = 0; first < a->c; first += KERNEL(columns)) {                \
            int64_t n = a->c - first < KERNEL(columns) ? a->c - first : KERNEL(columns); \
            KERNEL(channels_of)(&k, a, first, n);                                        \
            for (int64_t r = begin; r < end; ++r) {                                      \
                int64_t at = r * a->c + first;                                           \
                for (int64_t j = 0; j < n; ++j) {                                        \
                    out[at + j] = Y(at + j, j);                                          \
                }                                                                        \
            }                                                                            \
        }                                                                                \
        return;                                                                          \
    }                                                                                    \
    for (int64_t r = begin; r < end; ++r) {                                              \
        KERNEL(channels_of)(&k, a, r % a->c, 1);                                         \
        for (int64_t i = r * a->l, stop = i + a->l; i < stop; ++i) {                     \
            out[i] = Y(i, 0);                                                            \
        }                                                                                \
    }

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
