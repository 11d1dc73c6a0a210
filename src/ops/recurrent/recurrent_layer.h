/* Recurrent layers. An adzi_recurrent_cell describes one kind: LSTM, GRU or RNN. From it work the
 * operator of one direction of one layer, the operator of a whole network, the modules, and the
 * writers of C and of ONNX. */
#ifndef ADZI_OPS_RECURRENT_RECURRENT_LAYER_H
#define ADZI_OPS_RECURRENT_RECURRENT_LAYER_H

#include "base/threads/addresses.h"
#include "ops/op.h"

/** The results of a layer. */
typedef struct adzi_recurrent_states {
    adz_tensor *y, *h, *c; /* y[T, B, H] of every step; h[B, H] and, of an LSTM, c[B, H] after the
                              last step of each sequence */
} adzi_recurrent_states;

/** weight_ih[G H, I], weight_hh[G H, H]; bias_ih[G H], bias_hh[G H], each or ADZ_NONE. */
typedef struct adzi_recurrent_weights {
    adz_tensor *ih, *hh, *bias_ih, *bias_hh;
} adzi_recurrent_weights;

/** One call of a layer. */
typedef struct adzi_recurrent_input {
    adz_tensor *x;       /* x[T, B, I], T at least 1 */
    adz_tensor *h0, *c0; /* [B, H]; c0 is NULL but for an LSTM */
    adz_tensor *lengths; /* i64 [B], each in 1 .. T; or ADZ_NONE, which is T for all */
    adzi_recurrent_weights w;
    bool reverse; /* the steps of each sequence run from its last one to its first */
    bool relu;    /* of an RNN: relu instead of tanh */
} adzi_recurrent_input;

/** The attributes of a layer's node. */
typedef struct adzi_recurrent_attr {
    bool reverse, relu;
    bool biased[2], ragged; /* bias_ih and bias_hh are given; lengths are given */
    int64_t t, b, in, h;    /* T, B, I and H */
} adzi_recurrent_attr;

/**
 * One step as operators. Replaces h, and c of an LSTM, by the new states, or h by NULL after a
 * failure.
 *
 * @param x  x_t W_ih^T + b_ih, [B, G H]
 * @param h  h_(t-1) W_hh^T + b_hh, [B, G H]
 */
typedef void (*adzi_recurrent_step)(
    adz_tensor *x, adz_tensor *h, adzi_recurrent_states *states, const adzi_recurrent_attr *attr);

/** One kind of recurrent network. */
typedef struct adzi_recurrent_cell {
    const adzi_op *op; /* one direction of one layer */
    const char *name;  /* of the operator of a whole network */
    int states;        /* 1, or 2 if there is a cell state c next to h */
    int64_t gates;     /* G: blocks of H rows of the weights */
    int64_t saved;     /* S: blocks of H numbers that a step saves and differentiates: G, or one
                          more if the last gate has different derivatives by its two products */
    bool saves_gates;  /* false: y is all that the backward needs */
    bool has_relu;     /* a call chooses between relu and tanh */
    adzi_recurrent_step step;
    const adzi_kernel (*forward)[2]; /* tables of KERNEL_TABLE_FLOAT */
    const adzi_kernel (*back)[2];
    /* How C computes the elements of the new states, with relu if the call has chosen it: lines,
     * ended by NULL. $h and $c are the states, $0 the first gate. If S is G + 1, the last gate has
     * its product with x in block G - 1, and that with h in block G. */
    const char *const *c_step[2];
    const int *onnx_order; /* of the gates in ONNX: their positions in the weights */
    const char *onnx_flag; /* an attribute of ONNX's node that is 1; NULL: none */
} adzi_recurrent_cell;

extern const adzi_recurrent_cell adzi_lstm_cell, adzi_gru_cell, adzi_rnn_cell;

/** The cell of a layer's operator; NULL for another operator. */
const adzi_recurrent_cell *adzi_recurrent_cell_of(const adzi_op *layer);

/** The most layers of a network. Without a bound, a mistaken number would use up all memory. */
enum { ADZI_MOST_LAYERS = 65535 };

/** Runs a layer. All results are NULL on failure. */
adzi_recurrent_states adzi_recurrent_layer(
    const adzi_recurrent_cell *cell, const adzi_recurrent_input *input);

/** The backward through time with kernels. */
adz_status adzi_recurrent_fused(
    const adzi_recurrent_cell *cell, adzi_node *node, adz_tensor **dx, adz_tensor *const *dy);

/** The forward as an expression: the steps one after the other. */
adz_status adzi_recurrent_expression(const adzi_recurrent_cell *cell, adz_tensor **y,
    adz_tensor *const *in, const adzi_recurrent_attr *attr);

/** Splits [B, n H] into n gates [B, H]. False with the error recorded on failure. */
bool adzi_recurrent_split(
    adz_tensor *all, const adzi_recurrent_attr *attr, size_t n, adz_tensor **gate);

#define ADZI_RECURRENT_HIDDEN(member) ADZI_FIELD_HIDDEN(adzi_recurrent_attr, member)

/**
 * Defines the operator adzi_op_KIND_layer from adzi_KIND_cell.
 *
 * @param relu_field  ADZI_FIELD if the layer is printed with its attribute `relu`,
 * ADZI_FIELD_HIDDEN if its cell does not read it
 */
