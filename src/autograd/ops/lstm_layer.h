/* One direction of one layer of an LSTM, as an operator. */
#ifndef ADZI_AUTOGRAD_OPS_LSTM_LAYER_H
#define ADZI_AUTOGRAD_OPS_LSTM_LAYER_H

#include "autograd/op.h"

/** What adzi_lstm_layer gives. */
typedef struct adzi_lstm_states {
    adz_tensor *y, *h, *c; /* y[T, B, H] of every step; h[B, H], c[B, H] after the last */
} adzi_lstm_states;

/**
 * Runs a layer over a sequence, step 0 first, or last when `reverse`:
 *
 *     i, f, g, o = split(gates[t] + h W^T + bias);  i, f, o through sigmoid, g through tanh
 *     c = f c + i g;  h = o tanh(c);  y[t] = h
 *
 * gates[T, B, 4H] holds what the inputs contribute, T at least 1; h0[B, H], c0[B, H],
 * weight[4H, H] = W, bias[4H] or ADZ_NONE. All NULL on failure. Differentiable, to any order, in
 * all five; saves them, y, the gates and the cells of every step.
 */
adzi_lstm_states adzi_lstm_layer(adz_tensor *gates, adz_tensor *h0, adz_tensor *c0,
    adz_tensor *weight, adz_tensor *bias, bool reverse);

/** Arguments of the kernels lstm_cell and lstm_cell_backward; units are rows of the batch. */
typedef struct adzi_lstm_cell_args {
    void *gates;          /* [B, 4H]: forward: sums, become i, f, g, o; backward: i, f, g, o */
    const void *bias;     /* [4H], or NULL */
    const void *c_before; /* [B, H] */
    void *c, *h;          /* [B, H]: written by the forward; the backward reads c */
    const void *dy;       /* [B, H], or NULL: gradient of this step's y */
    void *dh, *dc;        /* [B, H]: of the state after this step; dc becomes that before it */
    void *dgates;         /* [B, 4H] */
    int64_t hidden;
} adzi_lstm_cell_args;

#endif
