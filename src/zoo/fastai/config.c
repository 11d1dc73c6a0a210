/* fastai's configurations by name, and the encoders and models that are made from them. */
#include "adze/zoo/fastai_config.h"

#include <string.h>

#include "adze/zoo/fastai_awd_lstm.h"
#include "adze/zoo/fastai_classifier.h"
#include "adze/zoo/fastai_decoder.h"
#include "fastai/text.h"
#include "zoo.h"

/* ---- configurations by name ----------------------------------------------------------------- */

#define AWD_LSTM                                                                        \
    .size = sizeof(adz_fastai_config), .arch = ADZ_FASTAI_ARCH_AWD_LSTM, .emb_sz = 400, \
    .n_hid = 1152, .n_layers = 3, .pad_token = 1, .tie_weights = true, .out_bias = true

#define TRANSFORMER                                                                               \
    .size = sizeof(adz_fastai_config), .arch = ADZ_FASTAI_ARCH_TRANSFORMER, .ctx_len = 512,       \
    .n_layers = 12, .n_heads = 12, .d_model = 768, .d_head = 64, .d_inner = 3072, .resid_p = 0.1, \
    .attn_p = 0.1, .ff_p = 0.1, .embed_p = 0.1, .output_p = 0, .bias = true, .scale = true,       \
    .act = ADZ_FASTAI_ACTIVATION_GELU, .learned_pos_enc = true,                                   \
    .init = adz_fastai_init_transformer, .tie_weights = true

#define TRANSFORMER_XL                                                                            \
    .size = sizeof(adz_fastai_config), .arch = ADZ_FASTAI_ARCH_TRANSFORMER_XL, .ctx_len = 150,    \
    .n_layers = 12, .n_heads = 10, .d_model = 410, .d_head = 41, .d_inner = 2100, .resid_p = 0.1, \
    .attn_p = 0.1, .ff_p = 0.1, .embed_p = 0.1, .output_p = 0.1, .scale = true,                   \
    .act = ADZ_FASTAI_ACTIVATION_RELU, .double_drop = true, .mem_len = 150,                       \
    .init = adz_fastai_init_transformer, .tie_weights = true, .out_bias = true

static const struct {
    const char *name;
    adz_fastai_config config;
} known[] = {
    { "awd_lstm_lm_config", { AWD_LSTM, .output_p = 0.1, .hidden_p = 0.15, .input_p = 0.25,
                                .embed_p = 0.02, .weight_p = 0.2 } },
    { "awd_lstm_clas_config", { AWD_LSTM, .output_p = 0.4, .hidden_p = 0.3, .input_p = 0.4,
                                  .embed_p = 0.05, .weight_p = 0.5 } },
    { "tfmer_lm_config", { TRANSFORMER, .mask = true } },
    { "tfmer_clas_config", { TRANSFORMER, .mask = false } },
    { "tfmerXL_lm_config", { TRANSFORMER_XL, .mask = true } },
    { "tfmerXL_clas_config", { TRANSFORMER_XL, .mask = false } },
};

adz_status adz_fastai_config_init(adz_fastai_config *config, size_t size, const char *name)
{
    static const char op[] = "adz_fastai_config_init";
    if (config == NULL || name == NULL) {
        return adz_error_null(op, config == NULL ? "config" : "name");
    }
    for (size_t i = 0; i < sizeof known / sizeof *known; ++i) {
        if (strcmp(known[i].name, name) == 0) {
            return adz_options_fill(op, config, size, &known[i].config, sizeof known[i].config);
        }
    }
    return adz_error_format(op, ADZ_ERR_ARGUMENT,
        "there is no configuration %.40s; there are awd_lstm_, tfmer_ and tfmerXL_, each followed by lm_config or clas_config",
        name);
}

/* ---- encoders ------------------------------------------------------------------------------- */

/* Copies the caller's configuration to `all` and multiplies the probabilities of all dropouts by
 * drop_mult. False with the error recorded. */
