/* PyTorch's transformers: layers of encoder and decoder, stacks of them, and the whole. */
#include "nn/case.h"

static adz_module *encoder_layer(adz_generator *g)
{
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    o.dim_feedforward = 3;
    o.activation = ADZ_ACTIVATION_GELU;
    o.generator = g;
    return adz_transformer_encoder_layer_new(4, 2, &o);
}

static adz_module *decoder_layer(adz_generator *g)
{
    adz_transformer_decoder_layer_options o = ADZ_TRANSFORMER_DECODER_LAYER_OPTIONS;
    o.dim_feedforward = 3;
    o.dropout = 0.3;
    o.activation_module = adz_tanh_new();
    o.batch_first = o.norm_first = o.tgt_is_causal = true;
    o.bias = false;
    o.generator = g;
    adz_module *m = adz_transformer_decoder_layer_new(4, 2, &o);
    adz_module_release(&o.activation_module);
    return m;
}

static adz_module *encoder(adz_generator *g)
{
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    o.dim_feedforward = 2;
    o.dropout = 0.2;
    o.activation_function = adz_sin;
    o.layer_norm_eps = 0.01;
    o.generator = g;
    return adz_transformer_encoder_new(adz_transformer_encoder_layer_new(3, 1, &o), 2, NULL);
}

static adz_module *whole(adz_generator *g)
{
    adz_transformer_options o = ADZ_TRANSFORMER_OPTIONS;
    o.dim_feedforward = 2;
    o.num_encoder_layers = o.num_decoder_layers = 1;
    o.activation = ADZ_ACTIVATION_GELU;
    o.dropout = 0.1;
    o.generator = g;
    return adz_transformer_new(3, 1, &o);
}

/* ---- facts ---------------------------------------------------------------------------------- */

static adz_tensor *draw(adz_shape shape)
{
    return adz_randn(shape, ADZ_F64);
}

/* A layer of 4 features without dropout, with the same parameters in each call. */
static adz_module *made(const adz_transformer_encoder_layer_options *options)
{
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    o = options != NULL ? *options : o;
    o.dim_feedforward = 5;
    o.dropout = 0;
    o.dtype = ADZ_F64;
    adz_manual_seed(8);
    adz_module *m = adz_transformer_encoder_layer_new(4, 2, &o);
    assert_non_null(m);
    return m;
}

/* The three ways to give an activation agree, and the choice is seen. */
static void activations_agree(void **state)
{
    (void)state;
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    adz_module *relu = made(&o);
    o.activation = ADZ_ACTIVATION_TANH;
    adz_module *by_name = made(&o);
    o.activation_function = adz_tanh;
    adz_module *by_function = made(&o);
    o.activation_module = adz_tanh_new();
    expect_no_module(adz_transformer_encoder_layer_new(4, 2, &o), "are both given");
    o.activation_function = NULL;
    adz_module *by_module = made(&o);
    adz_module_release(&o.activation_module);
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4)), *y = adz_module_forward(by_name, x);
    expect_same(adz_module_forward(by_function, x), y, 1e-15);
    expect_same(adz_module_forward(by_module, x), y, 1e-15);
    assert_false(alike(adz_module_forward(relu, x), y, 1e-6));
    adz_module_release(&relu);
    adz_module_release(&by_name);
    adz_module_release(&by_function);
    adz_module_release(&by_module);
}

/* The layers of a stack begin with the parameters of the given layer and are no longer tied. */
static void stacks_copy_their_layer(void **state)
{
    (void)state;
    adz_module *layer = made(NULL), *kept = adz_module_keep(layer);
    adz_module *m = adz_transformer_encoder_new(layer, 2, adz_layer_norm_new(ADZ_SHAPE(4), NULL));
    adz_tensor *a = adz_module_get_parameter(m, "layers.0.linear1.weight");
    adz_tensor *b = adz_module_get_parameter(m, "layers.1.linear1.weight");
    adz_tensor *own = adz_module_get_parameter(kept, "linear1.weight");
    assert_true(a != b && a != own && adz_equal(a, own) && adz_equal(b, own));
    assert_int_equal(adz_module_to(m, ADZ_F64), ADZ_OK);
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4)), *y = x;
    for (int i = 0; i < 2; ++i) {
        y = adz_module_forward(kept, y);
    }
    expect_same(
        adz_module_forward(m, x), adz_layer_norm(y, ADZ_SHAPE(4), ADZ_NONE, ADZ_NONE, 1e-5), 1e-12);
    assert_int_equal(adz_module_reset_parameters(m), ADZ_OK);
    assert_false(adz_equal(a, b));
    adz_module_release(&m);
    adz_module_release(&kept);
}

