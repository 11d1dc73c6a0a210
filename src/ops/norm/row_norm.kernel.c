/* Kernels of layer_norm and rms_norm over the D features of each row of x[N, D].
 *
 *     mean = sum_j x_j / D,   var = sum_j (x_j - mean)^2 / D,   r = 1 / sqrt(var + eps)
 *     u_j = (x_j - mean) r,   y_j = u_j w_j + b_j
 *
 *     g_j  = dy_j w_j
 *     dx_j = r (g_j - mean(g) - u_j mean(g u))
 *     dw_j = sum over rows of dy_j u_j,   db_j = sum over rows of dy_j
 *
 * Rows that are not centred (rms_norm) have a mean of 0, and their dx lacks the term mean(g).
 *
 * A unit of row_norm and row_norm_dx is one contiguous row. A unit of row_norm_params is one
 * feature; up to 64 neighbouring features are summed together, row by row. The forward saves mean
 * and r of each row in f64. Sums over a row run in eight lanes of f64 (Note [Eight lanes] in
 * wide.kernel.h), sums over rows in the order of the rows. No order depends on the threads.
 */
#ifndef elem
#define THIS_FILE "ops/norm/row_norm.kernel.c"
#include "ops/norm/row_norm.h"
#include <math.h>
#include "tensor/kernel/pointwise.kernel.h"
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

enum {
    KERNEL(columns) = 64, /* features that are summed together: two buffers of 512 bytes */
    KERNEL(chunk) = 512   /* products of a row in a buffer at a time: at most 4 KiB */
};

/* x - mean, for a mean = high + low with more digits than elem has. Where x is far from 0, the
 * rounding of the mean would otherwise shift all elements. */
#define CENTRED(x, high, low) (((x) - (high)) - (low))

typedef struct {
    double mean, rstd;
} KERNEL(row_stats);

/* The statistics of a row whose squares leave the range of f64, which only doubles can do. The
 * deviations are divided by the power of 2 above the largest of them, or above sqrt(eps) if that is
 * larger. An infinite element of a row that is not centred gives an rstd of 0, so that finite
 * elements become 0, as in PyTorch, and infinite ones NaN. In a centred row all are NaN. */
static __attribute__((noinline)) KERNEL(row_stats)
    KERNEL(stats_again)(const elem *x, int64_t d, double eps, bool centred)
{
    double sum = 0, most = sqrt(eps), squares = 0;
    int e = 0;
    for (int64_t j = 0; j < d; ++j) {
        sum += (double)x[j] / (double)d;
    }
    sum = centred ? sum : 0;
    for (int64_t j = 0; j < d; ++j) {
        const double size = fabs((double)x[j] - sum);
        most = size > most || size != size ? size : most;
    }
    if (most == 0 || !isfinite(most)) {
        return (KERNEL(row_stats)){ sum, isinf(most) && centred ? (double)NAN : 1 / most };
    }
    frexp(most, &e);
    for (int64_t j = 0; j < d; ++j) {
        const double u = ldexp((double)x[j] - sum, -e);
        squares += u * u;
    }
    const double root = ldexp(sqrt(eps), -e);
    return (KERNEL(row_stats)){ sum, ldexp(1 / sqrt(squares / (double)d + root * root), -e) };
}

/* y of a row with known statistics, which are stored if they are wanted. */
static inline void KERNEL(normalise_row)(
    const adzi_row_norm_args *args, int64_t i, double mean, double rstd)
{
    const elem *w = args->weight, *b = args->bias;
    const int64_t d = args->d;
    const elem *x = (const elem *)args->x + i * d;
    elem *y = (elem *)args->out + i * d;
    elem high = (elem)mean, low = (elem)(mean - (double)high), r = (elem)rstd;
    for (int64_t j = 0; j < d; ++j) {
        elem unit = CENTRED(x[j], high, low) * r;
        unit = w != NULL ? unit * w[j] : unit;
        y[j] = b != NULL ? unit + b[j] : unit;
    }
    if (args->stats != NULL) {
        args->stats[2 * i] = mean;
        args->stats[2 * i + 1] = rstd;
    }
}

/* The mean of a row. */
static inline double KERNEL(row_mean)(const adzi_row_norm_args *args, const elem *x)
{
    return args->centred ? EIGHT(sum)(x, args->d, 0) / (double)args->d : 0;
}

/* variance + eps. Two passes: the mean is subtracted before squaring, so a large mean costs no
 * digits. */
static inline double KERNEL(row_size)(const adzi_row_norm_args *args, const elem *x, double mean)
{
    return EIGHT(squares)(x, args->d, mean) / (double)args->d + args->eps;
}

static inline bool KERNEL(in_range)(double size)
{
    return size >= 1e-280 && size <= 1e280;
}

