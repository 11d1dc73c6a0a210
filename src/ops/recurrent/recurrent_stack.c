#include "ops/recurrent/recurrent_stack.h"

#include <string.h>

#include "base/alloc.h"
#include "ops/recurrent/lengths.h"

/* Layers and directions of a recurrent network, torch.nn.LSTM, GRU and RNN without their modules.
 *
 *     y^0 = x;   y^l = [forward layer l of y^(l-1), backward layer l of y^(l-1)]
 *
 * x is [T, B, I], or [B, T, I] with batch_first, or [T, I] without a batch. The initial states are
 * [layers * D, B, H], or ADZ_NONE for 0. y is [T, B, D * H], where D is 2 if bidirectional, else 1.
 * The last states have the shape of the initial ones.
 *
 * Weights come in the order of PyTorch: weight_ih[G H, I or D * H], weight_hh[G H, H], bias_ih[G
 * H], bias_hh[G H] for each layer and direction. It is a composition: recurrent_layer.c records a
 * node per layer and direction, and saves what its backward reads. So this file has no derivative,
 * and x, the states and all weights are differentiable to any order. Dropout acts between layers.
 */

static const char *const state_names[] = { "h0", "c0" };

/* The number of cells, which is also the size of dimension 0 of the states. Cell l * D + d is
 * direction d of layer l. */
static size_t cells_of(const adzi_recurrent_stack *net)
{
    return (size_t)(net->o.layers * net->directions);
}

static bool has_lengths(const adzi_recurrent_stack *net)
{
    return net->o.lengths != NULL && net->o.lengths != ADZ_NONE;
}

/* ---- checks -------------------------------------------------------------------------------- */

static bool check_count(const adzi_recurrent_stack *net)
{
    /* Four weights per cell, or two without biases. */
    size_t wanted = (size_t)net->o.layers * (net->o.bidirectional ? 2 : 1) * (net->o.bias ? 4 : 2);
    if (net->n_weights != wanted) {
        adzi_error(net->cell->name, ADZ_ERR_ARGUMENT,
            "%zu weights are given, but %lld layers%s%s take %zu: weight_ih, weight_hh%s of each",
            net->n_weights, (long long)net->o.layers,
            net->o.bidirectional ? " of two directions" : "",
            net->o.bias ? " with biases" : " without biases", wanted,
            net->o.bias ? ", bias_ih, bias_hh" : "");
        return false;
    }
    return true;
}