static void stacks_take_references(void **state)
{
    (void)state;
    adz_module *layer = made(NULL), *list = adz_module_list_new(&layer, 1);
    assert_null(adz_transformer_encoder_new(layer, 2, NULL));
    expect_error(ADZ_ERR_OWNERSHIP, "layer, a TransformerEncoderLayer, belongs to another module");
    adz_module_release(&list);
    expect_no_module(adz_transformer_encoder_new(made(NULL), -1, adz_identity_new()),
        "num_layers is -1, but must be 0 or more");
    assert_null(adz_transformer_decoder_new(NULL, 2, adz_identity_new()));
    expect_error(ADZ_ERR_NULL, "layer");
    adz_module *none = adz_transformer_encoder_new(made(NULL), 0, NULL);
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4));
    assert_true(adz_equal(adz_module_forward(none, x), x));
    adz_module_release(&none);
}

/* Masks reach every layer: a position that is hidden changes no other one. */
static void masks_reach_all_layers(void **state)
{
    (void)state;
    adz_transformer_options o = ADZ_TRANSFORMER_OPTIONS;
    o.dim_feedforward = 3;
    o.num_encoder_layers = o.num_decoder_layers = 2;
    o.dropout = 0;
    o.dtype = ADZ_F64;
    adz_module *m = adz_transformer_new(4, 2, &o);
    adz_tensor *src = draw(ADZ_SHAPE(3, 1, 4)), *tgt = draw(ADZ_SHAPE(2, 1, 4));
    adz_tensor *last = adz_tensor_from((bool[]){ false, false, true }, ADZ_SHAPE(1, 3), ADZ_BOOL);
    adz_tensor *causal = adz_generate_square_subsequent_mask(2, ADZ_F64);
    adz_tensor *other = adz_clone(src), *later = adz_clone(tgt);
    fill(adz_select(other, 0, 2), 0.25);
    fill(adz_select(later, 0, 1), 0.5);
    adz_tensor *y = ADZ_CALL(m, { NULL, src }, { NULL, tgt }, { "src_key_padding_mask", last },
        { "memory_key_padding_mask", last }, { "tgt_mask", causal });
    adz_tensor *z = ADZ_CALL(m, { NULL, other }, { NULL, later }, { "src_key_padding_mask", last },
        { "memory_key_padding_mask", last }, { "tgt_mask", causal });
    expect_same(adz_select(z, 0, 0), adz_select(y, 0, 0), 1e-14);
    assert_false(alike(adz_select(z, 0, 1), adz_select(y, 0, 1), 1e-3));
    z = ADZ_CALL(m, { NULL, other }, { NULL, tgt }, { "memory_key_padding_mask", last },
        { "tgt_mask", causal });
    assert_false(alike(z, y, 1e-3)); /* the encoder's positions see it */
    z = ADZ_CALL(m, { NULL, other }, { NULL, tgt }, { "src_key_padding_mask", last },
        { "tgt_mask", causal });
    assert_false(alike(z, y, 1e-3)); /* the decoder's positions see it */
    adz_module_release(&m);
}

static void custom_parts_are_called(void **state)
{
    (void)state;
    adz_transformer_options o = ADZ_TRANSFORMER_OPTIONS;
    o.num_decoder_layers = 1;
    o.dim_feedforward = 3;
    o.dtype = ADZ_F64;
    o.dropout = 0;
    o.custom_encoder = adz_identity_new();
    adz_module *m = adz_transformer_new(4, 2, &o);
    adz_tensor *src = draw(ADZ_SHAPE(3, 1, 4)), *tgt = draw(ADZ_SHAPE(2, 1, 4));
    adz_module *decoder = adz_module_get_child(m, "decoder");
    expect_same(ADZ_CALL(m, { "src", src }, { "tgt", tgt }),
        ADZ_CALL(decoder, { "tgt", tgt }, { "memory", src }), 0);
    adz_module_release(&o.custom_encoder);
    adz_module_release(&m);
}

