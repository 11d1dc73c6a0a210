#ifndef T
#define THIS_FILE "optim/adam.kernel.c"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include "optim/adam.h"
#include "tensor/kernel/each_float.h"
#else

#if T_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

/* The flags are constants in every call below, so that each becomes a loop without branches. */
static inline __attribute__((always_inline)) void K(walk)(const adzi_adam_args *args, int64_t begin,
    int64_t end, bool decays, bool keeps_most, bool belief, adzi_adam_mode mode)
{
    T *restrict w = (T *)args->w, *restrict m = (T *)args->m, *restrict v = (T *)args->v;
    T *restrict most = (T *)args->most;
    const T *restrict dw = (const T *)args->dw;
    const adzi_adam_numbers n = *args->numbers;
    T beta1 = (T)n.beta1, fresh1 = (T)(1 - n.beta1), beta2 = (T)n.beta2, fresh2 = (T)(1 - n.beta2);
    T keep = (T)n.keep, decay = (T)n.decay, sign = (T)n.sign;
    T root = (T)n.root, eps = (T)n.eps, step = (T)n.step;
    for (int64_t i = begin; i < end; ++i) {
        T g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        T mean = beta1 * m[i] + fresh1 * g, surprise = belief ? g - mean : g;
        T square = beta2 * v[i] + fresh2 * surprise * surprise;
        m[i] = mean;
        v[i] = square;
        if (keeps_most) { /* a NaN stays, as in torch.maximum */
            T before = most[i];
            square = square > before || square != square ? square : before;
            most[i] = square;
        }
        if (belief) {
            square += eps;
        }
        T kept = keep * w[i];
        w[i] = mode == ADZI_ADAM_ADAPTIVE ? kept - step * mean / (ROOT(square) * root + eps)
               : mode == ADZI_ADAM_PLAIN  ? kept - step * mean
                                          : kept;
    }
}

#define WALK_WITH(belief, mode)                                \
    if (most && decays) {                                      \
        K(walk)(args, begin, end, true, true, belief, mode);   \
    } else if (most) {                                         \
        K(walk)(args, begin, end, false, true, belief, mode);  \
    } else if (decays) {                                       \
        K(walk)(args, begin, end, true, false, belief, mode);  \
    } else {                                                   \
        K(walk)(args, begin, end, false, false, belief, mode); \
    }
#define WALK(mode)               \
    if (args->numbers->belief) { \
        WALK_WITH(true, mode)    \
    } else {                     \
        WALK_WITH(false, mode)   \
    }

void K(adam)(const void *block, int64_t begin, int64_t end);
void K(adam)(const void *block, int64_t begin, int64_t end)
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
