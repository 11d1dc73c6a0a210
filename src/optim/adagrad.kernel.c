/* Kernel of Adagrad (Duchi, Hazan and Singer, 2011), as torch.optim.Adagrad computes it.
 *
 *     g = sign dw + decay w,   sum += g^2,   w -= lr g / (sqrt(sum) + eps)
 *
 * sign is -1 where the loss is maximised. A unit is one element of a contiguous parameter. Elements
 * are independent, so neither threads nor vectors change a bit. The numbers are read from memory
 * when the kernel runs, because a replayed launch finds the settings of its own step there.
 */
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

/* The step of elements begin .. end - 1. `decays` is a constant in each call, so that either call
 * becomes a loop without branches. Without decay, w is not read before its update. */
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