static void starts_as_in_pytorch(void **state)
{
    (void)state;
    adz_transformer_options o = ADZ_TRANSFORMER_OPTIONS;
    o.num_encoder_layers = o.num_decoder_layers = 1;
    o.dim_feedforward = 32;
    adz_module *m = adz_transformer_new(16, 2, &o);
    double most = adz_item(adz_max(
        adz_abs(adz_module_get_parameter(m, "encoder.layers.0.self_attn.out_proj.weight"))));
    assert_true(most <= sqrt(6.0 / 32) && most > 0.4);
    most =
        adz_item(adz_max(adz_abs(adz_module_get_parameter(m, "decoder.layers.0.linear1.weight"))));
    assert_true(most <= sqrt(6.0 / 48) && most > 0.34);
    assert_true(all_are(adz_module_get_parameter(m, "encoder.norm.weight"), 1));
    adz_module_release(&m);
}

static void wrong_arguments_are_refused(void **state)
{
    (void)state;
    adz_module *m = adz_transformer_encoder_new(made(NULL), 2, NULL);
    assert_null(adz_module_forward(m, draw(ADZ_SHAPE(3, 2, 5))));
    expect_error(ADZ_ERR_SHAPE, "layers.0.self_attn: MultiheadAttention: query[3, 2, 5]");
    assert_null(ADZ_CALL(
        m, { NULL, draw(ADZ_SHAPE(3, 2, 4)) }, { "mask", adz_ones(ADZ_SHAPE(2, 3), ADZ_BOOL) }));
    expect_error(ADZ_ERR_SHAPE, "attn_mask[2, 3] must be [3, 3] or [4, 3, 3]");
    assert_null(ADZ_CALL(m, { NULL, draw(ADZ_SHAPE(3, 2, 4)) },
        { "src_mask", adz_ones(ADZ_SHAPE(3, 3), ADZ_BOOL) }));
    expect_error(ADZ_ERR_ARGUMENT, "src_mask");
    adz_module_release(&m);
    m = decoder_layer(NULL);
    assert_null(adz_module_forward(m, adz_ones(ADZ_SHAPE(2, 3, 4), ADZ_F32)));
    expect_error(ADZ_ERR_ARGUMENT, "memory");
    adz_module_release(&m);
    assert_null(adz_generate_square_subsequent_mask(-1, ADZ_F32));
    expect_error(ADZ_ERR_ARGUMENT, "size is -1");
    assert_null(adz_generate_square_subsequent_mask(2, ADZ_I64));
    expect_error(ADZ_ERR_DTYPE, "int64");
    adz_tensor *mask = adz_generate_square_subsequent_mask(2, ADZ_F32);
    assert_true(HOLDS(adz_exp(mask), 0, 1, 0, 1, 1));
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    adz_transformer_options o = ADZ_TRANSFORMER_OPTIONS;
    adz_transformer_decoder_layer_options d = ADZ_TRANSFORMER_DECODER_LAYER_OPTIONS;
    expect_no_module(
        adz_transformer_encoder_layer_new(4, 3, NULL), "nhead is 3, but must divide d_model, 4");
    d.dim_feedforward = 0;
    expect_no_module(adz_transformer_decoder_layer_new(4, 2, &d), "dim_feedforward is 0");
    o.num_decoder_layers = -1;
    expect_no_module(adz_transformer_new(4, 2, &o), "num_decoder_layers is -1");
    o.num_decoder_layers = 1;
    o.layer_norm_eps = -1;
    expect_no_module(adz_transformer_new(4, 2, &o), "layer_norm_eps is -1");
    o.layer_norm_eps = 0;
    expect_no_module(adz_transformer_new(4, 3, &o), "nhead is 3, but must divide d_model, 4");
}

