/* fastai's decoder, its container of encoder and head, and the conversion to another vocabulary. */
#include "adze/zoo.h"
#include "nn/case.h"

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *own_weight(adz_generator *g)
{
    adz_fastai_linear_decoder_options o;
    adz_fastai_linear_decoder_options_init(&o, sizeof o);
    o.output_p = 0.4;
    o.generator = g;
    return adz_fastai_linear_decoder_new(5, 3, &o);
}

static adz_module *no_bias(adz_generator *g)
{
    (void)g;
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    o.bias = false;
    return adz_fastai_linear_decoder_new(5, 3, &o);
}

/* An embedding table and a decoder that is tied to it. */
static adz_module *tied(adz_generator *g)
{
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    o.output_p = 0.25;
    o.generator = g;
    adz_module *parts[2] = { adz_embedding_new(5, 3, NULL), NULL };
    o.tie_encoder = parts[0];
    parts[1] = parts[0] != NULL ? adz_fastai_linear_decoder_new(5, 3, &o) : NULL;
    return adz_fastai_sequential_rnn_new(parts, 2);
}

/* ---- LinearDecoder -------------------------------------------------------------------------- */

static void weights_start_as_in_fastai(void **state)
{
    (void)state;
    adz_module *m = adz_fastai_linear_decoder_new(40, 50, NULL);
    for (int pass = 0; pass < 2; ++pass) { /* after the constructor, and after a reset */
        adz_tensor *w = adz_module_get_parameter(m, "decoder.weight");
        double low = adz_item(adz_min(w)), high = adz_item(adz_max(w));
        assert_true(low >= -0.1 && low < -0.098 && high <= 0.1 && high > 0.098);
        assert_true(all_are(adz_module_get_parameter(m, "decoder.bias"), 0));
        fill(w, 1);
        fill(adz_module_get_parameter(m, "decoder.bias"), 1);
        assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    }
    adz_module_release(&m);
}

/* The encoder draws the table, and the decoder does not change it. This holds for copies too. */
static void a_tied_weight_is_the_encoders(void **state)
{
    (void)state;
    adz_module *m = tied(NULL), *copy = adz_module_copy(m), *both[] = { m, copy };
    for (int i = 0; i < 2; ++i) {
        adz_tensor *table = adz_module_get_parameter(both[i], "0.weight");
        assert_ptr_equal(adz_module_get_parameter(both[i], "1.decoder.weight"), table);
        assert_int_equal(adz_module_parameters(both[i]).count, 2);
        adz_manual_seed(3);
        assert_int_equal(adz_module_reset_parameters(both[i]), ADZ_OK);
        adz_manual_seed(3);
        adz_module *alone = adz_embedding_new(5, 3, NULL);
        expect_same(table, adz_module_get_parameter(alone, "weight"), 0);
        adz_module_release(&alone);
    }
    assert_ptr_not_equal(
        adz_module_get_parameter(copy, "0.weight"), adz_module_get_parameter(m, "0.weight"));
    adz_module_release(&copy);
    adz_module_release(&m);
    adz_embedding_module_options wide = ADZ_EMBEDDING_MODULE_OPTIONS;
    wide.dtype = ADZ_F64;
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    o.tie_encoder = adz_embedding_new(5, 3, &wide);
    m = adz_fastai_linear_decoder_new(5, 3, &o);
    assert_int_equal(adz_tensor_dtype(adz_module_get_parameter(m, "decoder.bias")), ADZ_F64);
    adz_module_release(&o.tie_encoder);
    adz_module_release(&m);
}

