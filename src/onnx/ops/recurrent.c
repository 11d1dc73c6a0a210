/* LSTM, GRU and RNN. */
#include "recurrent.h"

#include <string.h>
#include <strings.h>

#include "adze/ops/activation.h"
#include "adze/ops/convert.h"
#include "adze/ops/math.h"
#include "adze/ops/recurrent.h"
#include "adze/ops/shape.h"

/* ---- activations ---------------------------------------------------------------------------- */

/* The activation that a node names; NULL for one that is not supported. */
static recurrent_function activation(const char *name)
{
    static const struct {
        const char *name;
        recurrent_function f;
    } known[] = {
        { "Relu", adz_relu },
        { "Sigmoid", adz_sigmoid },
        { "Softplus", adzi_reader_softplus },
        { "Softsign", adz_softsign },
        { "Tanh", adz_tanh },
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcasecmp(known[i].name, name) == 0) {
            return known[i].f;
        }
    }
    return NULL;
}

/* How many activations a direction has: as many as the operator's kinds of gates. */
static size_t n_functions(const reader_node *node)
{
    return strcmp(node->type, "LSTM") == 0 ? 3 : strcmp(node->type, "GRU") == 0 ? 2 : 1;
}

static int n_directions(const reader_node *node)
{
    const reader_attribute *a = adzi_reader_attribute(node, "direction");
    return a != NULL && strcmp(a->s, "bidirectional") == 0 ? 2 : 1;
}

static adz_status check(const reader_model *model, const reader_node *node)
{
    (void)model;
    const reader_attribute *a = adzi_reader_attribute(node, "activations");
    if (a != NULL && a->n != n_functions(node) * (size_t)n_directions(node)) {
        return adzi_reader_refuse(node, "attribute \"activations\" has %zu names", a->n);
    }
    for (size_t i = 0; a != NULL && i < a->n; ++i) {
        if (activation(a->strings[i]) == NULL) {
            return adzi_reader_refuse(node,
                "activation \"%.60s\" is not supported; Relu, Sigmoid, Softplus, Softsign and Tanh are",
                a->strings[i]);
        }
    }
    a = adzi_reader_attribute(node, "input_forget");
    return a == NULL || a->i == 0
               ? ADZ_OK
               : adzi_reader_refuse(node, "attribute \"input_forget\" is not supported");
}

/* The activations of each direction. Returns whether they are those of the library's operators. */
static bool choose_functions(recurrent *n)
{
    static const recurrent_function usual[3][3] = { { adz_tanh }, { adz_sigmoid, adz_tanh },
        { adz_sigmoid, adz_tanh, adz_tanh } };
    const reader_node *node = n->call->node;
    const size_t count = n_functions(node);
    const reader_attribute *a = adzi_reader_attribute(node, "activations");
    bool is_usual = true;
    for (size_t d = 0; d < (size_t)n->directions; ++d) {
        for (size_t i = 0; i < count; ++i) {
            n->f[d][i] = a != NULL ? activation(a->strings[d * count + i]) : usual[count - 1][i];
            is_usual = is_usual && n->f[d][i] == usual[count - 1][i];
        }
    }
    /* adz_rnn knows relu, too, for all directions. */
    return is_usual ||
           (count == 1 && n->f[0][0] == adz_relu && n->f[n->directions - 1][0] == adz_relu);
}

/* ---- inputs --------------------------------------------------------------------------------- */

/* A state as [D, B, H]: layout 1 has [B, D, H]. */
static adz_tensor *state(const recurrent *n, size_t i, bool batch_first)
{
    adz_tensor *t = adzi_reader_in(n->call, i);
    return t == ADZ_NONE || !batch_first ? t : adz_transpose(t, 0, 1);
}

/* Whether the host knows that all sequences have all steps. */
static bool all_whole(const recurrent *n)
{
    if (!adzi_reader_is_host(n->call->run, n->call->node->inputs[4])) {
        return false;
    }
    const reader_numbers *lengths = adzi_reader_host(n->call, 4);
    for (size_t i = 0; lengths != NULL && i < lengths->n; ++i) {
        if (lengths->at[i].i != n->steps) {
            return false;
        }
    }
    return lengths != NULL;
}