/* A child that the program adds is neither the activation nor the norm that was left out. */
static void other_children_are_not_called(void **state)
{
    (void)state;
    adz_module *layer = made(NULL), *stack = adz_transformer_encoder_new(made(NULL), 1, NULL);
    adz_tensor *x = draw(ADZ_SHAPE(3, 2, 4)), *y = adz_module_forward(layer, x);
    assert_non_null(adz_module_add_child(layer, "extra", adz_sigmoid_new()));
    assert_non_null(adz_module_add_child(stack, "extra", adz_sigmoid_new()));
    expect_same(adz_module_forward(layer, x), y, 0);
    expect_same(adz_module_forward(stack, x), y, 0);
    assert_non_null(adz_module_add_child(layer, "activation", adz_tanh_new()));
    assert_non_null(adz_module_add_child(stack, "norm", adz_tanh_new()));
    assert_false(alike(adz_module_forward(layer, x), y, 1e-6));
    expect_same(adz_module_forward(stack, x), adz_tanh(y), 0);
    adz_module_release(&layer);
    adz_module_release(&stack);
}

/* A Transformer is whole or there is none. */
static bool make_whole(void)
{
    adz_scope *scope = adz_scope_open();
    adz_module *m = scope != NULL ? whole(NULL) : NULL;
    const bool made_one = m != NULL;
    if (made_one) {
        assert_int_equal(adz_module_child_count(adz_module_get_child(m, "encoder")), 2);
        assert_int_equal(adz_module_child_count(adz_module_get_child(m, "decoder")), 2);
    }
    adz_module_release(&m);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return made_one;
}

static void refused_memory_makes_no_transformer(void **state)
{
    (void)state;
    assert_true(refuse_each_request(make_whole) > 100);
}

static const struct CMUnitTest facts[] = {
    TEST(other_children_are_not_called),
    TEST(refused_memory_makes_no_transformer),
    TEST(activations_agree),
    TEST(stacks_copy_their_layer),
    TEST(stacks_take_references),
    TEST(masks_reach_all_layers),
    TEST(custom_parts_are_called),
    TEST(starts_as_in_pytorch),
    TEST(wrong_arguments_are_refused),
    TEST(bad_options_are_refused),
};

/* ---- reference vectors ---------------------------------------------------------------------- */

static adz_module *from_config(const char *reference, const json_t *config)
{
    const int64_t d_model = (int64_t)config_number(config, "d_model", 0);
    const int64_t nhead = (int64_t)config_number(config, "nhead", 0);
    const bool gelu = strcmp(config_text(config, "activation", "relu"), "gelu") == 0;
    adz_transformer_options o = ADZ_TRANSFORMER_OPTIONS;
    o.dim_feedforward = (int64_t)config_number(config, "dim_feedforward", 2048);
    o.dropout = config_number(config, "dropout", 0.1);
    o.activation = gelu ? ADZ_ACTIVATION_GELU : ADZ_ACTIVATION_RELU;
    o.layer_norm_eps = config_number(config, "layer_norm_eps", 1e-5);
    o.batch_first = config_flag(config, "batch_first", false);
    o.norm_first = config_flag(config, "norm_first", false);
    o.bias = config_flag(config, "bias", true);
    o.num_encoder_layers = (int64_t)config_number(config, "num_encoder_layers", 6);
    o.num_decoder_layers = (int64_t)config_number(config, "num_decoder_layers", 6);
    if (strcmp(reference, "torch nn.Transformer") == 0) {
        return adz_transformer_new(d_model, nhead, &o);
    }
    /* A layer is the one of a Transformer with these options. */
    const bool decodes = strcmp(reference, "torch nn.TransformerDecoderLayer") == 0;
    o.num_encoder_layers = o.num_decoder_layers = 1;
    adz_module *all = adz_transformer_new(d_model, nhead, &o);
    adz_module *layer =
        adz_module_get_child(all, decodes ? "decoder.layers.0" : "encoder.layers.0");
    layer = adz_module_keep(layer);
    adz_module_release(&all);
    return layer;
}

