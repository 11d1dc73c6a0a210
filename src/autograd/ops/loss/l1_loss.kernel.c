#ifndef T
#define THIS_FILE "autograd/ops/loss/l1_loss.kernel.c"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* The slope is 0 where both are equal, and where one is NaN, as abs has it. */
PAIR_LOSS(l1_loss, VM(abs)(a - b),
    a > b   ? R(1)
    : a < b ? R(-1)
            : R(0),
    a > b   ? R(-1)
    : a < b ? R(1)
            : R(0))

#endif
