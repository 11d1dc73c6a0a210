/* Facts about the embeddings, layers and models of the annotated transformers that the sweep cannot
 * check. */
#include "adze/zoo.h"
#include "zoo/labml_transformer.h"

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
    adz_tensor *rows = adz_embedding(ids, adz_module_get_parameter(m, "linear.weight"), NULL);
    adz_tensor *positions = adz_narrow(adz_module_get_buffer(m, "positional_encodings"), 0, 0, 3);
    expect_same(adz_module_forward(m, ids), adz_add(adz_mul_number(rows, 2), positions), 1e-6);
    adz_module_release(&m);
    m = embeddings(true);
    rows = adz_embedding(ids, adz_module_get_parameter(m, "linear.weight"), NULL);
    expect_same(adz_module_forward(m, ids), adz_mul_number(rows, 2),
        1e-6); /* The positions start as zeros. */
    assert_int_equal(adz_tensor_size(adz_module_get_parameter(m, "positional_encodings"), 1), 1);
    fill(adz_module_get_parameter(m, "positional_encodings"), 3);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_true(all_are(adz_module_get_parameter(m, "positional_encodings"), 0));
    adz_module_release(&m);
}

/* The layers start with equal weights, which they do not share. */
static void layers_are_copies(void **state)
{
    (void)state;
    adz_module *one = layer_of(0, false, NULL);
    adz_module *m = adz_labml_encoder_new(adz_module_keep(one), 2);
    static const char name[] = "self_attn.value.linear.weight";
    adz_tensor *first = adz_module_get_parameter(m, "layers.0.self_attn.value.linear.weight");
    adz_tensor *second = adz_module_get_parameter(m, "layers.1.self_attn.value.linear.weight");
    assert_ptr_not_equal(first, second);
    assert_ptr_not_equal(first, adz_module_get_parameter(one, name));
    expect_same(first, second, 0);
    expect_same(first, adz_module_get_parameter(one, name), 0);
    assert_int_equal(adz_module_parameters(m).count, 2 * 13 + 2);
    adz_module_release(&one);
    adz_module_release(&m);
}

/* A decoder layer that is called without a source computes what an encoder layer does. */
static void a_source_is_optional(void **state)
{
    (void)state;
    adz_module *m = layer_of(0, true, NULL), *plain = layer_of(0, false, NULL);
    adz_state_dict *values = adz_module_state_dict(m);
    assert_int_equal(adz_module_load_state_dict(plain, values, false), ADZ_OK);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F32);
    expect_same(adz_module_forward(m, x), adz_module_forward(plain, x), 0);
    adz_state_dict_free(&values);
    adz_module_release(&m);
    adz_module_release(&plain);
}

