/* fastai's whole text models and their configurations. */
#include "adze/zoo.h"
#include "zoo/fastai_config.h"

static void configurations_are_the_references(void **state)
{
    (void)state;
    static const struct {
        const char *name;
        adz_fastai_arch arch;
        double numbers[9]; /* n_layers, width, embed_p, output_p, four numbers of the architecture,
                              mask */
    } expected[] = {
        { "awd_lstm_lm_config", ADZ_FASTAI_ARCH_AWD_LSTM,
            { 3, 400, 0.02, 0.1, 1152, 0.15, 0.25, 0.2, 0 } },
        { "awd_lstm_clas_config", ADZ_FASTAI_ARCH_AWD_LSTM,
            { 3, 400, 0.05, 0.4, 1152, 0.3, 0.4, 0.5, 0 } },
        { "tfmer_lm_config", ADZ_FASTAI_ARCH_TRANSFORMER,
            { 12, 768, 0.1, 0, 3072, 512, 12, 64, 1 } },
        { "tfmer_clas_config", ADZ_FASTAI_ARCH_TRANSFORMER,
            { 12, 768, 0.1, 0, 3072, 512, 12, 64, 0 } },
        { "tfmerXL_lm_config", ADZ_FASTAI_ARCH_TRANSFORMER_XL,
            { 12, 410, 0.1, 0.1, 2100, 150, 10, 41, 1 } },
        { "tfmerXL_clas_config", ADZ_FASTAI_ARCH_TRANSFORMER_XL,
            { 12, 410, 0.1, 0.1, 2100, 150, 10, 41, 0 } },
    };
    for (int i = 0; i < 6; ++i) {
        adz_fastai_config c;
        assert_int_equal(adz_fastai_config_init(&c, sizeof c, expected[i].name), ADZ_OK);
        bool awd = c.arch == ADZ_FASTAI_ARCH_AWD_LSTM,
             xl = c.arch == ADZ_FASTAI_ARCH_TRANSFORMER_XL;
        const double found[] = { (double)c.n_layers, (double)(awd ? c.emb_sz : c.d_model),
            c.embed_p, c.output_p, (double)(awd ? c.n_hid : c.d_inner),
            awd ? c.hidden_p : (double)c.ctx_len, awd ? c.input_p : (double)c.n_heads,
            awd ? c.weight_p : (double)c.d_head, c.mask };
        assert_int_equal(c.arch, expected[i].arch);
        assert_memory_equal(found, expected[i].numbers, sizeof found);
        assert_true(c.tie_weights && c.dtype == ADZ_F32 && c.generator == NULL);
        assert_int_equal(c.out_bias, c.arch != ADZ_FASTAI_ARCH_TRANSFORMER);
        assert_true(c.init == (awd ? NULL : adz_fastai_init_transformer));
        if (awd) {
            assert_true(c.pad_token == 1 && !c.qrnn && !c.bidir);
            continue;
        }
        assert_true(c.resid_p == 0.1 && c.attn_p == 0.1 && c.ff_p == 0.1 && c.scale);
        assert_int_equal(c.act, xl ? ADZ_FASTAI_ACTIVATION_RELU : ADZ_FASTAI_ACTIVATION_GELU);
        assert_true(c.bias == !xl && c.double_drop == xl && c.learned_pos_enc == !xl);
        assert_true(c.mem_len == (xl ? 150 : 0) && c.attn_cls == NULL);
    }
}

