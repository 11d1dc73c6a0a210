/* The passes of bias_activation: what a feed-forward network computes between its two matrix
 * products, y = dropout(f(x + bias) (gate + gate_bias)), in one pass over memory. */
#ifndef ADZI_OPS_ACTIVATION_BIAS_ACTIVATION_H
#define ADZI_OPS_ACTIVATION_BIAS_ACTIVATION_H

#include "adze/ops/activation.h"
#include "base/threads/addresses.h"
#include "base/isa.h"
#include "tensor/random/random.h"

/**
 * Note [Blocks in the cache]
 * A pass is a kernel that calls the kernels of add, of the activation function, of mul and of
 * dropout on one tile after another. A tile is 2048 elements, 8 kB in f32, so what one kernel
 * writes is still in the cache when the next one reads it. No formula is written twice, and the
 * bits are those of the separate operators.
 *
 * Units are groups of `rows` whole rows of x[n, h]; the last group may be shorter. Every group but
 * the last ends at the end of a 64-bit word of the dropout's mask, so that no word belongs to two
 * threads.
 */
typedef struct adzi_bias_activation_args {
    adz_dtype dtype;
    adz_activation activation;
    int64_t n, h; /* x is [n, h]: all leading dimensions as rows, the last one as columns */
    int64_t rows; /* rows of a group */

    /* x[n, h], bias[h], gate[n, h], gate_bias[h], contiguous. NULL stands for an input that was
     * left out, and for x also where the backward does not read it. */
    const char *x, *bias, *gate, *gate_bias;

    bool drops;                /* whether `dropout` is set and used */
    adzi_dropout_args dropout; /* from y to y in the forward, from dy to dx in the backward */

    char *y; /* y[n, h], the forward's result */

    const char *dy;               /* dy[n, h], the upstream gradient */
    char *dx;                     /* dx[n, h]; may be the memory of dy */
    char *dgate;                  /* dgate[n, h]; NULL where it is not wanted */
    bool wants_dx;                /* false: dx holds dy under the mask at most */
    double *dx_sums, *dgate_sums; /* [groups, h], each group's sum over its rows, for the gradients
                                     of the biases; NULL where not wanted */
} adzi_bias_activation_args;

ADZI_ADDRESSES(adzi_bias_activation_args, x, bias, gate, gate_bias,
    ADZI_DROPOUT_ADDRESSES(dropout.), y, dy, dx, dgate, dx_sums, dgate_sums);

/** Chooses `rows` by n and h. Returns the number of groups, which are the launch's units; 0 for an
 * empty x. The choice does not depend on the number of threads, so neither do the sums' bits. */
int64_t adzi_bias_activation_groups(adzi_bias_activation_args *args, bool backward);

/** Computes y for groups begin .. end-1. */
void adzi_bias_activation_forward(const void *args, int64_t begin, int64_t end);

/** Computes dx, dgate and the rows of sums for groups begin .. end-1. */
void adzi_bias_activation_backward(const void *args, int64_t begin, int64_t end);

#endif
