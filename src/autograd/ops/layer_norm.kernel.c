#ifndef T
#define THIS_FILE "autograd/ops/layer_norm.kernel.c"
#include "autograd/ops/layer_norm.h"
#include <math.h>
#include "tensor/each_float.h"
#else

enum { K(lanes) = 8, K(columns) = 64 };

static inline double K(gather)(const double *lane)
{
    return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
           ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static inline double K(row_mean)(const T *x, int64_t d)
{
    double lane[K(lanes)] = { 0 };
    int64_t i = 0;
    for (; i + K(lanes) <= d; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            lane[j] += (double)x[i + j];
        }
    }
    for (int j = 0; i < d; ++i, ++j) {
        lane[j] += (double)x[i];
    }
    return K(gather)(lane) / (double)d;
}

/* Two passes: a large mean cancels before anything is squared. */
static inline double K(row_variance)(const T *x, int64_t d, double mean)
{
    double lane[K(lanes)] = { 0 };
    int64_t i = 0;
    for (; i + K(lanes) <= d; i += K(lanes)) {
        for (int j = 0; j < K(lanes); ++j) {
            double c = (double)x[i + j] - mean;
            lane[j] += c * c;
        }
    }
    for (int j = 0; i < d; ++i, ++j) {
        double c = (double)x[i] - mean;
        lane[j] += c * c;
    }
    return K(gather)(lane) / (double)d;
}

/* x minus a mean that T alone would round. */
#define CENTRED(x, high, low) (((x) - (high)) - (low))

void K(layer_norm)(const void *block, int64_t begin, int64_t end);
void K(layer_norm)(const void *block, int64_t begin, int64_t end)
{
    const adzi_layer_norm_args *args = block;
    const T *w = args->weight, *b = args->bias;
    int64_t d = args->d;
    for (int64_t i = begin; i < end; ++i) {
        const T *x = (const T *)args->x + i * d;
        T *y = (T *)args->out + i * d;
        double mean = K(row_mean)(x, d);
        double rstd = 1 / sqrt(K(row_variance)(x, d, mean) + args->eps);
        T high = (T)mean, low = (T)(mean - (double)high), r = (T)rstd;
        for (int64_t j = 0; j < d; ++j) {
            T unit = CENTRED(x[j], high, low) * r;
            unit = w != NULL ? unit * w[j] : unit;
            y[j] = b != NULL ? unit + b[j] : unit;
        }
        if (args->stats != NULL) {
            args->stats[2 * i] = mean;
            args->stats[2 * i + 1] = rstd;
        }
    }
}

/* dx = rstd (g - mean(g) - unit mean(g unit)), g = dy w */
void K(layer_norm_dx)(const void *block, int64_t begin, int64_t end);
void K(layer_norm_dx)(const void *block, int64_t begin, int64_t end)
{
    const adzi_layer_norm_args *args = block;
    const T *w = args->weight;
    int64_t d = args->d;
    for (int64_t i = begin; i < end; ++i) {
        const T *x = (const T *)args->x + i * d, *dy = (const T *)args->dy + i * d;
        T *dx = (T *)args->out + i * d;
        double mean = args->stats[2 * i];
        T high = (T)mean, low = (T)(mean - (double)high), r = (T)args->stats[2 * i + 1];
        double level[K(lanes)] = { 0 }, along[K(lanes)] = { 0 };
        int64_t j = 0;
        for (; j + K(lanes) <= d; j += K(lanes)) {
            for (int k = 0; k < K(lanes); ++k) {
                T g = w != NULL ? dy[j + k] * w[j + k] : dy[j + k];
                level[k] += (double)g;
                along[k] += (double)(g * (CENTRED(x[j + k], high, low) * r));
            }
        }
        for (int k = 0; j < d; ++j, ++k) {
            T g = w != NULL ? dy[j] * w[j] : dy[j];
            level[k] += (double)g;
            along[k] += (double)(g * (CENTRED(x[j], high, low) * r));
        }
        T m = (T)(K(gather)(level) / (double)d), a = (T)(K(gather)(along) / (double)d);
        for (j = 0; j < d; ++j) {
            T g = w != NULL ? dy[j] * w[j] : dy[j];
            dx[j] = r * (g - m - CENTRED(x[j], high, low) * r * a);
        }
    }
}

/* dw = sum of dy unit, db = sum of dy, over the rows in order. */
void K(layer_norm_params)(const void *block, int64_t begin, int64_t end);
void K(layer_norm_params)(const void *block, int64_t begin, int64_t end)
{
    const adzi_layer_norm_args *args = block;
    int64_t d = args->d;
    for (; begin < end; begin += K(columns)) {
        int64_t columns = end - begin < K(columns) ? end - begin : K(columns);
        double dw[K(columns)] = { 0 }, db[K(columns)] = { 0 };
        for (int64_t i = 0; i < args->n; ++i) {
            const T *x = (const T *)args->x + i * d + begin;
            const T *dy = (const T *)args->dy + i * d + begin;
            double mean = args->stats[2 * i];
            T high = (T)mean, low = (T)(mean - (double)high), r = (T)args->stats[2 * i + 1];
            for (int64_t j = 0; j < columns; ++j) {
                dw[j] += (double)(dy[j] * (CENTRED(x[j], high, low) * r));
                db[j] += (double)dy[j];
            }
        }
        for (int64_t j = 0; j < columns && args->dw != NULL; ++j) {
            ((T *)args->dw)[begin + j] = (T)dw[j];
        }
        for (int64_t j = 0; j < columns && args->db != NULL; ++j) {
            ((T *)args->db)[begin + j] = (T)db[j];
        }
    }
}

#undef CENTRED

#endif
