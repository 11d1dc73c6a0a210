/* One direction of one layer of an LSTM, as an operator. */
#ifndef ADZI_AUTOGRAD_OPS_RECURRENT_LSTM_LAYER_H
#define ADZI_AUTOGRAD_OPS_RECURRENT_LSTM_LAYER_H

#include "autograd/op.h"

/** What adzi_lstm_layer gives. */
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
 * A step multiplies B rows by a matrix that is the same for all steps: weight_hh^T, or weight_hh on
 * the way back. It is packed once into panels of ADZI_LSTM_COLUMNS bytes of columns of the hidden
 * state, so that a step reads it once, in order; the rows are packed anew by each step for the
 * next. A unit of the kernels is such a panel: the columns of all four gates, so that the cell
 * follows its product while that is in registers and first-level cache, in the same launch.
 * On the way back the four quarters of a sum take the place of the gates. */
enum { ADZI_LSTM_COLUMNS = 64 };

/** Arguments of lstm_pack: `from` is weight_hh[4H, H]; units are panels. */
typedef struct adzi_lstm_pack_args {
    const void *from;
    void *to;
    int64_t hidden;
    bool transposed; /* for the way back */
} adzi_lstm_pack_args;

/** Arguments of lstm_pack_rows: from[B, H], to as lstm_step reads it; the only unit is all. */
typedef struct adzi_lstm_pack_rows_args {
    const void *from;
    void *to;
    int64_t rows, width;
} adzi_lstm_pack_rows_args;

/** Arguments of lstm_step and lstm_step_back; units are panels. */
typedef struct adzi_lstm_step_args {
    const void *panels;   /* from lstm_pack */
    const void *from;     /* packed rows: the state before; back: dgates of the step after this one,
                             NULL where there is none */
    void *to;             /* packed rows: this step's state; back: its dgates */
    void *gates;          /* [B, 4H]: forward: x's part, become i, f, g, o; back: i, f, g, o */
    const void *bias;     /* [4H], or NULL */
    const void *c_before; /* [B, H] */
    void *c, *h;          /* [B, H]: written by the forward; back reads c */
    const void *dy;       /* [B, H], or NULL: gradient of this step's y */
    void *dh;             /* [B, H], read where `from` is NULL; written where dgates is */
    void *dc;             /* [B, H]: of the state after this step; becomes that before it */
    void *dgates;         /* [B, 4H]; NULL: only dh of the state before the first step is wanted */
    int64_t rows, hidden;
} adzi_lstm_step_args;

#endif
