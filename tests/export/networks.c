#include "adze/zoo.h"
#include "networks.h"

#include <string.h>

/* ---- inputs --------------------------------------------------------------------------------- */

static adz_tensor *rows(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(batch, 6), ADZ_F32);
}

static adz_tensor *sequences(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(batch, 5, 6), ADZ_F32);
}

static adz_tensor *pictures(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(batch, 4, 5, 6), ADZ_F32);
}

/* Time first, as LSTM has it; the batch is the second dimension. */
static adz_tensor *time_first(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(5, batch, 6), ADZ_F32);
}

static adz_tensor *vector(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(batch), ADZ_F32);
}

static adz_tensor *signals(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(batch, 4, 9), ADZ_F32);
}

static adz_tensor *images(int64_t batch)
{
    return adz_randn(ADZ_SHAPE(batch, 4, 6, 8), ADZ_F32);
}

static adz_tensor *ids(int64_t batch)
{
    return adz_randint(0, 11, ADZ_SHAPE(batch, 7), ADZ_I64);
}

/* ---- layers --------------------------------------------------------------------------------- */

#define LAYER(name, expression)   \
    static adz_module *name(void) \
    {                             \
        return expression;        \
    }

LAYER(linear, adz_linear_new(6, 4, NULL))
LAYER(relu, adz_relu_new())
LAYER(leaky_relu, adz_leaky_relu_new(0.2))
LAYER(gelu, adz_gelu_new(ADZ_GELU_NONE))
LAYER(gelu_tanh, adz_gelu_new(ADZ_GELU_TANH))
LAYER(silu, adz_silu_new())
LAYER(sigmoid, adz_sigmoid_new())
LAYER(tanh_, adz_tanh_new())
LAYER(softmax, adz_softmax_new(-1))
LAYER(softmax_of_batch, adz_softmax_new(0))
LAYER(bilinear, adz_activation_new(ADZ_ACTIVATION_IDENTITY))
LAYER(identity, adz_identity_new())
LAYER(dropout, adz_dropout_new(0.5, NULL))
LAYER(batch_norm, adz_batch_norm1d_new(6, NULL))
LAYER(layer_norm, adz_layer_norm_new(ADZ_SHAPE(6), NULL))
LAYER(layer_norm_of_two, adz_layer_norm_new(ADZ_SHAPE(5, 6), NULL))
LAYER(embedding, adz_embedding_new(11, 6, NULL))
LAYER(lstm, adz_lstm_new(6, 3, NULL))
LAYER(gru, adz_gru_new(6, 3, NULL))
LAYER(rnn, adz_rnn_new(6, 3, NULL))
LAYER(feed_forward, adz_feed_forward_new(6, 9, NULL))
LAYER(conv1d, adz_conv1d_new(5, 4, 3, NULL))
LAYER(checkpointed, adz_activation_checkpoint_new(adz_linear_new(6, 4, NULL)))

static adz_module *linear_without_bias(void)
{
    adz_linear_options o = ADZ_LINEAR_OPTIONS;
    o.bias = false;
    return adz_linear_new(6, 4, &o);
}

static adz_module *conv2d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(0, 2);
    o.dilation = ADZ_SHAPE(1, 2);
    o.groups = 2;
    o.bias = false;
    return adz_conv2d_new(4, 6, ADZ_SHAPE(3, 2), &o);
}

static adz_module *conv2d_same(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    return adz_conv2d_new(4, 3, ADZ_SHAPE(2, 3), &o);
}

/* Each padding mode once. */
static adz_module *conv2d_padded(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    adz_module *layers[3] = { NULL };
    o.padding = ADZ_SHAPE(1, 2);
    for (int i = 0; i < 3; ++i) {
        o.padding_mode = (adz_padding_mode)(ADZ_PADDING_REFLECT + i);
        layers[i] = adz_conv2d_new(4, 4, ADZ_SHAPE(2), &o);
    }
    return ADZ_SEQUENTIAL(layers[0], layers[1], layers[2]);
}