#define ADZI_RECURRENT_OP(kind, relu_field)                                                   \
    static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)          \
    {                                                                                         \
        return adzi_recurrent_fused(&adzi_##kind##_cell, node, dx, dy);                       \
    }                                                                                         \
    static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)     \
    {                                                                                         \
        return adzi_recurrent_expression(&adzi_##kind##_cell, y, in, attr);                   \
    }                                                                                         \
    static const adz_field fields[] = { ADZI_FIELD(adzi_recurrent_attr, reverse),             \
        relu_field(adzi_recurrent_attr, relu), ADZI_RECURRENT_HIDDEN(biased),                 \
        ADZI_RECURRENT_HIDDEN(ragged), ADZI_RECURRENT_HIDDEN(t), ADZI_RECURRENT_HIDDEN(b),    \
        ADZI_RECURRENT_HIDDEN(in), ADZI_RECURRENT_HIDDEN(h) };                                \
    const adzi_op adzi_op_##kind##_layer = {                                                  \
        .name = #kind "_layer", .fused = fused, ADZI_FIELDS(fields), .expression = expression \
    }

extern const adzi_op adzi_op_lstm_layer, adzi_op_gru_layer, adzi_op_rnn_layer;

/* Note [Products of one step]
 *
 * Every step multiplies B rows by one matrix: weight_hh^T in the forward, weight_hh in the
 * backward. The matrix is packed once per call into panels, so that a step reads it in order. A
 * panel has the columns of ADZI_RECURRENT_COLUMNS bytes of the hidden state, for all G gates. It is
 * one unit of the kernels. So the cell is computed in the launch of its product, while the sums are
 * in registers and first-level cache. The rows change with every step, and each step packs them for
 * the step after it. In the backward, the G gates are replaced by the G shares of one sum.
 *
 * Note [Sequences of different lengths]
 *
 * Step t of a row is skipped if t is not below the length of the row. The state passes a skipped
 * step unchanged, in the packed rows that steps hand on. y is 0 there, and so are the gradients of
 * the gates. In the other direction a row therefore begins at its own last step, from the initial
 * state: kernels read that state where the state before the step is not in y or among the cells.
 */
enum { ADZI_RECURRENT_COLUMNS = 64 };

/** Arguments of recurrent_pack, which copies weight_hh[G H, H] to packed panels. Units are panels.
 */
typedef struct adzi_recurrent_pack_args {
    const void *from;
    void *to;
    int64_t hidden, gates;
    bool transposed; /* panels of weight_hh for the backward, of its transpose for the forward */
} adzi_recurrent_pack_args;

ADZI_ADDRESSES(adzi_recurrent_pack_args, from, to);

/**
 * Arguments of recurrent_pack_rows, which copies `from`[rows, width] to the order in which a step
 * reads rows. The launch has one unit.
 */
typedef struct adzi_recurrent_pack_rows_args {
    const void *from;
    void *to;
    int64_t rows, width;
} adzi_recurrent_pack_rows_args;

ADZI_ADDRESSES(adzi_recurrent_pack_rows_args, from, to);

/** Arguments of recurrent_at_ends, which copies the row of each sequence at its last step. */
typedef struct adzi_recurrent_ends_args {
    const void *from; /* [T, rows, width] */
    void *to;         /* [rows, width] */
    const int64_t *lengths;
    int64_t steps, rows, width;
} adzi_recurrent_ends_args;

ADZI_ADDRESSES(adzi_recurrent_ends_args, from, to, lengths);

/**
 * Arguments of one step of the forward or of the backward. Units are panels. Matrices are
 * contiguous. G and S are those of adzi_recurrent_cell.
 */
typedef struct adzi_recurrent_step_args {
    const void *panels;  /* from recurrent_pack */
    const void *from;    /* packed rows. Forward: the state before the step. Backward: dgates of
                            the step after it, or NULL for the last step */
    void *to;            /* packed rows. Forward: the state after the step. Backward: dgates */
    void *gates;         /* [B, S H]. Forward: the part of x on entry, then what is saved */
    const void *bias;    /* [G H], or NULL */
    const void *before;  /* [B, H]: c before the step of an LSTM, h before that of a GRU */
    const void *initial; /* [B, H]: `before` of the first step of a sequence */
    void *c, *h;         /* [B, H]: written by the forward; c or h is read by the backward */
    const void *dy;      /* [B, H], or NULL: the gradient of y of this step */
    void *dh;            /* [B, H]: the part of the gradient of h that is no product. Read if `from`
                            is NULL or the cell carries it on; written if dgates is NULL */
    void *dc;            /* [B, H]: gradient of the cell after the step, then of that before it */
    void *dgates;        /* [B, S H]; NULL: the launch computes dh of h0 only */
    const int64_t *lengths; /* [B], or NULL */
    int64_t t;              /* the step's position in time, for lengths */
    int64_t rows, hidden;
    int64_t reverse, relu; /* 0 or 1 */
} adzi_recurrent_step_args;

ADZI_ADDRESSES(adzi_recurrent_step_args, panels, from, to, gates, bias, before, initial, c, h, dy,
    dh, dc, dgates, lengths);

#endif
