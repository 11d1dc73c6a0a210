#ifndef T
#define THIS_FILE "autograd/ops/loss/huber_loss.kernel.c"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* d = x - t, delta = p[0]; NaN takes the last branch and stays NaN. */
#define DELTA R(p[0])
#define SLOPE ((a - b) > DELTA ? DELTA : (a - b) < -DELTA ? -DELTA : (a - b))

PAIR_LOSS(huber_loss,
    VM(abs)(a - b) < DELTA ? R(0.5) * (a - b) * (a - b) : DELTA * (VM(abs)(a - b) - R(0.5) * DELTA),
    SLOPE, -SLOPE)

#undef DELTA
#undef SLOPE

#endif