static adz_module *conv_transpose1d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding = ADZ_SHAPE(1);
    o.dilation = ADZ_SHAPE(2);
    return adz_conv_transpose1d_new(5, 4, 3, &o);
}

static adz_module *conv_transpose2d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2, 3);
    o.padding = ADZ_SHAPE(1);
    o.output_padding = ADZ_SHAPE(1, 2);
    return adz_conv_transpose2d_new(4, 6, ADZ_SHAPE(3), &o);
}

/* One image without a batch. */
static adz_tensor *first_image(adz_tensor *x)
{
    return adz_select(x, 0, 0);
}

static adz_module *conv_of_one(void)
{
    return ADZ_SEQUENTIAL(adz_function_new(first_image), adz_conv2d_new(4, 3, ADZ_SHAPE(3), NULL));
}

static adz_module *relu_in_place(void)
{
    return ADZ_SEQUENTIAL(adz_linear_new(6, 4, NULL), adz_relu_inplace_new());
}

static adz_tensor *softplus_and_elu(adz_tensor *x)
{
    return adz_elu(adz_sub(adz_softplus(x, 1.5, 20), adz_logsigmoid(x)), 0.7);
}
LAYER(function, adz_function_new(softplus_and_elu))

static adz_module *layer_norm_plain(void)
{
    adz_layer_norm_options o = ADZ_LAYER_NORM_OPTIONS;
    o.elementwise_affine = false;
    return adz_layer_norm_new(ADZ_SHAPE(6), &o);
}

static adz_module *batch_norm_plain(void)
{
    adz_batch_norm1d_options o = ADZ_BATCH_NORM1D_OPTIONS;
    o.affine = false;
    return adz_batch_norm1d_new(5, &o);
}

static adz_module *lstm_deep(void)
{
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.num_layers = 2;
    o.bidirectional = o.batch_first = true;
    return adz_lstm_new(6, 3, &o);
}

static adz_module *gru_deep(void)
{
    adz_gru_module_options o = ADZ_GRU_MODULE_OPTIONS;
    o.num_layers = 2;
    o.bidirectional = o.batch_first = true;
    return adz_gru_new(6, 3, &o);
}

static adz_module *rnn_relu(void)
{
    adz_rnn_module_options o = ADZ_RNN_MODULE_OPTIONS;
    o.bidirectional = o.batch_first = true;
    o.nonlinearity = ADZ_ACTIVATION_RELU;
    return adz_rnn_new(6, 3, &o);
}

static adz_module *lstm_without_bias(void)
{
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.bias = false;
    o.batch_first = true;
    return adz_lstm_new(6, 3, &o);
}

static adz_module *feed_forward_variants(void)
{
    static const char *const names[] = { "Bilinear", "GLU", "ReGLU", "GEGLU", "SwiGLU", "ReLU",
        "GELU" };
    adz_module *all = adz_sequential_new(NULL, 0);
    for (size_t i = 0; i < sizeof names / sizeof *names; ++i) {
        adz_sequential_append(all, adz_feed_forward_variant_new(names[i], 6, 8, NULL));
    }
    return all;
}

/* ---- layers of signals and images ------------------------------------------------------------ */

static adz_module *max_pool2d(void)
{
    adz_max_pool_options o = ADZ_MAX_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2, 3);
    o.padding = ADZ_SHAPE(1, 0);
    o.dilation = ADZ_SHAPE(1, 2);
    o.ceil_mode = true;
    return adz_max_pool2d_new(ADZ_SHAPE(3, 2), &o);
}

static adz_module *avg_pool2d(bool include, bool ceil_mode, int64_t divisor)
{
    adz_avg_pool_options o = ADZ_AVG_POOL_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    o.count_include_pad = include;
    o.ceil_mode = ceil_mode;
    o.divisor_override = divisor;
    return adz_avg_pool2d_new(ADZ_SHAPE(3), &o);
}

