/* fastai's dropouts. */
#include "adze/zoo.h"
#include "nn/case.h"
#include "nn/layers/dropout.h"

static adz_dropout_options drawing(adz_generator *g)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    o.generator = g;
    return o;
}

static adz_module *rnn(adz_generator *g)
{
    adz_dropout_options o = drawing(g);
    return adz_fastai_rnn_dropout_new(0.4, &o);
}

static adz_module *embedding(adz_generator *g)
{
    adz_fastai_embedding_dropout_options o;
    adz_fastai_embedding_dropout_options_init(&o, sizeof o);
    o.generator = g;
    o.scale = 1.5;
    adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
    table.padding_idx = 4;
    return adz_fastai_embedding_dropout_new(adz_embedding_new(5, 3, &table), 0.3, &o);
}

static adz_module *weight_of_linear(adz_generator *g)
{
    adz_dropout_options o = drawing(g);
    return adz_fastai_weight_dropout_new(
        adz_linear_new(3, 4, NULL), 0.5, (const char *[]){ "weight", "bias" }, 2, &o);
}

static adz_module *lstm_dropped(double p, adz_generator *g)
{
    adz_dropout_options o = drawing(g);
    return adz_fastai_weight_dropout_new(adz_lstm_new(2, 3, NULL), p, NULL, 0, &o);
}

static adz_module *weight_of_lstm(adz_generator *g)
{
    return lstm_dropped(0.4, g);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static void masks_are_zero_or_scaled(void **state)
{
    (void)state;
    adz_manual_seed(3);
    adz_tensor *mask = adz_fastai_dropout_mask(ADZ_SHAPE(100, 100), ADZ_F64, 0.2, NULL);
    adz_tensor *kept = adz_ne_number(mask, 0);
    assert_true(alike(mask, adz_mul_number(adz_to(kept, ADZ_F64), 1.25), 0));
    double share = adz_item(adz_mean(adz_to(kept, ADZ_F64), ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(fabs(share - 0.8) < 0.02);
    assert_true(all_are(adz_fastai_dropout_mask(ADZ_SHAPE(3), ADZ_F32, 1, NULL), 0));
    assert_true(all_are(adz_fastai_dropout_mask(ADZ_SHAPE(3), ADZ_F32, 0, NULL), 1));
    assert_null(adz_fastai_dropout_mask(ADZ_SHAPE(3), ADZ_F32, -0.1, NULL));
    expect_error(ADZ_ERR_ARGUMENT, "adz_fastai_dropout_mask: p is -0.1");
    assert_null(adz_fastai_dropout_mask(ADZ_SHAPE(3), ADZ_I64, 0.5, NULL));
    expect_error(ADZ_ERR_DTYPE, "int64");
}

static void one_mask_serves_all_steps(void **state)
{
    (void)state;
    adz_module *m = rnn(NULL);
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 5, 40), ADZ_F32), *y = adz_module_forward(m, x);
    adz_tensor *first = adz_narrow(y, 1, 0, 1);
    assert_true(adz_equal(y, adz_contiguous(adz_expand(first, ADZ_SHAPE(3, 5, 40)))));
    assert_false(all_are(first, 0));
    assert_false(adz_equal(adz_select(first, 0, 0), adz_select(first, 0, 1)));
    adz_module_eval(m);
    assert_ptr_equal(adz_module_forward(m, x), x);
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "RNNDropout: x is not optional");
    expect_refused(m, adz_ones(ADZ_SHAPE(3, 5), ADZ_F32), "x[3, 5] must be [B, T, W]");
}

/* A word is dropped at all its positions. */
static void rows_of_the_embedding_drop(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_embedding_dropout_new(adz_embedding_new(60, 2, NULL), 0.5, NULL);
    fill(adz_module_get_parameter(m, "emb.weight"), 1);
    adz_tensor *ids = adz_arange(0, 60, 1, ADZ_I64), *both[] = { ids, ids };
    adz_tensor *y = adz_module_forward(m, adz_stack(both, 2, 0));
    assert_true(adz_equal(adz_select(y, 0, 0), adz_select(y, 0, 1)));
    adz_tensor *kept = adz_to(adz_ne_number(y, 0), ADZ_F32);
    assert_true(alike(y, adz_mul_number(kept, 2), 0));
    double share = adz_item(adz_mean(kept, ADZ_ALL_DIMS, ADZ_DROPDIM));
    assert_true(share > 0.2 && share < 0.8);
    adz_module_eval(m);
    assert_true(all_are(adz_module_forward(m, ids), 1));
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(2), 60, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "60");
    adz_module_release(&m);
}

