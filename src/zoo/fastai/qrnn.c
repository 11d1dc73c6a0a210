/* fastai's quasi-recurrent network. One linear layer computes the gates z, f and o of all steps at
 * once; only the mean over time is sequential:
 *
 *     h_t = f_t * tanh(z_t) + (1 - f_t) * h_(t-1),   y_t = sigmoid(o_t) * h_t
 *
 * with f_t = sigmoid of its gate. With a window of 2 the gates see x_t and x_(t-1). */
#include "adze/zoo/fastai_qrnn.h"

#include "adze/autograd.h"
#include "adze/nn/containers.h"
#include "adze/nn/linear.h"
#include "adze/ops/activation.h"
#include "adze/ops/arithmetic.h"
#include "adze/ops/convert.h"
#include "adze/ops/dropout.h"
#include "adze/ops/index.h"
#include "adze/ops/math.h"
#include "adze/ops/recurrent.h"
#include "adze/ops/shape.h"
#include "zoo.h"

static bool check_sizes(const char *op, int64_t input_size, int64_t hidden_size)
{
    return adz_check_size(op, "input_size", input_size, 1) &&
           adz_check_size(op, "hidden_size", hidden_size, 1);
}

/* ---- one layer ------------------------------------------------------------------------------ */

enum { LINEAR }; /* the child */
enum { PREV_X }; /* the buffer: the last step of the previous call's x, or ADZ_NONE */

typedef struct {
    int64_t input_size, hidden_size;
    adz_fastai_qrnn_layer_options o;
} layer_state;

/* Checks the sizes of x and hid, and that the batch is that of the previous call. */
static bool check_input(adz_module *self, const adz_tensor *x, const adz_tensor *hid)
{
    const layer_state *state = zoo_state(self);
    const char *name = adz_module_name(self), *shape = state->o.batch_first ? "B, T" : "T, B";
    if (adz_tensor_rank(x) != 3 || adz_tensor_size(x, 2) != state->input_size) {
        adz_error_format(name, ADZ_ERR_SHAPE, "x%s must be [%s, %lld]", adz_text_shape(x), shape,
            (long long)state->input_size);
        return false;
    }
    int64_t batch = adz_tensor_size(x, state->o.batch_first ? 0 : 1);
    if (adz_tensor_size(x, state->o.batch_first ? 1 : 0) == 0) {
        adz_error_format(name, ADZ_ERR_SHAPE, "x%s has no time steps", adz_text_shape(x));
        return false;
    }
    if (!zoo_is_none(hid) && (adz_tensor_rank(hid) != 2 || adz_tensor_size(hid, 0) != batch ||
                                 adz_tensor_size(hid, 1) != state->hidden_size)) {
        adz_error_format(name, ADZ_ERR_SHAPE,
            "hid%s must be [%lld, %lld] for x%s, which is [%s, %lld]", adz_text_shape(hid),
            (long long)batch, (long long)state->hidden_size, adz_text_shape(x), shape,
            (long long)state->input_size);
        return false;
    }
    const adz_tensor *previous = zoo_buffer(self, PREV_X);
    if (!zoo_is_none(previous) && adz_tensor_size(previous, 0) != batch) {
        adz_error_format(name, ADZ_ERR_SHAPE,
            "x%s has a batch of %lld, but the previous call's had %lld; adz_module_reset forgets it",
            adz_text_shape(x), (long long)batch, (long long)adz_tensor_size(previous, 0));
        return false;
    }
    return true;
}

/* For each step of x the step before it, in the direction of the layer. The step before the first
 * is `first`, or zeros if `first` is ADZ_NONE. `time` is the dimension of the steps. */
static adz_tensor *step_before(adz_tensor *x, adz_tensor *first, int time, bool backward)
{
    const int64_t steps = adz_tensor_size(x, time);
    adz_tensor *others = adz_narrow(x, time, backward ? 1 : 0, steps - 1);
    adz_tensor *edge =
        zoo_is_none(first) ? adz_zeros_like(adz_narrow(x, time, 0, 1)) : adz_unsqueeze(first, time);
    adz_tensor *parts[] = { backward ? others : edge, backward ? edge : others };
    return adz_cat(parts, 2, time);
}

/* The input of the linear layer: x, or with a window of 2 each step joined with the step before it,
 * [..., 2 D]. */
static adz_tensor *windowed(adz_module *self, adz_tensor *x, int time)
{
    const layer_state *state = zoo_state(self);
    if (state->o.window == 1) {
        return x;
    }
    adz_tensor *neighbours = step_before(x, zoo_buffer(self, PREV_X), time, state->o.backward);
    adz_tensor *both[] = { x, neighbours };
    return neighbours != NULL ? adz_cat(both, 2, 2) : NULL;
}

