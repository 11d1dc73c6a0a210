/* LSTMCell, GRUCell and RNNCell: one step of a recurrent network, for programs that go through time
 * themselves. x is [B, D], or [D] without a batch, and the states are [B, F] or [F]. A step is a
 * sequence of length 1, so the operators of whole sequences compute it. */
#include "adze/ops/shape.h"
#include "adze/options.h"
#include "nn/layers/recurrent.h"

typedef struct {
    adz_recurrent_cell_options o;
    int64_t input_size, hidden_size;
    adzi_recurrent_kind kind;
} cell_state;

static const adz_field fields[] = {
    ADZ_FIELD(cell_state, input_size, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(cell_state, hidden_size, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_recurrent_cell_options, bias, .value = true, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD_PARAMETER_DTYPE(adz_recurrent_cell_options),
    ADZ_FIELD_AS(adz_recurrent_cell_options, nonlinearity, "nonlinearity", ADZ_FIELD_ENUM,
        .value = ADZ_ACTIVATION_TANH, .values = adzi_recurrent_nonlinearities,
        .shown = ADZ_SHOWN_CHANGED),
};

ADZ_OPTIONS_TABLE(adz_recurrent_cell_options, ADZ_RECURRENT_CELL_OPTIONS, fields)

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
    o.bias = state->o.bias;
    o.nonlinearity = state->o.nonlinearity;
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

#define CELL_TYPE(its_name)                                                \
    {                                                                      \
        .size = sizeof(adz_module_type), .name = (its_name), .call = call, \
        .reset_parameters = reset_parameters, ADZI_MODULE_FIELDS(fields)   \
    }

static const adz_module_type types[] = { CELL_TYPE("LSTMCell"), CELL_TYPE("GRUCell"),
    CELL_TYPE("RNNCell") };

static adz_module *make(const char *op, adzi_recurrent_kind kind, int64_t input_size,
    int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    cell_state s = { .input_size = input_size, .hidden_size = hidden_size, .kind = kind };
    adz_options_table table = adz_recurrent_cell_options_table;
    table.n_fields -= kind == ADZI_RNN ? 0 : 1; /* the others ignore the last row, nonlinearity */
    if (!adz_options_take(op, &table, &s, options)) {
        return NULL;
    }
    s.o.nonlinearity = kind == ADZI_RNN ? s.o.nonlinearity : ADZ_ACTIVATION_TANH;
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&types[kind], &s, sizeof s);
    const bool good =
        self != NULL &&
        adzi_recurrent_add_cell(self, kind, "", input_size, hidden_size, s.o.bias, s.o.dtype) &&
        reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
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