/* The row of the padding gets no gradient. fastai takes the last row if the table has none. */
static void the_padding_gets_no_gradient(void **state)
{
    (void)state;
    static const int64_t padding[] = { 1, ADZ_NO_PADDING };
    for (int i = 0; i < 2; ++i) {
        adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
        table.padding_idx = padding[i];
        adz_fastai_embedding_dropout_options o = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
        o.scale = 1.5;
        adz_module *m = adz_fastai_embedding_dropout_new(adz_embedding_new(4, 1, &table), 0.5, &o);
        adz_module_eval(m);
        adz_tensor *weight = adz_module_get_parameter(m, "emb.weight");
        adz_tensor *y = adz_module_forward(m, adz_arange(0, 4, 1, ADZ_I64));
        assert_true(alike(y, adz_mul_number(weight, 1.5), 0));
        assert_int_equal(adz_backward(adz_sum(y, ADZ_ALL_DIMS, ADZ_DROPDIM)), ADZ_OK);
        adz_tensor *grad = adz_tensor_grad(weight);
        assert_true(i == 0 ? HOLDS(grad, 0, 1.5, 0, 1.5, 1.5) : HOLDS(grad, 0, 1.5, 1.5, 1.5, 0));
        adz_module_release(&m);
    }
}

/* Masks of a replay are scaled like drawn ones. */
static void given_masks_are_scaled(void **state)
{
    (void)state;
    adz_module *m = rnn(NULL),
               *words = adz_fastai_embedding_dropout_new(adz_embedding_new(3, 1, NULL), 0.5, NULL);
    adz_tensor *kept[] = { adz_ones(ADZ_SHAPE(1, 1, 2), ADZ_F32),
        adz_ones(ADZ_SHAPE(3, 1), ADZ_F32) };
    adz_tensor_write(kept[0], (float[]){ 0, 1 }, 2 * sizeof(float));
    adz_tensor_write(kept[1], (float[]){ 1, 0, 1 }, 3 * sizeof(float));
    fill(adz_module_get_parameter(words, "emb.weight"), 3);
    adz_module *both[] = { m, words };
    adz_tensor *x[] = { adz_full(ADZ_SHAPE(1, 2, 2), 3, ADZ_F32), adz_arange(0, 3, 1, ADZ_I64) };
    for (int i = 0; i < 2; ++i) {
        adzi_masks masks = { &kept[i], 1, 0 };
        adzi_module_replay(both[i], &masks);
        adz_tensor *y = adz_module_forward(both[i], x[i]);
        assert_true(i == 0 ? HOLDS(y, 1e-6, 0, 5, 0, 5) : HOLDS(y, 0, 6, 0, 6));
        assert_int_equal(masks.next, 1);
        adz_module_release(&both[i]);
    }
}

static void raw_weights_stay_and_are_used_in_evaluation(void **state)
{
    (void)state;
    adz_module *m = lstm_dropped(0.6, NULL), *inner = adz_module_get_child(m, "module");
    adz_tensor *raw = adz_module_get_parameter(m, "weight_hh_l0_raw");
    assert_ptr_equal(adz_module_get_parameter(inner, "weight_hh_l0"), raw);
    adz_tensor *x = adz_randn(ADZ_SHAPE(6, 2, 2), ADZ_F32);
    adz_tensor *plain = adz_module_forward(inner, x);
    assert_false(adz_equal(adz_module_forward(m, x), plain));
    assert_ptr_equal(adz_module_get_parameter(inner, "weight_hh_l0"), raw);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(6, 2, 5), ADZ_F32)));
    expect_error(ADZ_ERR_SHAPE, "module: LSTM: x[6, 2, 5]");
    assert_ptr_equal(adz_module_get_parameter(inner, "weight_hh_l0"), raw);
    adz_module_eval(m);
    assert_true(adz_equal(adz_module_forward(m, x), plain));
    assert_int_equal(adz_module_parameters(m).count, 4);
    adz_module_release(&m);
}