/* Stores the last step of x, for the window of the first step of the next call. */
static adz_status save_prev_x(adz_module *self, adz_tensor *x, int time)
{
    const layer_state *state = zoo_state(self);
    if (state->o.window == 1 || !state->o.save_prev_x) {
        return ADZ_OK;
    }
    adz_tensor *last = adz_select(adz_detach(x), time, state->o.backward ? 0 : -1);
    adz_module_set_buffer(self, "prev_x", adz_clone(last));
    return adz_error_code();
}

static adz_status layer_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const layer_state *state = zoo_state(self);
    adz_tensor *x = adz_values_argument(in, 0, "x"), *hid = adz_values_argument(in, 1, "hid");
    if (!adz_check_tensor(adz_module_name(self), "x", x) ||
        (hid != ADZ_NONE && !adz_check_tensor(adz_module_name(self), "hid", hid)) ||
        !check_input(self, x, hid)) {
        return adz_error_code();
    }
    int time = state->o.batch_first ? 1 : 0;
    adz_tensor *gates = adz_module_forward(zoo_child(self, LINEAR), windowed(self, x, time));
    adz_tensor *gate[3] = { NULL };
    int64_t h_size = state->hidden_size, sizes[] = { h_size, h_size, h_size };
    if (adz_split_sizes(gates, sizes, state->o.output_gate ? 3 : 2, 2, gate) != ADZ_OK) {
        return adz_error_code();
    }
    adz_tensor *f = adzi_zoo_apply_dropout(self, adz_sigmoid(gate[1]), state->o.zoneout,
        adz_module_is_training(self), state->o.generator);
    const adz_forget_mult_options steps = {
        .size = sizeof steps, .batch_first = state->o.batch_first, .backward = state->o.backward
    };
    adz_tensor *h = adz_forget_mult(adz_tanh(gate[0]), f, hid, &steps);
    adz_tensor *y = state->o.output_gate ? adz_mul(adz_sigmoid(gate[2]), h) : h;
    adz_tensor *last = adz_select(h, time, state->o.backward ? 0 : -1);
    adz_status status = adz_values_add(out, "", y);
    status = status == ADZ_OK ? adz_values_add(out, "h", last) : status;
    return status == ADZ_OK ? save_prev_x(self, x, time) : status;
}

static adz_status set_prev_x(adz_module *self, adz_tensor *t)
{
    adz_module_set_buffer(self, "prev_x", t);
    return adz_error_code();
}

static adz_status layer_reset(adz_module *self)
{
    return set_prev_x(self, ADZ_NONE);
}

static adz_status layer_select(adz_module *self, adz_tensor *rows)
{
    adz_tensor *previous = zoo_buffer(self, PREV_X);
    return zoo_is_none(previous) ? ADZ_OK : set_prev_x(self, adz_index_select(previous, 0, rows));
}

static const adz_module_type layer_type = {
    .size = sizeof(adz_module_type),
    .name = "QRNNLayer",
    .call = layer_call,
    .reset = layer_reset,
    .select_hidden = layer_select,
};

