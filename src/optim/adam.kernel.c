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
#include "adze/optim/adam_family.h"
#include "tensor/kernel/each_float.h"
#else

#if ELEM_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

/* The step of elements begin .. end - 1. Calls for many elements give constant flags and a constant
 * mode, so that each of them becomes a loop without branches. */
static inline __attribute__((always_inline)) void KERNEL(walk)(const adz_update_call *call,
    int64_t begin, int64_t end, bool decays, bool keeps_most, bool belief, int mode)
{
    elem *restrict w = (elem *)call->parameter,
                   *restrict m = (elem *)call->states[ADZ_ADAM_EXP_AVG],
                   *restrict v = (elem *)call->states[ADZ_ADAM_EXP_AVG_SQ];
    elem *restrict most = keeps_most ? (elem *)call->states[ADZ_ADAM_MAX_EXP_AVG_SQ] : NULL;
    const elem *restrict dw = (const elem *)call->gradient;
    const double *n = call->numbers;
    elem beta1 = (elem)n[ADZ_ADAM_N_BETA1], one_minus_beta1 = (elem)n[ADZ_ADAM_N_ONE_MINUS_BETA1],
         beta2 = (elem)n[ADZ_ADAM_N_BETA2], one_minus_beta2 = (elem)n[ADZ_ADAM_N_ONE_MINUS_BETA2];
    elem keep = (elem)n[ADZ_ADAM_N_KEEP], decay = (elem)n[ADZ_ADAM_N_DECAY];
    elem sign = (elem)n[ADZ_ADAM_N_SIGN], root = (elem)n[ADZ_ADAM_N_ROOT];
    elem eps = (elem)n[ADZ_ADAM_N_EPS], step = (elem)n[ADZ_ADAM_N_STEP];
    for (int64_t i = begin; i < end; ++i) {
        elem g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        elem mean = beta1 * m[i] + one_minus_beta1 * g, surprise = belief ? g - mean : g;
        elem square = beta2 * v[i] + one_minus_beta2 * surprise * surprise;
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
        w[i] = mode == ADZ_ADAM_ADAPTIVE ? kept - step * mean / (ROOT(square) * root + eps)
               : mode == ADZ_ADAM_PLAIN  ? kept - step * mean
                                         : kept;
    }
}

/* Element i of a step without the adaptive denominator. RAdam makes about five such steps first, so
 * the flags are looked at for each element: a loop for each choice of flags would be most of the
 * code. */
static __attribute__((noinline)) void KERNEL(walk_first)(
    const adz_update_call *call, int64_t i, const bool belief)
{
    const bool most = call->states[ADZ_ADAM_MAX_EXP_AVG_SQ] != NULL;
    const bool decays = call->numbers[ADZ_ADAM_N_DECAY] != 0;
    KERNEL(walk)(call, i, i + 1, decays, most, belief, (int)call->numbers[ADZ_ADAM_N_MODE]);
}

/* Calls KERNEL(walk) with constant flags. */
static inline __attribute__((always_inline)) void KERNEL(walk_by_flags)(
    const adz_update_call *call, int64_t begin, int64_t end, const bool belief)
{
    const bool most = call->states[ADZ_ADAM_MAX_EXP_AVG_SQ] != NULL;
    const bool decays = call->numbers[ADZ_ADAM_N_DECAY] != 0;
    if ((int)call->numbers[ADZ_ADAM_N_MODE] != ADZ_ADAM_ADAPTIVE) {
        for (int64_t i = begin; i < end; ++i) {
            KERNEL(walk_first)(call, i, belief);
        }
    } else if (most && decays) {
        KERNEL(walk)(call, begin, end, true, true, belief, ADZ_ADAM_ADAPTIVE);
    } else if (most) {
        KERNEL(walk)(call, begin, end, false, true, belief, ADZ_ADAM_ADAPTIVE);
    } else if (decays) {
        KERNEL(walk)(call, begin, end, true, false, belief, ADZ_ADAM_ADAPTIVE);
    } else {
        KERNEL(walk)(call, begin, end, false, false, belief, ADZ_ADAM_ADAPTIVE);
    }
}

void KERNEL(adam)(const void *block, int64_t begin, int64_t end);
void KERNEL(adam)(const void *block, int64_t begin, int64_t end)
{
    const adz_update_call *call = block;
    KERNEL(walk_by_flags)(call, begin, end, false);
}

void KERNEL(ada_belief)(const void *block, int64_t begin, int64_t end);
void KERNEL(ada_belief)(const void *block, int64_t begin, int64_t end)
{
    const adz_update_call *call = block;
    KERNEL(walk_by_flags)(call, begin, end, true);
}

#undef ROOT

#endif
