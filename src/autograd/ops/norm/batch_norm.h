/* Arguments of the kernels of batch_norm. x is contiguous [N, C, L]. Everything that exists once
 * per channel is [C]. */
#ifndef ADZI_AUTOGRAD_OPS_NORM_BATCH_NORM_H
#define ADZI_AUTOGRAD_OPS_NORM_BATCH_NORM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "adze/tensor.h"

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

/**
 * adz_batch_norm in training whose momentum is 1 / (count + 1). The count is a contiguous i64 of
 * one element. It is read when the launch runs, so that a replayed step uses the count of its own
 * time.
 */
adz_tensor *adzi_batch_norm_cumulative(adz_tensor *x, adz_tensor *running_mean,
    adz_tensor *running_var, adz_tensor *weight, adz_tensor *bias, const adz_tensor *count,
    double eps);

#endif
