/* Small text models of fastai, as its configurations make them. */
#ifndef ADZE_TESTS_ZOO_FASTAI_CONFIG_H
#define ADZE_TESTS_ZOO_FASTAI_CONFIG_H

#include "adze/zoo.h"
#include "nn/case.h"

/* A configuration of the reference, with small sizes. */
static inline adz_fastai_config small(const char *name, adz_generator *g)
{
    adz_fastai_config c;
    assert_int_equal(adz_fastai_config_init(&c, sizeof c, name), ADZ_OK);
    c.generator = g;
    c.n_layers = 1;
    c.emb_sz = 3;
    c.n_hid = 4;
    c.ctx_len = c.mem_len = 5;
    c.n_heads = 2;
    c.d_model = 4;
    c.d_head = 2;
    c.d_inner = 3;
    return c;
}

static inline adz_module *awd_lstm_lm(adz_generator *g)
{
    adz_fastai_config c = small("awd_lstm_lm_config", g);
    c.pad_token = 6; /* no id of a sample, so that every row gets a gradient */
    return adz_fastai_language_model_new(7, &c, 0.5);
}

static inline adz_module *xl_classifier(adz_generator *g)
{
    static const int64_t widths[] = { 3 };
    adz_fastai_config c = small("tfmerXL_clas_config", g);
    adz_fastai_text_classifier_options o;
    adz_fastai_text_classifier_options_init(&o, sizeof o);
    o.bptt = 6; /* the whole text, because no gradient flows between chunks */
    o.drop_mult = 0;
    o.lin_ftrs = widths;
    o.n_lin_ftrs = 1;
    return adz_fastai_text_classifier_new(7, 2, &c, &o);
}

/* ---- what reaches the parts ---- */

void options_reach_an_awd_lstm(void **state);
void options_reach_a_transformer(void **state);
void options_reach_the_heads(void **state);
void a_short_configuration_has_defaults(void **state);

/* ---- groups ---- */

void an_awd_lstm_is_split_by_layer(void **state);
void a_transformer_is_split_in_thirds(void **state);
void models_of_another_kind_are_not_split(void **state);
void groups_are_frozen_from_the_first_on(void **state);
void groups_are_freed_once(void **state);
void rates_rise_by_equal_factors(void **state);
void refused_memory_splits_nothing(void **state);

#endif
