/* The argument that the operator forget_mult passes to its kernels. */
#ifndef ADZI_OPS_RECURRENT_FORGET_MULT_H
#define ADZI_OPS_RECURRENT_FORGET_MULT_H

#include "base/threads/addresses.h"
#include "ops/slices.h"

/**
 * The argument of both kernels; units are slices along time. slices.in holds z, f and h0 (or NULL),
 * slices.out holds h.
 */
typedef struct adzi_forget_mult_args {
    adzi_slices_args slices;
    const void *dy;
    void *df, *dz; /* shaped like h */
    void *dh0;     /* one element a slice */
} adzi_forget_mult_args;

ADZI_ADDRESSES(adzi_forget_mult_args, ADZI_SLICES_ADDRESSES(slices.), dy, df, dz, dh0);

#endif
