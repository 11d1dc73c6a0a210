/* LSTM, GRU and RNN of one or several layers, in one direction or both. x is [T, B, D], or [B, T,
 * D] with batch_first, or [T, D] without a batch. The parameters of each layer and direction are
 * weight_ih[G F, in], weight_hh[G F, F], bias_ih[G F] and bias_hh[G F]; `in` is D for the first
 * layer and the number of directions times F for the others. G is 4, 3 or 1. adz_lstm, adz_gru and
 * adz_rnn have the formulas. */
#include "nn/layers/recurrent.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/nn/lstm.h"
#include "adze/options.h"

/* The options of an RNN begin with those of an LSTM and of a GRU, so one struct holds all three. */
typedef struct {
    adz_rnn_module_options o;
    int64_t input_size, hidden_size;
    adzi_recurrent_kind kind;
} recurrent_state;

const char *const adzi_recurrent_nonlinearities[] = {
    [ADZ_ACTIVATION_RELU] = "relu", "", "", "", "", [ADZ_ACTIVATION_TANH] = "tanh", NULL
};

_Static_assert(sizeof(adz_lstm_module_options) == offsetof(adz_rnn_module_options, nonlinearity) &&
                   sizeof(adz_gru_module_options) == sizeof(adz_lstm_module_options),
    "the options of all three kinds begin alike");