/* Reads what the node has; false with an error recorded. */
static bool read_inputs(recurrent *n, int gates)
{
    const reader_call *call = n->call;
    const bool batch_first = adzi_reader_int(call, "layout", 0) != 0;
    adz_tensor *x = adzi_reader_in(call, 0);
    n->gates = gates;
    n->directions = n_directions(call->node);
    n->backward = strcmp(adzi_reader_string(call, "direction", "forward"), "reverse") == 0;
    n->w = adzi_reader_in(call, 1);
    n->r = adzi_reader_in(call, 2);
    n->b = adzi_reader_in(call, 3);
    if (x == NULL || n->w == NULL || n->r == NULL || n->b == NULL) {
        return false;
    }
    if (adz_tensor_rank(x) != 3 || adz_tensor_rank(n->w) != 3 || adz_tensor_rank(n->r) != 3 ||
        adz_tensor_size(n->r, 0) != n->directions || adz_tensor_size(n->w, 0) != n->directions) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE,
            "x%s must have 3 dimensions, and W%s and R%s 3 with %d directions first",
            adz_text_shape(x), adz_text_shape(n->w), adz_text_shape(n->r), n->directions);
        return false;
    }
    n->x = batch_first ? adz_transpose(x, 0, 1) : x;
    n->steps = adz_tensor_size(x, batch_first ? 1 : 0);
    n->batch = adz_tensor_size(x, batch_first ? 0 : 1);
    n->hidden = adz_tensor_size(n->r, 2);
    n->h0 = state(n, 5, batch_first);
    n->c0 = gates == 4 ? state(n, 6, batch_first) : ADZ_NONE;
    n->p = gates == 4 ? adzi_reader_in(call, 7) : ADZ_NONE;
    if (adzi_reader_has(call, 4) && !all_whole(n)) {
        n->lengths = adz_to(adzi_reader_in(call, 4), ADZ_I64);
    }
    if (n->steps < 1) {
        adzi_reader_fail(call, ADZ_ERR_SHAPE, "x%s has no steps", adz_text_shape(x));
    }
    return adz_error_code() == ADZ_OK;
}

/* ---- the library's operators ---------------------------------------------------------------- */

/* Rows of gates in the library's order. ONNX has i, o, f, c and z, r, h. */
static adz_tensor *order_rows(const recurrent *n, adz_tensor *t)
{
    static const int orders[5][4] = { [3] = { 1, 0, 2 }, [4] = { 0, 2, 3, 1 } };
    adz_tensor *parts[4];
    if (n->gates == 1) {
        return t;
    }
    for (int i = 0; i < n->gates; ++i) {
        parts[i] = adz_narrow(t, 0, orders[n->gates][i] * n->hidden, n->hidden);
    }
    return adz_cat(parts, (size_t)n->gates, 0);
}

/* Fills weights for direction d of the file. */
static size_t fill_weights(const recurrent *n, int d, adz_tensor **weights)
{
    const int64_t rows = n->gates * n->hidden;
    weights[0] = order_rows(n, adz_select(n->w, 0, d));
    weights[1] = order_rows(n, adz_select(n->r, 0, d));
    if (n->b == ADZ_NONE) {
        return 2;
    }
    adz_tensor *b = adz_select(n->b, 0, d);
    weights[2] = order_rows(n, adz_narrow(b, 0, 0, rows));
    weights[3] = order_rows(n, adz_narrow(b, 0, rows, rows));
    return 4;
}

/* Both directions or one, forward; y is [T, B, D * H]. */
static adz_tensor *run_operator(const recurrent *n, adz_tensor *x, adz_tensor *h0, adz_tensor *c0,
    adz_tensor **weights, size_t count, bool both, adz_tensor **h, adz_tensor **c)
{
    const bool bias = n->b != ADZ_NONE;
    if (n->gates == 4) {
        adz_lstm_options o = ADZ_LSTM_OPTIONS;
        o.bias = bias;
        o.bidirectional = both;
        o.lengths = n->lengths;
        return adz_lstm(x, h0, c0, weights, count, &o, h, c);
    }
    if (n->gates == 3) {
        adz_gru_options o = ADZ_GRU_OPTIONS;
        o.bias = bias;
        o.bidirectional = both;
        o.lengths = n->lengths;
        return adz_gru(x, h0, weights, count, &o, h);
    }
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    o.bias = bias;
    o.bidirectional = both;
    o.lengths = n->lengths;
    o.nonlinearity = n->f[0][0] == adz_relu ? ADZ_ACTIVATION_RELU : ADZ_ACTIVATION_TANH;
    return adz_rnn(x, h0, weights, count, &o, h);
}

