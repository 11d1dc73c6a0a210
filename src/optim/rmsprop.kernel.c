/* Kernel of RMSprop (Hinton, 2012), as torch.optim.RMSprop computes it.
 *
 *     g = sign dw + decay w
 *     v = alpha v + (1 - alpha) g^2
 *     mean = alpha mean + (1 - alpha) g,   s = v - mean^2 if centered, else s = v
 *     m = momentum m + g / (sqrt(s) + eps),   w -= lr m
 *
 * Without momentum, w -= lr g / (sqrt(s) + eps). sign is -1 where the loss is maximised. A unit is
 * one element of a contiguous parameter. Elements are independent, so neither threads nor vectors
 * change a bit. The numbers are read from memory when the kernel runs, because a replayed launch
 * finds the settings of its own step there.
 */
#ifndef elem
#define THIS_FILE "optim/rmsprop.kernel.c"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include "optim/rmsprop.h"
#include "tensor/kernel/each_float.h"
#else

#if ELEM_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

/* The step of elements begin .. end - 1. The flags are constants in every call, so that each call
 * becomes a loop without branches. */
static inline __attribute__((always_inline)) void KERNEL(walk)(const adzi_rmsprop_args *args,
    int64_t begin, int64_t end, bool decays, bool centered, bool has_momentum)
{
    elem *restrict w = (elem *)args->w, *restrict v = (elem *)args->v;
    elem *restrict mean = (elem *)args->mean, *restrict m = (elem *)args->m;
    const elem *restrict dw = (const elem *)args->dw;
    const adzi_rmsprop_numbers numbers = *args->numbers;
    elem lr = (elem)numbers.lr, alpha = (elem)numbers.alpha, fresh = (elem)(1 - numbers.alpha);
    elem eps = (elem)numbers.eps, momentum = (elem)numbers.momentum;
    elem decay = (elem)numbers.decay, sign = (elem)numbers.sign;
    for (int64_t i = begin; i < end; ++i) {
        elem g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        elem square = alpha * v[i] + fresh * g * g;
        v[i] = square;
        if (centered) {
            elem average = alpha * mean[i] + fresh * g;
            mean[i] = average;
            square -= average * average;
        }
        elem size = ROOT(square) + eps;
        if (has_momentum) {
            m[i] = momentum * m[i] + g / size;
            w[i] -= lr * m[i];
        } else {
            w[i] -= lr * g / size;
        }
    }
}

void KERNEL(rmsprop)(const void *block, int64_t begin, int64_t end);
void KERNEL(rmsprop)(const void *block, int64_t begin, int64_t end)
{
    const adzi_rmsprop_args *args = block;
    /* Bit 0: decay, bit 1: centered, bit 2: momentum. */
    int kind = (args->numbers->decay != 0 ? 1 : 0) + (args->mean != NULL ? 2 : 0) +
               (args->m != NULL ? 4 : 0);
    switch (kind) {
    case 0:
        KERNEL(walk)(args, begin, end, false, false, false);
        break;
    case 1:
        KERNEL(walk)(args, begin, end, true, false, false);
        break;
    case 2:
        KERNEL(walk)(args, begin, end, false, true, false);
        break;
    case 3:
        KERNEL(walk)(args, begin, end, true, true, false);
        break;
    case 4:
        KERNEL(walk)(args, begin, end, false, false, true);
        break;
    case 5:
        KERNEL(walk)(args, begin, end, true, false, true);
        break;
    case 6:
        KERNEL(walk)(args, begin, end, false, true, true);
        break;
    default:
        KERNEL(walk)(args, begin, end, true, true, true);
        break;
    }
}

#undef ROOT

#endif
