/* Layers and directions of a recurrent network: what LSTM, GRU and RNN have in common. */
#ifndef ADZI_OPS_RECURRENT_RECURRENT_STACK_H
#define ADZI_OPS_RECURRENT_RECURRENT_STACK_H

#include "adze/ops/recurrent.h"
#include "ops/recurrent/recurrent_layer.h"

/** One call of adz_lstm, adz_gru or adz_rnn, whose cell is one layer in one direction. The options
 * are those of adz_rnn, which begin with those of the others. They have been checked. */
typedef struct adzi_recurrent_stack {
    const adzi_recurrent_cell *cell;
    adz_rnn_options o;
    adz_tensor *x;              /* as the caller gives it; later x[T, B, I] */
    adz_tensor *first[2];       /* h0 and c0 [layers * directions, B, H], or ADZ_NONE */
    adz_tensor *const *weights; /* of each cell 4, or 2 without biases; the caller's list */
    size_t n_weights;
    adz_tensor *last[2];        /* the results h and c, shaped like the states of `first` */
    int64_t directions, hidden; /* D and H, found by adzi_recurrent_run_stack */
    adz_tensor **last_of[2];    /* [layers * directions]: last states, each [1, B, H] */
} adzi_recurrent_stack;

/** Checks everything but the options, and computes. Returns y and sets net->last, or returns NULL.
 */
adz_tensor *adzi_recurrent_run_stack(adzi_recurrent_stack *net);

#endif
