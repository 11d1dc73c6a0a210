/* Kernel of RMSprop (Hinton, 2012), as torch.optim.RMSprop computes it.
 *
 *     g = sign dw + decay w
 *     v = alpha v + (1 - alpha) g^2
 *     mean = alpha mean + (1 - alpha) g,   s = max(v - mean^2, 0) if centered, else s = v
 *     m = momentum m + g / (sqrt(s) + eps),   w -= lr m
 *
 * Without momentum, w -= lr g / (sqrt(s) + eps). sign is -1 where the loss is maximised. A unit is
 * one element of a contiguous parameter. Elements are independent, so neither threads nor vectors
 * change a bit. The numbers are read from memory when the kernel runs, because a replayed launch
 * finds the settings of its own step there.
 */
#ifndef elem
#define THIS_FILE "optim/rmsprop.kernel.c"
#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include "optim/rmsprop.h"
#include "tensor/kernel/each_float.h"
#else

#if ELEM_IS_F32
#define ROOT(x) sqrtf(x)
#define MOST    FLT_MAX
#else
#define ROOT(x) sqrt(x)
#define MOST    DBL_MAX
#endif

/* v - mean^2, which is never negative before it is rounded. A v that overflowed stays infinite, so
 * that the parameter keeps its value; the difference of two infinities would be NaN. */
static inline elem KERNEL(centred)(elem v, elem mean)
{
    elem s = v - mean * mean;
    s = s < ELEM(0) ? ELEM(0) : s;
    return v > MOST ? v : s;
}

/* The compiler makes one loop for each choice of decay, centered and momentum, because none of them
 * changes within a call (-funswitch-loops). */
void KERNEL(rmsprop)(const void *block, int64_t begin, int64_t end);
void KERNEL(rmsprop)(const void *block, int64_t begin, int64_t end)
{
    const adz_update_call *call = block;
    const double *n = call->numbers;
    elem *restrict w = (elem *)call->parameter, *restrict v = (elem *)call->states[ADZI_RMS_SQUARE];
    elem *restrict mean = (elem *)call->states[ADZI_RMS_MEAN];
    elem *restrict m = (elem *)call->states[ADZI_RMS_BUFFER];
    const elem *restrict dw = (const elem *)call->gradient;
    const bool decays = n[ADZI_RMS_DECAY] != 0, centered = mean != NULL, has_momentum = m != NULL;
    elem lr = (elem)n[ADZI_RMS_LR], alpha = (elem)n[ADZI_RMS_ALPHA];
    elem fresh = (elem)n[ADZI_RMS_FRESH], eps = (elem)n[ADZI_RMS_EPS];
    elem momentum = (elem)n[ADZI_RMS_MOMENTUM];
    elem decay = (elem)n[ADZI_RMS_DECAY], sign = (elem)n[ADZI_RMS_SIGN];
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
            square = KERNEL(centred)(square, average);
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

#undef ROOT
#undef MOST

#endif
