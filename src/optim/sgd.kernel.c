#ifndef T
#define THIS_FILE "optim/sgd.kernel.c"
#include <stddef.h>
#include "optim/sgd.h"
#include "tensor/kernel/each_float.h"
#else

/* One way through the elements; the flags are constants in every call below, so that each call
 * becomes a loop of its own without branches. */
static inline __attribute__((always_inline)) void K(walk)(const adzi_sgd_args *args, int64_t begin,
    int64_t end, bool decays, bool has_momentum, bool nesterov)
{
    T *restrict w = (T *)args->w, *restrict m = (T *)args->m;
    const T *restrict dw = (const T *)args->dw;
    const adzi_sgd_numbers numbers = *args->numbers;
    T lr = (T)numbers.lr, momentum = (T)numbers.momentum, fresh = (T)numbers.fresh_part;
    T decay = (T)numbers.weight_decay, sign = (T)numbers.sign;
    for (int64_t i = begin; i < end; ++i) {
        T g = sign * dw[i];
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

void K(sgd)(const void *block, int64_t begin, int64_t end);
void K(sgd)(const void *block, int64_t begin, int64_t end)
{
    const adzi_sgd_args *args = block;
    bool decays = args->numbers->weight_decay != 0;
    if (args->m == NULL) {
        if (decays) {
            K(walk)(args, begin, end, true, false, false);
        } else {
            K(walk)(args, begin, end, false, false, false);
        }
    } else if (args->numbers->nesterov) {
        if (decays) {
            K(walk)(args, begin, end, true, true, true);
        } else {
            K(walk)(args, begin, end, false, true, true);
        }
    } else if (decays) {
        K(walk)(args, begin, end, true, true, false);
    } else {
        K(walk)(args, begin, end, false, true, false);
    }
}

#endif