/* The decoder computes scores of the encoder's last output and appends the encoder's results. */
static void results_of_the_encoder_are_handed_on(void **state)
{
    (void)state;
    adz_module *m = no_bias(NULL);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor *last = adz_randn(ADZ_SHAPE(2, 4, 3), ADZ_F32);
    adz_tensor *raw = adz_randn(ADZ_SHAPE(2, 4, 3), ADZ_F32);
    adz_values_add(in, "raw.0", raw);
    adz_values_add(in, "out.0", adz_randn(ADZ_SHAPE(2, 4, 6), ADZ_F32));
    adz_values_add(in, "out.1", last);
    adz_values_add(in, "hidden.0.h", raw);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adz_values_count(out), 4);
    expect_same(adz_values_at(out, 0),
        adz_linear(last, adz_module_get_parameter(m, "decoder.weight"), ADZ_NONE), 1e-6);
    assert_string_equal(adz_values_name_at(out, 0), "");
    assert_ptr_equal(adz_values_get(out, "raw.0"), raw);
    assert_ptr_equal(adz_values_get(out, "out.1"), last);
    assert_true(adz_values_get(out, "hidden.0.h") == ADZ_NONE);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

/* Each child gets the results of the one before it, and nothing older. */
static void a_container_of_three(void **state)
{
    (void)state;
    adz_module *three[] = { adz_tanh_new(), adz_tanh_new(), adz_tanh_new() };
    adz_module *m = adz_fastai_sequential_rnn_new(three, 3);
    adz_tensor *x = adz_randn(ADZ_SHAPE(2, 3), ADZ_F32);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "", x);
    assert_int_equal(adz_module_call(m, in, out), ADZ_OK);
    assert_int_equal(adz_values_count(out), 1);
    expect_same(adz_values_at(out, 0), adz_tanh(adz_tanh(adz_tanh(x))), 0);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
}

static void bad_decoders_are_refused(void **state)
{
    (void)state;
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    expect_no_module(adz_fastai_linear_decoder_new(0, 3, NULL), "n_out 0 and n_hid 3");
    expect_no_module(adz_fastai_linear_decoder_new(3, -1, NULL), "n_out 3 and n_hid -1");
    o.output_p = -0.5;
    expect_no_module(adz_fastai_linear_decoder_new(4, 3, &o), "p is -0.5");
    o.output_p = 0;
    o.dtype = ADZ_I64;
    assert_null(adz_fastai_linear_decoder_new(4, 3, &o));
    expect_error(ADZ_ERR_DTYPE, "adz_fastai_linear_decoder_new: parameters are float32 or float64");
    o.dtype = ADZ_F32;
    o.tie_encoder = adz_embedding_new(4, 5, NULL);
    assert_null(adz_fastai_linear_decoder_new(4, 3, &o));
    expect_error(
        ADZ_ERR_SHAPE, "tie_encoder's weight[4, 5] must be [n_out, n_hid], which is [4, 3]");
    adz_module_release(&o.tie_encoder);
    o.tie_encoder = adz_layer_norm_new(ADZ_SHAPE(4, 3, 2), NULL);
    assert_null(adz_fastai_linear_decoder_new(4, 3, &o));
    expect_error(ADZ_ERR_SHAPE, "tie_encoder's weight[4, 3, 2] must be [n_out, n_hid]");
    adz_module_release(&o.tie_encoder);
    o.tie_encoder = adz_tanh_new();
    assert_null(adz_fastai_linear_decoder_new(4, 3, &o));
    expect_error(ADZ_ERR_ARGUMENT, "weight");
    adz_module_release(&o.tie_encoder);
}

