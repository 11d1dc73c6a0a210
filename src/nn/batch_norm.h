/* The running statistics of a batch norm, for training with micro-batches. */
#ifndef ADZI_NN_BATCH_NORM_H
#define ADZI_NN_BATCH_NORM_H

#include "adze/nn/batch_norm.h"
#include "nn/module.h"

/** Buffers of a batch norm, borrowed, and how they move. */
typedef struct adzi_running_buffers {
    adz_tensor *mean, *var; /* [C] */
    adz_tensor *count;      /* i64, the number of batches so far */
    double momentum;        /* ADZ_CUMULATIVE_MOMENTUM, which is negative: 1 / (count + 1) */
} adzi_running_buffers;

/** Fills `running` and returns true for a batch norm that tracks statistics. Returns false for
 * every other module, and for a batch norm whose buffers a user replaced by others of a wrong
 * shape or dtype: its call in training fails. */
bool adzi_batch_norm_running(const adz_module *module, adzi_running_buffers *running);

/** The momentum of a batch norm that tracks statistics, to be changed; NULL for every other module.
 */
double *adzi_batch_norm_momentum(adz_module *module);

/** Sets the running variance of such a module to 1, and its mean and number of batches to 0. */
adz_status adzi_batch_norm_reset(adz_module *module);

#endif
