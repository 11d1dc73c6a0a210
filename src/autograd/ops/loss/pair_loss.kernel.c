/* Kernels of losses that compare element by element (pair_loss.kernel.h). */
#ifndef elem
#define THIS_FILE "autograd/ops/loss/pair_loss.kernel.c"
#include "autograd/ops/loss/binary_cross_entropy.h"
#include "autograd/ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

PAIR_LOSS(mse_loss, (a - b) * (a - b), ELEM(2) * (a - b), ELEM(2) * (b - a))

/* The slope is 0 where both are equal, and where one is NaN, as abs has it. */
PAIR_LOSS(l1_loss, VMATH(abs)(a - b),
    a > b   ? ELEM(1)
    : a < b ? ELEM(-1)
            : ELEM(0),
    a > b   ? ELEM(-1)
    : a < b ? ELEM(1)
            : ELEM(0))

/* d = x - t, beta = p[0]; NaN takes the last branch and stays NaN. */
#define BETA  ELEM(p[0])
#define SLOPE ((a - b) > BETA ? ELEM(1) : (a - b) < -BETA ? ELEM(-1) : (a - b) / BETA)

PAIR_LOSS(smooth_l1_loss,
    VMATH(abs)(a - b) < BETA ? ELEM(0.5) * (a - b) * (a - b) / BETA
                             : VMATH(abs)(a - b) - ELEM(0.5) * BETA,
    SLOPE, -SLOPE)

#undef BETA
#undef SLOPE

/* d = x - t, delta = p[0]; NaN takes the last branch and stays NaN. */
#define DELTA ELEM(p[0])
#define SLOPE ((a - b) > DELTA ? DELTA : (a - b) < -DELTA ? -DELTA : (a - b))

PAIR_LOSS(huber_loss,
    VMATH(abs)(a - b) < DELTA ? ELEM(0.5) * (a - b) * (a - b)
                              : DELTA * (VMATH(abs)(a - b) - ELEM(0.5) * DELTA),
    SLOPE, -SLOPE)

#undef DELTA
#undef SLOPE

/* A logarithm is held at -100, and x (1 - x) at 1e-12, so that a certain x gives finite numbers.
 * A maximum with NaN is NaN. */
#define AT_LEAST(value, least) ((value) < ELEM(least) ? ELEM(least) : (value))
#define LOG_X                  AT_LEAST(VMATH(log)(a), -100)
#define LOG_1_X                AT_LEAST(VMATH(log1p)(-a), -100)

PAIR_LOSS(binary_cross_entropy, -(b *LOG_X + (ELEM(1) - b) * LOG_1_X),
    (a - b) / AT_LEAST(a * (ELEM(1) - a), 1e-12), LOG_1_X - LOG_X)

#undef AT_LEAST
#undef LOG_X
#undef LOG_1_X

/* Notes whether some x is no probability. */
void KERNEL(probability_check)(const void *block, int64_t begin, int64_t end);
void KERNEL(probability_check)(const void *block, int64_t begin, int64_t end)
{
    const adzi_probability_check *args = block;
    const elem *x = args->x;
    int outside = 0;
    for (int64_t i = begin; i < end; ++i) {
        outside |= !(x[i] >= 0 && x[i] <= 1);
    }
    if (outside) {
        atomic_store_explicit(args->outside, true, memory_order_relaxed);
    }
}

/* t softplus(-x) + (1 - t) softplus(x), where softplus(x) = max(x, 0) + log(1 + e^-|x|). */
PAIR_LOSS(binary_cross_entropy_with_logits,
    VMATH(log1p)(VMATH(exp)(-VMATH(abs)(a))) + (a > 0 ? (ELEM(1) - b) * a : -(b * a)),
    VMATH(sigmoid)(a) - b, -a)

/* t log t is 0 at t = 0. */
PAIR_LOSS(kl_div, (b == 0 ? ELEM(0) : b * VMATH(log)(b)) - b * a, -b, VMATH(log)(b) + ELEM(1) - a)

/* The target as a logarithm. */
PAIR_LOSS(kl_div_log, VMATH(exp)(b) * (b - a), -VMATH(exp)(b), VMATH(exp)(b) * (b - a + ELEM(1)))

#endif
