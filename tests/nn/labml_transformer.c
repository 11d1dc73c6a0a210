/* The annotated library's embeddings, layers and models. */
#include "nn/case.h"

/* ---- parts ---------------------------------------------------------------------------------- */

static adz_module *heads(int64_t n, int64_t d_model, double p, bool bias, adz_generator *g)
{
    adz_labml_attention_options o = ADZ_LABML_ATTENTION_OPTIONS;
    o.dropout_prob = p;
    o.bias = bias;
    o.generator = g;
    return adz_labml_attention_new(n, d_model, &o);
}

static adz_module *network(int64_t d_model, int64_t d_ff, double p, adz_generator *g)
{
    adz_feed_forward_options o = ADZ_FEED_FORWARD_OPTIONS;
    o.dropout = p;
    o.generator = g;
    return adz_feed_forward_variant_new("Bilinear", d_model, d_ff, &o);
}

static adz_module *layer_of(double p, bool source, adz_generator *g)
{
    adz_labml_transformer_layer_options o;
    adz_labml_transformer_layer_options_init(&o, sizeof o);
    o.generator = g;
    o.src_attn = source ? heads(2, 4, p, false, g) : NULL;
    adz_module *m =
        adz_labml_transformer_layer_new(4, heads(2, 4, p, false, g), network(4, 3, p, g), p, &o);
    adz_module_free(&o.src_attn);
    return m;
}

static adz_module *embeddings(bool learned)
{
    adz_labml_embeddings_options o;
    adz_labml_embeddings_options_init(&o, sizeof o);
    o.max_len = 5;
    return learned ? adz_labml_learned_embeddings_new(4, 7, &o)
                   : adz_labml_embeddings_new(4, 7, &o);
}

/* ---- samples -------------------------------------------------------------------------------- */

static adz_module *fixed(adz_generator *g)
{
    (void)g;
    return embeddings(false);
}

static adz_module *learned(adz_generator *g)
{
    (void)g;
    return embeddings(true);
}

static adz_module *layer(adz_generator *g)
{
    return layer_of(0.3, true, g);
}

static adz_module *encoder(adz_generator *g)
{
    return adz_labml_encoder_new(layer_of(0.2, false, g), 2);
}

static adz_module *decoder(adz_generator *g)
{
    return adz_labml_decoder_new(layer_of(0, true, g), 1);
}

static adz_module *generator(adz_generator *g)
{
    (void)g;
    adz_labml_generator_options o;
    adz_labml_generator_options_init(&o, sizeof o);
    return adz_labml_generator_new(3, 4, &o);
}

static adz_module *both(adz_generator *g)
{
    return adz_labml_encoder_decoder_new(adz_labml_encoder_new(layer_of(0.1, false, g), 1),
        adz_labml_decoder_new(layer_of(0.1, true, g), 1), embeddings(false), embeddings(true),
        adz_identity_new());
}

static adz_module *characters(adz_generator *g)
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

/* ---- facts ---------------------------------------------------------------------------------- */

static void positions_are_sines_and_cosines(void **state)
{
    (void)state;
    adz_tensor *y = adz_labml_get_positional_encoding(4, 3, ADZ_F64);
    assert_int_equal(adz_tensor_size(y, 1), 1);
    assert_true(HOLDS(y, 1e-15, 0, 1, 0, 1, sin(1), cos(1), sin(0.01), cos(0.01), sin(2), cos(2),
        sin(0.02), cos(0.02)));
    expect_same(adz_labml_get_positional_encoding(4, 3, ADZ_F32), adz_to(y, ADZ_F32), 0);
}

