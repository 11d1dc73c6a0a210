#ifndef T
#define THIS_FILE "optim/rmsprop.kernel.c"
#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include "optim/rmsprop.h"
#include "tensor/kernel/each_float.h"
#else

#if T_IS_F32
#define ROOT(x) sqrtf(x)
#else
#define ROOT(x) sqrt(x)
#endif

/* The flags are constants in every call below, so that each becomes a loop without branches. */
static inline __attribute__((always_inline)) void K(walk)(const adzi_rmsprop_args *args,
    int64_t begin, int64_t end, bool decays, bool centered, bool has_momentum)
{
    T *restrict w = (T *)args->w, *restrict v = (T *)args->v;
    T *restrict mean = (T *)args->mean, *restrict m = (T *)args->m;
    const T *restrict dw = (const T *)args->dw;
    const adzi_rmsprop_numbers numbers = *args->numbers;
    T lr = (T)numbers.lr, alpha = (T)numbers.alpha, fresh = (T)(1 - numbers.alpha);
    T eps = (T)numbers.eps, momentum = (T)numbers.momentum;
    T decay = (T)numbers.decay, sign = (T)numbers.sign;
    for (int64_t i = begin; i < end; ++i) {
        T g = sign * dw[i];
        if (decays) {
            g += decay * w[i];
        }
        T square = alpha * v[i] + fresh * g * g;
        v[i] = square;
        if (centered) {
            T average = alpha * mean[i] + fresh * g;
            mean[i] = average;
            square -= average * average;
        }
        T size = ROOT(square) + eps;
        if (has_momentum) {
            m[i] = momentum * m[i] + g / size;
            w[i] -= lr * m[i];
        } else {
            w[i] -= lr * g / size;
        }
    }
}

void K(rmsprop)(const void *block, int64_t begin, int64_t end);
void K(rmsprop)(const void *block, int64_t begin, int64_t end)
{
    const adzi_rmsprop_args *args = block;
    int kind = (args->numbers->decay != 0 ? 1 : 0) + (args->mean != NULL ? 2 : 0) +
               (args->m != NULL ? 4 : 0);
    switch (kind) {
    case 0:
        K(walk)(args, begin, end, false, false, false);
        break;
    case 1:
        K(walk)(args, begin, end, true, false, false);
        break;
    case 2:
        K(walk)(args, begin, end, false, true, false);
        break;
    case 3:
        K(walk)(args, begin, end, true, true, false);
        break;
    case 4:
        K(walk)(args, begin, end, false, false, true);
        break;
    case 5:
        K(walk)(args, begin, end, true, false, true);
        break;
    case 6:
        K(walk)(args, begin, end, false, true, true);
        break;
    default:
        K(walk)(args, begin, end, true, true, true);
        break;
    }
}

#undef ROOT

#endif
