#ifndef T
#define THIS_FILE "autograd/ops/mse_loss.kernel.c"
#include "tensor/pointwise.kernel.h"
#include "tensor/each_float.h"
#else

POINTWISE2(squared_error, T, T, T, (a - b) * (a - b))
POINTWISE3(squared_error_backward, T, T, T, T, R(p[0]) * (a - b) * c) /* c = dy */

/* Block i of 4096 differences, squared and summed in f64, eight lanes. p[0] is the count. */
void K(squared_error_sum)(const void *block, int64_t begin, int64_t end);
void K(squared_error_sum)(const void *block, int64_t begin, int64_t end)
{
    const adzi_pointwise_args *args = block;
    const T *x = (const T *)(const void *)args->in[0], *t = (const T *)(const void *)args->in[1];
    double *sums = (double *)(void *)args->out;
    int64_t count = (int64_t)args->p[0];
    for (int64_t k = begin; k < end; ++k) {
        int64_t i = k * 4096, stop = i + 4096 < count ? i + 4096 : count;
        double lane[8] = { 0 };
        for (; i + 8 <= stop; i += 8) {
            for (int j = 0; j < 8; ++j) {
                double d = (double)(x[i + j] - t[i + j]);
                lane[j] += d * d;
            }
        }
        for (int j = 0; i < stop; ++i, ++j) {
            double d = (double)(x[i] - t[i]);
            lane[j] += d * d;
        }
        sums[k] = ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
                  ((lane[1] + lane[5]) + (lane[3] + lane[7]));
    }
}

#endif
