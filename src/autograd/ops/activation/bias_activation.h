/* One pass over what stands between two products: bias, activation, gate, dropout. */
#ifndef ADZI_AUTOGRAD_OPS_ACTIVATION_BIAS_ACTIVATION_H
#define ADZI_AUTOGRAD_OPS_ACTIVATION_BIAS_ACTIVATION_H

#include "adze/ops/activation.h"
#include "base/isa.h"
#include "tensor/random/random.h"

/**
 * Note [Blocks in the cache]
 * The passes call the kernels of the operators they stand for, on a few kB after another, so that
 * what one kernel writes is still in the cache when the next reads it; no formula is written twice.
 * Their units are groups of whole rows, as many as make up whole groups of the dropout's mask.
 */
typedef struct adzi_bias_activation_args {
    adz_dtype dtype;
    adz_activation activation;
    int64_t n, h; /* x is [n, h] */
    int64_t rows; /* of a group */

    /* contiguous; NULL where left out, x also where nothing reads it */
    const char *x, *bias, *gate, *gate_bias;

    bool drops;
    adzi_dropout_args dropout; /* from y to y in the forward, from dy to dx in the backward */

    char *y; /* the forward's result */

    const char *dy;
    char *dx;    /* may be dy */
    char *dgate; /* NULL where it is not wanted */
    bool wants_dx;
    double *dx_sums, *dgate_sums; /* [groups, h], sums of their rows; NULL where not wanted */
} adzi_bias_activation_args;

/** Chooses `rows` by n and h; returns how many groups there are. */
int64_t adzi_bias_activation_groups(adzi_bias_activation_args *args, bool backward);

/* The kernels. */
void adzi_bias_activation_forward(const void *args, int64_t begin, int64_t end);
void adzi_bias_activation_backward(const void *args, int64_t begin, int64_t end);

#endif