static adz_module *upsample(adz_interpolate_mode mode, bool corners, double factor, int64_t size)
{
    adz_interpolate_options o = ADZ_INTERPOLATE_OPTIONS;
    o.mode = mode;
    o.align_corners = corners;
    o.scale_factor = factor;
    return adz_upsample_new(size > 0 ? ADZ_SHAPE(size) : ADZ_SHAPE_SCALAR, &o);
}

/* The first rows of a batch, as if it were one image without a batch. */
static adz_tensor *pooled_without_batch(adz_tensor *x)
{
    return adz_avg_pool2d(adz_max_pool2d(x, ADZ_SHAPE(2, 1), NULL, NULL), ADZ_SHAPE(2), NULL);
}

LAYER(max_pool1d, adz_max_pool1d_new(2, NULL))
LAYER(avg_pool1d, adz_avg_pool1d_new(4, NULL))
LAYER(avg_pool_padded, avg_pool2d(true, false, 0))
LAYER(avg_pool_inside, avg_pool2d(false, true, 0))
LAYER(avg_pool_divided, avg_pool2d(true, true, 4))
LAYER(global_avg_pool, adz_adaptive_avg_pool2d_new(ADZ_SHAPE(1)))
LAYER(global_max_pool, adz_adaptive_max_pool1d_new(1))
LAYER(adaptive_avg_pool, adz_adaptive_avg_pool1d_new(3))
LAYER(adaptive_max_pool, adz_adaptive_max_pool2d_new(ADZ_SHAPE(3, 4)))
LAYER(pool_without_batch, adz_function_new(pooled_without_batch))
LAYER(batch_norm2d, adz_batch_norm2d_new(4, NULL))
LAYER(group_norm, adz_group_norm_new(2, 4, NULL))
LAYER(instance_norm1d, adz_instance_norm1d_new(4, NULL))
LAYER(instance_norm2d, adz_instance_norm2d_new(4, NULL))
LAYER(rms_norm, adz_rms_norm_new(ADZ_SHAPE(6), NULL))
LAYER(flatten, adz_flatten_new(1, -1))
LAYER(unflatten, adz_unflatten_new(1, ADZ_SHAPE(2, 3)))
LAYER(upsample_nearest, upsample(ADZ_INTERPOLATE_NEAREST, false, 2, 0))
LAYER(upsample_linear, upsample(ADZ_INTERPOLATE_LINEAR, false, 0, 14))
LAYER(upsample_bilinear, upsample(ADZ_INTERPOLATE_BILINEAR, false, 1.5, 0))
LAYER(upsample_corners, upsample(ADZ_INTERPOLATE_BILINEAR, true, 0, 11))
LAYER(pixel_shuffle, adz_pixel_shuffle_new(2))
LAYER(pixel_unshuffle, adz_pixel_unshuffle_new(2))
LAYER(roll, adz_function_new(roll_of))

/* ---- functions ------------------------------------------------------------------------------- */

static adz_tensor *three_sequences(int64_t batch)
{
    (void)batch;
    return adz_randn(ADZ_SHAPE(5, 3, 6), ADZ_F32);
}

#define FUNCTION(name, function) LAYER(name, adz_function_new(function))
FUNCTION(lstm_lengths, lstm_of_lengths)
FUNCTION(gru_lengths, gru_of_lengths)
FUNCTION(rnn_lengths, rnn_of_lengths)
FUNCTION(reductions, reductions_of)
FUNCTION(shapes, shapes_of)

/* ---- networks of the programs --------------------------------------------------------------- */

static adz_module *mlp(void)
{
    return ADZ_SEQUENTIAL(adz_linear_new(6, 9, NULL), adz_relu_new(), adz_dropout_new(0.3, NULL),
        adz_linear_new(9, 9, NULL), adz_batch_norm1d_new(9, NULL), adz_gelu_new(ADZ_GELU_NONE),
        adz_linear_new(9, 1, NULL));
}

static adz_module *encoder(void)
{
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    o.dim_feedforward = 7;
    o.batch_first = o.norm_first = o.is_causal = true;
    return adz_transformer_encoder_new(adz_transformer_encoder_layer_new(6, 2, &o), 2, NULL);
}

