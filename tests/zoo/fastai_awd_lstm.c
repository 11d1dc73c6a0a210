/* fastai's AWD-LSTM. */
#include "adze/zoo.h"
#include "nn/case.h"

static adz_fastai_awd_lstm_options drawing(adz_generator *g)
{
    adz_fastai_awd_lstm_options o;
    adz_fastai_awd_lstm_options_init(&o, sizeof o);
    o.generator = g;
    return o;
}

static adz_module *two_layers(adz_generator *g)
{
    adz_fastai_awd_lstm_options o = drawing(g);
    o.input_p = 0.3;
    o.weight_p = 0.3;
    o.pad_token = 6;
    return adz_fastai_awd_lstm_new(7, 2, 3, 2, &o);
}

static adz_module *two_directions(adz_generator *g)
{
    adz_fastai_awd_lstm_options o = drawing(g);
    o.bidir = true;
    o.pad_token = ADZ_NO_PADDING;
    return adz_fastai_awd_lstm_new(5, 4, 3, 1, &o);
}

static adz_module *quasi(adz_generator *g)
{
    adz_fastai_awd_lstm_options o = drawing(g);
    o.qrnn = true;
    o.pad_token = -1;
    return adz_fastai_awd_lstm_new(6, 2, 3, 2, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static adz_module *undropped(bool qrnn)
{
    adz_fastai_awd_lstm_options o = drawing(NULL);
    o.qrnn = qrnn;
    o.hidden_p = o.input_p = o.embed_p = o.weight_p = 0;
    return adz_fastai_awd_lstm_new(9, 4, 6, 2, &o);
}

static adz_tensor *words(int64_t b, int64_t t)
{
    return adz_randint(0, 9, ADZ_SHAPE(b, t), ADZ_I64);
}

/* Each call continues with the states of the call before it, until a reset or a batch of another
 * size. */
static void check_carried(bool qrnn)
{
    adz_module *m = undropped(qrnn);
    adz_tensor *ids = words(3, 6), *whole = adz_module_forward(m, ids);
    adz_module_reset(m);
    adz_tensor *parts[] = { adz_module_forward(m, adz_narrow(ids, 1, 0, 2)),
        adz_module_forward(m, adz_narrow(ids, 1, 2, 4)) };
    assert_true(alike(adz_cat(parts, 2, 1), whole, 1e-6));
    assert_false(adz_equal(adz_module_forward(m, ids), whole));
    adz_tensor *row = adz_module_forward(m, adz_narrow(ids, 0, 0, 1)); /* a batch of another size */
    assert_true(alike(row, adz_narrow(whole, 0, 0, 1), 1e-6));
    adz_tensor *c = adz_module_get_buffer(m, "hidden_1_c");
    assert_int_equal(adz_tensor_shape(c).sizes[1], 1);
    assert_false(adz_tensor_requires_grad(c));
    adz_state_dict *dict = adz_module_state_dict(m);
    assert_int_equal(adz_state_dict_count(dict), qrnn ? 8 : 12);
    adz_state_dict_free(&dict);
    adz_module_release(&m);
}

static void the_state_is_carried(void **state)
{
    (void)state;
    check_carried(false);
    check_carried(true);
}

static void check_selected(bool qrnn)
{
    adz_module *m = undropped(qrnn);
    adz_tensor *ids = words(3, 2), *more = words(3, 4);
    adz_module_forward(m, ids);
    adz_module *copy = adz_module_copy(m); /* has copies of the states too */
    adz_tensor *rows = adz_tensor_from((int64_t[]){ 2, 0 }, ADZ_SHAPE(2), ADZ_I64);
    assert_int_equal(adz_module_select_hidden(m, rows), ADZ_OK);
    adz_tensor *y = adz_module_forward(m, adz_index_select(more, 0, rows));
    assert_true(alike(y, adz_index_select(adz_module_forward(copy, more), 0, rows), 1e-6));
    adz_tensor *outside = adz_full(ADZ_SHAPE(1), 2, ADZ_I64);
    assert_int_equal(adz_module_select_hidden(m, outside), ADZ_ERR_INDEX);
    expect_error(ADZ_ERR_INDEX, "2");
    assert_int_equal(adz_tensor_shape(adz_module_get_buffer(m, "hidden_0_c")).sizes[1], 2);
    adz_module_release(&copy);
    adz_module_release(&m);
}

static void rows_of_the_state_are_selected(void **state)
{
    (void)state;
    check_selected(false);
    check_selected(true);
}

/* Without a state from an earlier call there are no rows to select. */
static void no_state_has_no_rows(void **state)
{
    (void)state;
    adz_module *m = undropped(false);
    assert_int_equal(adz_module_select_hidden(m, adz_zeros(ADZ_SHAPE(2), ADZ_I64)), ADZ_OK);
    assert_true(adz_module_get_buffer(m, "hidden_0_h") == ADZ_NONE);
    adz_module_release(&m);
}

/* A dropout with the probability 1 shows where it works: on the embedded words, or on the outputs
 * of all layers but the last. */
static void dropouts_stand_before_layers(void **state)
{
    (void)state;
    for (int between = 0; between < 2; ++between) {
        adz_fastai_awd_lstm_options o = drawing(NULL);
        o.hidden_p = between;
        o.input_p = 1 - between;
        o.embed_p = o.weight_p = 0;
        adz_module *m = adz_fastai_awd_lstm_new(9, 4, 6, 2, &o);
        adz_values *in = adz_values_new(), *out = adz_values_new();
        adz_tensor *raw[2];
        for (int i = 0; i < 2; ++i) { /* other words, without the states of the first call */
            adz_module_reset(m);
            adz_values_clear(in);
            adz_values_clear(out);
            adz_values_add(in, "x", adz_full(ADZ_SHAPE(2, 3), 2 + i, ADZ_I64));
            assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
            raw[i] = adz_values_get(out, "raw.0");
        }
        assert_true(adz_equal(raw[0], raw[1]) == !between);
        assert_true(all_are(adz_values_get(out, "out.0"), 0) == between);
        adz_tensor *last = adz_values_get(out, "out.1");
        assert_true(adz_equal(last, adz_values_get(out, "raw.1")) && !all_are(last, 0));
        adz_values_free(&in);
        adz_values_free(&out);
        adz_module_release(&m);
    }
}

/* The result of a forward is out.1, with the features of the embedding. */
static void a_forward_gives_the_last_output(void **state)
{
    (void)state;
    adz_module *m = undropped(false);
    adz_tensor *ids = words(2, 3), *y = adz_module_forward(m, ids);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_module_reset(m);
    adz_values_add(in, "ids", ids);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_true(adz_tensor_size(y, 2) == 4 && adz_equal(y, adz_values_get(out, "out.1")));
    adz_values_free(&in);
    adz_values_free(&out);
    expect_refused(m, adz_zeros(ADZ_SHAPE(0, 3), ADZ_I64), "ids[0, 3] must be [B, T], neither");
}

static void sizes_have_borders(void **state)
{
    (void)state;
    adz_fastai_awd_lstm_options o = drawing(NULL);
    o.pad_token = 0;
    adz_module *smallest = adz_fastai_awd_lstm_new(1, 1, 1, 1, &o);
    assert_non_null(smallest);
    adz_module_release(&smallest);
    o.bidir = true; /* halves of 2 and of 6 features */
    adz_module *halves = adz_fastai_awd_lstm_new(1, 2, 6, 2, &o);
    adz_tensor *y = adz_module_forward(halves, adz_zeros(ADZ_SHAPE(2, 3), ADZ_I64));
    assert_int_equal(adz_tensor_size(y, 2), 2);
    adz_module_release(&halves);
    expect_no_module(adz_fastai_awd_lstm_new(3, 0, 2, 1, NULL), "emb_sz is 0");
    expect_no_module(adz_fastai_awd_lstm_new(3, 2, 0, 1, NULL), "n_hid is 0");
}

static void embedded_words_are_taken(void **state)
{
    (void)state;
    adz_module *m = undropped(false);
    adz_tensor *ids = words(2, 3), *y = adz_module_forward(m, ids);
    adz_module_reset(m);
    adz_tensor *x = adz_embedding(ids, adz_module_get_parameter(m, "encoder.weight"), NULL);
    assert_true(adz_equal(adz_module_forward(m, x), y));
    expect_refused(m, adz_ones(ADZ_SHAPE(2, 3, 5), ADZ_F32), "x[2, 3, 5] must be embedded words");
}

static void the_embedding_starts_small(void **state)
{
    (void)state;
    adz_module *m = undropped(false);
    for (int i = 0; i < 2; ++i) {
        adz_tensor *weight = adz_module_get_parameter(m, "encoder.weight");
        double most = adz_item(adz_max(adz_abs(weight)));
        assert_true(most <= 0.1 && most > 0.05);
        assert_false(
            all_are(adz_select(weight, 0, 1), 0)); /* the row of the padding is drawn too */
        adz_module_reset_parameters(m);
    }
    adz_module_release(&m);
}

/* A call that is refused does not change the states. */
static void a_refused_call_keeps_the_state(void **state)
{
    (void)state;
    adz_module *m = undropped(false);
    adz_module_forward(m, words(2, 3));
    adz_tensor *h = adz_module_get_buffer(m, "hidden_0_h");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(3, 2), 9, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "encoder_dp: embedding");
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(4), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "ids[4] must be [B, T]");
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(2, 0), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "ids[2, 0]");
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F64)));
    expect_error(ADZ_ERR_DTYPE, "x is float64, the module float32");
    adz_values *none = adz_values_new(), *out = adz_values_new();
    adz_module_call(m, none, out);
    expect_error(ADZ_ERR_ARGUMENT, "ids is not optional");
    adz_values_free(&none);
    adz_values_free(&out);
    assert_ptr_equal(adz_module_get_buffer(m, "hidden_0_h"), h);
    adz_module_release(&m);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    expect_no_module(
        adz_fastai_awd_lstm_new(0, 4, 6, 2, NULL), "vocab_sz is 0, but must be 1 or more");
    expect_no_module(
        adz_fastai_awd_lstm_new(9, 4, 6, 0, NULL), "n_layers is 0, but must be in [1, 65535]");
    expect_no_module(adz_fastai_awd_lstm_new(1, 4, 6, 2, NULL), "padding_idx 1 is no row of 1");
    adz_fastai_awd_lstm_options o = drawing(NULL);
    o.bidir = true;
    expect_no_module(adz_fastai_awd_lstm_new(9, 4, 5, 2, &o), "n_hid is 5");
    o.qrnn = true;
    expect_no_module(adz_fastai_awd_lstm_new(9, 4, 6, 2, &o), "qrnn and bidir");
    o = drawing(NULL);
    o.hidden_p = 1.5;
    expect_no_module(adz_fastai_awd_lstm_new(9, 4, 6, 2, &o), "p is 1.5");
    o = drawing(NULL);
    o.embed_p = -1;
    expect_no_module(adz_fastai_awd_lstm_new(9, 4, 6, 2, &o), "embed_p is -1");
    o = drawing(NULL);
    o.weight_p = NAN;
    expect_no_module(adz_fastai_awd_lstm_new(9, 4, 6, 2, &o), "weight_p is nan");
    o = drawing(NULL);
    o.dtype = ADZ_BOOL;
    assert_null(adz_fastai_awd_lstm_new(9, 4, 6, 2, &o));
    expect_error(ADZ_ERR_DTYPE, "bool");
}