/* Matrices are uniform between +-sqrt(6 / (in + out)); other parameters keep their first values. */
static void an_encoder_decoder_starts_with_xavier(void **state)
{
    (void)state;
    adz_module *m = both(NULL);
    for (int pass = 0; pass < 2; ++pass) { /* after the constructor, and after a reset */
        adz_tensor *w = adz_module_get_parameter(m, "decoder.layers.0.src_attn.output.weight");
        double most = adz_item(adz_amax(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(most <= sqrt(6.0 / 8) && most > 0.4);
        w = adz_module_get_parameter(
            m, "tgt_embed.positional_encodings"); /* [5, 1, 4]: fans 4 and 20 */
        most = adz_item(adz_amax(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM));
        assert_true(most <= sqrt(6.0 / 24) && most > 0.3);
        assert_true(all_are(adz_module_get_parameter(m, "encoder.norm.weight"), 1));
        fill(adz_module_get_parameter(m, "tgt_embed.positional_encodings"), 0);
        fill(adz_module_get_parameter(m, "decoder.layers.0.src_attn.output.weight"), 9);
        assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    }
    adz_module_release(&m);
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
    adz_module_release(&other);
    adz_module_release(&m);
}

/* Later characters do not change earlier results. The loss is the mean over all positions. */
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
    adz_tensor *x = adz_module_forward(adz_module_get_child(m, "src_embed"), ids);
    x = call(
        adz_module_get_child(m, "encoder"), x, adz_labml_subsequent_mask(5), ADZ_NONE, ADZ_NONE);
    expect_same(logits, adz_module_forward(adz_module_get_child(m, "generator"), x), 0);
    adz_tensor *loss = call(m, ids, target, ADZ_NONE, ADZ_NONE);
    adz_tensor *flat = adz_reshape(logits, ADZ_SHAPE(10, 6));
    expect_same(
        loss, adz_cross_entropy(flat, adz_reshape(target, ADZ_SHAPE(10)), ADZ_NONE, NULL), 1e-15);
    adz_module_release(&m);
}

static adz_tensor *attended(
    adz_module *m, const char *name, adz_tensor *query, adz_tensor *source, adz_tensor *mask)
{
    return call(adz_module_get_child(m, name), query, source, source, mask);
}

/* x + attention(norm(x)), attention to the source, x + network(norm(x)), for two layers with a norm
 * behind them. */
static void a_layer_is_its_parts(void **state)
{
    (void)state;
    adz_module *stack = adz_labml_decoder_new(layer_of(0, true, NULL), 2);
    adz_module_to(stack, ADZ_F64);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F64), *h = x;
    adz_tensor *src = adz_randn(ADZ_SHAPE(5, 2, 4), ADZ_F64);
    adz_tensor *mask = adz_labml_subsequent_mask(3),
               *src_mask = adz_ones(ADZ_SHAPE(1, 5, 2), ADZ_F64);
    fill(adz_narrow(src_mask, 1, 2, 1), 0);
    for (int i = 0; i < 2; ++i) {
        adz_module *m = adz_module_child_at(adz_module_get_child(stack, "layers"), (size_t)i);
        adz_tensor *before = h;
        adz_tensor *z = adz_module_forward(adz_module_get_child(m, "norm_self_attn"), h);
        h = adz_add(h, attended(m, "self_attn", z, z, mask));
        z = adz_module_forward(adz_module_get_child(m, "norm_src_attn"), h);
        h = adz_add(h, attended(m, "src_attn", z, src, src_mask));
        z = adz_module_forward(adz_module_get_child(m, "norm_ff"), h);
        h = adz_add(h, adz_module_forward(adz_module_get_child(m, "feed_forward"), z));
        expect_same(call(m, before, mask, src, src_mask), h, 1e-13);
    }
    h = adz_module_forward(adz_module_get_child(stack, "norm"), h);
    expect_same(call(stack, x, src, src_mask, mask), h, 1e-13);
    adz_module_release(&stack);
    stack = adz_labml_encoder_new(layer_of(0, false, NULL), 1);
    adz_tensor *y = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F32);
    h = call(adz_module_get_child(stack, "layers.0"), y, mask, ADZ_NONE, ADZ_NONE);
    h = adz_module_forward(adz_module_get_child(stack, "norm"), h);
    expect_same(call(stack, y, mask, ADZ_NONE, ADZ_NONE), h, 1e-6);
    adz_module_release(&stack);
}

/* With nothing but dropped values to add, a layer hands on its input. */
static void layers_drop_what_they_add(void **state)
{
    (void)state;
    adz_module *m = adz_labml_transformer_layer_new(
        4, heads(2, 4, 0, false, NULL), network(4, 3, 0, NULL), 1, NULL);
    adz_tensor *x = adz_randn(ADZ_SHAPE(3, 2, 4), ADZ_F32);
    expect_same(adz_module_forward(m, x), x, 0);
    adz_module_eval(m);
    assert_false(adz_equal(adz_module_forward(m, x), x));
    adz_module_release(&m);
}