static adz_module *attention(void)
{
    adz_multihead_attention_options o = ADZ_MULTIHEAD_ATTENTION_OPTIONS;
    o.batch_first = o.add_bias_kv = o.add_zero_attn = true;
    return adz_multihead_attention_new(6, 3, &o);
}

static adz_module *gpt2(void)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 11;
    o.n_positions = o.n_ctx = 8;
    o.n_embd = 12;
    o.n_layer = 2;
    o.n_head = 3;
    return adz_gpt2_lm_head_model_new(&o);
}

static adz_fastai_config small(const char *name)
{
    adz_fastai_config c;
    adz_fastai_config_init(&c, sizeof c, name);
    c.emb_sz = c.d_model = 12;
    c.n_hid = c.d_inner = 14;
    c.n_layers = 2;
    c.n_heads = 3;
    c.d_head = 0;
    c.ctx_len = 8;
    c.mem_len = 0;
    return c;
}

static adz_module *language_model(const char *name, bool qrnn)
{
    adz_fastai_config c = small(name);
    c.qrnn = qrnn;
    return adz_fastai_language_model_new(11, &c, 1);
}

LAYER(awd_lstm, language_model("awd_lstm_lm_config", false))
LAYER(qrnn, language_model("awd_lstm_lm_config", true))
LAYER(transformer, language_model("tfmer_lm_config", false))

static adz_module *classifier(const char *name)
{
    adz_fastai_config c = small(name);
    adz_fastai_text_classifier_options o = ADZ_FASTAI_TEXT_CLASSIFIER_OPTIONS;
    o.bptt = 8;
    return adz_fastai_text_classifier_new(11, 3, &c, &o);
}

LAYER(lstm_classifier, classifier("awd_lstm_clas_config"))
LAYER(transformer_classifier, classifier("tfmer_clas_config"))

/* ---- the list ------------------------------------------------------------------------------- */

