/* What the operators LSTM, GRU and RNN have in common. */
#ifndef ADZI_ONNX_RECURRENT_H
#define ADZI_ONNX_RECURRENT_H

#include "run.h"

typedef adz_tensor *(*recurrent_function)(adz_tensor *x);

/** A node with its inputs, time first. */
typedef struct recurrent {
    const reader_call *call;
    adz_tensor *x;       /* [T, B, I] */
    adz_tensor *w, *r;   /* [D, gates * H, I] and [D, gates * H, H] */
    adz_tensor *b;       /* [D, 2 * gates * H], or ADZ_NONE */
    adz_tensor *h0, *c0; /* [D, B, H], or ADZ_NONE */
    adz_tensor *p;       /* peepholes [D, 3 * H], or ADZ_NONE */
    adz_tensor *lengths; /* [B], int64; NULL if all sequences have T steps */
    int gates, directions;
    bool backward; /* the one direction begins at the last step */
    int64_t steps, batch, hidden;
    recurrent_function f[2][3]; /* the activations of each direction */
} recurrent;

/** Runs all directions step by step: for nodes that no operator of the library computes at once.
 * Returns y[T, D, B, H] and sets the last states [D, B, H]; NULL with an error recorded. */
adz_tensor *adzi_reader_recur(const recurrent *node, adz_tensor **h, adz_tensor **c);

#endif
