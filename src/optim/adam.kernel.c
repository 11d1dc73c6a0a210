/* Kernel of Adam and its relatives: AdamW, AMSGrad, AdaBelief and RAdam.
 *
 *     g = sign dw + decay w
 *     m = beta1 m + (1 - beta1) g
 *     s = g, or g - m for AdaBelief
 *     v = beta2 v + (1 - beta2) s^2
 *     most = max(most, v), which replaces v below, for AMSGrad
 *     w = keep w - step m / (sqrt(v) root + eps)
 *
 * keep is 1 - lr * decay for decoupled decay (AdamW) and 1 otherwise. step and root contain the
 * bias corrections. The mode PLAIN leaves the denominator out, as RAdam does in its first steps.
 * WAIT changes the moments and applies the decay, but makes no step. AdaBelief adds eps to v under
 * the root, too. A unit is one element of a contiguous parameter. Elements are independent, so
 * neither threads nor vectors change a bit. The numbers are read from memory when the kernel runs,
 * because a replayed launch finds the settings of its own step there.
 */
#ifndef elem
#define THIS_FILE "optim/adam.kernel.c"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include "optim/adam.h"
#include "tensor/kernel/each_float.h"
#else

#if ELEM_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

/* The step of elements begin .. end - 1. The flags and the mode are constants in every call, so
 * that each call becomes a loop without branches. */
static inline __attribute__((always_inline)) void KERNEL(walk)(const adzi_adam_args *args,
    int64_t begin, int64_t end, bool decays, bool keeps_most, bool belief, adzi_adam_mode mode)
{
    elem *restrict w = (elem *)args->w, *restrict m = (elem *)args->m,
                   *restrict v = (elem *)args->v;
    elem *restrict most = (elem *)args->most;
    const elem *restrict dw = (const elem *)args->dw;
    const adzi_adam_numbers n = *args->numbers;
    elem beta1 = (elem)n.beta1, fresh1 = (elem)(1 - n.beta1), beta2 = (elem)n.beta2,
         fresh2 = (elem)(1 - n.beta2);
    elem keep = (elem)n.keep, decay = (elem)n.decay, sign = (elem)n.sign;
    elem root = (elem)n.root, eps = (elem)n.eps, step = (elem)n.step;
    for (int64_t i = begin; i < end; ++i) {
        elem g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        elem mean = beta1 * m[i] + fresh1 * g, surprise = belief ? g - mean : g;
        elem square = beta2 * v[i] + fresh2 * surprise * surprise;
        m[i] = mean;
        v[i] = square;
        if (keeps_most) { /* a NaN square is taken, as in torch.maximum */
            elem before = most[i];
            square = square > before || square != square ? square : before;
            most[i] = square;
        }
        if (belief) {
            square += eps;
        }
        elem kept = keep * w[i];
        w[i] = mode == ADZI_ADAM_ADAPTIVE ? kept - step * mean / (ROOT(square) * root + eps)
               : mode == ADZI_ADAM_PLAIN  ? kept - step * mean
                                          : kept;
    }
}

/* WALK(mode) expands to the eight calls of KERNEL(walk) with constant flags and chooses one of
 * them. */
#define WALK_WITH(belief, mode)                                     \
    if (most && decays) {                                           \
        KERNEL(walk)(args, begin, end, true, true, belief, mode);   \
    } else if (most) {                                              \
        KERNEL(walk)(args, begin, end, false, true, belief, mode);  \
    } else if (decays) {                                            \
        KERNEL(walk)(args, begin, end, true, false, belief, mode);  \
    } else {                                                        \
        KERNEL(walk)(args, begin, end, false, false, belief, mode); \
    }
#define WALK(mode)               \
    if (args->numbers->belief) { \
        WALK_WITH(true, mode)    \
    } else {                     \
        WALK_WITH(false, mode)   \
    }

void KERNEL(adam)(const void *block, int64_t begin, int64_t end);
void KERNEL(adam)(const void *block, int64_t begin, int64_t end)
{
    const adzi_adam_args *args = block;
    bool most = args->most != NULL, decays = args->numbers->decay != 0;
    if (args->numbers->mode == ADZI_ADAM_ADAPTIVE) {
        WALK(ADZI_ADAM_ADAPTIVE)
    } else if (args->numbers->mode == ADZI_ADAM_PLAIN) {
        WALK(ADZI_ADAM_PLAIN)
    } else {
        WALK(ADZI_ADAM_WAIT)
    }
}

#undef WALK
#undef WALK_WITH
#undef ROOT

#endif