static void embeddings_are_enlarged(void **state)
{
    (void)state;
    adz_tensor *ids = adz_randint(0, 7, ADZ_SHAPE(3, 2), ADZ_I64);
    adz_module *m = embeddings(false);
    adz_tensor *rows = adz_embedding(ids, adz_module_parameter(m, "linear.weight"), NULL);
    adz_tensor *positions = adz_narrow(adz_module_buffer(m, "positional_encodings"), 0, 0, 3);
    expect_same(adz_module_forward(m, ids), adz_add(adz_mul_number(rows, 2), positions), 1e-6);
    adz_module_free(&m);
    m = embeddings(true);
    rows = adz_embedding(ids, adz_module_parameter(m, "linear.weight"), NULL);
    expect_same(adz_module_forward(m, ids), adz_mul_number(rows, 2), 1e-6); /* zeros at first */
    fill(adz_module_parameter(m, "positional_encodings"), 3);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_true(all_are(adz_module_parameter(m, "positional_encodings"), 0));
    adz_module_free(&m);
}

/* The layers start alike and go their own ways. */
static void layers_are_copies(void **state)
{
    (void)state;
    adz_module *one = layer_of(0, false, NULL);
    adz_module *m = adz_labml_encoder_new(adz_module_keep(one), 2);
    static const char name[] = "self_attn.value.linear.weight";
    adz_tensor *first = adz_module_parameter(m, "layers.0.self_attn.value.linear.weight");
    adz_tensor *second = adz_module_parameter(m, "layers.1.self_attn.value.linear.weight");
    assert_ptr_not_equal(first, second);
    assert_ptr_not_equal(first, adz_module_parameter(one, name));
    expect_same(first, second, 0);
    expect_same(first, adz_module_parameter(one, name), 0);
    assert_int_equal(adz_module_parameters(m).count, 2 * 13 + 2);
    adz_module_free(&one);
    adz_module_free(&m);
}

/* Without a source the layer of a decoder is that of an encoder. */
static void a_source_is_optional(void **state)
{
    (void)state;
    adz_module *m = layer_of(0, true, NULL), *plain = layer_of(0, false, NULL);
    adz_state *values = adz_module_state_dict(m);
    assert_int_equal(adz_module_load_state_dict(plain, values, false), ADZ_OK);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F32);
    expect_same(adz_module_forward(m, x), adz_module_forward(plain, x), 0);
    adz_state_free(&values);
    adz_module_free(&m);
    adz_module_free(&plain);
}

