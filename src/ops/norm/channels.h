/* Tensors with one element per channel of x[N, C, ...]. */
#ifndef ADZI_OPS_NORM_CHANNELS_H
#define ADZI_OPS_NORM_CHANNELS_H

#include "ops/op.h"

/** Fails: `t` has not one element of x's dtype per channel. */
bool adzi_refuse_channels(
    const char *op, const adz_tensor *x, const adz_tensor *t, const char *name);

/** Fails with ADZ_ERR_SHAPE or ADZ_ERR_DTYPE unless `t` is ADZ_NONE or has one element of x's dtype
 * per channel. */
static inline bool adzi_check_channels(
    const char *op, const adz_tensor *x, const adz_tensor *t, const char *name)
{
    return adzi_is_none(t) ||
           (t->rank == 1 && t->sizes[0] == x->sizes[1] && t->dtype == x->dtype) ||
           adzi_refuse_channels(op, x, t, name);
}

/** x weight + bias, as an expression; either may be ADZ_NONE. */
adz_tensor *adzi_affine_channels(adz_tensor *x, adz_tensor *weight, adz_tensor *bias);

#endif
