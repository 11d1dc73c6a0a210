/* Small embeddings, layers and models of the annotated transformers, and their facts. */
#ifndef ADZE_TESTS_ZOO_LABML_TRANSFORMER_H
#define ADZE_TESTS_ZOO_LABML_TRANSFORMER_H

#include "adze/zoo.h"
#include "nn/case.h"

static inline adz_module *heads(int64_t n, int64_t d_model, double p, bool bias, adz_generator *g)
{
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.dropout_prob = p;
    o.bias = bias;
    o.generator = g;
    return adz_labml_attention_new(n, d_model, &o);
}

static inline adz_module *network(int64_t d_model, int64_t d_ff, double p, adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = p;
    o.generator = g;
    return adz_feed_forward_variant_new("Bilinear", d_model, d_ff, &o);
}

static inline adz_module *layer_of(double p, bool source, adz_generator *g)
{
    adz_labml_transformer_layer_options o;
    adz_labml_transformer_layer_options_init(&o, sizeof o);
    o.generator = g;
    o.src_attn = source ? heads(2, 4, p, false, g) : NULL;
    adz_module *m =
        adz_labml_transformer_layer_new(4, heads(2, 4, p, false, g), network(4, 3, p, g), p, &o);
    adz_module_release(&o.src_attn);
    return m;
}

static inline adz_module *embeddings(bool learned)
{
    adz_labml_embeddings_options o;
    adz_labml_embeddings_options_init(&o, sizeof o);
    o.max_len = 5;
    return learned ? adz_labml_learned_embeddings_new(4, 7, &o)
                   : adz_labml_embeddings_new(4, 7, &o);
}

/* ---- samples -------------------------------------------------------------------------------- */

static inline adz_module *fixed(adz_generator *g)
{
    (void)g;
    return embeddings(false);
}

static inline adz_module *learned(adz_generator *g)
{
    (void)g;
    return embeddings(true);
}

static inline adz_module *layer(adz_generator *g)
{
    return layer_of(0.3, true, g);
}

static inline adz_module *encoder(adz_generator *g)
{
    return adz_labml_encoder_new(layer_of(0.2, false, g), 2);
}

static inline adz_module *decoder(adz_generator *g)
{
    return adz_labml_decoder_new(layer_of(0, true, g), 1);
}

static inline adz_module *generator(adz_generator *g)
{
    (void)g;
    adz_labml_generator_options o;
    adz_labml_generator_options_init(&o, sizeof o);
    return adz_labml_generator_new(3, 4, &o);
}

static inline adz_module *both(adz_generator *g)
{
    return adz_labml_encoder_decoder_new(adz_labml_encoder_new(layer_of(0.1, false, g), 1),
        adz_labml_decoder_new(layer_of(0.1, true, g), 1), embeddings(false), embeddings(true),
        adz_identity_new());
}

static inline adz_module *characters(adz_generator *g)
{
    adz_labml_character_model_options o;
    adz_labml_character_model_options_init(&o, sizeof o);
    o.d_model = 4;
    o.n_layers = 1;
    o.n_heads = 2;
    o.d_ff = 3;
    o.glu_variant = "SwiGLU";
    o.max_len = 5;
    o.attention_bias = false;
    o.generator = g;
    return adz_labml_character_model_new(6, &o);
}

extern const struct CMUnitTest labml_transformer_facts[17];

#endif