/* Matrices are even between +-sqrt(6 / (in + out)); other parameters are as their modules drew. */
static void an_encoder_decoder_starts_with_xavier(void **state)
{
    (void)state;
    adz_module *m = both(NULL);
    for (int pass = 0; pass < 2; ++pass) { /* as made, and drawn anew */
        adz_tensor *w = adz_module_parameter(m, "decoder.layers.0.src_attn.output.weight");
        double most = adz_item(adz_amax(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(most <= sqrt(6.0 / 8) && most > 0.4);
        w = adz_module_parameter(m, "tgt_embed.positional_encodings"); /* [5, 1, 4]: 5 and 20 */
        most = adz_item(adz_amax(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(most <= sqrt(6.0 / 24) && most > 0.3);
        assert_true(all_are(adz_module_parameter(m, "encoder.norm.weight"), 1));
        fill(adz_module_parameter(m, "tgt_embed.positional_encodings"), 0);
        fill(adz_module_parameter(m, "decoder.layers.0.src_attn.output.weight"), 9);
        assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    }
    adz_module_free(&m);
}

static adz_tensor *call(adz_module *m, adz_tensor *a, adz_tensor *b, adz_tensor *c, adz_tensor *d)
{
    adz_tensor *all[] = { a, b, c, d };
    adz_values *in = adz_values_new(), *out = adz_values_new();
    for (int i = 0; i < 4; ++i) {
        adz_values_add(in, "", all[i]);
    }
    adz_status status = adz_module_call(m, in, out);
    adz_tensor *y = status == ADZ_OK ? adz_values_at(out, adz_values_count(out) - 1) : NULL;
    adz_values_free(&in);
    adz_values_free(&out);
    return y;
}

static void encode_and_decode_are_the_call(void **state)
{
    (void)state;
    adz_module *m = both(NULL);
    adz_module_eval(m);
    adz_tensor *src = adz_randint(0, 7, ADZ_SHAPE(3, 2), ADZ_I64);
    adz_tensor *tgt = adz_randint(0, 7, ADZ_SHAPE(4, 2), ADZ_I64);
    adz_tensor *src_mask = adz_randint(0, 2, ADZ_SHAPE(1, 3, 2), ADZ_I64);
    adz_tensor *tgt_mask = adz_labml_subsequent_mask(4);
    adz_tensor *memory = adz_labml_encode(m, src, src_mask);
    expect_same(adz_labml_decode(m, memory, src_mask, tgt, tgt_mask),
        call(m, src, tgt, src_mask, tgt_mask), 0);
    adz_module *other = adz_identity_new();
    assert_null(adz_labml_encode(other, src, src_mask));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_encoder_decoder_new");
    assert_null(adz_labml_decode(NULL, memory, src_mask, tgt, tgt_mask));
    expect_error(ADZ_ERR_NULL, "model");
    assert_null(adz_labml_decode(m, memory, NULL, tgt, tgt_mask));
    expect_error(ADZ_ERR_NULL, "src_mask");
    adz_module_free(&other);
    adz_module_free(&m);
}

/* What comes later changes nothing; the loss is the mean over all positions. */
static void characters_see_what_went_before(void **state)
{
    (void)state;
    adz_module *m = characters(NULL);
    adz_module_eval(m);
    adz_module_to(m, ADZ_F64);
    adz_tensor *ids = adz_randint(0, 6, ADZ_SHAPE(5, 2), ADZ_I64);
    adz_tensor *target = adz_randint(0, 6, ADZ_SHAPE(5, 2), ADZ_I64);
    adz_tensor *logits = adz_module_forward(m, ids);
    expect_same(
        adz_module_forward(m, adz_narrow(ids, 0, 0, 3)), adz_narrow(logits, 0, 0, 3), 1e-12);
    adz_tensor *loss = call(m, ids, target, ADZ_NONE, ADZ_NONE);
    adz_tensor *flat = adz_reshape(logits, ADZ_SHAPE(10, 6));
    expect_same(
        loss, adz_cross_entropy(flat, adz_reshape(target, ADZ_SHAPE(10)), ADZ_NONE, NULL), 1e-15);
    adz_module_free(&m);
}

/* ---- bad input ------------------------------------------------------------------------------ */

static void bad_sizes_are_refused(void **state)
{
    (void)state;
    adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    expect_no_module(adz_labml_character_model_new(0, NULL), "n_chars is 0");
    o.d_model = 8;
    o.d_ff = 4;
    o.glu_variant = "glu";
    expect_no_module(adz_labml_character_model_new(5, &o), "'glu' is no variant");
    o.glu_variant = "GLU";
    o.n_heads = 3;
    expect_no_module(adz_labml_character_model_new(5, &o), "heads is 3");
    o.n_heads = 2;
    o.n_layers = -1;
    expect_no_module(adz_labml_character_model_new(5, &o), "n_layers is -1");
    o.n_layers = 1;
    o.dropout = -0.5;
    expect_no_module(adz_labml_character_model_new(5, &o), "p is -0.5");
    o.dropout = 0;
    o.max_len = 0;
    expect_no_module(adz_labml_character_model_new(5, &o), "max_len is 0");
    o.d_model = 7;
    expect_no_module(adz_labml_character_model_new(5, &o), "d_model is 7");
    expect_no_module(adz_labml_learned_embeddings_new(0, 5, NULL), "d_model is 0");
    expect_no_module(adz_labml_embeddings_new(4, 0, NULL), "n_vocab is 0");
    expect_no_module(adz_labml_generator_new(0, 4, NULL), "n_vocab is 0");
    assert_null(adz_labml_get_positional_encoding(3, 4, ADZ_F32));
    expect_error(ADZ_ERR_ARGUMENT, "d_model is 3");
    assert_null(adz_labml_get_positional_encoding(4, 4, ADZ_I64));
    expect_error(ADZ_ERR_DTYPE, "");
}

static void bad_parts_are_refused(void **state)
{
    (void)state;
    assert_null(adz_labml_transformer_layer_new(4, NULL, network(4, 3, 0, NULL), 0, NULL));
    expect_error(ADZ_ERR_NULL, "self_attn");
    assert_null(adz_labml_transformer_layer_new(4, heads(2, 4, 0, true, NULL), NULL, 0, NULL));
    expect_error(ADZ_ERR_NULL, "feed_forward");
    expect_no_module(adz_labml_transformer_layer_new(
                         0, heads(2, 4, 0, true, NULL), network(4, 3, 0, NULL), 0, NULL),
        "d_model is 0");
    /* an attention that could not be made, in the options */
    adz_labml_transformer_layer_options o = ADZ_LABML_TRANSFORMER_LAYER_OPTIONS;
    adz_module *attention = heads(2, 4, 0, true, NULL), *feed_forward = network(4, 3, 0, NULL);
    o.src_attn = heads(3, 4, 0, true, NULL);
    expect_no_module(
        adz_labml_transformer_layer_new(4, attention, feed_forward, 0, &o), "heads is 3");
    expect_no_module(adz_labml_encoder_new(adz_tanh_new(), 2), "layer is a Tanh");
    assert_null(adz_labml_decoder_new(NULL, 2));
    expect_error(ADZ_ERR_NULL, "layer");
    assert_null(adz_labml_autoregressive_model_new(embeddings(false), NULL, adz_identity_new()));
    expect_error(ADZ_ERR_NULL, "encoder");
    assert_null(adz_labml_encoder_decoder_new(
        encoder(NULL), decoder(NULL), embeddings(false), NULL, generator(NULL)));
    expect_error(ADZ_ERR_NULL, "tgt_embed");
}

static void bad_calls_are_refused(void **state)
{
    (void)state;
    adz_tensor *x = adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F32), *none = ADZ_NONE;
    adz_module *m = layer_of(0, false, NULL);
    assert_null(call(m, x, none, x, none));
    expect_error(ADZ_ERR_ARGUMENT, "without options.src_attn");
    assert_null(call(m, x, adz_ones(ADZ_SHAPE(2, 3, 1), ADZ_BOOL), none, none));
    expect_error(ADZ_ERR_SHAPE, "self_attn: MultiHeadAttention: mask[2, 3, 1]");
    adz_module_free(&m);
    m = characters(NULL);
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(6, 1), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "6 positions, but max_len is 5");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(3, 1), 6, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "src_embed.linear");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(3, 1), -1, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "-1");
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(3), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "ids[3] must be [T, B]");
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(3, 1), ADZ_I64);
    assert_null(call(m, ids, adz_zeros(ADZ_SHAPE(1, 3), ADZ_I64), none, none));
    expect_error(ADZ_ERR_SHAPE, "target[1, 3] must be shaped like ids[3, 1]");
    adz_module_free(&m);
    expect_refused(embeddings(true), adz_zeros(ADZ_SHAPE(2), ADZ_I64), "ids[2] must be [T, B]");
}

