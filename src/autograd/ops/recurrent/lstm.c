#include <string.h>

#include "autograd/op.h"
#include "autograd/ops/recurrent/lstm_layer.h"
#include "base/alloc.h"
#include "base/options.h"

/* Layers and directions of an LSTM, torch.nn.LSTM without its module.
 *
 *     y^0 = x;   y^l = [forward layer l of y^(l-1), backward layer l of y^(l-1)]
 *
 *     i, f, g, o = y^(l-1)_t w_ih^T + b_ih + h_(t-1) w_hh^T + b_hh;   sigmoid of i, f, o, tanh of g
 *     c_t = f * c_(t-1) + i * g,   h_t = o * tanh(c_t)                (each cell, lstm_layer.c)
 *
 * x is [T, B, I], or [B, T, I] with batch_first, or [T, I] without a batch. h0 and c0 are [layers *
 * D, B, H], or ADZ_NONE for 0. y is [T, B, D * H], where D is 2 if bidirectional, else 1. The last
 * states h and c have the shape of h0.
 *
 * Weights come in the order of PyTorch: weight_ih[4H, I or D * H], weight_hh[4H, H], bias_ih[4H],
 * bias_hh[4H] for each layer and direction. It is a composition: lstm_layer.c records a node per
 * layer and direction, and saves what its backward reads. So this file has no derivative, and x,
 * the states and all weights are differentiable to any order. Dropout acts between layers. */

static const char name[] = "lstm";

/* Fills the fields that the caller's version of the struct has; see base/options.h. */
void adz_lstm_options_init(adz_lstm_options *options, size_t size)
{
    adz_lstm_options all = ADZ_LSTM_OPTIONS;
    adzi_options_fill(__func__, options, size, &all, sizeof all);
}

/* One call: the input with time first, and states and weights by layer and direction. A cell is one
 * layer in one direction. */
typedef struct {
    adz_lstm_options o;
    adz_tensor *x, *h0, *c0;    /* x[T, B, I]; states [layers * directions, B, H] */
    adz_tensor *const *weights; /* of each cell 4, or 2 without biases; the caller's list */
    int64_t directions, hidden; /* D and H */
    adz_tensor **h, **c;        /* [layers * directions]: last states, each [1, B, H] */
} lstm_call;

/* The number of cells, which is also the size of dimension 0 of h0 and c0. Cell l * D + d is
 * direction d of layer l. */
static size_t cells_of(const lstm_call *net)
{
    return (size_t)(net->o.layers * net->directions);
}

/* ---- checks -------------------------------------------------------------------------------- */

/* Checks the options and that the number of weights fits them. The test of dropout refuses NaN,
 * too. */
static bool check_options(const adz_lstm_options *o, size_t n_weights)
{
    if (o->layers < 1 || o->layers > 65535 || !(o->dropout >= 0 && o->dropout <= 1)) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "layers is %lld and must be 1 or more; dropout is %s and must lie in [0, 1]",
            (long long)o->layers, adzi_text_number(o->dropout));
        return false;
    }
    /* Four weights per cell, or two without biases. */
    size_t wanted = (size_t)o->layers * (o->bidirectional ? 2 : 1) * (o->bias ? 4 : 2);
    if (n_weights != wanted) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "%zu weights are given, but %lld layers%s%s take %zu: weight_ih, weight_hh%s of each",
            n_weights, (long long)o->layers, o->bidirectional ? " of two directions" : "",
            o->bias ? " with biases" : " without biases", wanted,
            o->bias ? ", bias_ih, bias_hh" : "");
        return false;
    }
    return true;
}

/* Checks weight i: a matrix [4H, columns], or a bias [4H]. `kind` is its name for messages. */
static bool check_weight(
    const lstm_call *net, size_t i, const char *kind, int rank, int64_t columns)
{
    const adz_tensor *w = net->weights[i];
    if (!adzi_check_tensor(name, kind, w)) {
        return false;
    }
    int64_t sizes[2] = { 4 * net->hidden, columns };
    bool fits = w->rank == rank && w->sizes[0] == sizes[0] && (rank == 1 || w->sizes[1] == columns);
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE, "weight %zu, %s%s, must have shape %s", i, kind,
            adzi_text_shape(w), adzi_text_sizes(rank, sizes));
        return false;
    }
    if (w->dtype != net->x->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE, "x is %s, weight %zu %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)net->x->dtype), i, adz_dtype_name((adz_dtype)w->dtype));
        return false;
    }
    return true;
}

/* Checks all weights, cell by cell. The first layer reads the features of x, the other ones the
 * outputs of all directions. */