static adz_tensor *twice(adz_tensor *t)
{
    return t == ADZ_NONE ? t : adz_cat((adz_tensor *[]){ t, t }, 2, 0);
}

/* The second half of a dimension. */
static adz_tensor *second(adz_tensor *t, int dim)
{
    const int64_t half = t != NULL ? adz_tensor_size(t, dim) / 2 : 0;
    return adz_narrow(t, dim, half, half);
}

/* A single direction that begins at the end. Sequences of several lengths begin at several ends,
 * which the second one of two directions does; the first one is thrown away. */
static adz_tensor *run_backward(
    const recurrent *n, adz_tensor **weights, size_t count, adz_tensor **h, adz_tensor **c)
{
    if (n->lengths == NULL) {
        adz_tensor *x = adz_flip(n->x, ADZ_DIMS(0));
        return adz_flip(run_operator(n, x, n->h0, n->c0, weights, count, false, h, c), ADZ_DIMS(0));
    }
    memcpy(weights + count, weights, count * sizeof *weights);
    adz_tensor *y =
        run_operator(n, n->x, twice(n->h0), twice(n->c0), weights, 2 * count, true, h, c);
    *h = second(*h, 0);
    *c = n->gates == 4 ? second(*c, 0) : NULL;
    return second(y, 2);
}

/* As adzi_reader_recur, by the library's operators. */
static adz_tensor *run_at_once(const recurrent *n, adz_tensor **h, adz_tensor **c)
{
    adz_tensor *weights[8], *y;
    size_t count = fill_weights(n, 0, weights);
    if (n->backward) {
        y = run_backward(n, weights, count, h, c);
    } else {
        if (n->directions == 2) {
            count += fill_weights(n, 1, weights + count);
        }
        y = run_operator(n, n->x, n->h0, n->c0, weights, count, n->directions == 2, h, c);
    }
    y = adz_reshape(y, ADZ_SHAPE(n->steps, n->batch, n->directions, n->hidden));
    return adz_permute(y, ADZ_DIMS(0, 2, 1, 3));
}

/* ---- the nodes ------------------------------------------------------------------------------ */

static adz_tensor *run(const reader_call *call, int gates)
{
    recurrent n = { .call = call };
    adz_tensor *h = NULL, *c = NULL;
    if (!read_inputs(&n, gates)) {
        return NULL;
    }
    /* One step takes the weights as they lie; the operators would need them in another order. */
    bool at_once = choose_functions(&n) && n.p == ADZ_NONE && (n.steps > 1 || gates == 1);
    if (gates == 3 && adzi_reader_int(call, "linear_before_reset", 0) == 0) {
        at_once = false;
    }
    adz_tensor *y = at_once ? run_at_once(&n, &h, &c) : adzi_reader_recur(&n, &h, &c);
    if (y == NULL || adz_error_code() != ADZ_OK) {
        return NULL;
    }
    const bool batch_first = adzi_reader_int(call, "layout", 0) != 0;
    adzi_reader_set(call, 1, batch_first ? adz_transpose(h, 0, 1) : h);
    if (gates == 4) {
        adzi_reader_set(call, 2, batch_first ? adz_transpose(c, 0, 1) : c);
    }
    return batch_first ? adz_permute(y, ADZ_DIMS(2, 0, 1, 3)) : y;
}

static adz_tensor *lstm(const reader_call *call)
{
    return run(call, 4);
}

static adz_tensor *gru(const reader_call *call)
{
    return run(call, 3);
}

static adz_tensor *rnn(const reader_call *call)
{
    return run(call, 1);
}

#define DIRECTION "direction:s=forward|reverse|bidirectional hidden_size:i activations:S layout:i"

const reader_operator adzi_reader_recurrent[] = {
    { "LSTM", 7, 0, 3, 8, 3, DIRECTION " input_forget:i", 1u << 4, .run = lstm, .check = check },
    { "GRU", 7, 0, 3, 6, 2, DIRECTION " linear_before_reset:i", 1u << 4, .run = gru,
        .check = check },
    { "RNN", 7, 0, 3, 6, 2, DIRECTION, 1u << 4, .run = rnn, .check = check },
    { 0 },
};
