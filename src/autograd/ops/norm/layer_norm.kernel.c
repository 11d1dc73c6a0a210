#ifndef T
#define THIS_FILE "autograd/ops/norm/layer_norm.kernel.c"
#include "autograd/ops/norm/layer_norm.h"
#include <math.h>
#include "tensor/kernel/wide.kernel.h"
#include "tensor/kernel/each_float.h"
#else

enum { K(columns) = 64, K(chunk) = 512 };

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
        /* Two passes: a large mean cancels before anything is squared. */
        double mean = EIGHT(sum)(x, d, 0) / (double)d;
        double variance = EIGHT(squares)(x, d, mean) / (double)d;
        /* Beyond the range of f64 it is unknown: NaN, and not 0 for each element. */
        double rstd = isinf(variance) ? (double)NAN : 1 / sqrt(variance + args->eps);
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
        double level = 0, along = 0;
        for (int64_t first = 0; first < d; first += K(chunk)) {
            const int64_t n = d - first < K(chunk) ? d - first : K(chunk);
            T gradient[K(chunk)], product[K(chunk)]; /* values first, which vectorises */
            for (int64_t j = 0; j < n; ++j) {
                T g = w != NULL ? dy[first + j] * w[first + j] : dy[first + j];
                gradient[j] = g;
                product[j] = g * (CENTRED(x[first + j], high, low) * r);
            }
            level += EIGHT(sum)(gradient, n, 0);
            along += EIGHT(sum)(product, n, 0);
        }
        T m = (T)(level / (double)d), a = (T)(along / (double)d);
        for (int64_t j = 0; j < d; ++j) {
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