/* If the user replaces the wrapped module's weight, calls still use the raw weight, and a reset
 * puts it back. */
static void the_raw_weight_wins(void **state)
{
    (void)state;
    adz_module *m = weight_of_linear(NULL), *inner = adz_module_get_child(m, "module");
    adz_module_eval(m);
    adz_tensor *x = adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), *y = adz_module_forward(m, x);
    adz_tensor *other = adz_zeros(ADZ_SHAPE(4, 3), ADZ_F32);
    adz_module_set_parameter(inner, "weight", other);
    adz_module_set_parameter(inner, "bias", adz_zeros(ADZ_SHAPE(4), ADZ_F32));
    assert_true(adz_equal(adz_module_forward(m, x), y));
    assert_ptr_equal(adz_module_get_parameter(inner, "weight"), other);
    assert_int_equal(adz_module_reset(m), ADZ_OK);
    assert_ptr_equal(
        adz_module_get_parameter(inner, "weight"), adz_module_get_parameter(m, "weight_raw"));
    assert_ptr_equal(
        adz_module_get_parameter(inner, "bias"), adz_module_get_parameter(m, "bias_raw"));
    adz_module_release(&m);
    m = lstm_dropped(0.5, NULL); /* It has one such weight. */
    adz_module_eval(m);
    x = adz_randn(ADZ_SHAPE(6, 2, 2), ADZ_F32);
    y = adz_module_forward(m, x);
    adz_tensor *raw = adz_module_get_parameter(m, "weight_hh_l0_raw");
    adz_module_set_parameter(
        adz_module_get_child(m, "module"), "weight_hh_l0", adz_zeros_like(raw));
    assert_true(adz_equal(adz_module_forward(m, x), y));
    adz_module_release(&m);
}

/* A state that fastai saved in training has the last drawn weight as module.weight. The raw weight
 * is loaded. */
static void the_raw_weight_wins_in_states(void **state)
{
    (void)state;
    adz_module *m = weight_of_linear(NULL);
    adz_state_dict *saved = adz_state_dict_new();
    adz_state_dict_add(saved, "weight_raw", adz_full(ADZ_SHAPE(4, 3), 2, ADZ_F32));
    adz_state_dict_add(saved, "bias_raw", adz_full(ADZ_SHAPE(4), 3, ADZ_F32));
    adz_state_dict_add(saved, "module.weight", adz_full(ADZ_SHAPE(4, 3), 4, ADZ_F32));
    adz_state_dict_add(saved, "module.bias", adz_zeros(ADZ_SHAPE(4), ADZ_F32));
    assert_int_equal(adz_module_load_state_dict(m, saved, true), ADZ_OK);
    assert_true(all_are(adz_module_get_parameter(m, "module.weight"), 2));
    assert_true(all_are(adz_module_get_parameter(m, "bias_raw"), 3));
    adz_state_dict_free(&saved);
    adz_module_release(&m);
}

