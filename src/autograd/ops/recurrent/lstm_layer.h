/* One direction of one layer of an LSTM, as an operator. */
#ifndef ADZI_AUTOGRAD_OPS_RECURRENT_LSTM_LAYER_H
#define ADZI_AUTOGRAD_OPS_RECURRENT_LSTM_LAYER_H

#include "autograd/op.h"

/** The results of adzi_lstm_layer. */
typedef struct adzi_lstm_states {
    adz_tensor *y, *h, *c; /* y[T, B, H] of every step; h[B, H], c[B, H] after the last */
} adzi_lstm_states;

/** weight_ih[4H, I], weight_hh[4H, H]; bias_ih[4H], bias_hh[4H], each or ADZ_NONE. */
typedef struct adzi_lstm_weights {
    adz_tensor *ih, *hh, *bias_ih, *bias_hh;
} adzi_lstm_weights;

/**
 * Runs a layer over a sequence, step 0 first, or last when `reverse`:
 *
 *     i, f, g, o = split(x[t] weight_ih^T + bias_ih + h weight_hh^T + bias_hh)
 *     i, f, o through sigmoid, g through tanh;  c = f c + i g;  h = o tanh(c);  y[t] = h
 *
 * x[T, B, I], T at least 1; h0[B, H], c0[B, H]. All NULL on failure. Differentiable, to any order,
 * in all seven; saves them, y, the gates and the cells of every step.
 */
adzi_lstm_states adzi_lstm_layer(
    adz_tensor *x, adz_tensor *h0, adz_tensor *c0, const adzi_lstm_weights *w, bool reverse);

/* Note [Products of one step]
 *
 * Every step multiplies B rows by one matrix: weight_hh^T in the forward, weight_hh in the
 * backward. The matrix is packed once per call into panels, so that a step reads it in order. A
 * panel has the columns of ADZI_LSTM_COLUMNS bytes of the hidden state, for all four gates. It is
 * one unit of the kernels. So the cell is computed in the launch of its product, while the sums are
 * in registers and first-level cache. The rows change with every step, and each step packs them for
 * the step after it. In the backward, the four gates are replaced by the four quarters of one sum.
 */
enum { ADZI_LSTM_COLUMNS = 64 };

/** Arguments of lstm_pack, which copies weight_hh[4H, H] to packed panels. Units are panels. */
typedef struct adzi_lstm_pack_args {
    const void *from;
    void *to;
    int64_t hidden;
    bool transposed; /* panels of weight_hh for the backward, of its transpose for the forward */
} adzi_lstm_pack_args;

/**
 * Arguments of lstm_pack_rows, which copies `from`[rows, width] to the order in which lstm_step
 * reads rows. The launch has one unit.
 */
typedef struct adzi_lstm_pack_rows_args {
    const void *from;
    void *to;
    int64_t rows, width;
} adzi_lstm_pack_rows_args;

/**
 * Arguments of lstm_step, one step of the forward, and lstm_step_back, one step of the backward.
 * Units are panels. Matrices are contiguous.
 */
typedef struct adzi_lstm_step_args {
    const void *panels;   /* from lstm_pack */
    const void *from;     /* packed rows. Forward: the state before the step. Backward: dgates of
                             the step after it, or NULL for the last step */
    void *to;             /* packed rows. Forward: the state after the step. Backward: dgates */
    void *gates;          /* [B, 4H]. Forward: the part of x on entry, then i, f, g, o. Backward:
                             i, f, g, o */
    const void *bias;     /* [4H], or NULL */
    const void *c_before; /* [B, H] */
    void *c, *h;          /* [B, H]: written by the forward; the backward reads c */
    const void *dy;       /* [B, H], or NULL: the gradient of y of this step */
    void *dh;             /* [B, H]: read if `from` is NULL, written if dgates is NULL */
    void *dc;             /* [B, H]: gradient of the cell after the step, then of that before it */
    void *dgates;         /* [B, 4H]; NULL: the launch computes dh of h0 only */
    int64_t rows, hidden;
} adzi_lstm_step_args;

#endif
