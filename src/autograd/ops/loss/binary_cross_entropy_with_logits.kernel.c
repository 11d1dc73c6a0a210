#ifndef T
#define THIS_FILE "autograd/ops/loss/binary_cross_entropy_with_logits.kernel.c"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* t softplus(-x) + (1 - t) softplus(x), where softplus(x) = max(x, 0) + log(1 + e^-|x|). */
PAIR_LOSS(binary_cross_entropy_with_logits,
    VM(log1p)(VM(exp)(-VM(abs)(a))) + (a > 0 ? (R(1) - b) * a : -(b * a)), VM(sigmoid)(a) - b, -a)

#endif
