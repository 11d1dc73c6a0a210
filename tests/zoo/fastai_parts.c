/* Each option of a configuration of fastai reaches the part of the model that it is for. */
#include <stddef.h>

#include "adze/zoo.h"
#include "zoo/fastai_config.h"

enum { WORDS = 11 };

/* Fails unless two encoders with equal initial weights give equal results in training. Frees them.
 * The generator is that of their dropouts. */
static void expect_equal(adz_module *a, adz_module *b, adz_generator *g)
{
    adz_tensor *y[2], *ids = adz_randint(0, WORDS, ADZ_SHAPE(2, 5), ADZ_I64);
    adz_module *both[] = { a, b };
    for (int i = 0; i < 2; ++i) {
        assert_non_null(both[i]);
        adz_generator_set_state(g, (adz_generator_state){ 5, 0 });
        adz_manual_seed(9);
        y[i] = adz_module_forward(both[i], ids);
        assert_int_equal(adz_tensor_dtype(y[i]), ADZ_F64);
    }
    expect_same(y[0], y[1], 0);
    adz_module_release(&a);
    adz_module_release(&b);
}

void options_reach_an_awd_lstm(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(1);
    for (int kind = 0; kind < 3; ++kind) {
        adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
        adz_fastai_config c = small("awd_lstm_lm_config", g);
        c.n_layers = 2;
        o.pad_token = c.pad_token = 3;
        o.hidden_p = c.hidden_p = 0.3;
        o.input_p = c.input_p = 0.5;
        o.embed_p = c.embed_p = 0.4;
        o.weight_p = c.weight_p = 0.6;
        o.qrnn = c.qrnn = kind == 1;
        o.bidir = c.bidir = kind == 2;
        o.dtype = c.dtype = ADZ_F64;
        o.generator = g;
        adz_manual_seed(7);
        adz_module *direct = adz_fastai_awd_lstm_new(WORDS, c.emb_sz + 1, c.n_hid, 2, &o);
        adz_manual_seed(7);
        c.emb_sz += 1;
        expect_equal(direct, adz_fastai_encoder_new(WORDS, &c, 1), g);
    }
    adz_generator_free(&g);
}

static int attentions;

/* An attention class that counts its modules. */
static adz_module *counted_attention(
    int64_t n_heads, int64_t d_model, const adz_fastai_attention_options *options)
{
    ++attentions;
    return adz_fastai_attention_new(n_heads, d_model, options);
}

void options_reach_a_transformer(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(1);
    adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_OPTIONS;
    adz_fastai_config c = small("tfmer_lm_config", g);
    o.ctx_len = c.ctx_len = 6;
    o.n_layers = c.n_layers = 2;
    o.n_heads = c.n_heads;
    o.d_model = c.d_model;
    o.d_head = c.d_head;
    o.d_inner = c.d_inner;
    o.resid_p = c.resid_p = 0.3;
    o.attn_p = c.attn_p = 0.4;
    o.ff_p = c.ff_p = 0.5;
    o.embed_p = c.embed_p = 0.2;
    o.bias = c.bias;
    o.scale = c.scale = false;
    o.act = c.act = ADZ_FASTAI_ACTIVATION_SWISH;
    o.double_drop = c.double_drop = true;
    o.attn_cls = c.attn_cls = counted_attention;
    o.learned_pos_enc = c.learned_pos_enc;
    o.mask = c.mask;
    o.dtype = c.dtype = ADZ_F64;
    o.generator = g;
    adz_manual_seed(7);
    adz_module *direct = adz_fastai_transformer_new(WORDS, &o);
    adz_manual_seed(7);
    attentions = 0;
    adz_module *configured = adz_fastai_encoder_new(WORDS, &c, 1);
    assert_int_equal(attentions, 2);
    expect_equal(direct, configured, g);
    adz_generator_free(&g);
}

void options_reach_the_heads(void **state)
{
    (void)state;
    adz_fastai_config c = small("awd_lstm_lm_config", NULL);
    c.dtype = ADZ_F64;
    c.tie_weights = false;
    c.output_p = 1; /* the decoder gets zeros */
    adz_module *m = adz_fastai_language_model_new(WORDS, &c, 1);
    adz_tensor *ids = adz_randint(0, WORDS, ADZ_SHAPE(2, 5), ADZ_I64);
    assert_int_equal(adz_tensor_dtype(adz_module_get_parameter(m, "1.decoder.weight")), ADZ_F64);
    adz_tensor *y = adz_module_forward(m, ids);
    assert_true(adz_tensor_dtype(y) == ADZ_F64 && all_are(y, 0)); /* the initial bias */
    adz_module_release(&m);
    c = small("awd_lstm_clas_config", NULL);
    c.dtype = ADZ_F64;
    m = adz_fastai_text_classifier_new(WORDS, 2, &c, NULL);
    assert_int_equal(adz_tensor_dtype(adz_module_forward(m, ids)), ADZ_F64);
    adz_module_release(&m);
    adz_fastai_text_classifier_options o = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    o.n_lin_ftrs = 1;
    expect_null(adz_fastai_text_classifier_new(WORDS, 2, &c, &o) == NULL,
        "adz_fastai_text_classifier_new", "lin_ftrs");
}

/* A program that was compiled with a shorter struct gets the defaults of what it does not know. */
void a_short_configuration_has_defaults(void **state)
{
    (void)state;
    adz_fastai_config c = small("awd_lstm_lm_config", NULL);
    c.dtype = ADZ_F64;
    adz_module *wide = adz_fastai_encoder_new(WORDS, &c, 1);
    c.size = offsetof(adz_fastai_config, dtype);
    adz_module *m = adz_fastai_encoder_new(WORDS, &c, 1);
    assert_non_null(m);
    assert_int_equal(adz_tensor_dtype(adz_module_parameters(wide).items[0]), ADZ_F64);
    assert_int_equal(adz_tensor_dtype(adz_module_parameters(m).items[0]), ADZ_F32);
    adz_module_release(&wide);
    adz_module_release(&m);
}
