#ifndef elem
#define THIS_FILE "optim/adagrad.kernel.c"
#include <math.h>
#include <stdbool.h>
#include "optim/adagrad.h"
#include "tensor/kernel/each_float.h"
#else

#if ELEM_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

static inline __attribute__((always_inline)) void KERNEL(walk)(
    const adzi_adagrad_args *args, int64_t begin, int64_t end, bool decays)
{
    elem *restrict w = (elem *)args->w, *restrict sum = (elem *)args->sum;
    const elem *restrict dw = (const elem *)args->dw;
    const adzi_adagrad_numbers numbers = *args->numbers;
    elem lr = (elem)numbers.lr, eps = (elem)numbers.eps, decay = (elem)numbers.decay,
         sign = (elem)numbers.sign;
    for (int64_t i = begin; i < end; ++i) {
        elem g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        elem square = sum[i] + g * g;
        sum[i] = square;
        w[i] -= lr * g / (ROOT(square) + eps);
    }
}

void KERNEL(adagrad)(const void *block, int64_t begin, int64_t end);
void KERNEL(adagrad)(const void *block, int64_t begin, int64_t end)
{
    const adzi_adagrad_args *args = block;
    if (args->numbers->decay != 0) {
        KERNEL(walk)(args, begin, end, true);
    } else {
        KERNEL(walk)(args, begin, end, false);
    }
}

#undef ROOT

#endif
