/* Running statistics of batch_norm: how they are read and moved. */
#ifndef ADZI_OPS_NORM_RUNNING_H
#define ADZI_OPS_NORM_RUNNING_H

#include "tensor/tensor.h"

/** A running mean or variance, which may have any stride. It is read and written in place. */
typedef struct adzi_running {
    char *data; /* NULL: not given */
    int64_t stride;
    adz_dtype dtype;
} adzi_running;

/** ADZ_NONE becomes a NULL pointer, which a plain struct can hold. */
static inline adzi_running adzi_running_of(const adz_tensor *t)
{
    adzi_running none = { .data = NULL };
    return adzi_is_none(t) ? none : (adzi_running){ t->data, t->strides[0], (adz_dtype)t->dtype };
}

/** Reads the number of channel i in f64. */
static inline double adzi_running_get(const adzi_running *r, int64_t i)
{
    return r->dtype == ADZ_F32 ? (double)((const float *)(const void *)r->data)[i * r->stride]
                               : ((const double *)(const void *)r->data)[i * r->stride];
}

/** running = (1 - momentum) * running + momentum * batch, computed in f64. */
static inline void adzi_running_move(
    const adzi_running *r, int64_t i, double batch, double momentum)
{
    const double value = (1 - momentum) * adzi_running_get(r, i) + momentum * batch;
    if (r->dtype == ADZ_F32) {
        ((float *)(void *)r->data)[i * r->stride] = (float)value;
    } else {
        ((double *)(void *)r->data)[i * r->stride] = value;
    }
}

#endif
