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

/* The numbers in the dtype of the elements. */
typedef struct {
    elem lr, alpha, fresh, eps, momentum, decay, sign;
} KERNEL(rmsprop_numbers);

/* One loop for each choice of `centered` and `has_momentum`, which are constants where this is
 * called. A loop in which they vary has too many streams to become vectors. */
static inline __attribute__((always_inline)) void KERNEL(rmsprop_loop)(const adz_update_call *call,
    int64_t begin, int64_t end, const KERNEL(rmsprop_numbers) n, bool centered, bool has_momentum)
{
    elem *restrict w = (elem *)call->parameter, *restrict v = (elem *)call->states[ADZI_RMS_SQUARE];
    elem *restrict mean = (elem *)call->states[ADZI_RMS_MEAN];
    elem *restrict m = (elem *)call->states[ADZI_RMS_BUFFER];
    const elem *restrict dw = (const elem *)call->gradient;
    const bool decays = n.decay != 0;
    for (int64_t i = begin; i < end; ++i) {
        elem g = n.sign * dw[i];
        if (decays) {
            g += n.decay * w[i];
        }
        elem square = n.alpha * v[i] + n.fresh * g * g;
        v[i] = square;
        if (centered) {
            elem average = n.alpha * mean[i] + n.fresh * g;
            mean[i] = average;
            square = KERNEL(centred)(square, average);
        }
        elem size = ROOT(square) + n.eps;
        if (has_momentum) {
            m[i] = n.momentum * m[i] + g / size;
            w[i] -= n.lr * m[i];
        } else {
            w[i] -= n.lr * g / size;
        }
    }
}

void KERNEL(rmsprop)(const void *block, int64_t begin, int64_t end);
void KERNEL(rmsprop)(const void *block, int64_t begin, int64_t end)
{
    const adz_update_call *call = block;
    const double *all = call->numbers;
    const KERNEL(rmsprop_numbers) n = { .lr = (elem)all[ADZI_RMS_LR],
        .alpha = (elem)all[ADZI_RMS_ALPHA],
        .fresh = (elem)all[ADZI_RMS_FRESH],
        .eps = (elem)all[ADZI_RMS_EPS],
        .momentum = (elem)all[ADZI_RMS_MOMENTUM],
        .decay = (elem)all[ADZI_RMS_DECAY],
        .sign = (elem)all[ADZI_RMS_SIGN] };
    const bool centered = call->states[ADZI_RMS_MEAN] != NULL;
    if (call->states[ADZI_RMS_BUFFER] != NULL) {
        if (centered) {
            KERNEL(rmsprop_loop)(call, begin, end, n, true, true);
        } else {
            KERNEL(rmsprop_loop)(call, begin, end, n, false, true);
        }
    } else if (centered) {
        KERNEL(rmsprop_loop)(call, begin, end, n, true, false);
    } else {
        KERNEL(rmsprop_loop)(call, begin, end, n, false, false);
    }
}

#undef ROOT
#undef MOST

#endif