static void bad_values_are_refused(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_embedding_dropout_new(adz_embedding_new(4, 2, NULL), 0.5, NULL);
    assert_non_null(adz_module_set_child(m, "emb", adz_linear_new(2, 4, NULL)));
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(3), ADZ_I64)));
    expect_error(ADZ_ERR_ARGUMENT, "type Linear, but must be an Embedding");
    adz_module_release(&m);
    expect_no_module(adz_fastai_rnn_dropout_new(1.5, NULL), "p is 1.5");
    expect_no_module(
        adz_fastai_embedding_dropout_new(adz_embedding_new(3, 2, NULL), -1, NULL), "embed_p is -1");
    expect_no_module(adz_fastai_embedding_dropout_new(adz_linear_new(3, 2, NULL), 0.5, NULL),
        "type Linear, but must be an Embedding");
    adz_fastai_embedding_dropout_options o = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
    o.scale = NAN;
    expect_no_module(
        adz_fastai_embedding_dropout_new(adz_embedding_new(3, 2, NULL), 0.5, &o), "must be finite");
    assert_null(adz_fastai_embedding_dropout_new(NULL, 0.5, NULL));
    expect_error(ADZ_ERR_NULL, "emb");
    expect_no_module(lstm_dropped(NAN, NULL), "weight_p is nan");
    expect_no_module(adz_fastai_weight_dropout_new(adz_linear_new(3, 2, NULL), 0.5, NULL, 0, NULL),
        "Linear has no parameter called weight_hh_l0");
    const char *const twice[] = { "weight", "weight" };
    expect_no_module(adz_fastai_weight_dropout_new(adz_linear_new(3, 2, NULL), 0.5, twice, 2, NULL),
        "weight_raw already");
    adz_linear_options plain = ADZ_LINEAR_OPTIONS;
    plain.bias = false;
    expect_no_module(adz_fastai_weight_dropout_new(
                         adz_linear_new(3, 2, &plain), 0.5, (const char *[]){ "bias" }, 1, NULL),
        "no parameter called bias");
    expect_null(adz_fastai_weight_dropout_new(NULL, 0.5, NULL, 0, NULL) == NULL,
        "adz_fastai_weight_dropout_new", "module");
    expect_null(
        adz_fastai_weight_dropout_new(adz_linear_new(3, 2, NULL), 0.5, NULL, 1, NULL) == NULL,
        "adz_fastai_weight_dropout_new", "names");
    const char *const unnamed[] = { "weight", NULL };
    expect_null(
        adz_fastai_weight_dropout_new(adz_linear_new(3, 2, NULL), 0.5, unnamed, 2, NULL) == NULL,
        "adz_fastai_weight_dropout_new", "names");
}

static adz_tensor *twice_forward(adz_module *self, adz_tensor *x)
{
    return adz_mul(x, adz_module_parameter_at(self, 0));
}

/* Names of weights may have 39 characters, as the names of values. */
static void names_have_a_longest(void **state)
{
    (void)state;
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "Scaled", .forward = twice_forward
    };
    for (int more = 0; more < 2; ++more) {
        char name[ADZ_VALUE_NAME + 2] = "", raw[ADZ_VALUE_NAME + 8];
        memset(name, 'n', (size_t)(ADZ_VALUE_NAME + more));
        adz_module *inner = adz_module_new(&type, 0);
        adz_module_add_parameter(inner, name, adz_ones(ADZ_SHAPE(9), ADZ_F32));
        adz_module *m =
            adz_fastai_weight_dropout_new(inner, 0.5, (const char *[]){ name }, 1, NULL);
        if (more == 1) {
            expect_no_module(m, "Scaled has no parameter called nnn");
            continue;
        }
        snprintf(raw, sizeof raw, "%s_raw", name);
        assert_non_null(adz_module_get_parameter(m, raw));
        adz_tensor *y = adz_module_forward(m, adz_ones(ADZ_SHAPE(9), ADZ_F32));
        for (int64_t i = 0; i < 9; ++i) {
            double value = adz_tensor_at(y, (int64_t[]){ i });
            assert_true(value == 0 || value == 2);
        }
        adz_module_release(&m);
    }
}

/* A probability of 0 draws nothing, in training either. */
static void nothing_is_drawn_for_nothing(void **state)
{
    (void)state;
    adz_generator *g = adz_generator_new(3);
    adz_fastai_embedding_dropout_options o = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
    o.generator = g;
    adz_module *words = adz_fastai_embedding_dropout_new(adz_embedding_new(3, 2, NULL), 0, &o);
    adz_module *m = lstm_dropped(0, g);
    adz_tensor *x = adz_randn(ADZ_SHAPE(6, 2, 2), ADZ_F32);
    const uint64_t before = adz_generator_get_state(g).offset;
    assert_true(adz_equal(
        adz_module_forward(m, x), adz_module_forward(adz_module_get_child(m, "module"), x)));
    adz_tensor *mask = adz_ones(ADZ_SHAPE(3, 1), ADZ_F32);
    adzi_masks masks = { &mask, 1, 0 };
    adzi_module_replay(words, &masks);
    assert_non_null(adz_module_forward(words, adz_zeros(ADZ_SHAPE(2), ADZ_I64)));
    assert_int_equal(masks.next, 0);
    assert_true(adz_generator_get_state(g).offset == before);
    adz_module_release(&words);
    adz_module_release(&m);
    adz_generator_free(&g);
}