/* One feature, or two for sines and cosines, one position, one word, and no layer. */
static void the_smallest_models_are_made(void **state)
{
    (void)state;
    adz_labml_embeddings_options o = ADZ_LABML_EMBEDDINGS_OPTIONS;
    o.max_len = 1;
    o.dtype = ADZ_F64;
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(1, 1), ADZ_I64);
    adz_module *parts[] = { adz_labml_learned_embeddings_new(1, 1, &o),
        adz_labml_embeddings_new(2, 1, &o) };
    for (int i = 0; i < 2; ++i) {
        assert_int_equal(adz_tensor_dtype(adz_module_forward(parts[i], ids)), ADZ_F64);
        assert_int_equal(
            adz_tensor_dtype(adz_module_get_parameter(parts[i], "linear.weight")), ADZ_F64);
        assert_null(adz_module_forward(parts[i], ADZ_NONE));
        expect_error(ADZ_ERR_ARGUMENT, "ids is not optional");
        adz_module_release(&parts[i]);
    }
    adz_module *m = adz_labml_transformer_layer_new(
        1, heads(1, 1, 0, true, NULL), network(1, 1, 0, NULL), 0, NULL);
    assert_non_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(1, 1, 1), ADZ_F32)));
    adz_module_release(&m);
    m = adz_labml_encoder_new(layer_of(0, false, NULL), 0);
    adz_tensor *x = adz_randn(ADZ_SHAPE(1, 1, 4), ADZ_F32);
    expect_same(
        adz_module_forward(m, x), adz_module_forward(adz_module_get_child(m, "norm"), x), 0);
    adz_module_release(&m);
    expect_no_module(adz_labml_embeddings_new(1, 1, &o), "d_model is 1, but must be even");
    expect_no_module(adz_labml_embeddings_new(3, 1, &o), "d_model is 3, but must be even");
    expect_no_module(adz_labml_embeddings_new(0, 1, &o), "d_model is 0");
    expect_no_module(adz_labml_learned_embeddings_new(1, 0, &o), "n_vocab is 0");
    o.max_len = 0;
    expect_no_module(adz_labml_learned_embeddings_new(1, 1, &o), "max_len is 0");
    assert_int_equal(adz_tensor_numel(adz_labml_get_positional_encoding(2, 1, ADZ_F32)), 2);
    assert_null(adz_labml_get_positional_encoding(2, 0, ADZ_F32));
    expect_error(ADZ_ERR_ARGUMENT, "max_len is 0");
    expect_no_module(adz_labml_encoder_new(layer_of(0, false, NULL), -1),
        "adz_labml_encoder_new: n_layers is -1");
}

static void targets_have_the_shape_of_ids(void **state)
{
    (void)state;
    adz_module *m = characters(NULL);
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(3, 2), ADZ_I64);
    adz_tensor *odd[] = { adz_zeros(ADZ_SHAPE(4, 2), ADZ_I64), adz_zeros(ADZ_SHAPE(3, 1), ADZ_I64),
        adz_zeros(ADZ_SHAPE(3, 2, 1), ADZ_I64) };
    for (int i = 0; i < 3; ++i) {
        assert_null(call(m, ids, odd[i], ADZ_NONE, ADZ_NONE));
        expect_error(ADZ_ERR_SHAPE, "AutoregressiveModel: target[");
    }
    assert_null(call(m, ADZ_NONE, ids, ADZ_NONE, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "AutoregressiveModel: ids is not optional");
    adz_module_release(&m);
    m = both(NULL);
    assert_null(call(m, ADZ_NONE, ids, ADZ_NONE, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "EncoderDecoder: src is not optional");
    assert_null(call(m, ids, ADZ_NONE, ADZ_NONE, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "EncoderDecoder: tgt is not optional");
    adz_tensor *memory = adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F32), *none = ADZ_NONE;
    assert_null(adz_labml_encode(m, none, none));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_encode: src is not optional");
    expect_null(adz_labml_encode(m, ids, NULL) == NULL, "adz_labml_encode", "src_mask");
    assert_null(adz_labml_decode(m, none, none, ids, none));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_decode: memory is not optional");
    assert_null(adz_labml_decode(m, memory, none, none, none));
    expect_error(ADZ_ERR_ARGUMENT, "adz_labml_decode: tgt is not optional");
    expect_null(
        adz_labml_decode(m, memory, none, ids, NULL) == NULL, "adz_labml_decode", "tgt_mask");
    assert_non_null(adz_labml_decode(m, memory, none, ids, none));
    adz_module_release(&m);
}

static adz_status silent_call(adz_module *self, const adz_values *in, adz_values *out)
{
    (void)self;
    (void)out;
    for (size_t i = 0; i < adz_values_count(in); ++i) {
        (void)adz_values_at(in, i);
    }
    return ADZ_OK;
}

/* A user's attention that gives no result is an error of the call. */
static void parts_have_results(void **state)
{
    (void)state;
    static const adz_module_type silent = {
        .size = sizeof(adz_module_type), .name = "Silent", .call = silent_call
    };
    adz_module *m = adz_labml_transformer_layer_new(
        4, adz_module_new(&silent, 0), network(4, 3, 0, NULL), 0, NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(3, 2, 4), ADZ_F32)));
    expect_error(ADZ_ERR_STATE, "Silent: the call has no result");
    adz_module_release(&m);
}