static bool read_config(
    const char *op, adz_fastai_config *all, const adz_fastai_config *config, double drop_mult)
{
    if (config == NULL) {
        adz_error_null(op, "config");
        return false;
    }
    *all = (adz_fastai_config){ .dtype = ADZ_F32 };
    if (!adz_options_read(op, "adz_fastai_config_init", all, sizeof *all, config)) {
        return false;
    }
    double *const ps[] = { &all->embed_p, &all->output_p, &all->hidden_p, &all->input_p,
        &all->weight_p, &all->resid_p, &all->attn_p, &all->ff_p };
    for (size_t i = 0; i < sizeof ps / sizeof *ps; ++i) {
        *ps[i] *= drop_mult;
    }
    return true;
}

static adz_module *awd_lstm_new(int64_t vocab_sz, const adz_fastai_config *c)
{
    adz_fastai_awd_lstm_options o = ADZ_FASTAI_AWD_LSTM_OPTIONS;
    o.pad_token = c->pad_token;
    o.hidden_p = c->hidden_p;
    o.input_p = c->input_p;
    o.embed_p = c->embed_p;
    o.weight_p = c->weight_p;
    o.qrnn = c->qrnn;
    o.bidir = c->bidir;
    o.dtype = c->dtype;
    o.generator = c->generator;
    return adz_fastai_awd_lstm_new(vocab_sz, c->emb_sz, c->n_hid, c->n_layers, &o);
}

static adz_module *transformer_new(int64_t vocab_sz, const adz_fastai_config *c)
{
    bool xl = c->arch == ADZ_FASTAI_ARCH_TRANSFORMER_XL;
    adz_fastai_transformer_options o = ADZ_FASTAI_TRANSFORMER_OPTIONS;
    o.ctx_len = c->ctx_len;
    o.n_layers = c->n_layers;
    o.n_heads = c->n_heads;
    o.d_model = c->d_model;
    o.d_head = c->d_head;
    o.d_inner = c->d_inner;
    o.resid_p = c->resid_p;
    o.attn_p = c->attn_p;
    o.ff_p = c->ff_p;
    o.embed_p = c->embed_p;
    o.bias = c->bias;
    o.scale = c->scale;
    o.act = c->act;
    o.double_drop = c->double_drop;
    o.attn_cls = c->attn_cls;
    o.learned_pos_enc = c->learned_pos_enc;
    o.mask = c->mask;
    o.mem_len = xl ? c->mem_len : 0;
    o.dtype = c->dtype;
    o.generator = c->generator;
    return (xl ? adz_fastai_transformer_xl_new : adz_fastai_transformer_new)(vocab_sz, &o);
}

/* An encoder of a configuration that read_config has filled. */
static adz_module *encoder_new(const char *op, int64_t vocab_sz, const adz_fastai_config *c)
{
    switch (c->arch) {
    case ADZ_FASTAI_ARCH_AWD_LSTM:
        return awd_lstm_new(vocab_sz, c);
    case ADZ_FASTAI_ARCH_TRANSFORMER:
    case ADZ_FASTAI_ARCH_TRANSFORMER_XL:
        return transformer_new(vocab_sz, c);
    }
    return zoo_fail(op, ADZ_ERR_ARGUMENT, "%d is no adz_fastai_arch", (int)c->arch);
}

/* The number of features of the encoder's outputs. */
static int64_t hidden_width(const adz_fastai_config *c)
{
    return c->arch == ADZ_FASTAI_ARCH_AWD_LSTM ? c->emb_sz : c->d_model;
}

adz_module *adz_fastai_encoder_new(
    int64_t vocab_sz, const adz_fastai_config *config, double drop_mult)
{
    static const char op[] = "adz_fastai_encoder_new";
    adz_fastai_config c;
    return read_config(op, &c, config, drop_mult) ? encoder_new(op, vocab_sz, &c) : NULL;
}

/* ---- models --------------------------------------------------------------------------------- */

/* A model of an encoder and a head, whose references are taken over. The configuration's `init`
 * then draws its parameters. */
