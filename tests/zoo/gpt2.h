/* Small parts of GPT-2, and their facts. */
#ifndef ADZE_TESTS_ZOO_GPT2_H
#define ADZE_TESTS_ZOO_GPT2_H

#include "adze/zoo.h"
#include "nn/case.h"

static inline adz_gpt2_options tiny(void)
{
    adz_gpt2_options o;
    adz_gpt2_options_init(&o, sizeof o);
    o.vocab_size = 7;
    o.n_positions = 6;
    o.n_ctx = 5;
    o.n_embd = 4;
    o.n_layer = 2;
    o.n_head = 2;
    o.layer_norm_epsilon = 1e-3;
    return o;
}

static inline adz_module *conv1d(adz_generator *g)
{
    (void)g;
    return adz_gpt2_conv1d_new(3, 4, NULL);
}

static inline adz_module *layer_norm(adz_generator *g)
{
    (void)g;
    return adz_gpt2_layer_norm_new(4, NULL);
}

static inline adz_module *notes(adz_generator *g)
{
    adz_gpt2_notes_feed_forward_options o;
    adz_gpt2_notes_feed_forward_options_init(&o, sizeof o);
    o.generator = g;
    return adz_gpt2_notes_feed_forward_new(6, 4, &o);
}

static inline adz_module *mlp(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_mlp_new(5, &o);
}

static inline adz_module *attention(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_attention_new(4, 5, true, &o);
}

static inline adz_module *unscaled(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_attention_new(6, 3, false, &o);
}

static inline adz_module *block(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_block_new(5, true, &o);
}

static inline adz_module *model(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    o.n_layer = 1;
    return adz_gpt2_model_new(&o);
}

static inline adz_module *dropped(adz_generator *g)
{
    adz_gpt2_options o = tiny();
    o.n_layer = 0;
    o.embd_pdrop = 0.4;
    o.generator = g;
    return adz_gpt2_model_new(&o);
}

static inline adz_module *lm(adz_generator *g)
{
    (void)g;
    adz_gpt2_options o = tiny();
    return adz_gpt2_lm_head_model_new(&o);
}

/* Calls a module with tensors, by position or by name. Returns its first result, or the one called
 * `result`. */
static inline adz_tensor *one_result(adz_module *m, const char *const *names,
    adz_tensor *const *tensors, size_t n, const char *result)
{
    adz_values *in = adz_values_new(), *out = adz_values_new();
    for (size_t i = 0; i < n; ++i) {
        adz_values_add(in, names != NULL ? names[i] : "", tensors[i]);
    }
    adz_status status = adz_module_call(m, in, out);
    adz_tensor *y = status != ADZ_OK ? NULL
                    : result != NULL ? adz_values_get(out, result)
                                     : adz_values_at(out, 0);
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

void another_mask_counts(void **state);
void every_element_of_the_mask_counts(void **state);
void masks_have_shapes(void **state);
void dropout_of_attention_keeps_the_mean(void **state);
void a_wrong_past_is_refused(void **state);
void masks_hide_tokens(void **state);
void masks_cover_the_past(void **state);
void skip_init_leaves_weights_out(void **state);

extern const struct CMUnitTest gpt2_facts[23];

#endif
