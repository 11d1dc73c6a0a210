/* Launches of convolutions. Preparing takes all memory and can fail; running cannot. */
#ifndef ADZI_OPS_CONV_CONV_RUN_H
#define ADZI_OPS_CONV_CONV_RUN_H

#include "ops/conv/conv.h"
#include "ops/conv/conv.kernel.h"

/** A convolution that is ready to run. */
typedef struct adzi_conv_job {
    adzi_conv_weight_args args;
    adz_dtype dtype;
    bool empty;     /* there is nothing to compute */
    bool depthwise; /* by the direct kernels */
    const void *weight;
    void *dw;
    char *block; /* scratch memory, or NULL */
    size_t bytes;
} adzi_conv_job;

/** Prepares y = convolution of x, all contiguous. Returns false with the error recorded. */
bool adzi_conv_prepare(adzi_conv_job *job, const adzi_conv *at, bool transposed,
    adz_tensor *const *in, const adz_tensor *y);
void adzi_conv_run(const adzi_conv_job *job);

/** Prepares dw = the gradient of a weight by big and small, all contiguous. */
bool adzi_conv_prepare_weight(adzi_conv_job *job, const adzi_conv *at, const adz_tensor *big,
    const adz_tensor *small, const adz_tensor *dw);
void adzi_conv_run_weight(const adzi_conv_job *job);

/** Releases the memory of a job, whether it has run or not. */
void adzi_conv_end(adzi_conv_job *job);

#endif
