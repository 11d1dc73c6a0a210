/* Modules in activation checkpoints, and their facts. */
#ifndef ADZE_TESTS_NN_ACTIVATION_CHECKPOINT_H
#define ADZE_TESTS_NN_ACTIVATION_CHECKPOINT_H

#include "nn/case.h"

static inline adz_module *dropout(adz_generator *g, double p)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = g;
    return adz_dropout_new(p, &o);
}

/* A Sequential of Linear, Tanh, Dropout and Linear. */
static inline adz_module *network(adz_generator *g)
{
    return ADZ_SEQUENTIAL(
        adz_linear_new(4, 6, NULL), adz_tanh_new(), dropout(g, 0.4), adz_linear_new(6, 4, NULL));
}

static inline adz_module *checkpoint(adz_generator *g)
{
    return adz_activation_checkpoint_new(network(g));
}

static inline adz_module *nested(adz_generator *g)
{
    return adz_activation_checkpoint_new(
        ADZ_SEQUENTIAL(checkpoint(g), dropout(g, 0.2), checkpoint(g)));
}

static inline adz_module *gpt2_block(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.n_embd = 4;
    o.n_head = 2;
    return adz_gpt2_block_new(5, true, &o);
}

static inline adz_module *recurrent(adz_generator *g)
{
    (void)g;
    return adz_activation_checkpoint_new(adz_lstm_new(3, 2, NULL));
}

extern const struct CMUnitTest activation_checkpoint_facts[14];

void anomaly_mode_sees_what_is_inside(void **state);
void anomaly_mode_names_the_first(void **state);

#endif
