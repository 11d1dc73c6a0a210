/* Kernels of the losses of the table (table.h), which compare an input x with a target t element by
 * element.
 *
 * PAIR_LOSS(name, VALUE, DX, DT) of pair_loss.kernel.h makes four kernels of each loss: the losses
 * of the elements, their sum by blocks, and the two derivatives. */
#ifndef elem
#define THIS_FILE "ops/loss/pair_loss.kernel.c"
#include "ops/loss/pair_loss.kernel.h"
#include "ops/loss/probability_check.h"
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

static inline elem KERNEL(sign_of_difference)(elem a, elem b)
{
    return a > b ? ELEM(1) : a < b ? ELEM(-1) : ELEM(0);
}

static inline elem KERNEL(huber_slope)(elem d, elem delta)
{
    return d > delta ? delta : d < -delta ? -delta : d;
}

static inline elem KERNEL(smooth_slope)(elem d, elem beta)
{
    return d > beta ? ELEM(1) : d < -beta ? ELEM(-1) : d / beta;
}

/* AT_LEAST keeps NaN. */
#define AT_LEAST(value, least) ((value) < ELEM(least) ? ELEM(least) : (value))
#define LOG_X                  AT_LEAST(VMATH(log)(a), -100)
#define LOG_1_X                AT_LEAST(VMATH(log1p)(-a), -100)
#define P                      ELEM(p[0]) /* the loss's number */

#define KERNELS PAIR_LOSS
#include "ops/loss/table.h"

#undef AT_LEAST
#undef LOG_X
#undef LOG_1_X
#undef P

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

#endif