static bool check_weights(const lstm_call *net)
{
    size_t each = net->o.bias ? 4 : 2;
    for (size_t i = 0; i < cells_of(net) * each; i += each) {
        /* Weights of the first layer come first in the list. */
        bool first = i < (size_t)net->directions * each;
        int64_t in = first ? net->x->sizes[2] : net->directions * net->hidden;
        if (!check_weight(net, i, "weight_ih", 2, in) ||
            !check_weight(net, i + 1, "weight_hh", 2, net->hidden) ||
            (each == 4 && (!check_weight(net, i + 2, "bias_ih", 1, 0) ||
                              !check_weight(net, i + 3, "bias_hh", 1, 0)))) {
            return false;
        }
    }
    return true;
}

/* Checks h0 or c0: [layers * directions, B, H] in the dtype of x. Nothing broadcasts, so a state
 * that all samples share has to be expanded by the caller. */
static bool check_state(const lstm_call *net, const adz_tensor *state, const char *which)
{
    /* States are ordered by layer, and by direction within a layer. */
    int64_t sizes[3] = { (int64_t)cells_of(net), net->x->sizes[1], net->hidden };
    bool fits = state->rank == 3;
    for (int i = 0; i < 3 && fits; ++i) {
        fits = state->sizes[i] == sizes[i];
    }
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "%s%s must have shape %s: layers and directions, batch, "
            "hidden",
            which, adzi_text_shape(state), adzi_text_sizes(3, sizes));
    } else if (state->dtype != net->x->dtype) {
        adzi_error(name, ADZ_ERR_DTYPE, "x is %s, %s %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)net->x->dtype), which,
            adz_dtype_name((adz_dtype)state->dtype));
        fits = false;
    }
    return fits;
}

/* Checks shapes and dtypes after the batch and time have been brought into order. lstm_layer checks
 * them as well, but only here does a message name the weight by its number. A sequence without a
 * step is refused, because it has no last state. */
static bool check(lstm_call *net)
{
    if (net->x->sizes[0] == 0) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s has no time steps", adzi_text_shape(net->x));
        return false;
    }
    if (!adzi_is_float((adz_dtype)net->x->dtype)) {
        adzi_error(name, ADZ_ERR_DTYPE, "x%s is %s; float32 or float64 is needed",
            adzi_text_shape(net->x), adz_dtype_name((adz_dtype)net->x->dtype));
        return false;
    }
    return check_weights(net) && check_state(net, net->h0, "h0") && check_state(net, net->c0, "c0");
}

/* ---- computing ----------------------------------------------------------------------------- */

/* One layer over x[T, B, I]. Returns y[T, B, directions * H] and stores the last states of its
 * cells. Both directions read the whole x; their outputs are joined along the features. */
static adz_tensor *layer(const lstm_call *net, int64_t index, adz_tensor *x)
{
    adz_tensor *ys[2] = { NULL, NULL };
    size_t each = net->o.bias ? 4 : 2;
    /* The states of a cell are views of h0 and c0, so their gradients flow back through the
     * select. */
    for (int64_t d = 0; d < net->directions; ++d) {
        size_t cell = (size_t)(index * net->directions + d);
        adz_tensor *const *w = net->weights + cell * each;
        /* The second direction runs from the last step to the first. */
        adzi_lstm_weights weights = { w[0], w[1], net->o.bias ? w[2] : ADZ_NONE,
            net->o.bias ? w[3] : ADZ_NONE };
        adzi_lstm_states out = adzi_lstm_layer(x, adz_select(net->h0, 0, (int64_t)cell),
            adz_select(net->c0, 0, (int64_t)cell), &weights, d == 1);
        ys[d] = out.y;
        net->h[cell] = adz_unsqueeze(out.h, 0);
        net->c[cell] = adz_unsqueeze(out.c, 0);
        if (net->c[cell] == NULL) {
            return NULL;
        }
    }
    return net->directions == 1 ? ys[0] : adz_cat(ys, 2, 2);
}

/* All layers one after the other. The last states of all cells are joined along dimension 0, in the
 * order of the cells. A single cell needs no copy. */
static adz_tensor *compute(const lstm_call *net, adz_tensor **h, adz_tensor **c)
{
    /* The output of a layer is the input of the one after it. */
    adz_tensor *y = net->x;
    for (int64_t i = 0; i < net->o.layers; ++i) {
        /* Dropout acts on the input of every layer but the first, so never on the result. Outside
         * training adz_dropout returns y itself. */
        if (i > 0 && net->o.dropout > 0) {
            y = adz_dropout(y, net->o.dropout, net->o.training, net->o.generator);
        }
        y = layer(net, i, y);
        if (y == NULL) {
            return NULL;
        }
    }
    size_t n = cells_of(net);
    *h = n == 1 ? net->h[0] : adz_cat(net->h, n, 0);
    *c = n == 1 ? net->c[0] : adz_cat(net->c, n, 0);
    return *h != NULL && *c != NULL ? y : NULL;
}

/* A call with time first and a batch. One tensor of zeros may stand for h0 and c0. It is made
 * before the checks, so that they see every state as a tensor. */
