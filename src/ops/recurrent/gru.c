#include "ops/recurrent/recurrent_stack.h"
#include "adze/options.h"

/* Gated recurrent units, torch.nn.GRU without its module. recurrent_stack.c has the layers and
 * directions, gru_layer.c the formula. */

static const char name[] = "gru";

/* Fills the fields that the caller's version of the struct has; see adze/options.h. */
void adz_gru_options_init(adz_gru_options *options, size_t size)
{
    adz_gru_options all = ADZ_GRU_OPTIONS;
    adz_options_fill(__func__, options, size, &all, sizeof all);
}

adz_tensor *adz_gru(adz_tensor *x, adz_tensor *h0, adz_tensor *const *weights, size_t n_weights,
    const adz_gru_options *options, adz_tensor **h)
{
    adz_gru_options o = ADZ_GRU_OPTIONS;
    const bool good = adz_options_read(name, "ADZ_GRU_OPTIONS", &o, sizeof o, options);
    adzi_recurrent_stack net = { .name = name,
        .cell = &adzi_gru_cell,
        ADZI_RECURRENT_OPTIONS(o),
        .x = good ? x : NULL, /* passes the recorded error on */
        .first = { h0, NULL },
        .weights = weights,
        .n_weights = n_weights };
    return adzi_recurrent_run_stack(&net, h, NULL);
}
