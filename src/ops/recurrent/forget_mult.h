/* The argument that the operator forget_mult passes to its kernels. */
#ifndef ADZI_OPS_RECURRENT_FORGET_MULT_H
#define ADZI_OPS_RECURRENT_FORGET_MULT_H

#include "base/threads/addresses.h"
#include "ops/lanes.h"

/**
 * The argument of both kernels; units are lanes along time. lanes.in holds z, f and h0 (or NULL),
 * lanes.out holds h.
 */
typedef struct adzi_forget_mult_args {
    adzi_lanes_args lanes;
    const void *dy;
    void *df, *dz; /* shaped like h */
    void *dh0;     /* one element a lane */
} adzi_forget_mult_args;

ADZI_ADDRESSES(adzi_forget_mult_args, ADZI_LANES_ADDRESSES(lanes.), dy, df, dz, dh0);

#endif