static const adz_field fields[] = {
    ADZ_FIELD(recurrent_state, input_size, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(recurrent_state, hidden_size, ADZ_SIZE_FROM(1), .shown = ADZ_SHOWN_BARE),
    ADZ_FIELD(adz_rnn_module_options, num_layers, .value = 1, ADZ_CLOSED(1, ADZI_MOST_LAYERS),
        .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_rnn_module_options, bias, .value = true, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_rnn_module_options, batch_first, .value = false, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(
        adz_rnn_module_options, dropout, .value = 0, ADZ_CLOSED(0, 1), .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD(adz_rnn_module_options, bidirectional, .value = false, .shown = ADZ_SHOWN_CHANGED),
    ADZ_FIELD_PARAMETER_DTYPE(adz_rnn_module_options),
    ADZ_FIELD_AS(adz_rnn_module_options, nonlinearity, "nonlinearity", ADZ_FIELD_ENUM,
        .value = ADZ_ACTIVATION_TANH, .values = adzi_recurrent_nonlinearities,
        .shown = ADZ_SHOWN_CHANGED),
};

ADZ_OPTIONS_TABLE(adz_lstm_module_options, ADZ_LSTM_MODULE_OPTIONS, fields)
ADZ_OPTIONS_TABLE(adz_gru_module_options, ADZ_GRU_MODULE_OPTIONS, fields)
ADZ_OPTIONS_TABLE(adz_rnn_module_options, ADZ_RNN_MODULE_OPTIONS, fields)

static int64_t gates_of(adzi_recurrent_kind kind)
{
    return kind == ADZI_LSTM ? 4 : kind == ADZI_GRU ? 3 : 1;
}

/* ---- calls ---------------------------------------------------------------------------------- */

adz_tensor *adzi_recurrent_call(adzi_recurrent_kind kind, const adz_rnn_options *o,
    adz_tensor *const *inputs, adz_tensor *const *weights, size_t n, adz_tensor **h, adz_tensor **c)
{
    if (kind == ADZI_LSTM) {
        const adz_lstm_options lstm = { sizeof lstm, o->layers, o->bias, o->batch_first,
            o->bidirectional, o->training, o->dropout, o->generator, o->lengths };
        return adz_lstm(inputs[0], inputs[1], inputs[2], weights, n, &lstm, h, c);
    }
    if (kind == ADZI_GRU) {
        const adz_gru_options gru = { sizeof gru, o->layers, o->bias, o->batch_first,
            o->bidirectional, o->training, o->dropout, o->generator, o->lengths };
        return adz_gru(inputs[0], inputs[1], weights, n, &gru, h);
    }
    return adz_rnn(inputs[0], inputs[1], weights, n, o, h);
}

/* Calls the operator. add_cell adds the parameters in the order in which the operators take them.
 */
static adz_tensor *compute(adz_module *self, adz_tensor *const *inputs, adz_tensor *lengths,
    adz_tensor **h, adz_tensor **c)
{
    const recurrent_state *state = self->state;
    const adz_rnn_module_options *m = &state->o;
    const adz_rnn_options o = { .size = sizeof o,
        .layers = m->num_layers,
        .bias = m->bias,
        .batch_first = m->batch_first,
        .bidirectional = m->bidirectional,
        .training = self->training,
        .dropout = m->dropout,
        .generator = m->generator,
        .lengths = lengths,
        .nonlinearity = m->nonlinearity };
    size_t n = self->n_parameters;
    adz_tensor **weights = adzi_alloc(n * sizeof *weights);
    if (weights == NULL) {
        return adzi_fail_memory(self->type.name, n * sizeof *weights);
    }
    for (size_t i = 0; i < n; ++i) {
        weights[i] = adzi_parameter(self, i);
    }
    adz_tensor *y = adzi_recurrent_call(state->kind, &o, inputs, weights, n, h, c);
    adzi_free(weights, n * sizeof *weights);
    return y;
}

static bool check_call(const adz_module *self, adz_tensor *const *inputs, const adz_tensor *lengths)
{
    const recurrent_state *state = self->state;
    const char *name = self->type.name;
    const adz_tensor *x = inputs[0];
    if (!adzi_check_tensor(name, "x", x) ||
        (lengths != ADZ_NONE && !adzi_check_tensor(name, "lengths", lengths))) {
        return false;
    }
    if (x->rank < 2 || x->rank > 3 || x->sizes[x->rank - 1] != state->input_size) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [%s, %lld] or [T, %lld]", adzi_text_shape(x),
            state->o.batch_first ? "B, T" : "T, B", (long long)state->input_size,
            (long long)state->input_size);
        return false;
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
    const bool lstm = ((const recurrent_state *)self->state)->kind == ADZI_LSTM;
    adz_tensor *inputs[] = { adz_values_argument(in, 0, "x"), adz_values_argument(in, 1, "h0"),
        lstm ? adz_values_argument(in, 2, "c0") : ADZ_NONE };
    adz_tensor *lengths = adz_values_argument(in, lstm ? 3 : 2, "lengths");
    if (!check_call(self, inputs, lengths)) {
        return adz_error_code();
    }
    adz_tensor *h = NULL, *c = NULL, *y = compute(self, inputs, lengths, &h, &c);
    adz_status status = adz_values_add(out, "", y);
    status = status == ADZ_OK ? adz_values_add(out, "h", h) : status;
    return status == ADZ_OK && lstm ? adz_values_add(out, "c", c) : status;
}

adz_status adzi_recurrent_reset(adz_module *self, int64_t hidden_size)
{
    double bound = 1 / sqrt((double)hidden_size);
    for (size_t i = 0; i < self->n_parameters; ++i) {
        if (adz_init_uniform_(adzi_parameter(self, i), -bound, bound, NULL) == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

static adz_status reset_parameters(adz_module *self)
{
    return adzi_recurrent_reset(self, ((const recurrent_state *)self->state)->hidden_size);
}

#define RECURRENT_TYPE(its_name)                                           \
    {                                                                      \
        .size = sizeof(adz_module_type), .name = (its_name), .call = call, \
        .reset_parameters = reset_parameters, ADZI_MODULE_FIELDS(fields)   \
    }

static const adz_module_type types[] = { RECURRENT_TYPE("LSTM"), RECURRENT_TYPE("GRU"),
    RECURRENT_TYPE("RNN") };

/* ---- making --------------------------------------------------------------------------------- */

bool adzi_recurrent_add_cell(adz_module *self, adzi_recurrent_kind kind, const char *suffix,
    int64_t in, int64_t hidden, bool bias, adz_dtype dtype)
{
    static const char *const kinds[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    const int64_t rows = gates_of(kind) * hidden;
    bool good = true;
    for (int i = 0; i < (bias ? 4 : 2) && good; ++i) {
        char name[48];
        snprintf(name, sizeof name, "%s%s", kinds[i], suffix);
        adz_shape shape = i < 2 ? ADZ_SHAPE(rows, i == 1 ? hidden : in) : ADZ_SHAPE(rows);
        good = adz_module_add_parameter(self, name, adz_empty(shape, dtype)) != NULL;
    }
    return good;
}

/* Adds the parameters of one layer under PyTorch's names, such as weight_ih_l0_reverse. */
static bool add_layer(adz_module *self, int64_t layer, adz_dtype dtype)
{
    const recurrent_state *state = self->state;
    const int directions = state->o.bidirectional ? 2 : 1;
    const int64_t in = layer == 0 ? state->input_size : directions * state->hidden_size;
    bool good = true;
    for (int d = 0; d < directions && good; ++d) {
        char suffix[40];
        snprintf(suffix, sizeof suffix, "_l%lld%s", (long long)layer, d == 1 ? "_reverse" : "");
        good = adzi_recurrent_add_cell(
            self, state->kind, suffix, in, state->hidden_size, state->o.bias, dtype);
    }
    return good;
}

/* Reads the options by the table of the kind, and makes the module. */
static adz_module *make(const char *op, adzi_recurrent_kind kind, const adz_options_table *table,
    int64_t input_size, int64_t hidden_size, const void *options)
{
    recurrent_state s = { .input_size = input_size,
        .hidden_size = hidden_size,
        .kind = kind,
        .o.nonlinearity = ADZ_ACTIVATION_TANH };
    if (!adz_options_take(op, table, &s, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&types[kind], &s, sizeof s);
    bool good = self != NULL;
    for (int64_t i = 0; i < s.o.num_layers && good; ++i) {
        good = add_layer(self, i, s.o.dtype);
    }
    return adzi_build_end(build, self, good && reset_parameters(self) == ADZ_OK);
}

adz_module *adz_lstm_new(
    int64_t input_size, int64_t hidden_size, const adz_lstm_module_options *options)
{
    return make("adz_lstm_new", ADZI_LSTM, &adz_lstm_module_options_table, input_size, hidden_size,
        options);
}

adz_module *adz_gru_new(
    int64_t input_size, int64_t hidden_size, const adz_gru_module_options *options)
{
    return make(
        "adz_gru_new", ADZI_GRU, &adz_gru_module_options_table, input_size, hidden_size, options);
}

adz_module *adz_rnn_new(
    int64_t input_size, int64_t hidden_size, const adz_rnn_module_options *options)
{
    return make(
        "adz_rnn_new", ADZI_RNN, &adz_rnn_module_options_table, input_size, hidden_size, options);
}