/* ---- vectors -------------------------------------------------------------------------------- */

/* A function of nothing, as a module. */
static adz_status encoding_call(adz_module *self, const adz_values *in, adz_values *out)
{
    const int64_t *sizes = adz_module_state(self);
    (void)in;
    return adz_values_add(out, "", adz_labml_get_positional_encoding(sizes[0], sizes[1], ADZ_F64));
}

static adz_module *encoding_from(int64_t d_model, int64_t max_len)
{
    static const adz_module_type type = {
        .size = sizeof(adz_module_type), .name = "get_positional_encoding", .call = encoding_call
    };
    adz_module *m = adz_module_new(&type, 2 * sizeof(int64_t));
    if (m != NULL) {
        int64_t *sizes = adz_module_state(m);
        sizes[0] = d_model;
        sizes[1] = max_len;
    }
    return m;
}

static int64_t whole(const json_t *config, const char *name)
{
    return (int64_t)config_number(config, name, 0);
}

static adz_module *layer_from(const json_t *c, bool source)
{
    int64_t d_model = whole(c, "d_model");
    double p = config_number(c, "dropout_prob", 0);
    adz_feed_forward_options network = ADZ_FEED_FORWARD_OPTIONS;
    network.dropout = p;
    network.is_gated = config_flag(c, "is_gated", false);
    network.bias1 = config_flag(c, "bias1", true);
    network.bias2 = config_flag(c, "bias2", true);
    network.bias_gate = config_flag(c, "bias_gate", true);
    network.activation_module = case_activation(config_text(c, "activation", "relu"));
    adz_labml_transformer_layer_options o = ADZ_LABML_TRANSFORMER_LAYER_OPTIONS;
    o.src_attn = source ? heads(whole(c, "heads"), d_model, p, true, NULL) : NULL;
    adz_module *m =
        adz_labml_transformer_layer_new(d_model, heads(whole(c, "heads"), d_model, p, true, NULL),
            adz_feed_forward_new(d_model, whole(c, "d_ff"), &network), p, &o);
    adz_module_free(&o.src_attn);
    adz_module_free(&network.activation_module);
    return m;
}