static const adz_field layer_fields[] = {
    ADZ_FIELD(adz_fastai_qrnn_layer_options, zoneout, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_qrnn_layer_options, window, .value = 1, ADZ_CLOSED(1, 2)),
    ADZ_FIELD(adz_fastai_qrnn_layer_options, output_gate, .value = true),
    ADZ_FIELD(adz_fastai_qrnn_layer_options, batch_first, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_qrnn_layer_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_qrnn_layer_options, ADZ_FASTAI_QRNN_LAYER_OPTIONS, layer_fields)

adz_module *adz_fastai_qrnn_layer_new(
    int64_t input_size, int64_t hidden_size, const adz_fastai_qrnn_layer_options *options)
{
    static const char op[] = "adz_fastai_qrnn_layer_new";
    adz_fastai_qrnn_layer_options o;
    if (!adz_options_take(op, &adz_fastai_qrnn_layer_options_table, &o, options)) {
        return NULL;
    }
    hidden_size = hidden_size == 0 ? input_size : hidden_size;
    if (!check_sizes(op, input_size, hidden_size)) {
        return NULL;
    }
    adz_linear_options linear = ADZ_LINEAR_OPTIONS;
    linear.dtype = o.dtype;
    adz_module *self = adz_module_new(&layer_type, sizeof(layer_state));
    bool good = self != NULL;
    if (good) {
        *(layer_state *)zoo_state(self) = (layer_state){ input_size, hidden_size, o };
        int64_t gates = o.output_gate ? 3 : 2;
        good = adz_module_add_child(self, "linear",
                   adz_linear_new(o.window * input_size, gates * hidden_size, &linear)) != NULL &&
               adz_module_add_buffer(self, "prev_x", ADZ_NONE, false) != NULL;
    }
    return adzi_zoo_or_free(good, self);
}

/* ---- a stack of layers ---------------------------------------------------------------------- */

enum { LAYERS, LAYERS_BWD }; /* children; LAYERS_BWD only if bidirectional */

typedef struct {
    int64_t input_size, hidden_size;
    adz_fastai_qrnn_options o;
} qrnn_state;

/* The number of hidden states: one per layer and direction. */
static int64_t states_of(const qrnn_state *state)
{
    return state->o.n_layers * (state->o.bidirectional ? 2 : 1);
}

/* Checks the shape of hid[states, B, F] for x. The first layer checks x itself. */
static bool check_states(adz_module *self, const adz_tensor *x, const adz_tensor *hid)
{
    const qrnn_state *state = zoo_state(self);
    if (zoo_is_none(hid) || adz_tensor_rank(x) != 3) {
        return true;
    }
    int64_t wanted[3] = { states_of(state), adz_tensor_size(x, state->o.batch_first ? 0 : 1),
        state->hidden_size };
    bool fits = adz_tensor_rank(hid) == 3;
    for (int i = 0; i < 3 && fits; ++i) {
        fits = adz_tensor_size(hid, i) == wanted[i];
    }
    if (!fits) {
        adz_error_format(adz_module_name(self), ADZ_ERR_SHAPE,
            "hid%s must have shape %s for x%s: layers and directions, batch, hidden_size",
            adz_text_shape(hid), adz_text_sizes(adz_shape_of(3, wanted)), adz_text_shape(x));
    }
    return fits;
}

/* Calls a layer with its initial state, or ADZ_NONE, and gives its last state. */
static adz_tensor *run_layer(adz_module *layer, adz_tensor *x, adz_tensor *hid, adz_tensor **last)
{
    adz_values *to = adz_values_new(), *from = adz_values_new();
    bool good = adz_values_add(to, "x", x) == ADZ_OK && adz_values_add(to, "hid", hid) == ADZ_OK &&
                adz_module_call(layer, to, from) == ADZ_OK;
    adz_tensor *y = good ? adz_values_at(from, 0) : NULL;
    *last = good ? adz_values_at(from, 1) : NULL;
    adz_values_free(&to);
    adz_values_free(&from);
    return y;
}

/* Draws a dropout mask and ignores the result. fastai computes a dropout between the layers and
 * does not use it; the draw is repeated so that the later draws agree. Returns x, or NULL with the
 * error recorded. */
static adz_tensor *draw_and_ignore(adz_module *self, adz_tensor *x)
{
    const qrnn_state *state = zoo_state(self);
    adz_tensor *ignored = adzi_zoo_apply_dropout(
        self, x, state->o.dropout, adz_module_is_training(self), state->o.generator);
    return ignored != NULL ? x : NULL;
}

/* Runs all layers; ys[d] becomes the output of direction d. What fails is NULL, and so is what
 * depends on it. */
static void run_layers(
    adz_module *self, adz_tensor *x, adz_tensor *hid, adz_tensor **ys, adz_tensor **states)
{
    const qrnn_state *state = zoo_state(self);
    int directions = state->o.bidirectional ? 2 : 1;
    ys[0] = ys[1] = x;
    for (int64_t i = 0; i < state->o.n_layers; ++i) {
        for (int d = 0; d < directions; ++d) {
            const int64_t k = directions * i + d;
            adz_module *layer = zoo_child(zoo_child(self, (size_t)d), (size_t)i);
            adz_tensor *first = zoo_is_none(hid) ? hid : adz_select(hid, 0, k);
            ys[d] = run_layer(layer, ys[d], first, &states[k]);
        }
        for (int d = 0; d < directions && i < state->o.n_layers - 1; ++d) {
            ys[d] = draw_and_ignore(self, ys[d]);
        }
    }
}

static adz_status qrnn_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const qrnn_state *state = zoo_state(self);
    adz_tensor *x = adz_values_argument(in, 0, "x"), *hid = adz_values_argument(in, 1, "hid");
    if (!adz_check_tensor(adz_module_name(self), "x", x) ||
        (hid != ADZ_NONE && !adz_check_tensor(adz_module_name(self), "hid", hid)) ||
        !check_states(self, x, hid)) {
        return adz_error_code();
    }
    size_t count = (size_t)states_of(state);
    adz_tensor *ys[2], **states = adzi_zoo_scratch(count * sizeof(adz_tensor *));
    if (states == NULL) {
        return ADZ_ERR_MEMORY;
    }
    run_layers(self, x, hid, ys, states);
    adz_tensor *h = adz_stack(states, count, 0);
    adz_tensor *y = state->o.bidirectional ? adz_cat(ys, 2, 2) : ys[0];
    adz_status status = adz_values_add(out, "", y);
    return status == ADZ_OK ? adz_values_add(out, "h", h) : status;
}

