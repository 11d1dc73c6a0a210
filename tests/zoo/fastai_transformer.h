/* Small models of fastai's Transformer and Transformer-XL, and their facts. */
#ifndef ADZE_TESTS_ZOO_FASTAI_TRANSFORMER_H
#define ADZE_TESTS_ZOO_FASTAI_TRANSFORMER_H

#include "adze/zoo.h"
#include "nn/case.h"

static inline adz_fastai_transformer_options tiny(
    adz_fastai_transformer_options o, adz_generator *g)
{
    o.ctx_len = 5;
    o.n_layers = 1;
    o.n_heads = 2;
    o.d_model = 4;
    o.d_head = 2;
    o.d_inner = 3;
    o.generator = g;
    return o;
}

static inline adz_fastai_transformer_options transformer_options(adz_generator *g)
{
    adz_fastai_transformer_options o;
    adz_fastai_transformer_options_init(&o, sizeof o);
    return tiny(o, g);
}

static inline adz_fastai_transformer_options xl_options(adz_generator *g)
{
    adz_fastai_transformer_options o;
    adz_fastai_transformer_xl_options_init(&o, sizeof o);
    return tiny(o, g);
}

static inline adz_module *transformer(adz_generator *g)
{
    adz_fastai_transformer_options o = transformer_options(g);
    o.embed_p = 0.1;
    o.attn_p = 0.2;
    return adz_fastai_transformer_new(7, &o);
}

static inline adz_module *sinusoidal(adz_generator *g)
{
    adz_fastai_transformer_options o = transformer_options(g);
    o.learned_pos_enc = false;
    o.bias = false;
    o.double_drop = false;
    o.act = ADZ_FASTAI_ACTIVATION_GELU;
    o.n_layers = 2;
    return adz_fastai_transformer_new(7, &o);
}

static inline adz_module *xl(adz_generator *g)
{
    adz_fastai_transformer_options o = xl_options(g);
    o.mem_len = 4;
    return adz_fastai_transformer_xl_new(7, &o);
}

static inline adz_module *forgetful(adz_generator *g)
{
    adz_fastai_transformer_options o = xl_options(g);
    o.mask = false;
    o.resid_p = 0.2;
    o.double_drop = false;
    return adz_fastai_transformer_xl_new(7, &o);
}

static inline adz_tensor *some_ids(int64_t batch, int64_t length)
{
    return adz_randint(0, 7, ADZ_SHAPE(batch, length), ADZ_I64);
}

extern const struct CMUnitTest fastai_transformer_facts[15];

#endif