const network networks[] = {
    { "linear", linear, rows, false },
    { "linear_of_sequences", linear, sequences, false },
    { "linear_without_bias", linear_without_bias, sequences, false },
    { "relu", relu, rows, false },
    { "relu_in_place", relu_in_place, rows, false },
    { "leaky_relu", leaky_relu, sequences, false },
    { "gelu", gelu, rows, false },
    { "gelu_tanh", gelu_tanh, rows, false },
    { "silu", silu, rows, false },
    { "sigmoid", sigmoid, vector, false },
    { "tanh", tanh_, rows, false },
    { "softmax", softmax, sequences, false },
    { "softmax_of_batch", softmax_of_batch, rows, false },
    { "bilinear", bilinear, rows, false },
    { "function", function, rows, false },
    { "identity", identity, rows, false },
    { "dropout", dropout, rows, false },
    { "batch_norm", batch_norm, rows, false },
    { "batch_norm_plain", batch_norm_plain, sequences, false },
    { "layer_norm", layer_norm, sequences, false },
    { "layer_norm_plain", layer_norm_plain, rows, false },
    { "layer_norm_of_two", layer_norm_of_two, sequences, false },
    { "embedding", embedding, ids, false },
    { "lstm", lstm, time_first, true },
    { "gru", gru, time_first, true },
    { "lstm_lengths", lstm_lengths, three_sequences, true },
    { "gru_lengths", gru_lengths, three_sequences, true },
    { "rnn_lengths", rnn_lengths, three_sequences, true },
    { "gru_deep", gru_deep, sequences, false },
    { "rnn", rnn, time_first, true },
    { "rnn_relu", rnn_relu, sequences, false },
    { "lstm_deep", lstm_deep, sequences, false },
    { "lstm_without_bias", lstm_without_bias, sequences, false },
    { "conv1d", conv1d, sequences, false },
    { "conv2d", conv2d, pictures, false },
    { "conv2d_same", conv2d_same, pictures, false },
    { "conv2d_padded", conv2d_padded, pictures, false },
    { "conv_transpose1d", conv_transpose1d, sequences, false },
    { "conv_transpose2d", conv_transpose2d, pictures, false },
    { "conv_of_one", conv_of_one, pictures, true },
    { "feed_forward", feed_forward, sequences, false },
    { "feed_forward_variants", feed_forward_variants, sequences, false },
    { "max_pool1d", max_pool1d, signals, false },
    { "max_pool2d", max_pool2d, images, false },
    { "avg_pool1d", avg_pool1d, signals, false },
    { "avg_pool_padded", avg_pool_padded, images, false },
    { "avg_pool_inside", avg_pool_inside, images, false },
    { "avg_pool_divided", avg_pool_divided, images, false },
    { "global_avg_pool", global_avg_pool, images, false },
    { "global_max_pool", global_max_pool, signals, false },
    { "adaptive_avg_pool", adaptive_avg_pool, signals, false },
    { "adaptive_max_pool", adaptive_max_pool, images, false },
    { "pool_without_batch", pool_without_batch, signals, false },
    { "batch_norm2d", batch_norm2d, images, false },
    { "group_norm", group_norm, images, false },
    { "instance_norm1d", instance_norm1d, signals, false },
    { "instance_norm2d", instance_norm2d, images, false },
    { "rms_norm", rms_norm, sequences, false },
    { "flatten", flatten, images, false },
    { "unflatten", unflatten, rows, false },
    { "upsample_nearest", upsample_nearest, images, false },
    { "upsample_linear", upsample_linear, signals, false },
    { "upsample_bilinear", upsample_bilinear, images, false },
    { "upsample_corners", upsample_corners, images, false },
    { "pixel_shuffle", pixel_shuffle, images, false },
    { "pixel_unshuffle", pixel_unshuffle, images, false },
    { "roll", roll, rows, false },
    { "parametrized", parametrized_network, images, false },
    { "checkpointed", checkpointed, rows, false },
    { "reductions", reductions, sequences, false },
    { "shapes", shapes, sequences, false },
    { "mlp", mlp, rows, false },
    { "encoder", encoder, sequences, false },
    { "attention", attention, sequences, true },
    { "gpt2", gpt2, ids, false },
    { "awd_lstm", awd_lstm, ids, false },
    { "qrnn", qrnn, ids, false },
    { "transformer", transformer, ids, false },
    { "lstm_classifier", lstm_classifier, ids, false },
    { "transformer_classifier", transformer_classifier, ids, false },
};

const size_t n_networks = sizeof networks / sizeof *networks;

/* ---- making and writing --------------------------------------------------------------------- */

adz_module *network_new(const network *n, adz_dtype dtype)
{
    adz_manual_seed(17);
    adz_module *module = n->make();
    adz_scope *scope = adz_scope_open();
    adz_named_list list = adz_module_named_parameters(module);
    bool before = adz_set_grad_enabled(false);
    for (size_t i = 0; i < list.count; ++i) { /* norms and biases begin with zeros and ones */
        adz_tensor *t = list.items[i].tensor;
        adz_add_(t, adz_mul_number(adz_rand_like(t), 0.1));
    }
    list = adz_module_named_buffers(module);
    for (size_t i = 0; i < list.count; ++i) {
        if (strstr(list.items[i].name, "running_") != NULL) {
            adz_add_(list.items[i].tensor, adz_rand_like(list.items[i].tensor));
        }
    }
    adz_set_grad_enabled(before);
    adz_scope_close(scope);
    if (dtype != ADZ_F32) {
        adz_module_to(module, dtype);
    }
    adz_module_eval(module);
    return module;
}

adz_tensor *network_forward(void *both)
{
    const module_and_input *m = both;
    return adz_module_forward(m->module, m->x);
}

adz_status network_write(
    adz_module *module, adz_tensor *x, const char *path, const adz_onnx_options *options)
{
    static const char *const names[] = { "x" };
    module_and_input both = { module, x };
    const adzi_export what = { .function = network_forward,
        .user = &both,
        .inputs = { &both.x, 1 },
        .input_names = names,
        .module = module };
    return adzi_write_onnx("adz_plan_write_onnx", &what, path, options);
}
