/* The argument blocks of the kernels behind gradient clipping. */
#ifndef ADZI_OPTIM_CLIP_H
#define ADZI_OPTIM_CLIP_H

#include <stdint.h>

enum { ADZI_NORM_BLOCK = 4096 };

/** Unit k is block k of ADZI_NORM_BLOCK elements of x; sums[k] becomes its sum of |x|^p, or its
 * largest |x| when p is infinite. */
typedef struct adzi_norm_args {
    const void *x;
    int64_t numel;
    double p;
    double *sums;
} adzi_norm_args;

/** Units are elements. clip_scale: x = x *factor, and x stays as it is if the factor is 1 or more;
 * the factor is read when the kernel runs. clip_limit: x limited to [-limit, limit]. */
typedef struct adzi_clip_args {
    void *x;
    const double *factor;
    double limit;
} adzi_clip_args;

#endif
