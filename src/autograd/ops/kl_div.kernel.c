#ifndef T
#define THIS_FILE "autograd/ops/kl_div.kernel.c"
#include "autograd/ops/pair_loss.kernel.h"
#include "tensor/vmath.h"
#include "tensor/each_float.h"
#else

/* t log t is 0 at t = 0. */
PAIR_LOSS(kl_div, (b == 0 ? R(0) : b * VM(log)(b)) - b * a, -b, VM(log)(b) + R(1) - a)

/* The target as a logarithm. */
PAIR_LOSS(kl_div_log, VM(exp)(b) * (b - a), -VM(exp)(b), VM(exp)(b) * (b - a + R(1)))

#endif
