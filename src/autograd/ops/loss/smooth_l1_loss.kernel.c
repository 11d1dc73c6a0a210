#ifndef T
#define THIS_FILE "autograd/ops/loss/smooth_l1_loss.kernel.c"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* d = x - t, beta = p[0]; NaN takes the last branch and stays NaN. */
#define BETA  R(p[0])
#define SLOPE ((a - b) > BETA ? R(1) : (a - b) < -BETA ? R(-1) : (a - b) / BETA)

PAIR_LOSS(smooth_l1_loss,
    VM(abs)(a - b) < BETA ? R(0.5) * (a - b) * (a - b) / BETA : VM(abs)(a - b) - R(0.5) * BETA,
    SLOPE, -SLOPE)

#undef BETA
#undef SLOPE

#endif
