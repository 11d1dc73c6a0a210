/* LSTMCell, GRUCell and RNNCell: one step of a recurrent network, for programs that go through time
 * themselves. x is [B, D], or [D] without a batch, and the states are [B, F] or [F]. A step is a
 * sequence of length 1, so the operators of whole sequences compute it. */
#include "adze/ops/shape.h"
#include "adze/options.h"
#include "nn/layers/recurrent.h"

typedef struct {
    int64_t input_size, hidden_size;
    adzi_recurrent_kind kind;
    bool bias;
    adz_activation nonlinearity;
} cell_state;

static bool check_call(const adz_module *self, adz_tensor *const *inputs)
{
    const cell_state *state = self->state;
    const char *name = self->type.name;
    const adz_tensor *x = inputs[0];
    if (!adzi_check_tensor(name, "x", x)) {
        return false;
    }
    if (x->rank < 1 || x->rank > 2 || x->sizes[x->rank - 1] != state->input_size) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [B, %lld] or [%lld]", adzi_text_shape(x),
            (long long)state->input_size, (long long)state->input_size);
        return false;
    }
    for (int i = 1; i < 3; ++i) {
        const adz_tensor *given = inputs[i];
        if (given == ADZ_NONE) {
            continue;
        }
        const char *which = i == 1 ? "h0" : "c0";
        if (!adzi_check_tensor(name, which, given)) {
            return false;
        }
        if (given->rank != x->rank || given->sizes[x->rank - 1] != state->hidden_size ||
            (x->rank == 2 && given->sizes[0] != x->sizes[0])) {
            adzi_error(name, ADZ_ERR_SHAPE, "%s%s does not fit x%s; it must be [%s%lld]", which,
                adzi_text_shape(given), adzi_text_shape(x), x->rank == 2 ? "B, " : "",
                (long long)state->hidden_size);
            return false;
        }
    }
    if (state->kind == ADZI_LSTM && adzi_is_none(inputs[1]) != adzi_is_none(inputs[2])) {
        adzi_error(name, ADZ_ERR_ARGUMENT, "%s is given without %s; give both or none",
            adzi_is_none(inputs[1]) ? "c0" : "h0", adzi_is_none(inputs[1]) ? "h0" : "c0");
        return false;
    }
    return true;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const cell_state *state = self->state;
    const bool lstm = state->kind == ADZI_LSTM;
    adz_tensor *inputs[] = { adz_values_argument(in, 0, "x"), adz_values_argument(in, 1, "h0"),
        lstm ? adz_values_argument(in, 2, "c0") : ADZ_NONE };
    if (!check_call(self, inputs)) {
        return adz_error_code();
    }
    /* The states get a dimension for the layer in front, and x one for the time. */
    for (int i = 0; i < 3; ++i) {
        inputs[i] = inputs[i] == ADZ_NONE ? ADZ_NONE : adz_unsqueeze(inputs[i], 0);
    }
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    o.bias = state->bias;
    o.nonlinearity = state->nonlinearity;
    adz_tensor *weights[4], *h = NULL, *c = NULL;
    for (size_t i = 0; i < self->n_parameters; ++i) {
        weights[i] = adzi_parameter(self, i);
    }
    adz_tensor *y =
        adzi_recurrent_call(state->kind, &o, inputs, weights, self->n_parameters, &h, &c);
    adz_status status = adz_values_add(out, "", y != NULL ? adz_select(y, 0, 0) : NULL);
    return status == ADZ_OK && lstm ? adz_values_add(out, "c", adz_select(c, 0, 0)) : status;
}

static adz_status reset_parameters(adz_module *self)
{
    return adzi_recurrent_reset(self, ((const cell_state *)self->state)->hidden_size);
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const cell_state *state = self->state;
    return (size_t)snprintf(buffer, size, "%lld, %lld%s%s", (long long)state->input_size,
        (long long)state->hidden_size, state->bias ? "" : ", bias=False",
        state->nonlinearity == ADZ_ACTIVATION_RELU ? ", nonlinearity=relu" : "");
}

#define CELL_TYPE(its_name)                                                \
    {                                                                      \
        .size = sizeof(adz_module_type), .name = (its_name), .call = call, \
        .reset_parameters = reset_parameters, .extra_repr = extra_repr     \
    }

static const adz_module_type types[] = { CELL_TYPE("LSTMCell"), CELL_TYPE("GRUCell"),
    CELL_TYPE("RNNCell") };

ADZ_OPTIONS_INIT(
    adz_recurrent_cell_options_init, adz_recurrent_cell_options, ADZ_RECURRENT_CELL_OPTIONS)

static adz_module *make(const char *op, adzi_recurrent_kind kind, int64_t input_size,
    int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    adz_recurrent_cell_options o = ADZ_RECURRENT_CELL_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_RECURRENT_CELL_OPTIONS, &o, options)) {
        return NULL;
    }
    o.nonlinearity = kind == ADZI_RNN ? o.nonlinearity : ADZ_ACTIVATION_TANH;
    if (!adzi_recurrent_check(op, input_size, hidden_size, o.nonlinearity, o.dtype)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&types[kind], sizeof(cell_state));
    bool good = self != NULL;
    if (good) {
        *(cell_state *)self->state =
            (cell_state){ input_size, hidden_size, kind, o.bias, o.nonlinearity };
        good = adzi_recurrent_add_cell(self, kind, "", input_size, hidden_size, o.bias, o.dtype);
    }
    return adzi_build_end(build, self, good && reset_parameters(self) == ADZ_OK);
}

adz_module *adz_lstm_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    return make("adz_lstm_cell_new", ADZI_LSTM, input_size, hidden_size, options);
}

adz_module *adz_gru_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    return make("adz_gru_cell_new", ADZI_GRU, input_size, hidden_size, options);
}

adz_module *adz_rnn_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    return make("adz_rnn_cell_new", ADZI_RNN, input_size, hidden_size, options);
}
