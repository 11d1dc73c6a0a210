#ifndef T
#define THIS_FILE "autograd/ops/loss/binary_cross_entropy.kernel.c"
#include "autograd/ops/loss/binary_cross_entropy.h"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

/* A logarithm is held at -100, and x (1 - x) at 1e-12, so that a certain x gives finite numbers.
 * A maximum with NaN is NaN. */
#define AT_LEAST(value, least) ((value) < R(least) ? R(least) : (value))
#define LOG_X                  AT_LEAST(VM(log)(a), -100)
#define LOG_1_X                AT_LEAST(VM(log1p)(-a), -100)

PAIR_LOSS(binary_cross_entropy, -(b *LOG_X + (R(1) - b) * LOG_1_X),
    (a - b) / AT_LEAST(a * (R(1) - a), 1e-12), LOG_1_X - LOG_X)

#undef AT_LEAST
#undef LOG_X
#undef LOG_1_X

/* Notes whether some x is no probability. */
void K(probability_check)(const void *block, int64_t begin, int64_t end);
void K(probability_check)(const void *block, int64_t begin, int64_t end)
{
    const adzi_probability_check *args = block;
    const T *x = args->x;
    int outside = 0;
    for (int64_t i = begin; i < end; ++i) {
        outside |= !(x[i] >= 0 && x[i] <= 1);
    }
    if (outside) {
        atomic_store_explicit(args->outside, true, memory_order_relaxed);
    }
}

#endif