/* Checks weight i: a matrix [G H, columns], or a bias [G H]. `kind` is its name for messages. */
static bool check_weight(
    const adzi_recurrent_stack *net, size_t i, const char *kind, int rank, int64_t columns)
{
    const adz_tensor *w = net->weights[i];
    if (!adzi_check_tensor(net->cell->name, kind, w)) {
        return false;
    }
    int64_t sizes[2] = { net->cell->gates * net->hidden, columns };
    bool fits = w->rank == rank && w->sizes[0] == sizes[0] && (rank == 1 || w->sizes[1] == columns);
    if (!fits) {
        adzi_error(net->cell->name, ADZ_ERR_SHAPE, "weight %zu, %s%s, must have shape %s", i, kind,
            adzi_text_shape(w), adzi_text_sizes(rank, sizes));
        return false;
    }
    if (w->dtype != net->x->dtype) {
        adzi_error(net->cell->name, ADZ_ERR_DTYPE,
            "x is %s, weight %zu %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)net->x->dtype), i, adz_dtype_name((adz_dtype)w->dtype));
        return false;
    }
    return true;
}

/* Checks all weights, cell by cell. The first layer reads the features of x, the other ones the
 * outputs of all directions. */
static bool check_weights(const adzi_recurrent_stack *net)
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
static bool check_state(const adzi_recurrent_stack *net, int which)
{
    /* States are ordered by layer, and by direction within a layer. */
    const adz_tensor *state = net->first[which];
    int64_t sizes[3] = { (int64_t)cells_of(net), net->x->sizes[1], net->hidden };
    bool fits = state->rank == 3;
    for (int i = 0; i < 3 && fits; ++i) {
        fits = state->sizes[i] == sizes[i];
    }
    if (!fits) {
        adzi_error(net->cell->name, ADZ_ERR_SHAPE,
            "%s%s must have shape %s: layers and directions, batch, hidden", state_names[which],
            adzi_text_shape(state), adzi_text_sizes(3, sizes));
    } else if (state->dtype != net->x->dtype) {
        adzi_error(net->cell->name, ADZ_ERR_DTYPE, "x is %s, %s %s; convert one with adz_to",
            adz_dtype_name((adz_dtype)net->x->dtype), state_names[which],
            adz_dtype_name((adz_dtype)state->dtype));
        fits = false;
    }
    return fits;
}

/* Checks shapes and dtypes after the batch and time have been brought into order. The layer checks
 * them as well, but only here does a message name the weight by its number. A sequence without a
 * step is refused, because it has no last state. */
static bool check(const adzi_recurrent_stack *net)
{
    if (net->x->sizes[0] == 0) {
        adzi_error(
            net->cell->name, ADZ_ERR_SHAPE, "x%s has no time steps", adzi_text_shape(net->x));
        return false;
    }
    if (!adzi_is_float((adz_dtype)net->x->dtype)) {
        adzi_error(net->cell->name, ADZ_ERR_DTYPE, "x%s is %s; float32 or float64 is needed",
            adzi_text_shape(net->x), adz_dtype_name((adz_dtype)net->x->dtype));
        return false;
    }
    bool good = check_weights(net);
    for (int i = 0; i < net->cell->states && good; ++i) {
        good = check_state(net, i);
    }
    return good &&
           (!has_lengths(net) || adzi_lengths_check(net->cell->name, net->o.lengths, net->x));
}

/* ---- computing ----------------------------------------------------------------------------- */

/* One layer over x[T, B, I]. Returns y[T, B, directions * H] and stores the last states of its
 * cells. Both directions read the whole x; their outputs are joined along the features. */
static adz_tensor *layer(const adzi_recurrent_stack *net, int64_t index, adz_tensor *x)
{
    adz_tensor *ys[2] = { NULL, NULL };
    size_t each = net->o.bias ? 4 : 2;
    const bool two = net->cell->states == 2;
    /* The states of a cell are views of h0 and c0, so their gradients flow back through the
     * select. */
    for (int64_t d = 0; d < net->directions; ++d) {
        size_t cell = (size_t)(index * net->directions + d);
        adz_tensor *const *w = net->weights + cell * each;
        /* The second direction runs from the last step to the first. */
        const adzi_recurrent_input in = { .x = x,
            .h0 = adz_select(net->first[0], 0, (int64_t)cell),
            .c0 = two ? adz_select(net->first[1], 0, (int64_t)cell) : NULL,
            .lengths = has_lengths(net) ? net->o.lengths : ADZ_NONE,
            .w = { w[0], w[1], net->o.bias ? w[2] : ADZ_NONE, net->o.bias ? w[3] : ADZ_NONE },
            .reverse = d == 1,
            .relu = net->o.nonlinearity == ADZ_ACTIVATION_RELU };
        adzi_recurrent_states out = adzi_recurrent_layer(net->cell, &in);
        ys[d] = out.y;
        net->last_of[0][cell] = adz_unsqueeze(out.h, 0);
        if (two) {
            net->last_of[1][cell] = adz_unsqueeze(out.c, 0);
        }
        if (net->last_of[two][cell] == NULL) {
            return NULL;
        }
    }
    return net->directions == 1 ? ys[0] : adz_cat(ys, 2, 2);
}

/* All layers one after the other. The last states of all cells are joined along dimension 0, in the
 * order of the cells. A single cell needs no copy. */
static adz_tensor *compute(adzi_recurrent_stack *net)
{
    /* The output of a layer is the input of the one after it. */
    adz_tensor *y = has_lengths(net)
                        ? adzi_lengths_fill(net->x, adzi_lengths_padding(net->x, net->o.lengths))
                        : net->x;
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
    for (int i = 0; i < net->cell->states; ++i) {
        net->last[i] = n == 1 ? net->last_of[i][0] : adz_cat(net->last_of[i], n, 0);
        y = net->last[i] != NULL ? y : NULL;
    }
    return y;
}

/* A call with time first and a batch. One tensor of zeros may stand for h0 and c0. It is made
 * before the checks, so that they see every state as a tensor. */
static adz_tensor *sequence(adzi_recurrent_stack *net)
{
    const int n_states = net->cell->states;
    if (net->first[0] == ADZ_NONE || net->first[n_states - 1] == ADZ_NONE) {
        adz_tensor *zeros =
            adz_zeros(ADZ_SHAPE((int64_t)cells_of(net), net->x->sizes[1], net->hidden),
                (adz_dtype)net->x->dtype);
        for (int i = 0; i < n_states; ++i) {
            net->first[i] = net->first[i] == ADZ_NONE ? zeros : net->first[i];
        }
        if (zeros == NULL) {
            return NULL;
        }
    }
    if (!check(net)) {
        return NULL;
    }
    /* One block holds the lists of last states. The tensors in them belong to the scope, so only
     * the block is freed. */
    size_t bytes = (size_t)n_states * cells_of(net) * sizeof(adz_tensor *);
    net->last_of[0] = adzi_alloc(bytes);
    if (net->last_of[0] == NULL) {
        return adzi_fail_memory(net->cell->name, bytes);
    }
    net->last_of[1] = net->last_of[0] + (n_states - 1) * (int64_t)cells_of(net);
    adz_tensor *y = compute(net);
    adzi_free(net->last_of[0], bytes);
    return y;
}

/* A call without a batch, x[T, I] and states [cells, H], is one with a batch of 1. The added
 * dimension is a view and is removed from all results. */
static adz_tensor *unbatched(adzi_recurrent_stack *net)
{
    if (has_lengths(net)) {
        return adzi_fail(net->cell->name, ADZ_ERR_ARGUMENT,
            "lengths are given, but x%s has no batch; slice x to its steps instead",
            adzi_text_shape(net->x));
    }
    net->x = adz_unsqueeze(net->x, 1);
    bool good = net->x != NULL;
    for (int i = 0; i < net->cell->states; ++i) {
        net->first[i] = net->first[i] == ADZ_NONE ? ADZ_NONE : adz_unsqueeze(net->first[i], 1);
        good = good && net->first[i] != NULL;
    }
    adz_tensor *y = good ? adz_squeeze(sequence(net), 1) : NULL;
    for (int i = 0; i < net->cell->states && y != NULL; ++i) {
        net->last[i] = adz_squeeze(net->last[i], 1);
        y = net->last[i] != NULL ? y : NULL;
    }
    return y;
}

/* Brings x to the shape [T, B, I] and y back to the layout of x. The states have the batch in
 * dimension 1 in any case, as in PyTorch. */
static adz_tensor *dispatch(adzi_recurrent_stack *net)
{
    if (net->x->rank == 2) {
        return unbatched(net);
    }
    if (net->x->rank != 3) {
        return adzi_fail(net->cell->name, ADZ_ERR_SHAPE,
            "x%s must have shape [time, batch, features]%s", adzi_text_shape(net->x),
            net->o.batch_first ? " with time and batch swapped" : "");
    }
    /* Transposing is a view; the layer copies it once if it has to. The result is a view as well,
     * whose memory has time first. */
    if (!net->o.batch_first) {
        return sequence(net);
    }
    net->x = adz_transpose(net->x, 0, 1);
    return net->x != NULL ? adz_transpose(sequence(net), 0, 1) : NULL;
}

static bool check_tensors(const adzi_recurrent_stack *net)
{
    bool good = adzi_check_tensor(net->cell->name, "x", net->x);
    for (int i = 0; i < net->cell->states && good; ++i) {
        good = net->first[i] == ADZ_NONE ||
               adzi_check_tensor(net->cell->name, state_names[i], net->first[i]);
    }
    return good &&
           (!has_lengths(net) || adzi_check_tensor(net->cell->name, "lengths", net->o.lengths));
}

adz_tensor *adzi_recurrent_run_stack(adzi_recurrent_stack *net)
{
    if (!check_tensors(net)) {
        return NULL;
    }
    if (net->weights == NULL) {
        return adzi_fail_null(net->cell->name, "weights");
    }
    /* weight_hh of the first cell gives H, so it is checked before the others. */
    if (!check_count(net) || !adzi_check_tensor(net->cell->name, "weight_hh", net->weights[1])) {
        return NULL;
    }
    net->directions = net->o.bidirectional ? 2 : 1;
    /* H is read from weight_hh[G H, H], which every layer has. */
    net->hidden = net->weights[1]->rank == 2 ? net->weights[1]->sizes[1] : 0;
    return dispatch(net);
}
