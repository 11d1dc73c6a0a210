/* Kernel of stochastic gradient descent, as torch.optim.SGD computes it.
 *
 *     g = sign dw + decay w
 *     m = momentum m + fresh g
 *     w -= lr (g + momentum m) with Nesterov's momentum,   w -= lr m without
 *
 * Without momentum, w -= lr g. fresh is 1 - dampening, or 1 in the first step. sign is -1 where the
 * loss is maximised. A unit is one element of a contiguous parameter. Elements are independent, so
 * neither threads nor vectors change a bit. The numbers are read from memory when the kernel runs,
 * because a replayed launch finds the settings of its own step there.
 */
#ifndef elem
#define THIS_FILE "optim/sgd.kernel.c"
#include <stddef.h>
#include "optim/sgd.h"
#include "tensor/kernel/each_float.h"
#else

/* The compiler makes one loop for each choice of decay and momentum, because neither changes within
 * a call (-funswitch-loops). */
void KERNEL(sgd)(const void *block, int64_t begin, int64_t end);
void KERNEL(sgd)(const void *block, int64_t begin, int64_t end)
{
    const adz_update_call *call = block;
    const double *n = call->numbers;
    elem *restrict w = (elem *)call->parameter, *restrict m = (elem *)call->states[0];
    const elem *restrict dw = (const elem *)call->gradient;
    const bool decays = n[ADZI_SGD_DECAY] != 0, has_momentum = m != NULL;
    const bool nesterov = n[ADZI_SGD_LOOKS_AHEAD] != 0;
    elem lr = (elem)n[ADZI_SGD_BY_LR], momentum = (elem)n[ADZI_SGD_BY_MOMENTUM];
    elem fresh = (elem)n[ADZI_SGD_FRESH], decay = (elem)n[ADZI_SGD_DECAY];
    elem sign = (elem)n[ADZI_SGD_SIGN];
    for (int64_t i = begin; i < end; ++i) {
        elem g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        if (has_momentum) {
            m[i] = momentum * m[i] + fresh * g;
            g = nesterov ? g + momentum * m[i] : m[i];
        }
        w[i] -= lr * g;
    }
}

#endif
