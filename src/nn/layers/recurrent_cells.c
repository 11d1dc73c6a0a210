/* LSTMCell, GRUCell and RNNCell: one step of a recurrent network, for programs that go through time
 * themselves. x is [B, D], or [D] without a batch, and the states are [B, F] or [F]. A step is a
 * sequence of length 1, so the operators of whole sequences compute it. */
#include "adze/ops/shape.h"
#include "adze/options.h"
#include "nn/layers/recurrent.h"

typedef struct {
    adz_recurrent_cell_options o;
    int64_t input_size, hidden_size;
    const adzi_recurrent_cell *cell;
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

static bool check_state(const adz_module *self, const adzi_recurrent_stack *net, int i)
{
    const int64_t hidden = ((const cell_state *)self->state)->hidden_size;
    const adz_tensor *x = net->x, *given = net->first[i];
    const char *which = i == 0 ? "h0" : "c0";
    if (given == ADZ_NONE) {
        return true;
    }
    if (!adzi_check_tensor(self->type.name, which, given)) {
        return false;
    }
    const bool fits = given->rank == x->rank && given->sizes[x->rank - 1] == hidden &&
                      (x->rank == 1 || given->sizes[0] == x->sizes[0]);
    if (!fits) {
        adzi_error(self->type.name, ADZ_ERR_SHAPE, "%s%s does not fit x%s; it must be [%s%lld]",
            which, adzi_text_shape(given), adzi_text_shape(x), x->rank == 2 ? "B, " : "",
            (long long)hidden);
    }
    return fits;
}

static bool check_call(const adz_module *self, const adzi_recurrent_stack *net)
{
    const cell_state *state = self->state;
    const adz_tensor *x = net->x;
    if (x->rank < 1 || x->rank > 2 || x->sizes[x->rank - 1] != state->input_size) {
        adzi_error(self->type.name, ADZ_ERR_SHAPE, "x%s must be [B, %lld] or [%lld]",
            adzi_text_shape(x), (long long)state->input_size, (long long)state->input_size);
        return false;
    }
    bool good = true;
    for (int i = 0; i < state->cell->states && good; ++i) {
        good = check_state(self, net, i);
    }
    return good;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const cell_state *state = self->state;
    adzi_recurrent_stack net = { .cell = state->cell,
        .o = { .layers = 1, .bias = state->o.bias, .nonlinearity = state->o.nonlinearity } };
    if (!adzi_recurrent_arguments(self, in, &net) || !check_call(self, &net)) {
        return adz_error_code();
    }
    /* The states get a dimension for the layer in front, and x one for the time. */
    net.x = adz_unsqueeze(net.x, 0);
    for (int i = 0; i < net.cell->states; ++i) {
        net.first[i] = net.first[i] == ADZ_NONE ? ADZ_NONE : adz_unsqueeze(net.first[i], 0);
    }
    adz_tensor *y = adzi_recurrent_compute(self, &net);
    adz_status status = adz_values_add(out, "", y != NULL ? adz_select(y, 0, 0) : NULL);
    return status == ADZ_OK && net.cell->states == 2
               ? adz_values_add(out, "c", adz_select(net.last[1], 0, 0))
               : status;
}

static size_t cell_states(adz_module *self, adz_cell_state *states)
{
    static const char *const names[] = { "h", "c" };
    const cell_state *state = self->state;
    for (int i = 0; i < state->cell->states; ++i) {
        states[i] = (adz_cell_state){ names[i], ADZ_SHAPE(state->hidden_size) };
    }
    return (size_t)state->cell->states;
}

static adz_status reset_parameters(adz_module *self)
{
    return adzi_recurrent_reset(self, ((const cell_state *)self->state)->hidden_size);
}

typedef struct {
    const char *op; /* the constructor, for messages */
    const adzi_recurrent_cell *cell;
    adz_module_type type;
} cell_kind;

#define CELL_KIND(kind, its_name)                                                         \
    static const cell_kind kind##_kind = { "adz_" #kind "_cell_new", &adzi_##kind##_cell, \
        { .size = sizeof(adz_module_type),                                                \
            .name = (its_name),                                                           \
            .call = call,                                                                 \
            .reset_parameters = reset_parameters,                                         \
            .cell_states = cell_states,                                                   \
            ADZI_MODULE_FIELDS(fields) } }

CELL_KIND(lstm, "LSTMCell");
CELL_KIND(gru, "GRUCell");
CELL_KIND(rnn, "RNNCell");

static adz_module *make(const cell_kind *kind, int64_t input_size, int64_t hidden_size,
    const adz_recurrent_cell_options *options)
{
    cell_state s = { .input_size = input_size, .hidden_size = hidden_size, .cell = kind->cell };
    adz_options_table table = adz_recurrent_cell_options_table;
    /* Cells that have no choice ignore the last row, nonlinearity. */
    table.n_fields -= kind->cell->has_relu ? 0 : 1;
    if (!adz_options_take(kind->op, &table, &s, options)) {
        return NULL;
    }
    s.o.nonlinearity = kind->cell->has_relu ? s.o.nonlinearity : ADZ_ACTIVATION_TANH;
    const adzi_recurrent_parameters p = { kind->cell, input_size, hidden_size, s.o.bias,
        s.o.dtype };
    adzi_build build = adzi_build_begin();
    adz_module *self = adzi_module_of(&kind->type, &s, sizeof s);
    const bool good = self != NULL && adzi_recurrent_add_parameters(self, "", &p) &&
                      reset_parameters(self) == ADZ_OK;
    return adzi_build_end(build, self, good);
}

adz_module *adz_lstm_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    return make(&lstm_kind, input_size, hidden_size, options);
}

adz_module *adz_gru_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    return make(&gru_kind, input_size, hidden_size, options);
}

adz_module *adz_rnn_cell_new(
    int64_t input_size, int64_t hidden_size, const adz_recurrent_cell_options *options)
{
    return make(&rnn_kind, input_size, hidden_size, options);
}