static adz_module *embeddings_from(const json_t *c, const char *vocabulary, bool learn)
{
    adz_labml_embeddings_options o = ADZ_LABML_EMBEDDINGS_OPTIONS;
    o.max_len = whole(c, "max_len");
    int64_t d_model = whole(c, "d_model"), n = whole(c, vocabulary);
    return learn ? adz_labml_learned_embeddings_new(d_model, n, &o)
                 : adz_labml_embeddings_new(d_model, n, &o);
}

static adz_module *characters_from(const json_t *c)
{
    adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    o.d_model = whole(c, "d_model");
    o.d_ff = whole(c, "d_ff");
    o.n_heads = whole(c, "n_heads");
    o.n_layers = whole(c, "n_layers");
    o.max_len = whole(c, "max_len");
    o.dropout = config_number(c, "dropout", 0);
    o.glu_variant = config_text(c, "glu_variant", "");
    o.attention_bias = config_flag(c, "attention_bias", true);
    return adz_labml_character_model_new(whole(c, "n_chars"), &o);
}

static adz_module *from_config(const char *reference, const json_t *c)
{
    const char *const names[] = { "get_positional_encoding", "EmbeddingsWithPositionalEncoding",
        "EmbeddingsWithLearnedPositionalEncoding", "TransformerLayer", "Encoder", "Decoder",
        "EncoderDecoder" };
    int which = 0;
    while (which < 7 && strcmp(names[which], reference + strlen("labml ")) != 0) {
        ++which;
    }
    int64_t n = whole(c, "n_layers");
    switch (which) {
    case 0:
        return encoding_from(whole(c, "d_model"), whole(c, "max_len"));
    case 1:
    case 2:
        return embeddings_from(c, "n_vocab", which == 2);
    case 3:
        return layer_from(c, config_flag(c, "src_attn", false));
    case 4:
        return adz_labml_encoder_new(layer_from(c, false), n);
    case 5:
        return adz_labml_decoder_new(layer_from(c, true), n);
    case 6:
        return adz_labml_encoder_decoder_new(adz_labml_encoder_new(layer_from(c, false), n),
            adz_labml_decoder_new(layer_from(c, true), n), embeddings_from(c, "n_vocab_src", false),
            embeddings_from(c, "n_vocab_tgt", false),
            adz_labml_generator_new(whole(c, "n_vocab_tgt"), whole(c, "d_model"), NULL));
    default: /* AutoregressiveModel, and the trainer's */
        return characters_from(c);
    }
}

