#include "ops/recurrent/recurrent_stack.h"
#include "adze/options.h"

/* A plain recurrent network, torch.nn.RNN without its module. recurrent_stack.c has the layers and
 * directions, rnn_layer.c the formula. */

static const char name[] = "rnn";

/* Fills the fields that the caller's version of the struct has; see adze/options.h. */
void adz_rnn_options_init(adz_rnn_options *options, size_t size)
{
    adz_rnn_options all = ADZ_RNN_OPTIONS;
    adz_options_fill(__func__, options, size, &all, sizeof all);
}

adz_tensor *adz_rnn(adz_tensor *x, adz_tensor *h0, adz_tensor *const *weights, size_t n_weights,
    const adz_rnn_options *options, adz_tensor **h)
{
    adz_rnn_options o = ADZ_RNN_OPTIONS;
    const bool good = adz_options_read(name, "ADZ_RNN_OPTIONS", &o, sizeof o, options);
    adzi_recurrent_stack net = { .name = name,
        .cell = &adzi_rnn_cell,
        ADZI_RECURRENT_OPTIONS(o),
        .relu = o.nonlinearity == ADZ_ACTIVATION_RELU,
        .x = good ? x : NULL, /* passes the recorded error on */
        .first = { h0, NULL },
        .weights = weights,
        .n_weights = n_weights };
    if (good && o.nonlinearity != ADZ_ACTIVATION_TANH && o.nonlinearity != ADZ_ACTIVATION_RELU) {
        adzi_error(name, ADZ_ERR_ARGUMENT,
            "nonlinearity is %d, but must be ADZ_ACTIVATION_TANH or ADZ_ACTIVATION_RELU",
            (int)o.nonlinearity);
        net.x = NULL;
    }
    return adzi_recurrent_run_stack(&net, h, NULL);
}
