#ifndef T
#define THIS_FILE "autograd/ops/loss/kl_div.kernel.c"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* t log t is 0 at t = 0. */
PAIR_LOSS(kl_div, (b == 0 ? R(0) : b * VM(log)(b)) - b * a, -b, VM(log)(b) + R(1) - a)

/* The target as a logarithm. */
PAIR_LOSS(kl_div_log, VM(exp)(b) * (b - a), -VM(exp)(b), VM(exp)(b) * (b - a + R(1)))

#endif
