/* The arguments of the kernels of gradient clipping. */
#ifndef ADZI_OPTIM_CLIP_H
#define ADZI_OPTIM_CLIP_H

#include <stdint.h>

#include "base/threads/addresses.h"

/** Elements of a block, whose sum is computed by one thread. */
enum { ADZI_NORM_BLOCK = 4096 };

/** norm_sums: unit k is block k of x. sums[k] becomes the sum of |x|^p over the block, or the
 * largest |x| if p is infinite. If the sum leaves the range of f64, sums[k] is minus its p-th root.
 */
typedef struct adzi_norm_args {
    const void *x;
    int64_t numel;
    double p;
    double *sums;
} adzi_norm_args;

ADZI_ADDRESSES(adzi_norm_args, x, sums);

/** clip_scale multiplies x by *factor if that is below 1 or NaN; the factor is read when the kernel
 * runs. clip_limit limits x to [-limit, limit]. A unit is an element. */
typedef struct adzi_clip_args {
    void *x;
    const double *factor;
    double limit;
} adzi_clip_args;

ADZI_ADDRESSES(adzi_clip_args, x, factor);

#endif
