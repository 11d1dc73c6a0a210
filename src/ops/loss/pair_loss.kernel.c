/* Kernels of losses that compare an input x with a target t element by element.
 *
 * PAIR_LOSS(name, VALUE, DX, DT) of pair_loss.kernel.h makes four kernels of each loss: the losses
 * of the elements, their sum by blocks, and the two derivatives. In the expressions a is x, b is
 * t, and p[0] is the loss's number. With d = x - t:
 *
 *     mse_loss        d^2
 *     l1_loss         |d|
 *     smooth_l1_loss  d^2 / (2 beta)  for |d| < beta,    else |d| - beta / 2
 *     huber_loss      d^2 / 2         for |d| < delta,   else delta (|d| - delta / 2)
 *     binary_cross_entropy              -(t log x + (1 - t) log(1 - x))
 *     binary_cross_entropy_with_logits  t softplus(-x) + (1 - t) softplus(x)
 *     kl_div          t (log t - x),  with x a log-probability
 *     kl_div_log      e^t (t - x),    with t a log-probability too
 */
#ifndef elem
#define THIS_FILE "ops/loss/pair_loss.kernel.c"
#include "ops/loss/binary_cross_entropy.h"
#include "ops/loss/pair_loss.kernel.h"
#include "tensor/kernel/vmath.h"
#include "tensor/kernel/each_float.h"
#else

enum { KERNEL(chunk) = 256 }; /* losses in the buffer of pair_loss_sums: at most 2 KiB */

/* The sums of the blocks begin .. end-1. The losses of a chunk are written to a buffer, in a loop
 * that vectorises, and then summed in eight lanes of f64. The order depends on the number of
 * elements alone. */
static void KERNEL(pair_loss_sums)(
    const adzi_pair_sum_args *args, int64_t begin, int64_t end, adzi_pointwise_loop *losses)
{
    const double p[ADZI_POINTWISE_PARAMS] = { args->number };
    for (int64_t k = begin; k < end; ++k) {
        int64_t i = k * ADZI_PAIR_BLOCK, stop = i + ADZI_PAIR_BLOCK;
        stop = stop < args->count ? stop : args->count;
        double sum = 0;
        for (; i < stop; i += KERNEL(chunk)) {
            const void *in[] = { (const elem *)args->x + i, (const elem *)args->t + i };
            int64_t n = stop - i < KERNEL(chunk) ? stop - i : KERNEL(chunk);
            elem values[KERNEL(chunk)];
            losses(values, in, n, p);
            sum += EIGHT(sum)(values, n, 0);
        }
        if (args->y != NULL) { /* the only block */
            *(elem *)args->y = (elem)((0 + sum) * args->scale);
        } else {
            args->sums[k] = sum;
        }
    }
}

PAIR_LOSS(mse_loss, (a - b) * (a - b), ELEM(2) * (a - b), ELEM(2) * (b - a))

/* The slope is the sign of d: 0 where x equals t, and where either is NaN. */
PAIR_LOSS(l1_loss, VMATH(abs)(a - b),
    a > b   ? ELEM(1)
    : a < b ? ELEM(-1)
            : ELEM(0),
    a > b   ? ELEM(-1)
    : a < b ? ELEM(1)
            : ELEM(0))

/* p[0] = beta. A NaN fails every comparison, takes the last branch and stays NaN. */
#define BETA  ELEM(p[0])
#define SLOPE ((a - b) > BETA ? ELEM(1) : (a - b) < -BETA ? ELEM(-1) : (a - b) / BETA)

PAIR_LOSS(smooth_l1_loss,
    VMATH(abs)(a - b) < BETA ? ELEM(0.5) * (a - b) * (a - b) / BETA
                             : VMATH(abs)(a - b) - ELEM(0.5) * BETA,
    SLOPE, -SLOPE)

#undef BETA
#undef SLOPE

/* p[0] = delta. A NaN fails every comparison, takes the last branch and stays NaN. */
#define DELTA ELEM(p[0])
#define SLOPE ((a - b) > DELTA ? DELTA : (a - b) < -DELTA ? -DELTA : (a - b))

PAIR_LOSS(huber_loss,
    VMATH(abs)(a - b) < DELTA ? ELEM(0.5) * (a - b) * (a - b)
                              : DELTA * (VMATH(abs)(a - b) - ELEM(0.5) * DELTA),
    SLOPE, -SLOPE)

#undef DELTA
#undef SLOPE

/* As in PyTorch, each logarithm is at least -100 and the divisor x (1 - x) of the derivative at
 * least 1e-12, so that an x of exactly 0 or 1 gives finite numbers. AT_LEAST keeps NaN. */
#define AT_LEAST(value, least) ((value) < ELEM(least) ? ELEM(least) : (value))
#define LOG_X                  AT_LEAST(VMATH(log)(a), -100)
#define LOG_1_X                AT_LEAST(VMATH(log1p)(-a), -100)

PAIR_LOSS(binary_cross_entropy, -(b *LOG_X + (ELEM(1) - b) * LOG_1_X),
    (a - b) / AT_LEAST(a * (ELEM(1) - a), 1e-12), LOG_1_X - LOG_X)

#undef AT_LEAST
#undef LOG_X
#undef LOG_1_X

/* Sets *outside if some x is not within [0, 1]; a NaN is not. A unit is one element. Threads only
 * ever store true, so a relaxed atomic is enough. */
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

/* log(1 + e^-|x|) + (1 - t) x for x > 0, and - t x otherwise: both softplus functions share the
 * logarithm, and no exponential overflows. */
PAIR_LOSS(binary_cross_entropy_with_logits,
    VMATH(log1p)(VMATH(exp)(-VMATH(abs)(a))) + (a > 0 ? (ELEM(1) - b) * a : -(b * a)),
    VMATH(sigmoid)(a) - b, -a)

/* t log t has the limit 0 at t = 0, where the product itself would be NaN. */
PAIR_LOSS(kl_div, (b == 0 ? ELEM(0) : b * VMATH(log)(b)) - b * a, -b, VMATH(log)(b) + ELEM(1) - a)

/* kl_div with log_target: t is the logarithm of the target. */
PAIR_LOSS(kl_div_log, VMATH(exp)(b) * (b - a), -VMATH(exp)(b), VMATH(exp)(b) * (b - a + ELEM(1)))

#endif