/* ---- reference vectors ---------------------------------------------------------------------- */

static adz_module *weight_dropout_from(const json_t *config)
{
    const json_t *list = json_object_get(config, "layer_names");
    const char *names[4];
    size_t n = json_array_size(list);
    for (size_t i = 0; i < n && i < 4; ++i) {
        names[i] = json_string_value(json_array_get(list, i));
    }
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.batch_first = config_flag(config, "batch_first", false);
    o.bidirectional = config_flag(config, "bidirectional", false);
    adz_module *module = strcmp(config_text(config, "module", ""), "Linear") == 0
                             ? adz_linear_new((int64_t)config_number(config, "in_features", 0),
                                   (int64_t)config_number(config, "out_features", 0), NULL)
                             : adz_lstm_new((int64_t)config_number(config, "input_size", 0),
                                   (int64_t)config_number(config, "hidden_size", 0), &o);
    return adz_fastai_weight_dropout_new(
        module, config_number(config, "weight_p", 0), names, n, NULL);
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "fastai RNNDropout") == 0) {
        return adz_fastai_rnn_dropout_new(config_number(config, "p", 0), NULL);
    }
    if (strcmp(reference, "fastai WeightDropout") == 0) {
        return weight_dropout_from(config);
    }
    adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
    adz_fastai_embedding_dropout_options o = ADZ_FASTAI_EMBEDDING_DROPOUT_OPTIONS;
    const json_t *padding = json_object_get(config, "padding_idx");
    table.padding_idx = json_is_null(padding) ? ADZ_NO_PADDING : json_integer_value(padding);
    o.scale = config_number(config, "scale", 1);
    return adz_fastai_embedding_dropout_new(
        adz_embedding_new((int64_t)config_number(config, "vocab_sz", 0),
            (int64_t)config_number(config, "emb_sz", 0), &table),
        config_number(config, "embed_p", 0), &o);
}

static const struct CMUnitTest facts[] = {
    TEST(masks_are_zero_or_scaled),
    TEST(one_mask_serves_all_steps),
    TEST(rows_of_the_embedding_drop),
    TEST(the_padding_gets_no_gradient),
    TEST(given_masks_are_scaled),
    TEST(raw_weights_stay_and_are_used_in_evaluation),
    TEST(the_raw_weight_wins),
    TEST(the_raw_weight_wins_in_states),
    TEST(bad_values_are_refused),
    TEST(names_have_a_longest),
    TEST(nothing_is_drawn_for_nothing),
};

const module_case fastai_dropout_module = {
    .name = "fastai_dropout",
    .references = { "fastai RNNDropout", "fastai EmbeddingDropout", "fastai WeightDropout" },
    .from_config = from_config,
    .carries = { "h", "h0", "c", "c0" },
    .samples = { { rnn, "RNNDropout()", "", { X(2, 3, 4) } },
        { embedding,
            "EmbeddingDropout(\n"
            "  (emb): Embedding(5, 3, padding_idx=4)\n"
            ")",
            "emb.weight", { IDS(4, 2, 3) } },
        { weight_of_linear,
            "WeightDropout(\n"
            "  (module): Linear(in_features=3, out_features=4, bias=True)\n"
            ")",
            "weight_raw bias_raw module.weight module.bias", { X(2, 3) } },
        { weight_of_lstm,
            "WeightDropout(\n"
            "  (module): LSTM(2, 3)\n"
            ")",
            "weight_hh_l0_raw module.weight_ih_l0 module.weight_hh_l0 module.bias_ih_l0 module.bias_hh_l0",
            { X(3, 2, 2) } } },
    FACTS(facts),
};
