/* Modules in activation checkpoints, and their facts. */
#ifndef ADZE_TESTS_NN_ACTIVATION_CHECKPOINT_H
#define ADZE_TESTS_NN_ACTIVATION_CHECKPOINT_H

#include "adze/zoo.h"
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

extern const struct CMUnitTest activation_checkpoint_facts[25];

void an_argument_alone_wants_a_gradient(void **state);
void results_may_be_left_out_or_given_twice(void **state);
void another_number_of_results_is_refused(void **state);
void whole_numbers_are_no_part_of_a_graph(void **state);
void many_values_leave_no_memory_behind(void **state);
void refused_memory_is_an_error(void **state);
void other_buffers_are_refused(void **state);
void buffers_are_listed_as_they_are(void **state);
void other_masks_are_refused(void **state);
void generators_have_a_limit(void **state);
void recording_ends_with_the_second_call(void **state);

void anomaly_mode_sees_what_is_inside(void **state);
void anomaly_mode_names_the_first(void **state);

#endif