static adz_tensor *sequence(lstm_call *net, adz_tensor **h, adz_tensor **c)
{
    if (net->h0 == ADZ_NONE || net->c0 == ADZ_NONE) {
        adz_tensor *zeros =
            adz_zeros(ADZ_SHAPE((int64_t)cells_of(net), net->x->sizes[1], net->hidden),
                (adz_dtype)net->x->dtype);
        net->h0 = net->h0 == ADZ_NONE ? zeros : net->h0;
        net->c0 = net->c0 == ADZ_NONE ? zeros : net->c0;
        if (zeros == NULL) {
            return NULL;
        }
    }
    if (!check(net)) {
        return NULL;
    }
    /* One block holds the lists of last states h and c. The tensors in them belong to the scope, so
     * only the block is freed. */
    size_t bytes = 2 * cells_of(net) * sizeof(adz_tensor *);
    net->h = adzi_alloc(bytes);
    if (net->h == NULL) {
        return adzi_fail_memory(name, bytes);
    }
    net->c = net->h + cells_of(net);
    adz_tensor *y = compute(net, h, c);
    adzi_free(net->h, bytes);
    return y;
}

/* A call without a batch, x[T, I] and states [cells, H], is one with a batch of 1. The added
 * dimension is a view and is removed from all three results. */
static adz_tensor *unbatched(lstm_call *net, adz_tensor **h, adz_tensor **c)
{
    net->x = adz_unsqueeze(net->x, 1);
    net->h0 = net->h0 == ADZ_NONE ? net->h0 : adz_unsqueeze(net->h0, 1);
    net->c0 = net->c0 == ADZ_NONE ? net->c0 : adz_unsqueeze(net->c0, 1);
    if (net->x == NULL || net->h0 == NULL || net->c0 == NULL) {
        return NULL;
    }
    adz_tensor *y = adz_squeeze(sequence(net, h, c), 1);
    *h = adz_squeeze(*h, 1);
    *c = adz_squeeze(*c, 1);
    return y != NULL && *h != NULL && *c != NULL ? y : NULL;
}

/* Brings x to the shape [T, B, I] and y back to the layout of x. The states have the batch in
 * dimension 1 in any case, as in PyTorch. */
static adz_tensor *dispatch(lstm_call *net, adz_tensor **h, adz_tensor **c)
{
    if (net->x->rank == 2) {
        return unbatched(net, h, c);
    }
    if (net->x->rank != 3) {
        return adzi_fail(name, ADZ_ERR_SHAPE, "x%s must have shape [time, batch, features]%s",
            adzi_text_shape(net->x), net->o.batch_first ? " with time and batch swapped" : "");
    }
    /* Transposing is a view; lstm_layer copies it once if it has to. The result is a view as well,
     * whose memory has time first. */
    if (!net->o.batch_first) {
        return sequence(net, h, c);
    }
    net->x = adz_transpose(net->x, 0, 1);
    return net->x != NULL ? adz_transpose(sequence(net, h, c), 0, 1) : NULL;
}

/* Reads the options, finds D and H, and computes. h and c may be NULL. They are set to NULL at
 * once, so that a failure leaves nothing stale in them. They are filled in only if the whole call
 * has succeeded. */
adz_tensor *adz_lstm(adz_tensor *x, adz_tensor *h0, adz_tensor *c0, adz_tensor *const *weights,
    size_t n_weights, const adz_lstm_options *options, adz_tensor **h, adz_tensor **c)
{
    lstm_call net = { .o = ADZ_LSTM_OPTIONS, .x = x, .h0 = h0, .c0 = c0, .weights = weights };
    adz_tensor *last[2] = { NULL, NULL }, *y = NULL;
    if (h != NULL) {
        *h = NULL;
    }
    if (c != NULL) {
        *c = NULL;
    }
    if (!adzi_options_read(name, "ADZ_LSTM_OPTIONS", &net.o, sizeof net.o, options) ||
        !adzi_check_tensor(name, "x", x) ||
        (h0 != ADZ_NONE && !adzi_check_tensor(name, "h0", h0)) ||
        (c0 != ADZ_NONE && !adzi_check_tensor(name, "c0", c0))) {
        return NULL;
    }
    if (weights == NULL) {
        return adzi_fail_null(name, "weights");
    }
    /* weight_hh of the first cell gives H, so it is checked before the others. */
    if (!check_options(&net.o, n_weights) || !adzi_check_tensor(name, "weight_hh", weights[1])) {
        return NULL;
    }
    net.directions = net.o.bidirectional ? 2 : 1;
    /* H is read from weight_hh[4H, H], which every layer has. */
    net.hidden = weights[1]->rank == 2 ? weights[1]->sizes[1] : 0;
    y = dispatch(&net, &last[0], &last[1]);
    if (y != NULL && h != NULL) {
        *h = last[0];
    }
    if (y != NULL && c != NULL) {
        *c = last[1];
    }
    return y;
}
