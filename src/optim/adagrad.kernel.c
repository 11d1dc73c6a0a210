#ifndef T
#define THIS_FILE "optim/adagrad.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "optim/adagrad.h"
#include "tensor/kernel/each_float.h"
#else

#if T_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

static inline __attribute__((always_inline)) void K(walk)(
    const adzi_adagrad_args *args, int64_t begin, int64_t end, bool decays)
{
    T *restrict w = (T *)args->w, *restrict sum = (T *)args->sum;
    const T *restrict dw = (const T *)args->dw;
    const adzi_adagrad_numbers numbers = *args->numbers;
    T lr = (T)numbers.lr, eps = (T)numbers.eps, decay = (T)numbers.decay, sign = (T)numbers.sign;
    for (int64_t i = begin; i < end; ++i) {
        T g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        T square = sum[i] + g * g;
        sum[i] = square;
        w[i] -= lr * g / (ROOT(square) + eps);
    }
}

void K(adagrad)(const void *block, int64_t begin, int64_t end);
void K(adagrad)(const void *block, int64_t begin, int64_t end)
{
    const adzi_adagrad_args *args = block;
    if (args->numbers->decay != 0) {
        K(walk)(args, begin, end, true);
    } else {
        K(walk)(args, begin, end, false);
    }
}

#undef ROOT

#endif