static adz_module *model_new(adz_module *encoder, adz_module *head, const adz_fastai_config *c)
{
    adz_module *parts[] = { encoder, head };
    adz_module *model = adz_fastai_sequential_rnn_new(parts, 2);
    if (model != NULL && c->init != NULL && c->init(model) != ADZ_OK) {
        adz_module_release(&model);
    }
    return model;
}

adz_module *adz_fastai_language_model_new(
    int64_t vocab_sz, const adz_fastai_config *config, double drop_mult)
{
    static const char op[] = "adz_fastai_language_model_new";
    adz_fastai_config c;
    adz_module *encoder =
        read_config(op, &c, config, drop_mult) ? encoder_new(op, vocab_sz, &c) : NULL;
    if (encoder == NULL) {
        return NULL;
    }
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    o.output_p = c.output_p;
    o.tie_encoder = c.tie_weights ? adz_module_get_child(encoder, "encoder") : NULL;
    o.bias = c.out_bias;
    o.dtype = c.dtype;
    o.generator = c.generator;
    return model_new(encoder, adz_fastai_linear_decoder_new(vocab_sz, hidden_width(&c), &o), &c);
}

static const adz_field fields[] = {
    ADZ_FIELD(adz_fastai_text_classifier_options, bptt, .value = 70, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_fastai_text_classifier_options, max_len, .value = 1400, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_fastai_text_classifier_options, drop_mult, .value = 1, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_fastai_text_classifier_options, pad_idx, .value = 1),
};

ADZ_OPTIONS_TABLE(adz_fastai_text_classifier_options, ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS, fields)

/* The head for `n_class` classes; NULL with the error recorded. By default it has one hidden layer
 * of 50 features and dropouts of 0.1. */
static adz_module *head_new(const char *op, int64_t n_class, const adz_fastai_config *c,
    const adz_fastai_text_classifier_options *o)
{
    static const int64_t one_of_50 = 50;
    if (o->lin_ftrs == NULL && o->n_lin_ftrs > 0) {
        return zoo_fail_null(op, "lin_ftrs");
    }
    const int64_t *lin_ftrs = o->lin_ftrs != NULL ? o->lin_ftrs : &one_of_50;
    size_t hidden = o->lin_ftrs != NULL ? o->n_lin_ftrs : 1;
    size_t bytes = (hidden + 2) * (sizeof(int64_t) + sizeof(double));
    int64_t *widths = adzi_zoo_alloc(bytes);
    if (widths == NULL) {
        return NULL;
    }
    double *drops = (double *)(void *)(widths + hidden + 2);
    widths[0] = 3 * hidden_width(c);
    drops[0] = c->output_p;
    for (size_t i = 0; i < hidden; ++i) {
        widths[i + 1] = lin_ftrs[i];
        drops[i + 1] = o->ps != NULL ? o->ps[i] : 0.1;
    }
    widths[hidden + 1] = n_class;
    adz_fastai_pooling_classifier_options head = ADZ_FASTAI_POOLING_CLASSIFIER_OPTIONS;
    head.dtype = c->dtype;
    head.generator = c->generator;
    adz_module *module = adz_fastai_pooling_classifier_new(widths, drops, hidden + 2, &head);
    adzi_zoo_free(widths);
    return module;
}

adz_module *adz_fastai_text_classifier_new(int64_t vocab_sz, int64_t n_class,
    const adz_fastai_config *config, const adz_fastai_text_classifier_options *options)
{
    static const char op[] = "adz_fastai_text_classifier_new";
    adz_fastai_text_classifier_options o;
    if (!adz_options_take(op, &adz_fastai_text_classifier_options_table, &o, options)) {
        return NULL;
    }
    adz_fastai_config c;
    if (!read_config(op, &c, config, o.drop_mult)) {
        return NULL;
    }
    adz_module *encoder = adz_fastai_multi_batch_encoder_new(
        o.bptt, o.max_len, encoder_new(op, vocab_sz, &c), o.pad_idx);
    return model_new(encoder, encoder != NULL ? head_new(op, n_class, &c, &o) : NULL, &c);
}
