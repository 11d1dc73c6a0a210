#ifndef T
#define ADZI_CHEAP
#define THIS_FILE "autograd/ops/loss/mse_loss.kernel.c"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/each_float.h"
#else

PAIR_LOSS(mse_loss, (a - b) * (a - b), R(2) * (a - b), R(2) * (b - a))

#endif