static void names_of_no_configuration_are_refused(void **state)
{
    (void)state;
    adz_fastai_config c;
    assert_int_equal(adz_fastai_config_init(&c, sizeof c, "gpt_lm_config"), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "there is no configuration gpt_lm_config");
    assert_int_equal(adz_fastai_config_init(NULL, sizeof c, "tfmer_lm_config"), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "config");
    assert_int_equal(adz_fastai_config_init(&c, sizeof c, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "name");
}

/* ---- models --------------------------------------------------------------------------------- */

static bool prints(adz_module *m, const char *text)
{
    char printed[8000];
    adz_module_to_string(m, printed, sizeof printed);
    return strstr(printed, text) != NULL;
}

static double deviation(adz_module *m, const char *name)
{
    adz_tensor *squares = adz_square(adz_module_get_parameter(m, name));
    return sqrt(adz_item(adz_mean(squares, ADZ_ALL_DIMS, ADZ_DROPDIM)));
}

/* Tying, bias, the dropouts times drop_mult and init reach the parts of the model. */
static void a_language_model_is_built_as_configured(void **state)
{
    (void)state;
    adz_fastai_config c = small("tfmer_lm_config", NULL);
    c.resid_p = 0.3;
    c.output_p = 0.25;
    adz_module *m = adz_fastai_language_model_new(900, &c, 0.5);
    assert_non_null(m);
    assert_true(prints(m, "p=0.15") && prints(m, "p=0.05"));
    adz_tensor *table = adz_module_get_parameter(m, "0.encoder.weight");
    assert_ptr_equal(adz_module_get_parameter(m, "1.decoder.weight"), table);
    assert_ptr_equal(adz_module_get_parameter(m, "1.decoder.bias"), ADZ_NONE);
    /* initialised as a decoder */
    assert_true(fabs(deviation(m, "0.encoder.weight") / 0.02 - 1) < 0.1);
    adz_module_release(&m);
    c.tie_weights = false;
    c.out_bias = true;
    c.init = NULL;
    m = adz_fastai_language_model_new(900, &c, 1);
    assert_non_null(m);
    assert_true(prints(m, "p=0.3"));
    assert_true(fabs(deviation(m, "0.encoder.weight") - 1) < 0.1);
    assert_true(fabs(deviation(m, "1.decoder.weight") - 0.1 / sqrt(3)) < 0.01);
    assert_true(all_are(adz_module_get_parameter(m, "1.decoder.bias"), 0));
    adz_tensor *y = adz_module_forward(m, adz_randint(0, 900, ADZ_SHAPE(2, 3), ADZ_I64));
    assert_int_equal(adz_tensor_size(y, 2), 900);
    adz_module_release(&m);
}

static void a_classifier_is_built_as_configured(void **state)
{
    (void)state;
    adz_fastai_config c = small("awd_lstm_clas_config", NULL);
    adz_module *m = adz_fastai_text_classifier_new(9, 5, &c, NULL);
    assert_non_null(m); /* a hidden layer of width 50, its dropout 0.1, and output_p 0.4 */
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "1.layers.2.weight"), 1), 9);
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "1.layers.6.weight"), 1), 50);
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "1.layers.6.weight"), 0), 5);
    assert_true(prints(m, "p=0.4") && prints(m, "p=0.1"));
    assert_true(prints(m, "bptt=70, max_len=1400, pad_idx=1"));
    adz_module_release(&m);
    static const int64_t widths[] = { 6, 8 };
    static const double ps[] = { 0.7, 0 };
    adz_fastai_text_classifier_options o = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    o.drop_mult = 0.5;
    o.lin_ftrs = widths;
    o.n_lin_ftrs = 2;
    o.ps = ps;
    o.pad_idx = 3;
    m = adz_fastai_text_classifier_new(9, 5, &c, &o);
    assert_non_null(m);
    assert_true(prints(m, "p=0.2") && prints(m, "p=0.7") && prints(m, "pad_idx=3"));
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "1.layers.9.weight"), 1), 8);
    adz_module_release(&m);
    o.n_lin_ftrs = 0; /* no hidden layer */
    m = adz_fastai_text_classifier_new(9, 5, &c, &o);
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "1.layers.2.weight"), 0), 5);
    adz_module_release(&m);
}

static void bad_configurations_are_refused(void **state)
{
    (void)state;
    adz_fastai_config c = small("awd_lstm_lm_config", NULL);
    expect_no_module(adz_fastai_language_model_new(9, &c, 9), "hidden_p is 1.35");
    expect_no_module(adz_fastai_language_model_new(0, &c, 1), "0");
    c.arch = (adz_fastai_arch)7;
    expect_no_module(adz_fastai_language_model_new(9, &c, 1), "7 is no adz_fastai_arch");
    expect_no_module(adz_fastai_text_classifier_new(9, 2, &c, NULL), "7 is no adz_fastai_arch");
    expect_no_module(adz_fastai_encoder_new(9, &c, 1), "7 is no adz_fastai_arch");
    c = small("tfmerXL_clas_config", NULL);
    expect_no_module(adz_fastai_text_classifier_new(9, 0, &c, NULL), "");
    adz_fastai_text_classifier_options o = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    o.bptt = 0;
    expect_no_module(adz_fastai_text_classifier_new(9, 2, &c, &o), "bptt");
    c.d_model = 3;
    expect_no_module(adz_fastai_language_model_new(9, &c, 1), "d_model is 3, but sinusoidal");
    assert_null(adz_fastai_language_model_new(9, NULL, 1));
    expect_error(ADZ_ERR_NULL, "config");
    assert_null(adz_fastai_text_classifier_new(9, 2, NULL, NULL));
    expect_error(ADZ_ERR_NULL, "config");
}

