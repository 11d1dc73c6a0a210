/* What glu.kernel.c is asked for. */
#ifndef ADZI_AUTOGRAD_OPS_ACTIVATION_GLU_H
#define ADZI_AUTOGRAD_OPS_ACTIVATION_GLU_H

#include <stdint.h>

/** x is runs of `run` elements: one of the first half, one of the second, and so on. y and dy have
 * one run for two of x, dx lies as x does. Units are elements of y. */
typedef struct adzi_glu_args {
    const void *x, *dy;
    void *out; /* y, or dx */
    int64_t run;
} adzi_glu_args;

#endif