static void bad_inputs_of_decoders_are_refused(void **state)
{
    (void)state;
    expect_refused(no_bias(NULL), adz_ones(ADZ_SHAPE(2, 4, 2), ADZ_F32),
        "LinearDecoder: x[2, 4, 2] must have the 3 features that n_hid says");
    expect_refused(no_bias(NULL), adz_ones(ADZ_SHAPE(2, 3), ADZ_F32), "x[2, 3] must be [B, T, D]");
    adz_module *m = no_bias(NULL);
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_values_add(in, "x", adz_ones(ADZ_SHAPE(2, 4, 3), ADZ_F32));
    assert_int_equal(adz_module_call(m, in, out), ADZ_ERR_ARGUMENT);
    expect_error(ADZ_ERR_ARGUMENT, "neither an encoder's out.0");
    assert_int_equal(adz_values_count(out), 0);
    adz_values_free(&in);
    adz_values_free(&out);
    adz_module_release(&m);
    m = adz_fastai_linear_decoder_new(1, 1, NULL);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32)));
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "LinearDecoder: x is not optional");
    adz_module_release(&m);
    m = adz_fastai_sequential_rnn_new(NULL, 0);
    assert_non_null(m);
    assert_int_equal(adz_module_child_count(m), 0);
    adz_module_release(&m);
    expect_null(
        adz_fastai_sequential_rnn_new(NULL, 1) == NULL, "adz_fastai_sequential_rnn_new", "modules");
    adz_module *parts[] = { adz_tanh_new(), NULL };
    assert_null(adz_fastai_sequential_rnn_new(parts, 2));
    expect_error(ADZ_ERR_NULL, "");
}

/* ---- another vocabulary --------------------------------------------------------------------- */

static void words_are_found(void **state)
{
    (void)state;
    static const char *const old[] = { "xxunk", "the", "cat", "the", "sat" };
    static const char *const now[] = { "sat", "dog", "the", "cat", "" };
    int64_t index[5];
    assert_int_equal(adz_fastai_old_index(old, 5, now, 5, index), ADZ_OK);
    static const int64_t expected[] = { 4, -1, 3, 2, -1 };
    assert_memory_equal(index, expected, sizeof index);
    assert_int_equal(adz_fastai_old_index(NULL, 0, now, 2, index), ADZ_OK);
    assert_int_equal(index[0], -1);
    assert_int_equal(adz_fastai_old_index(old, 5, NULL, 0, NULL), ADZ_OK);
    assert_int_equal(adz_fastai_old_index(NULL, 1, now, 2, index), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "old_words");
    assert_int_equal(adz_fastai_old_index(old, 5, now, 2, NULL), ADZ_ERR_NULL);
    expect_error(ADZ_ERR_NULL, "old_index");
}

/* Of words that occur several times the last one counts, wherever they stand. */
static void the_last_of_equal_words_is_found(void **state)
{
    (void)state;
    static const char *const old[] = { "b", "a", "b", "a", "b", "c", "a" };
    int64_t index[3];
    assert_int_equal(
        adz_fastai_old_index(old, 7, (const char *[]){ "a", "b", "c" }, 3, index), ADZ_OK);
    assert_true(index[0] == 6 && index[1] == 4 && index[2] == 5);
}

static bool find_words(void)
{
    static const char *const old[] = { "a", "b", "c" };
    int64_t index[3];
    return adz_fastai_old_index(old, 3, old, 3, index) == ADZ_OK && index[2] == 2;
}

/* A state with a tensor of words[i] rows under the name names[i]: a vector if it is a bias, else a
 * table of width 2. */
static adz_state_dict *words_state(const char *const *names, const int64_t *words, int count)
{
    adz_state_dict *s = adz_state_dict_new();
    bool good = s != NULL;
    for (int i = 0; i < count && good; ++i) {
        bool bias = strstr(names[i], "bias") != NULL;
        adz_shape shape = bias ? ADZ_SHAPE(words[i]) : ADZ_SHAPE(words[i], 2);
        good = adz_state_dict_add(s, names[i], adz_randn(shape, ADZ_F32)) == ADZ_OK;
    }
    if (!good) {
        adz_state_dict_free(&s);
    }
    return s;
}

static const char *const lm_names[] = { "0.encoder.weight", "0.other", "0.encoder_dp.emb.weight",
    "1.decoder.weight", "1.decoder.bias" };
static const int64_t lm_words[] = { 3, 3, 3, 3, 3 };

