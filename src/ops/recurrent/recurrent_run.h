/* What the two halves of recurrent layers share: recurrent_layer.c makes memory and records,
 * recurrent_run.c computes. */
#ifndef ADZI_OPS_RECURRENT_RECURRENT_RUN_H
#define ADZI_OPS_RECURRENT_RECURRENT_RUN_H

#include "ops/recurrent/recurrent_layer.h"

/* Inputs of the node: x, the states, and then the weights in the order of the second enum. */
enum { X, H0, C0 };
enum { WEIGHT_IH, WEIGHT_HH, BIAS_IH, BIAS_HH, LENGTHS, WEIGHTS };

/** The number of inputs of a layer's node. */
#define INPUTS_OF(cell) (1 + (cell)->states + WEIGHTS)

/** The tensors of one forward or backward. All are contiguous; ADZ_NONE or NULL if not needed. */
typedef struct adzi_recurrent_run {
    const adzi_recurrent_cell *cell;
    const adzi_recurrent_attr *at;
    adz_tensor *in[ADZI_CALL_INPUTS];
    adz_tensor *y, *gates, *cells;     /* y itself stands for gates that are not saved */
    adz_tensor *panels, *packed[2];    /* packed rows alternate between two buffers */
    adz_tensor *dy, *dgates, *dh, *dc; /* dh and dc end as those of h0 and c0 */
    adz_tensor *firsts;                /* [B, S H]: dgates of the first step of each sequence */
    adz_tensor *sums;                  /* [S H]: dgates summed over all rows */
} adzi_recurrent_run;

/** The index t of step s in memory. `before` becomes the index of the state before it, or -1 for
 * the initial states. */
int64_t adzi_recurrent_position(const adzi_recurrent_attr *at, int64_t s, int64_t *before);

/** True if input i of the node is a bias or lengths that were left out. */
bool adzi_recurrent_left_out(
    const adzi_recurrent_cell *cell, const adzi_recurrent_attr *at, int input);

/** Memory for weight_hh in packed panels, or NULL. */
adz_tensor *adzi_recurrent_panels(
    const adzi_recurrent_cell *cell, const adzi_recurrent_attr *at, adz_dtype dtype);

/** Fills the results y, h and c. Cannot fail. */
void adzi_recurrent_run_forward(adzi_recurrent_run *run, adz_tensor *const *results);

/** Computes dgates, dh and dc, and then the gradients of x and the weights that are not NULL in dx.
 * Cannot fail. */
void adzi_recurrent_run_backward(adzi_recurrent_run *run, adz_tensor *const *dx);

#endif