static int64_t size_of(const json_t *config, const char *key)
{
    return (int64_t)config_number(config, key, 0);
}

adz_fastai_config case_fastai_config(const char *arch, const json_t *config)
{
    bool awd = strcmp(arch, "AWD_LSTM") == 0, xl = strcmp(arch, "TransformerXL") == 0;
    return (adz_fastai_config){ .size = sizeof(adz_fastai_config),
        .arch = awd  ? ADZ_FASTAI_ARCH_AWD_LSTM
                : xl ? ADZ_FASTAI_ARCH_TRANSFORMER_XL
                     : ADZ_FASTAI_ARCH_TRANSFORMER,
        .n_layers = size_of(config, "n_layers"),
        .embed_p = config_number(config, "embed_p", 0),
        .output_p = config_number(config, "output_p", 0),
        .emb_sz = size_of(config, "emb_sz"),
        .n_hid = size_of(config, "n_hid"),
        .pad_token =
            config_has(config, "pad_token") ? size_of(config, "pad_token") : ADZ_NO_PADDING,
        .qrnn = config_flag(config, "qrnn", false),
        .bidir = config_flag(config, "bidir", false),
        .hidden_p = config_number(config, "hidden_p", 0),
        .input_p = config_number(config, "input_p", 0),
        .weight_p = config_number(config, "weight_p", 0),
        .ctx_len = size_of(config, "ctx_len"),
        .n_heads = size_of(config, "n_heads"),
        .d_model = size_of(config, "d_model"),
        .d_head = size_of(config, "d_head"),
        .d_inner = size_of(config, "d_inner"),
        .resid_p = config_number(config, "resid_p", 0),
        .attn_p = config_number(config, "attn_p", 0),
        .ff_p = config_number(config, "ff_p", 0),
        .bias = config_flag(config, "bias", !xl),
        .scale = config_flag(config, "scale", true),
        .act = case_fastai_activation(config),
        .double_drop = config_flag(config, "double_drop", true),
        .learned_pos_enc = config_flag(config, "learned_pos_enc", !xl),
        .mask = config_flag(config, "mask", true),
        .mem_len = size_of(config, "mem_len"),
        .tie_weights = config_flag(config, "tie_weights", false),
        .out_bias = config_flag(config, "out_bias", true),
        .dtype = ADZ_F32 };
}

adz_module *case_fastai_encoder(const char *arch, const json_t *config)
{
    adz_fastai_config c = case_fastai_config(arch, config);
    return adz_fastai_encoder_new(size_of(config, "vocab_sz"), &c, 1);
}

static const struct CMUnitTest facts[] = {
    TEST(configurations_are_the_references),
    TEST(names_of_no_configuration_are_refused),
    TEST(a_language_model_is_built_as_configured),
    TEST(a_classifier_is_built_as_configured),
    TEST(bad_configurations_are_refused),
    TEST(options_reach_an_awd_lstm),
    TEST(options_reach_a_transformer),
    TEST(options_reach_the_heads),
    TEST(a_short_configuration_has_defaults),
    TEST(an_awd_lstm_is_split_by_layer),
    TEST(a_transformer_is_split_in_thirds),
    TEST(models_of_another_kind_are_not_split),
    TEST(groups_are_frozen_from_the_first_on),
    TEST(groups_are_freed_once),
    TEST(rates_rise_by_equal_factors),
    TEST(refused_memory_splits_nothing),
};