static const struct CMUnitTest facts[] = {
    TEST(positions_are_sines_and_cosines),
    TEST(embeddings_are_enlarged),
    TEST(layers_are_copies),
    TEST(a_source_is_optional),
    TEST(an_encoder_decoder_starts_with_xavier),
    TEST(encode_and_decode_are_the_call),
    TEST(characters_see_what_went_before),
    TEST(bad_sizes_are_refused),
    TEST(bad_parts_are_refused),
    TEST(bad_calls_are_refused),
};

/* ---- printed trees and names of samples ------------------------------------------------------ */

#define PREPARE(in, name, bias)                                                 \
    in "(" name "): PrepareForMultiHeadAttention(\n" in "  heads=2, d_k=2\n" in \
       "  (linear): Linear(in_features=4, out_features=4, bias=" bias ")\n" in ")\n"
#define HEADS(in, name, bias, p)                                            \
    in "(" name "): MultiHeadAttention(\n" PREPARE(in "  ", "query", bias)  \
        PREPARE(in "  ", "key", bias) PREPARE(in "  ", "value", "True") in  \
        "  (output): Linear(in_features=4, out_features=4, bias=True)\n" in \
        "  (dropout): Dropout(p=" p ", inplace=False)\n" in ")\n"
#define NETWORK(in, activation, p)                                                                 \
    in "(feed_forward): FeedForward(\n" in                                                         \
       "  (layer1): Linear(in_features=4, out_features=3, bias=False)\n" in                        \
       "  (layer2): Linear(in_features=3, out_features=4, bias=False)\n" in                        \
       "  (dropout): Dropout(p=" p ", inplace=False)\n" in "  (activation): " activation "()\n" in \
       "  (linear_v): Linear(in_features=4, out_features=3, bias=False)\n" in ")\n"
#define DROPOUT(in, p) in "(dropout): Dropout(p=" p ", inplace=False)\n"
#define NORM(in, name) in "(" name "): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
#define LAYER(in, bias, activation, p) \
    HEADS(in, "self_attn", bias, p)    \
    NETWORK(in, activation, p) DROPOUT(in, p) NORM(in, "norm_self_attn") NORM(in, "norm_ff")
#define SOURCE_LAYER(in, p)            \
    HEADS(in, "self_attn", "False", p) \
    HEADS(in, "src_attn", "False", p)  \
    NETWORK(in, "Identity", p)         \
    DROPOUT(in, p) NORM(in, "norm_self_attn") NORM(in, "norm_src_attn") NORM(in, "norm_ff")
#define HEADS_NAMES(at)                                                            \
    at "query.linear.weight " at "key.linear.weight " at "value.linear.weight " at \
       "value.linear.bias " at "output.weight " at "output.bias "
#define NETWORK_NAMES(at) at "layer1.weight " at "layer2.weight " at "linear_v.weight "
#define NORM_NAMES(at)    at "weight " at "bias "
#define LAYER_NAMES(at)          \
    HEADS_NAMES(at "self_attn.") \
    NETWORK_NAMES(at "feed_forward.") NORM_NAMES(at "norm_self_attn.") NORM_NAMES(at "norm_ff.")
#define SOURCE_LAYER_NAMES(at)        \
    HEADS_NAMES(at "self_attn.")      \
    HEADS_NAMES(at "src_attn.")       \
    NETWORK_NAMES(at "feed_forward.") \
    NORM_NAMES(at "norm_self_attn.") NORM_NAMES(at "norm_src_attn.")

