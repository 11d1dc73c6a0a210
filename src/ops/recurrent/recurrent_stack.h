/* Layers and directions of a recurrent network: what LSTM, GRU and RNN have in common. */
#ifndef ADZI_OPS_RECURRENT_RECURRENT_STACK_H
#define ADZI_OPS_RECURRENT_RECURRENT_STACK_H

#include "ops/recurrent/recurrent_layer.h"

/** One call of adz_lstm, adz_gru or adz_rnn. A cell is one layer in one direction. */
typedef struct adzi_recurrent_stack {
    const char *name;
    const adzi_recurrent_cell *cell;
    int64_t layers;
    bool bias, batch_first, bidirectional, training, relu;
    double dropout;
    adz_generator *generator;
    adz_tensor *lengths;        /* NULL or ADZ_NONE: all sequences have T steps */
    adz_tensor *x;              /* as the caller gives it; later x[T, B, I] */
    adz_tensor *first[2];       /* h0 and c0 [layers * directions, B, H], or ADZ_NONE */
    adz_tensor *const *weights; /* of each cell 4, or 2 without biases; the caller's list */
    size_t n_weights;
    int64_t directions, hidden; /* D and H, found by adzi_recurrent_run_stack */
    adz_tensor **last[2];       /* [layers * directions]: last states, each [1, B, H] */
} adzi_recurrent_stack;

/** Initialises the fields that the options `o` of adz_lstm, adz_gru and adz_rnn all have. */
#define ADZI_RECURRENT_OPTIONS(o)                                                         \
    .layers = (o).layers, .bias = (o).bias, .batch_first = (o).batch_first,               \
    .bidirectional = (o).bidirectional, .training = (o).training, .dropout = (o).dropout, \
    .generator = (o).generator, .lengths = (o).lengths

/**
 * Checks everything and computes. Returns y; fills the last states h and, of an LSTM, c, each of
 * which may be NULL. They are set to NULL at once, so that a failure leaves nothing stale in them.
 */
adz_tensor *adzi_recurrent_run_stack(adzi_recurrent_stack *net, adz_tensor **h, adz_tensor **c);

#endif
