/* Arguments of the kernels of batch_norm. x is contiguous [N, C, L]. Everything that exists once
 * per channel is [C]. */
#ifndef ADZI_OPS_NORM_BATCH_NORM_H
#define ADZI_OPS_NORM_BATCH_NORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/tensor.h"
#include "base/threads/addresses.h"

/**
 * The argument of all four kernels. Units of batch_norm_moments and batch_norm_sums are channels.
 * Units of batch_norm and batch_norm_dx are rows of L elements, or rows of C elements if L is 1.
 */
typedef struct adzi_batch_norm_args {
    const void *x, *dy;
    const void *weight, *bias; /* or NULL */
    void *out;                 /* y or dx */
    double *mean, *rstd;       /* batch_norm_moments leaves the biased variance in rstd */
    double *sum, *along;       /* sums of dy and of dy (x - mean) rstd */
    int64_t n, c, l;
    bool constant; /* the statistics do not depend on x: dx has no terms from them */
} adzi_batch_norm_args;

ADZI_ADDRESSES(adzi_batch_norm_args, x, dy, weight, bias, out, mean, rstd, sum, along);

/** The inputs of a call, in their order. All but x may be ADZ_NONE. */
typedef struct adzi_batch_norm_inputs {
    adz_tensor *x, *running_mean, *running_var, *weight, *bias;
} adzi_batch_norm_inputs;

/**
 * adz_batch_norm in training whose momentum is 1 / (count + 1). The count is a contiguous i64 of
 * one element. It is read when the launch runs, so that a replayed step uses the count of its own
 * time.
 */
adz_tensor *adzi_batch_norm_cumulative(
    const adzi_batch_norm_inputs *in, const adz_tensor *count, double eps);

/* Note [Handing statistics out]
 *
 * Training with micro-batches moves running statistics once per step, by the statistics of all
 * micro-batches in their order. Until then each call hands its statistics out in f64, in which
 * running statistics are computed. One call that hands out and one move therefore give the bits of
 * an ordinary call.
 *
 * A call that hands out leaves the elements of the running tensors alone, but raises their
 * versions. An activation checkpoint thereby sees that the call would have changed them, and gives
 * copies to the second call, which it makes in the backward.
 */

/** How many numbers adzi_batch_norm_hand_out writes for C channels. */
static inline size_t adzi_batch_norm_numbers(int64_t channels)
{
    return 1 + 2 * (size_t)channels;
}

/**
 * adz_batch_norm in training that does not move the running statistics. It writes to `batch` what
 * adzi_batch_norm_move needs: the number of values per channel, the mean[C], and the unbiased
 * variance[C]. Writes nothing if it fails.
 *
 * @param in     checked as adz_batch_norm does, so that both fail alike
 * @param batch  adzi_batch_norm_numbers(C) numbers. Not on a function's stack: see
 *               Note [One launch]
 */
adz_tensor *adzi_batch_norm_hand_out(const adzi_batch_norm_inputs *in, double *batch, double eps);

/**
 * adz_batch_norm in training for the trace of a training step: recorded operators move the running
 * statistics.
 */
adz_tensor *adzi_batch_norm_traced(const adzi_batch_norm_inputs *in, double momentum, double eps);

/** What adzi_batch_norm_hand_out has written for `n` batches: batch k begins at first[k * stride].
 * A batch of which the first number is NaN is left out. */
typedef struct adzi_handed_out {
    const double *first;
    size_t stride;
    int n;
} adzi_handed_out;

/**
 * Moves running statistics by those of batches, in order, and adds the batches to the count.
 * Cannot fail.
 *
 * @param running_mean, running_var  [C], f32 or f64, dense
 * @param count                      a contiguous i64 of one element
 * @param momentum                   in [0, 1], or negative for 1 / (count + 1) at each batch
 */
void adzi_batch_norm_move(adz_tensor *running_mean, adz_tensor *running_var, adz_tensor *count,
    double momentum, adzi_handed_out batches);

#endif