static void all_tables_are_converted(void **state)
{
    (void)state;
    adz_state_dict *old = words_state(lm_names, lm_words, 5);
    adz_state_dict *now = adz_fastai_convert_weights(old, (int64_t[]){ 2, -1, 0, 2 }, 4);
    assert_non_null(now);
    adz_tensor *from = adz_state_dict_get(old, "0.encoder.weight");
    adz_tensor *rows[] = { adz_select(from, 0, 2), adz_mean(from, ADZ_DIMS(0), ADZ_DROPDIM),
        adz_select(from, 0, 0), adz_select(from, 0, 2) };
    adz_tensor *expected = adz_stack(rows, 4, 0);
    assert_int_equal(adz_state_dict_count(now), 5);
    for (size_t i = 0; i < 5; ++i) {
        assert_string_equal(adz_state_dict_name_at(now, i), lm_names[i]);
    }
    expect_same(adz_state_dict_get(now, "0.encoder.weight"), expected, 0);
    expect_same(adz_state_dict_get(now, "0.encoder_dp.emb.weight"), expected, 0);
    expect_same(adz_state_dict_get(now, "1.decoder.weight"), expected, 0);
    assert_ptr_equal(adz_state_dict_get(now, "0.other"), adz_state_dict_get(old, "0.other"));
    adz_tensor *bias = adz_state_dict_get(now, "1.decoder.bias");
    adz_tensor *was = adz_state_dict_get(old, "1.decoder.bias");
    expect_same(adz_select(bias, 0, 0), adz_select(was, 0, 2), 0);
    expect_same(adz_select(bias, 0, 1), adz_mean(was, ADZ_ALL_DIMS, ADZ_DROPDIM), 1e-6);
    adz_state_dict_free(&now);
    adz_state_dict_free(&old);
    old = words_state(lm_names, lm_words, 1); /* without a decoder, whose weight is then added */
    now = adz_fastai_convert_weights(old, (int64_t[]){ 1 }, 1);
    assert_int_equal(adz_state_dict_count(now), 2);
    assert_string_equal(adz_state_dict_name_at(now, 1), "1.decoder.weight");
    adz_state_dict_free(&now);
    adz_state_dict_free(&old);
}

/* Tables that want a gradient give tables that are in no graph. One word is a vocabulary, too. */
static void conversions_are_not_recorded(void **state)
{
    (void)state;
    adz_state_dict *s = adz_state_dict_new();
    adz_tensor *table = adz_requires_grad_(adz_ones(ADZ_SHAPE(1, 2), ADZ_F32), true);
    adz_state_dict_add(s, "0.encoder.weight", table);
    adz_state_dict *now = adz_fastai_convert_weights(s, (int64_t[]){ 0, -1 }, 2);
    assert_non_null(now);
    assert_false(adz_tensor_requires_grad(adz_state_dict_get(now, "0.encoder.weight")));
    assert_true(adz_is_grad_enabled());
    adz_state_dict_free(&now);
    adz_state_dict_free(&s);
}

static void bad_conversions_are_refused(void **state)
{
    (void)state;
    static const int64_t first[] = { 0 }, outside[] = { 1, 3 }, below[] = { -2 };
    adz_state_dict *s = words_state(lm_names, lm_words, 5);
    assert_null(adz_fastai_convert_weights(s, outside, 2));
    expect_error(ADZ_ERR_INDEX, "old_index[1] is 3, but there are 3 words");
    assert_null(adz_fastai_convert_weights(s, below, 1));
    expect_error(ADZ_ERR_INDEX, "old_index[0] is -2");
    assert_null(adz_fastai_convert_weights(s, first, 0));
    expect_error(ADZ_ERR_ARGUMENT, "n_new is 0");
    assert_null(adz_fastai_convert_weights(s, NULL, 1));
    expect_error(ADZ_ERR_NULL, "old_index");
    assert_null(adz_fastai_convert_weights(NULL, first, 1));
    expect_error(ADZ_ERR_NULL, "state");
    adz_state_dict_free(&s);
    for (int bad = 2; bad < 5; ++bad) {
        int64_t words[] = { 3, 3, 3, 3, 3 };
        words[bad] = 4;
        s = words_state(lm_names, words, 5);
        assert_null(adz_fastai_convert_weights(s, first, 1));
        expect_error(ADZ_ERR_STATE, "does not fit the 3 words of 0.encoder.weight");
        adz_state_dict_free(&s);
    }
    s = words_state(lm_names + 1, lm_words, 4);
    assert_null(adz_fastai_convert_weights(s, first, 1));
    expect_error(ADZ_ERR_STATE, "the state has no 0.encoder.weight");
    adz_state_dict_free(&s);
    s = adz_state_dict_new();
    adz_state_dict_add(s, "0.encoder.weight", adz_ones(ADZ_SHAPE(3), ADZ_F32));
    assert_null(adz_fastai_convert_weights(s, first, 1));
    expect_error(ADZ_ERR_STATE, "0.encoder.weight[3] must have 2 dimensions");
    adz_state_dict_free(&s);
}