const module_case transformer_module = {
    .name = "transformer",
    .references = { "torch nn.TransformerEncoderLayer", "torch nn.TransformerDecoderLayer",
        "torch nn.Transformer" },
    .from_config = from_config,
    .samples = { { encoder_layer,
                     "TransformerEncoderLayer(\n"
                     "  (self_attn): MultiheadAttention(\n"
                     "    (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=True)\n"
                     "  )\n"
                     "  (linear1): Linear(in_features=4, out_features=3, bias=True)\n"
                     "  (dropout): Dropout(p=0.1, inplace=False)\n"
                     "  (linear2): Linear(in_features=3, out_features=4, bias=True)\n"
                     "  (norm1): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
                     "  (norm2): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
                     "  (dropout1): Dropout(p=0.1, inplace=False)\n"
                     "  (dropout2): Dropout(p=0.1, inplace=False)\n"
                     ")",
                     "self_attn.in_proj_weight self_attn.in_proj_bias self_attn.out_proj.weight self_attn.out_proj.bias linear1.weight linear1.bias linear2.weight linear2.bias norm1.weight norm1.bias norm2.weight norm2.bias",
                     { X(3, 2, 4), X_NAMED("src_mask", 3, 3) } },
        { decoder_layer,
            "TransformerDecoderLayer(\n"
            "  (self_attn): MultiheadAttention(\n"
            "    (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=False)\n"
            "  )\n"
            "  (multihead_attn): MultiheadAttention(\n"
            "    (out_proj): NonDynamicallyQuantizableLinear(in_features=4, out_features=4, bias=False)\n"
            "  )\n"
            "  (linear1): Linear(in_features=4, out_features=3, bias=False)\n"
            "  (dropout): Dropout(p=0.3, inplace=False)\n"
            "  (linear2): Linear(in_features=3, out_features=4, bias=False)\n"
            "  (norm1): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
            "  (norm2): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
            "  (norm3): LayerNorm((4,), eps=1e-05, elementwise_affine=True)\n"
            "  (dropout1): Dropout(p=0.3, inplace=False)\n"
            "  (dropout2): Dropout(p=0.3, inplace=False)\n"
            "  (dropout3): Dropout(p=0.3, inplace=False)\n"
            "  (activation): Tanh()\n"
            ")",
            "self_attn.in_proj_weight self_attn.out_proj.weight multihead_attn.in_proj_weight multihead_attn.out_proj.weight linear1.weight linear2.weight norm1.weight norm2.weight norm3.weight",
            { X(2, 3, 4), X(2, 2, 4), X_NAMED("memory_mask", 3, 2) } },
        { encoder,
            "TransformerEncoder(\n"
            "  (layers): ModuleList(\n"
            "    (0-1): 2 x TransformerEncoderLayer(\n"
            "      (self_attn): MultiheadAttention(\n"
            "        (out_proj): NonDynamicallyQuantizableLinear(in_features=3, out_features=3, bias=True)\n"
            "      )\n"
            "      (linear1): Linear(in_features=3, out_features=2, bias=True)\n"
            "      (dropout): Dropout(p=0.2, inplace=False)\n"
            "      (linear2): Linear(in_features=2, out_features=3, bias=True)\n"
            "      (norm1): LayerNorm((3,), eps=0.01, elementwise_affine=True)\n"
            "      (norm2): LayerNorm((3,), eps=0.01, elementwise_affine=True)\n"
            "      (dropout1): Dropout(p=0.2, inplace=False)\n"
            "      (dropout2): Dropout(p=0.2, inplace=False)\n"
            "    )\n"
            "  )\n"
            ")",
            "layers.0.self_attn.in_proj_weight layers.0.self_attn.in_proj_bias layers.0.self_attn.out_proj.weight layers.0.self_attn.out_proj.bias layers.0.linear1.weight layers.0.linear1.bias layers.0.linear2.weight layers.0.linear2.bias layers.0.norm1.weight layers.0.norm1.bias layers.0.norm2.weight layers.0.norm2.bias layers.1.self_attn.in_proj_weight layers.1.self_attn.in_proj_bias layers.1.self_attn.out_proj.weight layers.1.self_attn.out_proj.bias layers.1.linear1.weight layers.1.linear1.bias layers.1.linear2.weight layers.1.linear2.bias layers.1.norm1.weight layers.1.norm1.bias layers.1.norm2.weight layers.1.norm2.bias",
            { X(3, 3), X_NAMED("src_key_padding_mask", 3) } },
        { whole,
            "Transformer(\n"
            "  (encoder): TransformerEncoder(\n"
            "    (layers): ModuleList(\n"
            "      (0): TransformerEncoderLayer(\n"
            "        (self_attn): MultiheadAttention(\n"
            "          (out_proj): NonDynamicallyQuantizableLinear(in_features=3, out_features=3, bias=True)\n"
            "        )\n"
            "        (linear1): Linear(in_features=3, out_features=2, bias=True)\n"
            "        (dropout): Dropout(p=0.1, inplace=False)\n"
            "        (linear2): Linear(in_features=2, out_features=3, bias=True)\n"
            "        (norm1): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "        (norm2): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "        (dropout1): Dropout(p=0.1, inplace=False)\n"
            "        (dropout2): Dropout(p=0.1, inplace=False)\n"
            "      )\n"
            "    )\n"
            "    (norm): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "  )\n"
            "  (decoder): TransformerDecoder(\n"
            "    (layers): ModuleList(\n"
            "      (0): TransformerDecoderLayer(\n"
            "        (self_attn): MultiheadAttention(\n"
            "          (out_proj): NonDynamicallyQuantizableLinear(in_features=3, out_features=3, bias=True)\n"
            "        )\n"
            "        (multihead_attn): MultiheadAttention(\n"
            "          (out_proj): NonDynamicallyQuantizableLinear(in_features=3, out_features=3, bias=True)\n"
            "        )\n"
            "        (linear1): Linear(in_features=3, out_features=2, bias=True)\n"
            "        (dropout): Dropout(p=0.1, inplace=False)\n"
            "        (linear2): Linear(in_features=2, out_features=3, bias=True)\n"
            "        (norm1): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "        (norm2): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "        (norm3): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "        (dropout1): Dropout(p=0.1, inplace=False)\n"
            "        (dropout2): Dropout(p=0.1, inplace=False)\n"
            "        (dropout3): Dropout(p=0.1, inplace=False)\n"
            "      )\n"
            "    )\n"
            "    (norm): LayerNorm((3,), eps=1e-05, elementwise_affine=True)\n"
            "  )\n"
            ")",
            "encoder.layers.0.self_attn.in_proj_weight encoder.layers.0.self_attn.in_proj_bias encoder.layers.0.self_attn.out_proj.weight encoder.layers.0.self_attn.out_proj.bias encoder.layers.0.linear1.weight encoder.layers.0.linear1.bias encoder.layers.0.linear2.weight encoder.layers.0.linear2.bias encoder.layers.0.norm1.weight encoder.layers.0.norm1.bias encoder.layers.0.norm2.weight encoder.layers.0.norm2.bias encoder.norm.weight encoder.norm.bias decoder.layers.0.self_attn.in_proj_weight decoder.layers.0.self_attn.in_proj_bias decoder.layers.0.self_attn.out_proj.weight decoder.layers.0.self_attn.out_proj.bias decoder.layers.0.multihead_attn.in_proj_weight decoder.layers.0.multihead_attn.in_proj_bias decoder.layers.0.multihead_attn.out_proj.weight decoder.layers.0.multihead_attn.out_proj.bias decoder.layers.0.linear1.weight decoder.layers.0.linear1.bias decoder.layers.0.linear2.weight decoder.layers.0.linear2.bias decoder.layers.0.norm1.weight decoder.layers.0.norm1.bias decoder.layers.0.norm2.weight decoder.layers.0.norm2.bias decoder.layers.0.norm3.weight decoder.layers.0.norm3.bias decoder.norm.weight decoder.norm.bias",
            { X(2, 2, 3), X(3, 2, 3), X_NAMED("memory_key_padding_mask", 2, 2) } } },
    FACTS(facts),
};