const module_case labml_transformer_module = {
    .name = "labml_transformer",
    .references = { "labml get_positional_encoding", "labml EmbeddingsWithPositionalEncoding",
        "labml EmbeddingsWithLearnedPositionalEncoding", "labml TransformerLayer", "labml Encoder",
        "labml Decoder", "labml EncoderDecoder", "labml AutoregressiveModel" },
    .from_config = from_config,
    .samples = { { fixed, "EmbeddingsWithPositionalEncoding(\n  (linear): Embedding(7, 4)\n)",
                     "positional_encodings linear.weight", { IDS(7, 3, 2) } },
        { learned, "EmbeddingsWithLearnedPositionalEncoding(\n  (linear): Embedding(7, 4)\n)",
            "positional_encodings linear.weight", { IDS(7, 3, 2) } },
        { layer, "TransformerLayer(\n" SOURCE_LAYER("  ", "0.3") ")",
            SOURCE_LAYER_NAMES("") "norm_ff.weight norm_ff.bias",
            { X(3, 2, 4), IDS(2, 3, 3, 2), X(2, 2, 4), IDS_NAMED("src_mask", 2, 1, 2, 1) } },
        { encoder,
            "Encoder(\n  (layers): ModuleList(\n    (0-1): 2 x TransformerLayer(\n" LAYER(
                "      ", "False", "Identity", "0.2") "    )\n  )\n" NORM("  ", "norm") ")",
            LAYER_NAMES("layers.0.") LAYER_NAMES("layers.1.") "norm.weight norm.bias",
            { X(2, 2, 4), IDS(2, 1, 2, 2) } },
        { decoder,
            "Decoder(\n  (layers): ModuleList(\n    (0): TransformerLayer(\n" SOURCE_LAYER(
                "      ", "0.0") "    )\n  )\n" NORM("  ", "norm") ")",
            SOURCE_LAYER_NAMES("layers.0.") NORM_NAMES("layers.0.norm_ff.") "norm.weight norm.bias",
            { X(2, 2, 4), X(3, 2, 4), IDS(2, 2, 3, 1), IDS_NAMED("tgt_mask", 2, 2, 2, 2) } },
        { generator,
            "Generator(\n  (projection): Linear(in_features=4, out_features=3, bias=True)\n)",
            "projection.weight projection.bias", { X(2, 2, 4) } },
        { both,
            "EncoderDecoder(\n  (encoder): Encoder(\n    (layers): ModuleList(\n"
            "      (0): TransformerLayer(\n" LAYER(
                "        ", "False", "Identity", "0.1") "      )\n    )\n" NORM("    ",
                "norm") "  )\n  (decoder): Decoder(\n    (layers): ModuleList(\n"
                        "      (0): TransformerLayer(\n" SOURCE_LAYER(
                            "        ", "0.1") "      )\n    )\n" NORM("    ",
                            "norm") "  )\n  (src_embed): EmbeddingsWithPositionalEncoding(\n"
                                    "    (linear): Embedding(7, 4)\n  )\n"
                                    "  (tgt_embed): EmbeddingsWithLearnedPositionalEncoding(\n"
                                    "    (linear): Embedding(7, 4)\n  )\n  (generator): "
                                    "Identity()\n)",
            LAYER_NAMES("encoder.layers.0.") NORM_NAMES("encoder.norm.")
                SOURCE_LAYER_NAMES("decoder.layers.0.") NORM_NAMES("decoder.layers.0.norm_ff.")
                    NORM_NAMES(
                        "decoder.norm.") "src_embed.positional_encodings src_embed.linear.weight "
                                         "tgt_embed.positional_encodings tgt_embed.linear.weight",
            { IDS(7, 3, 2), IDS(7, 2, 2), IDS(2, 1, 3, 2), IDS(2, 2, 2, 1) } },
        { characters,
            "AutoregressiveModel(\n  (src_embed): EmbeddingsWithPositionalEncoding(\n"
            "    (linear): Embedding(6, 4)\n  )\n  (encoder): Encoder(\n"
            "    (layers): ModuleList(\n      (0): TransformerLayer(\n" LAYER(
                "        ", "False", "SiLU", "0.1") "      )\n    )\n" NORM("    ",
                "norm") "  )\n  (generator): Linear(in_features=4, out_features=6, bias=True)\n)",
            "src_embed.positional_encodings src_embed.linear.weight " LAYER_NAMES(
                "encoder.layers.0.") NORM_NAMES("encoder.norm.") "generator.weight generator.bias",
            { IDS(6, 3, 2), IDS_NAMED("target", 6, 3, 2) } } },
    FACTS(facts),
};