/* Computes the rows again whose squares are out of range. */
static __attribute__((noinline)) void KERNEL(rows_again)(
    const adzi_row_norm_args *args, int64_t begin, int64_t end)
{
    for (int64_t i = begin; i < end; ++i) {
        const elem *x = (const elem *)args->x + i * args->d;
        if (!KERNEL(in_range)(KERNEL(row_size)(args, x, KERNEL(row_mean)(args, x)))) {
            const KERNEL(row_stats) s = KERNEL(stats_again)(x, args->d, args->eps, args->centred);
            KERNEL(normalise_row)(args, i, s.mean, s.rstd);
        }
    }
}

void KERNEL(row_norm)(const void *block, int64_t begin, int64_t end);
void KERNEL(row_norm)(const void *block, int64_t begin, int64_t end)
{
    const adzi_row_norm_args *args = block;
    bool all = true;
    for (int64_t i = begin; i < end; ++i) {
        const elem *x = (const elem *)args->x + i * args->d;
        const double mean = KERNEL(row_mean)(args, x), size = KERNEL(row_size)(args, x, mean);
        KERNEL(normalise_row)(args, i, mean, 1 / sqrt(size));
        all = all && KERNEL(in_range)(size);
    }
    if (!all) {
        KERNEL(rows_again)(args, begin, end);
    }
}

/* dx. The products g and g u of a chunk go to buffers first, in a loop that vectorises, and are
 * then summed: `sum_g` is the sum of g, `sum_gu` that of g u. dx may be the memory of dy: element
 * j of dy is read before element j of dx is written. */
void KERNEL(row_norm_dx)(const void *block, int64_t begin, int64_t end);
void KERNEL(row_norm_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_row_norm_args *args = block;
    const elem *w = args->weight;
    int64_t d = args->d;
    for (int64_t i = begin; i < end; ++i) {
        const elem *x = (const elem *)args->x + i * d, *dy = (const elem *)args->dy + i * d;
        elem *dx = (elem *)args->out + i * d;
        double mean = args->stats[2 * i];
        elem high = (elem)mean, low = (elem)(mean - (double)high), r = (elem)args->stats[2 * i + 1];
        double sum_g = 0, sum_gu = 0;
        for (int64_t first = 0; first < d; first += KERNEL(chunk)) {
            const int64_t n = d - first < KERNEL(chunk) ? d - first : KERNEL(chunk);
            elem gradient[KERNEL(chunk)],
                product[KERNEL(chunk)]; /* values first, which vectorises */
            for (int64_t j = 0; j < n; ++j) {
                elem g = w != NULL ? dy[first + j] * w[first + j] : dy[first + j];
                gradient[j] = g;
                product[j] = g * (CENTRED(x[first + j], high, low) * r);
            }
            sum_g += EIGHT(sum)(gradient, n, 0);
            sum_gu += EIGHT(sum)(product, n, 0);
        }
        elem m = args->centred ? (elem)(sum_g / (double)d) : ELEM(0);
        elem a = (elem)(sum_gu / (double)d);
        POINTWISE_FOR(int64_t j = 0; j < d; ++j)
        {
            elem g = w != NULL ? dy[j] * w[j] : dy[j];
            dx[j] = r * (g - m - CENTRED(x[j], high, low) * r * a);
        }
    }
}

/* dw and db; either may be NULL. A unit is one feature. */
void KERNEL(row_norm_params)(const void *block, int64_t begin, int64_t end);
void KERNEL(row_norm_params)(const void *block, int64_t begin, int64_t end)
{
    const adzi_row_norm_args *args = block;
    int64_t d = args->d;
    for (; begin < end; begin += KERNEL(columns)) {
        int64_t columns = end - begin < KERNEL(columns) ? end - begin : KERNEL(columns);
        double dw[KERNEL(columns)] = { 0 }, db[KERNEL(columns)] = { 0 };
        for (int64_t i = 0; i < args->n; ++i) {
            const elem *x = (const elem *)args->x + i * d + begin;
            const elem *dy = (const elem *)args->dy + i * d + begin;
            double mean = args->stats[2 * i];
            elem high = (elem)mean, low = (elem)(mean - (double)high),
                 r = (elem)args->stats[2 * i + 1];
            for (int64_t j = 0; j < columns; ++j) {
                dw[j] += (double)(dy[j] * (CENTRED(x[j], high, low) * r));
                db[j] += (double)dy[j];
            }
        }
        for (int64_t j = 0; j < columns && args->dw != NULL; ++j) {
            ((elem *)args->dw)[begin + j] = (elem)dw[j];
        }
        for (int64_t j = 0; j < columns && args->db != NULL; ++j) {
            ((elem *)args->db)[begin + j] = (elem)db[j];
        }
    }
}

#undef CENTRED

#endif