/* The attention, the network and the layer drop with one probability. */
static void a_character_model_has_one_dropout(void **state)
{
    (void)state;
    adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    o.d_model = 2;
    o.n_heads = o.n_layers = o.d_ff = 1;
    o.dropout = 0.375;
    adz_module *m = adz_labml_character_model_new(1, &o);
    char text[4000];
    adz_module_to_string(m, text, sizeof text);
    int found = 0;
    for (const char *at = text; (at = strstr(at, "Dropout(p=")) != NULL; ++at, ++found) {
        assert_memory_equal(at, "Dropout(p=0.375", strlen("Dropout(p=0.375"));
    }
    assert_int_equal(found, 3);
    adz_module_release(&m);
}

static void a_character_model_has_one_dtype(void **state)
{
    (void)state;
    adz_labml_character_model_options o = ADZ_LABML_CHARACTER_MODEL_OPTIONS;
    o.d_model = 2;
    o.n_heads = o.n_layers = o.d_ff = 1;
    o.dtype = ADZ_F64;
    adz_module *m = adz_labml_character_model_new(1, &o);
    adz_tensor_list all = adz_module_parameters(m);
    for (size_t i = 0; i < all.count; ++i) {
        assert_int_equal(adz_tensor_dtype(all.items[i]), ADZ_F64);
    }
    assert_non_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(2, 1), ADZ_I64)));
    adz_module_release(&m);
    adz_labml_generator_options wide = ADZ_LABML_GENERATOR_OPTIONS;
    wide.dtype = ADZ_F64;
    m = adz_labml_generator_new(1, 1, &wide);
    adz_tensor *x = adz_ones(ADZ_SHAPE(1), ADZ_F64);
    expect_same(
        adz_module_forward(m, x), adz_module_forward(adz_module_get_child(m, "projection"), x), 0);
    adz_module_release(&m);
    expect_no_module(adz_labml_generator_new(1, 0, NULL), "adz_labml_generator_new: d_model is 0");
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
    expect_no_module(adz_labml_character_model_new(5, &o), "dropout_prob is -0.5");
    o.dropout = 0;
    o.max_len = 0;
    expect_no_module(adz_labml_character_model_new(5, &o), "max_len is 0");
    o.max_len = 4;
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
    /* The attention in the options could not be made. */
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
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "TransformerLayer: x is not optional");
    adz_module_release(&m);
    m = encoder(NULL);
    assert_null(adz_module_forward(m, ADZ_NONE));
    expect_error(ADZ_ERR_ARGUMENT, "Encoder: x is not optional");
    adz_module_release(&m);
    m = characters(NULL);
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(6, 1), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "6 positions, but max_len is 5");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(3, 1), 6, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "src_embed.linear");
    assert_null(adz_module_forward(m, adz_full(ADZ_SHAPE(3, 1), -1, ADZ_I64)));
    expect_error(ADZ_ERR_INDEX, "-1");
    assert_null(adz_module_forward(m, adz_zeros(ADZ_SHAPE(3), ADZ_I64)));
    expect_error(ADZ_ERR_SHAPE, "AutoregressiveModel: ids[3] must be [T, B]");
    adz_tensor *ids = adz_zeros(ADZ_SHAPE(3, 1), ADZ_I64);
    assert_null(call(m, ids, adz_zeros(ADZ_SHAPE(1, 3), ADZ_I64), none, none));
    expect_error(ADZ_ERR_SHAPE, "target[1, 3] must be shaped like ids[3, 1]");
    adz_module_release(&m);
    expect_refused(embeddings(true), adz_zeros(ADZ_SHAPE(2), ADZ_I64), "ids[2] must be [T, B]");
}

const struct CMUnitTest labml_transformer_facts[17] = {
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
    TEST(a_layer_is_its_parts),
    TEST(layers_drop_what_they_add),
    TEST(the_smallest_models_are_made),
    TEST(targets_have_the_shape_of_ids),
    TEST(parts_have_results),
    TEST(a_character_model_has_one_dropout),
    TEST(a_character_model_has_one_dtype),
};
