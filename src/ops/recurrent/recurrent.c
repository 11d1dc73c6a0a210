#include "ops/recurrent/recurrent_stack.h"
#include "adze/options.h"

/* LSTM, GRU and RNN, torch.nn.LSTM, GRU and RNN without their modules: what the calls and their
 * options are. recurrent_stack.c has the layers and directions; lstm_layer.c, gru_layer.c and
 * rnn_layer.c have the formulas. */

const adzi_recurrent_cell *adzi_recurrent_cell_of(const adzi_op *layer)
{
    static const adzi_recurrent_cell *const cells[] = { &adzi_lstm_cell, &adzi_gru_cell,
        &adzi_rnn_cell, NULL };
    int i = 0;
    while (cells[i] != NULL && cells[i]->op != layer) {
        ++i;
    }
    return cells[i];
}

_Static_assert(sizeof(adz_lstm_options) == offsetof(adz_rnn_options, nonlinearity) &&
                   sizeof(adz_gru_options) == sizeof(adz_lstm_options),
    "the options of all three operators begin alike");

static const char *const nonlinearities[] = {
    [ADZ_ACTIVATION_RELU] = "relu", "", "", "", "", [ADZ_ACTIVATION_TANH] = "tanh", NULL
};

/* The last row is that of an RNN alone. In the other calls it stands behind their options. */
static const adz_field fields[] = {
    ADZ_FIELD(adz_rnn_options, layers, .value = 1, ADZ_CLOSED(1, ADZI_MOST_LAYERS)),
    ADZ_FIELD(adz_rnn_options, bias, .value = true),
    ADZ_FIELD(adz_rnn_options, batch_first, .value = false),
    ADZ_FIELD(adz_rnn_options, bidirectional, .value = false),
    ADZ_FIELD(adz_rnn_options, training, .value = false),
    ADZ_FIELD(adz_rnn_options, dropout, .value = 0, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_AS(adz_rnn_options, nonlinearity, "nonlinearity", ADZ_FIELD_ENUM,
        .value = ADZ_ACTIVATION_TANH, .values = nonlinearities),
};

ADZ_OPTIONS_TABLE(adz_lstm_options, ADZ_LSTM_OPTIONS, fields)
ADZ_OPTIONS_TABLE(adz_gru_options, ADZ_GRU_OPTIONS, fields)
ADZ_OPTIONS_TABLE(adz_rnn_options, ADZ_RNN_OPTIONS, fields)

/* Reads the options and computes. The results in `last` may be NULL; they are set to NULL at once,
 * so that a failure leaves nothing stale in them. */
static adz_tensor *run(adzi_recurrent_stack *net, const adz_options_table *table,
    const void *options, adz_tensor **const last[2])
{
    net->o.nonlinearity = ADZ_ACTIVATION_TANH;
    for (int i = 0; i < net->cell->states; ++i) {
        if (last[i] != NULL) {
            *last[i] = NULL;
        }
    }
    if (!adz_options_take(net->cell->name, table, &net->o, options)) {
        return NULL;
    }
    adz_tensor *y = adzi_recurrent_run_stack(net);
    for (int i = 0; i < net->cell->states && y != NULL; ++i) {
        if (last[i] != NULL) {
            *last[i] = net->last[i];
        }
    }
    return y;
}

/* torch.lstm: layers of two weights and two biases, of one or two directions. */
adz_tensor *adz_lstm(adz_tensor *x, adz_tensor *h0, adz_tensor *c0, adz_tensor *const *weights,
    size_t n_weights, const adz_lstm_options *options, adz_tensor **h, adz_tensor **c)
{
    ADZI_COMPOSED();
    adzi_recurrent_stack net = { .cell = &adzi_lstm_cell,
        .x = x,
        .first = { h0, c0 },
        .weights = weights,
        .n_weights = n_weights };
    return run(&net, &adz_lstm_options_table, options, (adz_tensor * *[]){ h, c });
}

/* torch.gru, with weights as for adz_lstm. */
adz_tensor *adz_gru(adz_tensor *x, adz_tensor *h0, adz_tensor *const *weights, size_t n_weights,
    const adz_gru_options *options, adz_tensor **h)
{
    ADZI_COMPOSED();
    adzi_recurrent_stack net = {
        .cell = &adzi_gru_cell, .x = x, .first = { h0 }, .weights = weights, .n_weights = n_weights
    };
    return run(&net, &adz_gru_options_table, options, (adz_tensor * *[]){ h, NULL });
}

/* torch.rnn_tanh and torch.rnn_relu, with weights as for adz_lstm. */
adz_tensor *adz_rnn(adz_tensor *x, adz_tensor *h0, adz_tensor *const *weights, size_t n_weights,
    const adz_rnn_options *options, adz_tensor **h)
{
    ADZI_COMPOSED();
    adzi_recurrent_stack net = {
        .cell = &adzi_rnn_cell, .x = x, .first = { h0 }, .weights = weights, .n_weights = n_weights
    };
    return run(&net, &adz_rnn_options_table, options, (adz_tensor * *[]){ h, NULL });
}