/* ---- reference vectors ---------------------------------------------------------------------- */

static adz_module *from_config(const char *reference, const json_t *config)
{
    (void)reference;
    return case_fastai_encoder("AWD_LSTM", config);
}

/* Resets the module before the first call. fastai needs this; in adze it changes nothing. */
static adz_status between(adz_module *module, const json_t *config, int call)
{
    (void)config;
    return call == 0 ? adz_module_reset(module) : ADZ_OK;
}

static const struct CMUnitTest facts[] = {
    TEST(the_state_is_carried),
    TEST(rows_of_the_state_are_selected),
    TEST(no_state_has_no_rows),
    TEST(dropouts_stand_before_layers),
    TEST(a_forward_gives_the_last_output),
    TEST(sizes_have_borders),
    TEST(embedded_words_are_taken),
    TEST(the_embedding_starts_small),
    TEST(a_refused_call_keeps_the_state),
    TEST(bad_values_are_refused),
};

const module_case fastai_awd_lstm_module = {
    .name = "fastai_awd_lstm",
    .references = { "fastai AWD_LSTM" },
    .from_config = from_config,
    .between = between,
    .samples = { { two_layers,
                     "AWD_LSTM(\n"
                     "  (encoder): Embedding(7, 2, padding_idx=6)\n"
                     "  (encoder_dp): EmbeddingDropout(\n"
                     "    (emb): Embedding(7, 2, padding_idx=6)\n"
                     "  )\n"
                     "  (rnns): ModuleList(\n"
                     "    (0): WeightDropout(\n"
                     "      (module): LSTM(2, 3, batch_first=True)\n"
                     "    )\n"
                     "    (1): WeightDropout(\n"
                     "      (module): LSTM(3, 2, batch_first=True)\n"
                     "    )\n"
                     "  )\n"
                     "  (input_dp): RNNDropout()\n"
                     "  (hidden_dps): ModuleList(\n"
                     "    (0-1): 2 x RNNDropout()\n"
                     "  )\n"
                     ")",
                     "encoder.weight encoder_dp.emb.weight rnns.0.weight_hh_l0_raw rnns.0.module.weight_ih_l0 rnns.0.module.weight_hh_l0 rnns.0.module.bias_ih_l0 rnns.0.module.bias_hh_l0 rnns.1.weight_hh_l0_raw rnns.1.module.weight_ih_l0 rnns.1.module.weight_hh_l0 rnns.1.module.bias_ih_l0 rnns.1.module.bias_hh_l0",
                     { IDS(6, 2, 3) } },
        { two_directions,
            "AWD_LSTM(\n"
            "  (encoder): Embedding(5, 4)\n"
            "  (encoder_dp): EmbeddingDropout(\n"
            "    (emb): Embedding(5, 4)\n"
            "  )\n"
            "  (rnns): ModuleList(\n"
            "    (0): WeightDropout(\n"
            "      (module): LSTM(4, 2, batch_first=True, bidirectional=True)\n"
            "    )\n"
            "  )\n"
            "  (input_dp): RNNDropout()\n"
            "  (hidden_dps): ModuleList(\n"
            "    (0): RNNDropout()\n"
            "  )\n"
            ")",
            "encoder.weight encoder_dp.emb.weight rnns.0.weight_hh_l0_raw rnns.0.module.weight_ih_l0 rnns.0.module.weight_hh_l0 rnns.0.module.bias_ih_l0 rnns.0.module.bias_hh_l0 rnns.0.module.weight_ih_l0_reverse rnns.0.module.weight_hh_l0_reverse rnns.0.module.bias_ih_l0_reverse rnns.0.module.bias_hh_l0_reverse",
            { X(2, 3, 4) } },
        { quasi,
            "AWD_LSTM(\n"
            "  (encoder): Embedding(6, 2, padding_idx=5)\n"
            "  (encoder_dp): EmbeddingDropout(\n"
            "    (emb): Embedding(6, 2, padding_idx=5)\n"
            "  )\n"
            "  (rnns): ModuleList(\n"
            "    (0): QRNN(\n"
            "      (layers): ModuleList(\n"
            "        (0): QRNNLayer(\n"
            "          (linear): WeightDropout(\n"
            "            (module): Linear(in_features=4, out_features=9, bias=True)\n"
            "          )\n"
            "        )\n"
            "      )\n"
            "    )\n"
            "    (1): QRNN(\n"
            "      (layers): ModuleList(\n"
            "        (0): QRNNLayer(\n"
            "          (linear): WeightDropout(\n"
            "            (module): Linear(in_features=3, out_features=6, bias=True)\n"
            "          )\n"
            "        )\n"
            "      )\n"
            "    )\n"
            "  )\n"
            "  (input_dp): RNNDropout()\n"
            "  (hidden_dps): ModuleList(\n"
            "    (0-1): 2 x RNNDropout()\n"
            "  )\n"
            ")",
            "encoder.weight encoder_dp.emb.weight rnns.0.layers.0.linear.weight_raw rnns.0.layers.0.linear.module.weight rnns.0.layers.0.linear.module.bias rnns.1.layers.0.linear.weight_raw rnns.1.layers.0.linear.module.weight rnns.1.layers.0.linear.module.bias",
            { IDS(5, 2, 3) } } },
    FACTS(facts),
};
