#include "ops/recurrent/recurrent_stack.h"
#include "adze/options.h"

/* Long short-term memory, torch.nn.LSTM without its module. recurrent_stack.c has the layers and
 * directions, lstm_layer.c the formula. */

static const char name[] = "lstm";

/* Fills the fields that the caller's version of the struct has; see adze/options.h. */
void adz_lstm_options_init(adz_lstm_options *options, size_t size)
{
    adz_lstm_options all = ADZ_LSTM_OPTIONS;
    adz_options_fill(__func__, options, size, &all, sizeof all);
}

adz_tensor *adz_lstm(adz_tensor *x, adz_tensor *h0, adz_tensor *c0, adz_tensor *const *weights,
    size_t n_weights, const adz_lstm_options *options, adz_tensor **h, adz_tensor **c)
{
    adz_lstm_options o = ADZ_LSTM_OPTIONS;
    const bool good = adz_options_read(name, "ADZ_LSTM_OPTIONS", &o, sizeof o, options);
    adzi_recurrent_stack net = { .name = name,
        .cell = &adzi_lstm_cell,
        ADZI_RECURRENT_OPTIONS(o),
        .x = good ? x : NULL, /* passes the recorded error on */
        .first = { h0, c0 },
        .weights = weights,
        .n_weights = n_weights };
    return adzi_recurrent_run_stack(&net, h, c);
}
