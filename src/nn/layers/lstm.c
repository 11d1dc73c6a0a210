/* LSTM of one or several layers, in one direction or both. x is [T, B, D], or [B, T, D] with
 * batch_first, or [T, D] without a batch. The parameters of each layer and direction are
 * weight_ih[4 F, in], weight_hh[4 F, F], bias_ih[4 F] and bias_hh[4 F]; `in` is D for the first
 * layer and the number of directions times F for the others. adz_lstm has the formula. */
#include "adze/nn/lstm.h"

#include <math.h>

#include "adze/nn/init.h"
#include "adze/ops/recurrent.h"
#include "nn/module.h"
#include "base/error.h"
#include "base/options.h"

typedef struct {
    int64_t input_size, hidden_size;
    adz_lstm_options options;
} lstm_state;

/* Calls the operator. add_cell adds the parameters in the order in which adz_lstm takes them. */
static adz_tensor *compute(
    adz_module *self, adz_tensor *const *inputs, adz_tensor **h, adz_tensor **c)
{
    const lstm_state *state = self->state;
    adz_lstm_options o = state->options;
    o.training = self->training;
    size_t n = self->n_parameters;
    adz_tensor **weights = adzi_alloc(n * sizeof *weights);
    if (weights == NULL) {
        return adzi_fail_memory(self->type.name, n * sizeof *weights);
    }
    for (size_t i = 0; i < n; ++i) {
        weights[i] = adzi_parameter(self, i);
    }
    adz_tensor *y = adz_lstm(inputs[0], inputs[1], inputs[2], weights, n, &o, h, c);
    adzi_free(weights, n * sizeof *weights);
    return y;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const lstm_state *state = self->state;
    const char *name = self->type.name;
    adz_tensor *inputs[] = { adz_values_argument(in, 0, "x"), adz_values_argument(in, 1, "h0"),
        adz_values_argument(in, 2, "c0") };
    const adz_tensor *x = inputs[0];
    if (!adzi_check_tensor(name, "x", x)) {
        return adz_error_code();
    }
    if (x->rank < 2 || x->rank > 3 || x->sizes[x->rank - 1] != state->input_size) {
        return adzi_error(name, ADZ_ERR_SHAPE, "x%s must be [%s, %lld] or [T, %lld]",
            adzi_text_shape(x), state->options.batch_first ? "B, T" : "T, B",
            (long long)state->input_size, (long long)state->input_size);
    }
    if (adzi_is_none(inputs[1]) != adzi_is_none(inputs[2])) {
        return adzi_error(name, ADZ_ERR_ARGUMENT, "%s is given without %s; give both or none",
            adzi_is_none(inputs[1]) ? "c0" : "h0", adzi_is_none(inputs[1]) ? "h0" : "c0");
    }
    adz_tensor *h, *c, *y = compute(self, inputs, &h, &c);
    adz_status status = adz_values_add(out, "", y);
    status = status == ADZ_OK ? adz_values_add(out, "h", h) : status;
    return status == ADZ_OK ? adz_values_add(out, "c", c) : status;
}

/* Draws all parameters from U(-1/sqrt(F), 1/sqrt(F)) as PyTorch does. */
static adz_status reset_parameters(adz_module *self)
{
    double bound = 1 / sqrt((double)((const lstm_state *)self->state)->hidden_size);
    for (size_t i = 0; i < self->n_parameters; ++i) {
        if (adz_init_uniform_(adzi_parameter(self, i), -bound, bound, NULL) == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

static size_t extra_repr(adz_module *self, char *buffer, size_t size)
{
    const lstm_state *state = self->state;
    const adz_lstm_options *o = &state->options;
    char layers[48] = "", dropout[48] = "";
    if (o->layers != 1) {
        snprintf(layers, sizeof layers, ", num_layers=%lld", (long long)o->layers);
    }
    if (o->dropout != 0) {
        snprintf(dropout, sizeof dropout, ", dropout=%s", adzi_text_float(o->dropout));
    }
    return (size_t)snprintf(buffer, size, "%lld, %lld%s%s%s%s%s", (long long)state->input_size,
        (long long)state->hidden_size, layers, o->bias ? "" : ", bias=False",
        o->batch_first ? ", batch_first=True" : "", dropout,
        o->bidirectional ? ", bidirectional=True" : "");
}

static const adz_module_type lstm_type = {
    .size = sizeof(adz_module_type),
    .name = "LSTM",
    .call = call,
    .reset_parameters = reset_parameters,
    .extra_repr = extra_repr,
};

ADZI_OPTIONS_INIT(adz_lstm_module_options_init, adz_lstm_module_options, ADZ_LSTM_MODULE_OPTIONS)

static bool check(int64_t input_size, int64_t hidden_size, const adz_lstm_module_options *o)
{
    static const char op[] = "adz_lstm_new";
    if (!adzi_check_features(op, "input_size", input_size, 1) ||
        !adzi_check_features(op, "hidden_size", hidden_size, 1) ||
        !adzi_check_layers(op, "num_layers", o->num_layers, 1)) {
        return false;
    }
    if (!(o->dropout >= 0 && o->dropout <= 1)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "dropout is %s, but must be in [0, 1]",
            adzi_text_number(o->dropout));
        return false;
    }
    return adzi_check_module_dtype(op, o->dtype);
}

/* Adds the parameters of one layer and direction under PyTorch's names, such as
 * weight_ih_l0_reverse. reset_parameters fills them. */
static bool add_cell(adz_module *self, int64_t layer, bool reverse, bool bias, adz_dtype dtype)
{
    static const char *const kinds[] = { "weight_ih", "weight_hh", "bias_ih", "bias_hh" };
    const lstm_state *state = self->state;
    int64_t directions = state->options.bidirectional ? 2 : 1, hidden = state->hidden_size;
    bool good = true;
    for (int i = 0; i < (bias ? 4 : 2) && good; ++i) {
        char name[48];
        snprintf(
            name, sizeof name, "%s_l%lld%s", kinds[i], (long long)layer, reverse ? "_reverse" : "");
        int64_t columns = i == 1 ? hidden : layer == 0 ? state->input_size : directions * hidden;
        adz_shape shape = i < 2 ? ADZ_SHAPE(4 * hidden, columns) : ADZ_SHAPE(4 * hidden);
        good = adz_module_add_parameter(self, name, adz_empty(shape, dtype)) != NULL;
    }
    return good;
}

adz_module *adz_lstm_new(
    int64_t input_size, int64_t hidden_size, const adz_lstm_module_options *options)
{
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_lstm_new", ADZ_LSTM_MODULE_OPTIONS, &o, options)) {
        return NULL;
    }
    if (!check(input_size, hidden_size, &o)) {
        return NULL;
    }
    adzi_build build = adzi_build_begin();
    adz_module *self = adz_module_new(&lstm_type, sizeof(lstm_state));
    bool good = self != NULL;
    if (good) {
        lstm_state *state = self->state;
        *state = (lstm_state){ input_size, hidden_size, ADZ_LSTM_OPTIONS };
        state->options.layers = o.num_layers;
        state->options.bias = o.bias;
        state->options.batch_first = o.batch_first;
        state->options.bidirectional = o.bidirectional;
        state->options.dropout = o.dropout;
        state->options.generator = o.generator;
    }
    for (int64_t i = 0; i < o.num_layers && good; ++i) {
        good = add_cell(self, i, false, o.bias, o.dtype) &&
               (!o.bidirectional || add_cell(self, i, true, o.bias, o.dtype));
    }
    return adzi_build_end(build, self, good && reset_parameters(self) == ADZ_OK);
}
