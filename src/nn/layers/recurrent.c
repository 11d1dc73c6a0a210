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
    const adzi_recurrent_cell *cell;
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

/* ---- calls ---------------------------------------------------------------------------------- */

bool adzi_recurrent_arguments(
    const adz_module *self, const adz_values *in, adzi_recurrent_stack *net)
{
    net->x = adz_values_argument(in, 0, "x");
    net->first[0] = adz_values_argument(in, 1, "h0");
    net->first[1] = net->cell->states == 2 ? adz_values_argument(in, 2, "c0") : net->first[0];
    if (!adzi_check_tensor(self->type.name, "x", net->x)) {
        return false;
    }
    const bool h0 = !adzi_is_none(net->first[0]), c0 = !adzi_is_none(net->first[1]);
    if (h0 != c0) {
        adzi_error(self->type.name, ADZ_ERR_ARGUMENT, "%s is given without %s; give both or none",
            h0 ? "h0" : "c0", h0 ? "c0" : "h0");
    }
    return h0 == c0;
}

adz_tensor *adzi_recurrent_compute(adz_module *self, adzi_recurrent_stack *net)
{
    const size_t n = self->n_parameters, bytes = n * sizeof(adz_tensor *);
    adz_tensor **weights = adzi_alloc(bytes);
    if (weights == NULL) {
        return adzi_fail_memory(self->type.name, bytes);
    }
    for (size_t i = 0; i < n; ++i) {
        weights[i] = adzi_parameter(self, i);
    }
    net->weights = weights;
    net->n_weights = n;
    adz_tensor *y = adzi_recurrent_run_stack(net);
    adzi_free(weights, bytes);
    return y;
}

static bool check_call(const adz_module *self, const adz_tensor *x, const adz_tensor *lengths)
{
    const recurrent_state *state = self->state;
    const char *name = self->type.name;
    if (lengths != ADZ_NONE && !adzi_check_tensor(name, "lengths", lengths)) {
        return false;
    }
    if (x->rank < 2 || x->rank > 3 || x->sizes[x->rank - 1] != state->input_size) {
        adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [%s, %lld] or [T, %lld]", adzi_text_shape(x),
            state->o.batch_first ? "B, T" : "T, B", (long long)state->input_size,
            (long long)state->input_size);
        return false;
    }
    return true;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const recurrent_state *state = self->state;
    const adz_rnn_module_options *o = &state->o;
    const int states = state->cell->states;
    adzi_recurrent_stack net = { .cell = state->cell,
        .o = { .layers = o->num_layers,
            .bias = o->bias,
            .batch_first = o->batch_first,
            .bidirectional = o->bidirectional,
            .training = self->training,
            .dropout = o->dropout,
            .generator = o->generator,
            .nonlinearity = o->nonlinearity } };
    if (!adzi_recurrent_arguments(self, in, &net)) {
        return adz_error_code();
    }
    net.o.lengths = adz_values_argument(in, (size_t)states + 1, "lengths");
    if (!check_call(self, net.x, net.o.lengths)) {
        return adz_error_code();
    }
    adz_status status = adz_values_add(out, "", adzi_recurrent_compute(self, &net));
    status = status == ADZ_OK ? adz_values_add(out, "h", net.last[0]) : status;
    return status == ADZ_OK && states == 2 ? adz_values_add(out, "c", net.last[1]) : status;
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

/* ---- making --------------------------------------------------------------------------------- */

bool adzi_recurrent_add_parameters(
    adz_module *self, const char *suffix, const adzi_recurrent_parameters *p)
{
    static const char *const kinds[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    const int64_t rows = p->cell->gates * p->hidden;
    bool good = true;
    for (int i = 0; i < (p->bias ? 4 : 2) && good; ++i) {
        char name[48];
        snprintf(name, sizeof name, "%s%s", kinds[i], suffix);
        adz_shape shape = i < 2 ? ADZ_SHAPE(rows, i == 1 ? p->hidden : p->in) : ADZ_SHAPE(rows);
        good = adz_module_add_parameter(self, name, adz_empty(shape, p->dtype)) != NULL;
    }
    return good;
}

/* Adds the parameters of one layer under PyTorch's names, such as weight_ih_l0_reverse. */
static bool add_layer(adz_module *self, int64_t layer)
{
    const recurrent_state *state = self->state;
    const int directions = state->o.bidirectional ? 2 : 1;
    const adzi_recurrent_parameters p = { state->cell,
        layer == 0 ? state->input_size : directions * state->hidden_size, state->hidden_size,
        state->o.bias, state->o.dtype };
    bool good = true;
    for (int d = 0; d < directions && good; ++d) {
        char suffix[40];
        snprintf(suffix, sizeof suffix, "_l%lld%s", (long long)layer, d == 1 ? "_reverse" : "");
        good = adzi_recurrent_add_parameters(self, suffix, &p);
    }
    return good;
}

/* What the modules of one kind are made from. */
typedef struct {
    const char *op; /* the constructor, for messages */
    const adzi_recurrent_cell *cell;
    const adz_options_table *table;
    adz_module_type type;
} recurrent_kind;

#define RECURRENT_KIND(kind, its_name)                                                    \
    static const recurrent_kind kind##_kind = { "adz_" #kind "_new", &adzi_##kind##_cell, \
        &adz_##kind##_module_options_table,                                               \
        { .size = sizeof(adz_module_type),                                                \
            .name = (its_name),                                                           \
            .call = call,                                                                 \
            .reset_parameters = reset_parameters,                                         \
            ADZI_MODULE_FIELDS(fields) } }

RECURRENT_KIND(lstm, "LSTM");
RECURRENT_KIND(gru, "GRU");
RECURRENT_KIND(rnn, "RNN");

static adz_module *make(
    const recurrent_kind *kind, int64_t input_size, int64_t hidden_size, const void *options)
{
    recurrent_state s = { .input_size = input_size,
        .hidden_size = hidden_size,
        .cell = kind->cell,
        .o.nonlinearity = ADZ_ACTIVATION_TANH };
    if (!adz_options_take(kind->op, kind->table, &s, options)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&kind->type, &s, sizeof s);
    bool good = self != NULL;
    for (int64_t i = 0; i < s.o.num_layers && good; ++i) {
        good = add_layer(self, i);
    }
    return adzi_build_end(build, self, good && reset_parameters(self) == ADZ_OK);
}

adz_module *adz_lstm_new(
    int64_t input_size, int64_t hidden_size, const adz_lstm_module_options *options)
{
    return make(&lstm_kind, input_size, hidden_size, options);
}

adz_module *adz_gru_new(
    int64_t input_size, int64_t hidden_size, const adz_gru_module_options *options)
{
    return make(&gru_kind, input_size, hidden_size, options);
}

adz_module *adz_rnn_new(
    int64_t input_size, int64_t hidden_size, const adz_rnn_module_options *options)
{
    return make(&rnn_kind, input_size, hidden_size, options);
}