static bool convert_words(void)
{
    adz_scope *scope = adz_scope_open();
    adz_state_dict *old = scope != NULL ? words_state(lm_names, lm_words, 5) : NULL;
    adz_state_dict *now =
        old != NULL ? adz_fastai_convert_weights(old, (int64_t[]){ 2, -1 }, 2) : NULL;
    bool good = now != NULL;
    adz_state_dict_free(&now);
    adz_state_dict_free(&old);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good;
}

static void refused_memory_changes_nothing(void **state)
{
    (void)state;
    assert_true(refuse_each_request(find_words) > 0);
    assert_true(refuse_each_request(convert_words) > 5);
}

/* ---- vector files --------------------------------------------------------------------------- */

/* A module with the children "dec", a decoder, and "encoder", the table that it is tied to. The
 * table embeds "ids". */
static adz_status pair_call(adz_module *self, const adz_values *in, adz_values *out)
{
    adz_values *from = adz_values_new();
    adz_status status = adz_module_call(adz_module_get_child(self, "dec"), in, from);
    status = status == ADZ_OK ? adz_values_add(out, "decoded", adz_values_at(from, 0)) : status;
    adz_tensor *ids = adz_values_get(in, "ids");
    if (status == ADZ_OK && ids != ADZ_NONE) {
        adz_tensor *embedded = adz_module_forward(adz_module_get_child(self, "encoder"), ids);
        status = adz_values_add(out, "embedded", embedded);
    }
    adz_values_free(&from);
    return status;
}

static const adz_module_type pair_type = {
    .size = sizeof(adz_module_type),
    .name = "Pair",
    .call = pair_call,
};

static adz_module *pair_from_config(const json_t *config)
{
    int64_t n_out = (int64_t)config_number(config, "n_out", 0);
    int64_t n_hid = (int64_t)config_number(config, "n_hid", 0);
    adz_fastai_linear_decoder_options o = ADZ_FASTAI_LINEAR_DECODER_OPTIONS;
    o.output_p = config_number(config, "output_p", 0);
    o.bias = config_flag(config, "bias", true);
    adz_module *self = adz_module_new(&pair_type, 0);
    if (config_flag(config, "tie_encoder", false)) {
        adz_embedding_module_options table = ADZ_EMBEDDING_MODULE_OPTIONS;
        table.padding_idx = (int64_t)config_number(config, "padding_idx", 1);
        o.tie_encoder =
            adz_module_add_child(self, "encoder", adz_embedding_new(n_out, n_hid, &table));
    }
    adz_module_add_child(self, "dec", adz_fastai_linear_decoder_new(n_out, n_hid, &o));
    return self;
}

enum { MOST_WORDS = 32 };

typedef struct {
    int64_t old_index[MOST_WORDS];
    size_t count;
} conversion_state;