static const adz_module_type qrnn_type = {
    .size = sizeof(adz_module_type),
    .name = "QRNN",
    .call = qrnn_call,
};

static const adz_field qrnn_fields[] = {
    ADZ_FIELD(adz_fastai_qrnn_options, n_layers, .value = 1, ADZ_CLOSED(1, ZOO_MOST_LAYERS)),
    ADZ_FIELD(adz_fastai_qrnn_options, bias, .value = true),
    ADZ_FIELD(adz_fastai_qrnn_options, batch_first, .value = true),
    ADZ_FIELD(adz_fastai_qrnn_options, dropout, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_qrnn_options, zoneout, ADZ_CLOSED(0, 1)),
    ADZ_FIELD(adz_fastai_qrnn_options, window, ADZ_CLOSED(0, 2),
        .hint = "0 stands for 2 in the first layer and 1 above"),
    ADZ_FIELD(adz_fastai_qrnn_options, output_gate, .value = true),
    ADZ_FIELD_PARAMETER_DTYPE(adz_fastai_qrnn_options),
};

ADZ_OPTIONS_TABLE(adz_fastai_qrnn_options, ADZ_FASTAI_QRNN_OPTIONS, qrnn_fields)

static bool check_options(const char *op, const adz_fastai_qrnn_options *o)
{
    if (!o->bias) {
        adz_error_format(op, ADZ_ERR_UNSUPPORTED, "a QRNN without bias does not exist");
    } else if (o->save_prev_x && o->bidirectional) {
        adz_error_format(op, ADZ_ERR_UNSUPPORTED,
            "save_prev_x does not go with bidirectional: there is no previous x at the end");
    } else {
        return true;
    }
    return false;
}

/* Adds a ModuleList with the layers of one direction. */
static bool add_stack(adz_module *self, const char *name, bool backward)
{
    const qrnn_state *state = zoo_state(self);
    adz_fastai_qrnn_layer_options layer = ADZ_FASTAI_QRNN_LAYER_OPTIONS;
    layer.save_prev_x = state->o.save_prev_x;
    layer.zoneout = state->o.zoneout;
    layer.output_gate = state->o.output_gate;
    layer.batch_first = state->o.batch_first;
    layer.backward = backward;
    layer.dtype = state->o.dtype;
    layer.generator = state->o.generator;
    adz_module *list = adz_module_add_child(self, name, adz_module_list_new(NULL, 0));
    bool good = list != NULL;
    for (int64_t i = 0; i < state->o.n_layers && good; ++i) {
        layer.window = state->o.window != 0 ? state->o.window : i == 0 ? 2 : 1;
        good = adz_module_list_append(
                   list, adz_fastai_qrnn_layer_new(i == 0 ? state->input_size : state->hidden_size,
                             state->hidden_size, &layer)) != NULL;
    }
    return good;
}

adz_module *adz_fastai_qrnn_new(
    int64_t input_size, int64_t hidden_size, const adz_fastai_qrnn_options *options)
{
    static const char op[] = "adz_fastai_qrnn_new";
    adz_fastai_qrnn_options o;
    if (!adz_options_take(op, &adz_fastai_qrnn_options_table, &o, options)) {
        return NULL;
    }
    if (!check_sizes(op, input_size, hidden_size) || !check_options(op, &o)) {
        return NULL;
    }
    adz_module *self = adz_module_new(&qrnn_type, sizeof(qrnn_state));
    bool good = self != NULL;
    if (good) {
        *(qrnn_state *)zoo_state(self) = (qrnn_state){ input_size, hidden_size, o };
        good = add_stack(self, "layers", false) &&
               (!o.bidirectional || add_stack(self, "layers_bwd", true));
    }
    return adzi_zoo_or_free(good, self);
}
