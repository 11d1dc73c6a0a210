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

/* The compiler makes one loop with decay and one without (-funswitch-loops). */
void KERNEL(adagrad)(const void *block, int64_t begin, int64_t end);
void KERNEL(adagrad)(const void *block, int64_t begin, int64_t end)
{
    const adz_update_call *call = block;
    const double *n = call->numbers;
    elem *restrict w = (elem *)call->parameter, *restrict sum = (elem *)call->states[0];
    const elem *restrict dw = (const elem *)call->gradient;
    const bool decays = n[ADZI_ADAGRAD_DECAY] != 0;
    elem lr = (elem)n[ADZI_ADAGRAD_LR], eps = (elem)n[ADZI_ADAGRAD_EPS];
    elem decay = (elem)n[ADZI_ADAGRAD_DECAY], sign = (elem)n[ADZI_ADAGRAD_SIGN];
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

#undef ROOT

#endif
