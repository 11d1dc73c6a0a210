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

typedef struct {
    int64_t input_size, hidden_size;
    adzi_recurrent_kind kind;
    adz_rnn_options options; /* has the fields of all three */
} recurrent_state;

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
    adz_rnn_options o = state->options;
    o.training = self->training;
    o.lengths = lengths;
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
            state->options.batch_first ? "B, T" : "T, B", (long long)state->input_size,
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

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const recurrent_state *state = self->state;
    const adz_rnn_options *o = &state->options;
    char layers[48] = "", dropout[48] = "";
    if (o->layers != 1) {
        snprintf(layers, sizeof layers, ", num_layers=%lld", (long long)o->layers);
    }
    if (o->dropout != 0) {
        snprintf(dropout, sizeof dropout, ", dropout=%s", adzi_text_float(o->dropout));
    }
    return (size_t)snprintf(buffer, size, "%lld, %lld%s%s%s%s%s%s", (long long)state->input_size,
        (long long)state->hidden_size, layers, o->bias ? "" : ", bias=False",
        o->batch_first ? ", batch_first=True" : "", dropout,
        o->bidirectional ? ", bidirectional=True" : "",
        o->nonlinearity == ADZ_ACTIVATION_RELU ? ", nonlinearity=relu" : "");
}

#define RECURRENT_TYPE(its_name)                                           \
    {                                                                      \
        .size = sizeof(adz_module_type), .name = (its_name), .call = call, \
        .reset_parameters = reset_parameters, .extra_repr = extra_repr     \
    }

static const adz_module_type types[] = { RECURRENT_TYPE("LSTM"), RECURRENT_TYPE("GRU"),
    RECURRENT_TYPE("RNN") };

/* ---- making --------------------------------------------------------------------------------- */

bool adzi_recurrent_check(const char *op, int64_t input_size, int64_t hidden_size,
    adz_activation nonlinearity, adz_dtype dtype)
{
    if (!adz_check_size(op, "input_size", input_size, 1) ||
        !adz_check_size(op, "hidden_size", hidden_size, 1)) {
        return false;
    }
    if (nonlinearity != ADZ_ACTIVATION_TANH && nonlinearity != ADZ_ACTIVATION_RELU) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "nonlinearity is %d, but must be ADZ_ACTIVATION_TANH or ADZ_ACTIVATION_RELU",
            (int)nonlinearity);
        return false;
    }
    return adz_check_parameter_dtype(op, dtype);
}

static bool check(const char *op, const recurrent_state *state, adz_dtype dtype)
{
    const adz_rnn_options *o = &state->options;
    if (!adz_check_range(op, "num_layers", o->layers, 1, ADZI_MOST_LAYERS)) {
        return false;
    }
    if (!(o->dropout >= 0 && o->dropout <= 1)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "dropout is %s, but must be in [0, 1]",
            adzi_text_number(o->dropout));
        return false;
    }
    return adzi_recurrent_check(op, state->input_size, state->hidden_size, o->nonlinearity, dtype);
}

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
    const int directions = state->options.bidirectional ? 2 : 1;
    const int64_t in = layer == 0 ? state->input_size : directions * state->hidden_size;
    bool good = true;
    for (int d = 0; d < directions && good; ++d) {
        char suffix[40];
        snprintf(suffix, sizeof suffix, "_l%lld%s", (long long)layer, d == 1 ? "_reverse" : "");
        good = adzi_recurrent_add_cell(
            self, state->kind, suffix, in, state->hidden_size, state->options.bias, dtype);
    }
    return good;
}

static adz_module *make(const char *op, const recurrent_state *wanted, adz_dtype dtype)
{
    if (!check(op, wanted, dtype)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&types[wanted->kind], sizeof(recurrent_state));
    bool good = self != NULL;
    if (good) {
        *(recurrent_state *)self->state = *wanted;
    }
    for (int64_t i = 0; i < wanted->options.layers && good; ++i) {
        good = add_layer(self, i, dtype);
    }
    return adzi_build_end(build, self, good && reset_parameters(self) == ADZ_OK);
}

/* The state of a module whose options `o` have the fields that all three kinds share. */
#define STATE_OF(its_kind, function)                                                           \
    {                                                                                          \
        .input_size = input_size, .hidden_size = hidden_size, .kind = (its_kind), .options = { \
            .size = sizeof(adz_rnn_options),                                                   \
            .layers = o.num_layers,                                                            \
            .bias = o.bias,                                                                    \
            .batch_first = o.batch_first,                                                      \
            .bidirectional = o.bidirectional,                                                  \
            .dropout = o.dropout,                                                              \
            .generator = o.generator,                                                          \
            .nonlinearity = (function)                                                         \
        }                                                                                      \
    }

ADZ_OPTIONS_INIT(adz_lstm_module_options_init, adz_lstm_module_options, ADZ_LSTM_MODULE_OPTIONS)
ADZ_OPTIONS_INIT(adz_gru_module_options_init, adz_gru_module_options, ADZ_GRU_MODULE_OPTIONS)
ADZ_OPTIONS_INIT(adz_rnn_module_options_init, adz_rnn_module_options, ADZ_RNN_MODULE_OPTIONS)

adz_module *adz_lstm_new(
    int64_t input_size, int64_t hidden_size, const adz_lstm_module_options *options)
{
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    if (!ADZ_OPTIONS_READ("adz_lstm_new", ADZ_LSTM_MODULE_OPTIONS, &o, options)) {
        return NULL;
    }
    const recurrent_state state = STATE_OF(ADZI_LSTM, ADZ_ACTIVATION_TANH);
    return make("adz_lstm_new", &state, o.dtype);
}

adz_module *adz_gru_new(
    int64_t input_size, int64_t hidden_size, const adz_gru_module_options *options)
{
    adz_gru_module_options o = ADZ_GRU_MODULE_OPTIONS;
    if (!ADZ_OPTIONS_READ("adz_gru_new", ADZ_GRU_MODULE_OPTIONS, &o, options)) {
        return NULL;
    }
    const recurrent_state state = STATE_OF(ADZI_GRU, ADZ_ACTIVATION_TANH);
    return make("adz_gru_new", &state, o.dtype);
}

adz_module *adz_rnn_new(
    int64_t input_size, int64_t hidden_size, const adz_rnn_module_options *options)
{
    adz_rnn_module_options o = ADZ_RNN_MODULE_OPTIONS;
    if (!ADZ_OPTIONS_READ("adz_rnn_new", ADZ_RNN_MODULE_OPTIONS, &o, options)) {
        return NULL;
    }
    const recurrent_state state = STATE_OF(ADZI_RNN, o.nonlinearity);
    return make("adz_rnn_new", &state, o.dtype);
}