/* The conversion as a module: applied to a state of "encoder" and "bias". */
static adz_status conversion_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const conversion_state *s = adz_module_data(self);
    adz_state_dict *old = adz_state_dict_new(), *now = NULL;
    adz_status status =
        adz_state_dict_add(old, "0.encoder.weight", adz_values_argument(in, 0, "encoder"));
    if (status == ADZ_OK) {
        status = adz_state_dict_add(old, "1.decoder.bias", adz_values_argument(in, 1, "bias"));
    }
    if (status == ADZ_OK) {
        now = adz_fastai_convert_weights(old, s->old_index, s->count);
        status = now != NULL ? ADZ_OK : adz_error_code();
    }
    static const char *const names[][2] = { { "encoder", "0.encoder.weight" },
        { "decoder", "1.decoder.weight" }, { "bias", "1.decoder.bias" } };
    for (int i = 0; i < 3 && status == ADZ_OK; ++i) {
        status = adz_values_add(out, names[i][0], adz_clone(adz_state_dict_get(now, names[i][1])));
    }
    adz_state_dict_free(&old);
    adz_state_dict_free(&now);
    return status;
}

static const adz_module_type conversion_type = {
    .size = sizeof(adz_module_type),
    .name = "Conversion",
    .call = conversion_call,
};

static adz_module *conversion_from_config(const json_t *config)
{
    double numbers[MOST_WORDS];
    int count = config_list(config, "old_index", numbers, MOST_WORDS);
    adz_module *self = adz_module_new(&conversion_type, sizeof(conversion_state));
    conversion_state *s = adz_module_data(self);
    for (s->count = 0; (int)s->count < count; ++s->count) {
        s->old_index[s->count] = (int64_t)numbers[s->count];
    }
    return self;
}

static adz_module *language_model_from_config(const json_t *config)
{
    adz_fastai_config c = case_fastai_config(config_text(config, "arch", ""), config);
    adz_module *model =
        adz_fastai_language_model_new((int64_t)config_number(config, "vocab_sz", 0), &c, 1);
    return case_with_loss(
        model, config_number(config, "ar_alpha", 0), config_number(config, "tar_beta", 0));
}

static adz_module *from_config(const char *reference, const json_t *config)
{
    if (strcmp(reference, "fastai SequentialRNN language model") == 0) {
        return language_model_from_config(config);
    }
    return strcmp(reference, "fastai convert_weights") == 0 ? conversion_from_config(config)
                                                            : pair_from_config(config);
}

static const struct CMUnitTest facts[] = {
    TEST(weights_start_as_in_fastai),
    TEST(a_tied_weight_is_the_encoders),
    TEST(results_of_the_encoder_are_handed_on),
    TEST(bad_decoders_are_refused),
    TEST(bad_inputs_of_decoders_are_refused),
    TEST(a_container_of_three),
    TEST(words_are_found),
    TEST(the_last_of_equal_words_is_found),
    TEST(all_tables_are_converted),
    TEST(conversions_are_not_recorded),
    TEST(bad_conversions_are_refused),
    TEST(refused_memory_changes_nothing),
};

const module_case fastai_decoder_module = {
    .name = "fastai_decoder",
    .references = { "fastai LinearDecoder", "fastai convert_weights",
        "fastai SequentialRNN language model" },
    .from_config = from_config,
    .renames = { "x#=out.#" },
    .samples = { { own_weight,
                     "LinearDecoder(\n"
                     "  (decoder): Linear(in_features=3, out_features=5, bias=True)\n"
                     "  (output_dp): RNNDropout()\n"
                     ")",
                     "decoder.weight decoder.bias", { X(2, 3, 3) } },
        { no_bias,
            "LinearDecoder(\n"
            "  (decoder): Linear(in_features=3, out_features=5, bias=False)\n"
            "  (output_dp): RNNDropout()\n"
            ")",
            "decoder.weight", { X(2, 3, 3) } },
        { tied,
            "SequentialRNN(\n"
            "  (0): Embedding(5, 3)\n"
            "  (1): LinearDecoder(\n"
            "    (decoder): Linear(in_features=3, out_features=5, bias=True)\n"
            "    (output_dp): RNNDropout()\n"
            "  )\n"
            ")",
            "0.weight 1.decoder.weight 1.decoder.bias", { IDS(5, 2, 3) } } },
    FACTS(facts),
};
