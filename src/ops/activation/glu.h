/* The arguments of the kernels of the gated linear unit. */
#ifndef ADZI_OPS_ACTIVATION_GLU_H
#define ADZI_OPS_ACTIVATION_GLU_H

#include <stdint.h>

#include "base/threads/addresses.h"

/**
 * Units are elements of y. All operands are contiguous.
 *
 * x consists of runs of `run` elements, alternately of the half a and of the half b. y and dy have
 * one run for each pair of x, and dx has the layout of x. Element e of y belongs to the run e /
 * run, so its a is element (e / run) run + e of x, and its b is `run` elements further.
 */
typedef struct adzi_glu_args {
    const void *x, *dy; /* dy is NULL in the forward */
    void *out;          /* y in the forward, dx in the backward */
    int64_t run;        /* at least 1 if there are any elements */
} adzi_glu_args;

ADZI_ADDRESSES(adzi_glu_args, x, dy, out);

#endif