const module_case fastai_config_module = {
    .name = "fastai_config",
    .samples = { { awd_lstm_lm,
                     "SequentialRNN(\n"
                     "  (0): AWD_LSTM(\n"
                     "    (encoder): Embedding(7, 3, padding_idx=6)\n"
                     "    (encoder_dp): EmbeddingDropout(\n"
                     "      (emb): Embedding(7, 3, padding_idx=6)\n"
                     "    )\n"
                     "    (rnns): ModuleList(\n"
                     "      (0): WeightDropout(\n"
                     "        (module): LSTM(3, 3, batch_first=True)\n"
                     "      )\n"
                     "    )\n"
                     "    (input_dp): RNNDropout()\n"
                     "    (hidden_dps): ModuleList(\n"
                     "      (0): RNNDropout()\n"
                     "    )\n"
                     "  )\n"
                     "  (1): LinearDecoder(\n"
                     "    (decoder): Linear(in_features=3, out_features=7, bias=True)\n"
                     "    (output_dp): RNNDropout()\n"
                     "  )\n"
                     ")",
                     "0.encoder.weight 0.encoder_dp.emb.weight 0.rnns.0.weight_hh_l0_raw 0.rnns.0.module.weight_ih_l0 0.rnns.0.module.weight_hh_l0 0.rnns.0.module.bias_ih_l0 0.rnns.0.module.bias_hh_l0 1.decoder.weight 1.decoder.bias",
                     { IDS(6, 2, 3) } },
        { xl_classifier,
            "SequentialRNN(\n"
            "  (0): MultiBatchEncoder(\n"
            "    bptt=6, max_len=1400, pad_idx=1\n"
            "    (module): TransformerXL(\n"
            "      mem_len=5, mask=False\n"
            "      (encoder): Embedding(7, 4)\n"
            "      (pos_enc): PositionalEncoding()\n"
            "      (drop_emb): Dropout(p=0.0, inplace=False)\n"
            "      (layers): ModuleList(\n"
            "        (0): DecoderLayer(\n"
            "          (mhra): MultiHeadRelativeAttention(\n"
            "            n_heads=2, d_head=2, scale=True\n"
            "            (attention): Linear(in_features=4, out_features=12, bias=False)\n"
            "            (out): Linear(in_features=4, out_features=4, bias=False)\n"
            "            (drop_att): Dropout(p=0.0, inplace=False)\n"
            "            (drop_res): Dropout(p=0.0, inplace=False)\n"
            "            (ln): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
            "            (r_attn): Linear(in_features=4, out_features=4, bias=False)\n"
            "          )\n"
            "          (ff): SequentialEx(\n"
            "            (layers): ModuleList(\n"
            "              (0): Linear(in_features=4, out_features=3, bias=True)\n"
            "              (1): ReLU(inplace=True)\n"
            "              (2): Dropout(p=0.0, inplace=False)\n"
            "              (3): Linear(in_features=3, out_features=4, bias=True)\n"
            "              (4): Dropout(p=0.0, inplace=False)\n"
            "              (5): MergeLayer()\n"
            "              (6): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
            "            )\n"
            "          )\n"
            "        )\n"
            "      )\n"
            "    )\n"
            "  )\n"
            "  (1): PoolingLinearClassifier(\n"
            "    (layers): Sequential(\n"
            "      (0): BatchNorm1d(12, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)\n"
            "      (1): Linear(in_features=12, out_features=3, bias=True)\n"
            "      (2): ReLU(inplace=True)\n"
            "      (3): BatchNorm1d(3, eps=1e-05, momentum=0.1, affine=True, track_running_stats=True)\n"
            "      (4): Dropout(p=0.1, inplace=False)\n"
            "      (5): Linear(in_features=3, out_features=2, bias=True)\n"
            "    )\n"
            "  )\n"
            ")",
            "0.module.u 0.module.v 0.module.encoder.weight 0.module.pos_enc.freq 0.module.layers.0.mhra.attention.weight 0.module.layers.0.mhra.out.weight 0.module.layers.0.mhra.ln.weight 0.module.layers.0.mhra.ln.bias 0.module.layers.0.mhra.r_attn.weight 0.module.layers.0.ff.layers.0.weight 0.module.layers.0.ff.layers.0.bias 0.module.layers.0.ff.layers.3.weight 0.module.layers.0.ff.layers.3.bias 0.module.layers.0.ff.layers.6.weight 0.module.layers.0.ff.layers.6.bias 1.layers.0.weight 1.layers.0.bias 1.layers.0.running_mean 1.layers.0.running_var 1.layers.0.num_batches_tracked 1.layers.1.weight 1.layers.1.bias 1.layers.3.weight 1.layers.3.bias 1.layers.3.running_mean 1.layers.3.running_var 1.layers.3.num_batches_tracked 1.layers.5.weight 1.layers.5.bias",
            { IDS(7, 3, 4) } } },
    FACTS(facts),
};
