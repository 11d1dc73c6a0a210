/* adze's side of the exchange of layers with PyTorch.
 *
 *     adze_layers write FOLDER    writes FOLDER/<layer>.safetensors, the state of each layer, and
 *                                 FOLDER/layers.safetensors with its x and y in evaluation
 *     adze_layers read FOLDER     reads states that PyTorch has written, and writes the results for
 *                                 these x to FOLDER/answers.safetensors
 *     adze_layers derive FOLDER   writes states in f64, and FOLDER/derivatives.safetensors with
 *                                 products with Jacobians, Jacobians and Hessians by x
 *
 * The layers stand in test_layers.py and test_derivatives.py too. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/adze.h"

static void die(adz_status code, const char *message, void *user)
{
    (void)code;
    (void)user;
    fprintf(stderr, "%s\n", message);
    exit(EXIT_FAILURE);
}

static adz_module *conv1d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    o.dilation = ADZ_SHAPE(2);
    o.groups = 2;
    return adz_conv1d_new(4, 6, 3, &o);
}

static adz_module *conv1d_same(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding_rule = ADZ_PADDING_SAME;
    o.padding_mode = ADZ_PADDING_REFLECT;
    return adz_conv1d_new(4, 4, 4, &o);
}

static adz_module *conv2d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding = ADZ_SHAPE(1, 2);
    o.padding_mode = ADZ_PADDING_CIRCULAR;
    o.bias = false;
    return adz_conv2d_new(4, 3, ADZ_SHAPE(3, 2), &o);
}

static adz_module *depthwise(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.groups = 4;
    o.stride = ADZ_SHAPE(2, 1);
    o.padding = ADZ_SHAPE(1);
    o.padding_mode = ADZ_PADDING_REPLICATE;
    return adz_conv2d_new(4, 8, ADZ_SHAPE(3), &o);
}

static adz_module *conv_transpose1d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(3);
    o.padding = ADZ_SHAPE(1);
    o.output_padding = ADZ_SHAPE(1);
    return adz_conv_transpose1d_new(4, 5, 4, &o);
}

static adz_module *conv_transpose2d(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.dilation = ADZ_SHAPE(1, 2);
    o.groups = 2;
    return adz_conv_transpose2d_new(4, 6, ADZ_SHAPE(2, 3), &o);
}

static adz_module *batch_norm2d(void)
{
    return adz_batch_norm2d_new(4, NULL);
}

static adz_module *group_norm(void)
{
    return adz_group_norm_new(2, 4, NULL);
}

static adz_module *instance_norm1d(void)
{
    adz_instance_norm_options o = ADZ_INSTANCE_NORM_OPTIONS;
    o.affine = true;
    return adz_instance_norm1d_new(4, &o);
}

static adz_module *instance_norm2d(void)
{
    adz_instance_norm_options o = ADZ_INSTANCE_NORM_OPTIONS;
    o.affine = o.track_running_stats = true;
    return adz_instance_norm2d_new(4, &o);
}

static adz_module *rms_norm(void)
{
    return adz_rms_norm_new(ADZ_SHAPE(9), NULL);
}

static adz_module *lstm(void)
{
    adz_lstm_module_options o = ADZ_LSTM_MODULE_OPTIONS;
    o.num_layers = 2;
    o.bidirectional = true;
    return adz_lstm_new(9, 5, &o);
}

static adz_module *gru(void)
{
    adz_gru_module_options o = ADZ_GRU_MODULE_OPTIONS;
    o.num_layers = 2;
    o.bidirectional = o.batch_first = true;
    return adz_gru_new(9, 5, &o);
}

static adz_module *rnn(void)
{
    adz_rnn_module_options o = ADZ_RNN_MODULE_OPTIONS;
    o.num_layers = 2;
    o.nonlinearity = ADZ_ACTIVATION_RELU;
    o.bias = false;
    return adz_rnn_new(9, 5, &o);
}

static adz_module *lstm_cell(void)
{
    return adz_lstm_cell_new(9, 5, NULL);
}

static adz_module *gru_cell(void)
{
    return adz_gru_cell_new(9, 5, NULL);
}

static adz_module *rnn_cell(void)
{
    return adz_rnn_cell_new(9, 5, NULL);
}

static adz_module *linear(void)
{
    return adz_linear_new(9, 5, NULL);
}

static adz_module *layer_norm(void)
{
    return adz_layer_norm_new(ADZ_SHAPE(9), NULL);
}

static adz_module *max_pool2d(void)
{
    return adz_max_pool2d_new(ADZ_SHAPE(3, 2), NULL);
}

static adz_module *avg_pool2d(void)
{
    return adz_avg_pool2d_new(ADZ_SHAPE(2, 3), NULL);
}

static adz_module *adaptive_avg_pool2d(void)
{
    return adz_adaptive_avg_pool2d_new(ADZ_SHAPE(4, 3));
}

static adz_module *gelu(void)
{
    return adz_gelu_new(ADZ_GELU_NONE);
}

static adz_module *leaky_relu(void)
{
    return adz_leaky_relu_new(0.1);
}

static adz_module *softmax(void)
{
    return adz_softmax_new(-1);
}

static adz_module *batch_norm3d(void)
{
    return adz_batch_norm3d_new(4, NULL);
}

static adz_module *instance_norm3d(void)
{
    adz_instance_norm_options o = ADZ_INSTANCE_NORM_OPTIONS;
    o.affine = o.track_running_stats = true;
    return adz_instance_norm3d_new(4, &o);
}

static adz_module *local_response_norm(void)
{
    return adz_local_response_norm_new(2, 0.5, 0.75, 1);
}

static adz_module *cross_map_lrn2d(void)
{
    return adz_cross_map_lrn2d_new(3, 0.5, 0.6, 2);
}

static adz_module *channel_shuffle(void)
{
    return adz_channel_shuffle_new(2);
}

static adz_module *weight_norm(void)
{
    adz_module *m = adz_linear_new(9, 5, NULL);
    adz_weight_norm(m, "weight", 0);
    return m;
}

static adz_module *weight_norm_all(void)
{
    adz_module *m = adz_conv1d_new(4, 6, 3, NULL);
    adz_weight_norm(m, "weight", -1);
    adz_weight_norm(m, "bias", 0);
    return m;
}

static adz_module *spectral_norm(void)
{
    adz_module *m = adz_conv2d_new(4, 3, ADZ_SHAPE(2), NULL);
    adz_spectral_norm(m, "weight", NULL);
    adz_spectral_norm(m, "bias", NULL);
    return m;
}

static adz_module *spectral_transposed(void)
{
    adz_module *m = adz_conv_transpose1d_new(4, 5, 3, NULL);
    adz_spectral_norm(m, "weight", NULL);
    return m;
}

/* A feed-forward network. */
static adz_module *network(void)
{
    return ADZ_SEQUENTIAL(adz_linear_new(9, 16, NULL), adz_tanh_new(), adz_linear_new(16, 16, NULL),
        adz_silu_new(), adz_linear_new(16, 3, NULL));
}

enum kind { SIGNAL, IMAGE, VOLUME, ROWS };

typedef struct {
    const char *name;
    adz_module *(*make)(void);
    enum kind x;
} layer;

/* Layers whose derivatives are compared, but whose states are not. */
static const layer others[] = {
    { "linear", linear, SIGNAL },
    { "layer_norm", layer_norm, SIGNAL },
    { "max_pool2d", max_pool2d, IMAGE },
    { "avg_pool2d", avg_pool2d, IMAGE },
    { "adaptive_avg_pool2d", adaptive_avg_pool2d, IMAGE },
    { "gelu", gelu, SIGNAL },
    { "silu", adz_silu_new, SIGNAL },
    { "sigmoid", adz_sigmoid_new, SIGNAL },
    { "tanh", adz_tanh_new, SIGNAL },
    { "mish", adz_mish_new, SIGNAL },
    { "hardswish", adz_hardswish_new, SIGNAL },
    { "leaky_relu", leaky_relu, SIGNAL },
    { "softmax", softmax, SIGNAL },
    { "local_response_norm", local_response_norm, IMAGE },
    { "cross_map_lrn2d", cross_map_lrn2d, IMAGE },
    { "channel_shuffle", channel_shuffle, IMAGE },
    { "network", network, SIGNAL },
};

static const layer layers[] = {
    { "conv1d", conv1d, SIGNAL },
    { "conv1d_same", conv1d_same, SIGNAL },
    { "conv2d", conv2d, IMAGE },
    { "depthwise", depthwise, IMAGE },
    { "conv_transpose1d", conv_transpose1d, SIGNAL },
    { "conv_transpose2d", conv_transpose2d, IMAGE },
    { "batch_norm2d", batch_norm2d, IMAGE },
    { "batch_norm3d", batch_norm3d, VOLUME },
    { "group_norm", group_norm, IMAGE },
    { "instance_norm1d", instance_norm1d, SIGNAL },
    { "instance_norm2d", instance_norm2d, IMAGE },
    { "instance_norm3d", instance_norm3d, VOLUME },
    { "rms_norm", rms_norm, SIGNAL },
    { "weight_norm", weight_norm, SIGNAL },
    { "weight_norm_all", weight_norm_all, SIGNAL },
    { "spectral_norm", spectral_norm, IMAGE },
    { "spectral_transposed", spectral_transposed, SIGNAL },
    { "lstm", lstm, SIGNAL },
    { "gru", gru, SIGNAL },
    { "rnn", rnn, SIGNAL },
    { "lstm_cell", lstm_cell, ROWS },
    { "gru_cell", gru_cell, ROWS },
    { "rnn_cell", rnn_cell, ROWS },
};

static adz_tensor *input(enum kind kind)
{
    return adz_randn(kind == SIGNAL   ? ADZ_SHAPE(2, 4, 9)
                     : kind == IMAGE  ? ADZ_SHAPE(2, 4, 6, 7)
                     : kind == VOLUME ? ADZ_SHAPE(2, 4, 2, 3, 2)
                                      : ADZ_SHAPE(3, 9),
        ADZ_F32);
}

static void write_layers(const char *folder, adz_safetensors *file)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        char path[4096], name[100];
        adz_module *m = layers[i].make();
        adz_tensor *x = input(layers[i].x);
        adz_module_forward(m, x); /* in training: running statistics move */
        adz_module_eval(m);
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, layers[i].name);
        adz_module_save(m, path);
        snprintf(name, sizeof name, "%s.x", layers[i].name);
        adz_safetensors_add(file, name, x);
        snprintf(name, sizeof name, "%s.y", layers[i].name);
        adz_safetensors_add(file, name, adz_detach(adz_module_forward(m, x)));
        adz_module_release(&m);
    }
}

static void read_layers(const char *folder, adz_safetensors *data, adz_safetensors *file)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        char path[4096], name[100];
        adz_module *m = layers[i].make();
        adz_module_eval(m);
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, layers[i].name);
        adz_module_load(m, path, true);
        snprintf(name, sizeof name, "%s.x", layers[i].name);
        adz_tensor *y = adz_module_forward(m, adz_safetensors_get(data, name));
        snprintf(name, sizeof name, "%s.y", layers[i].name);
        adz_safetensors_add(file, name, adz_detach(y));
        adz_module_release(&m);
    }
}

static adz_tensor *apply(adz_tensor *x, void *module)
{
    return adz_module_forward(module, x);
}

static adz_tensor *number(adz_tensor *x, void *module)
{
    return adz_sum(adz_sin(adz_module_forward(module, x)), ADZ_ALL_DIMS, ADZ_DROPDIM);
}

static void derive(const char *folder, const layer *l, adz_safetensors *file)
{
    adz_module *m = l->make();
    adz_module_to(m, ADZ_F64);
    adz_tensor *x = adz_to(adz_narrow(input(l->x), 0, 0, 1), ADZ_F64);
    adz_module_forward(m, adz_to(input(l->x), ADZ_F64)); /* running statistics move */
    adz_module_eval(m);
    adz_tensor *v = adz_randn_like(x), *u = adz_randn_like(adz_detach(adz_module_forward(m, x)));
    const struct {
        const char *what;
        adz_tensor *t;
    } found[] = { { "x", x }, { "v", v }, { "u", u }, { "jvp", adz_jvp(apply, m, x, v, NULL) },
        { "vjp", adz_vjp(apply, m, x, u, NULL) }, { "hvp", adz_hvp(number, m, x, v, NULL) },
        { "jacobian", adz_jacobian(apply, m, x, NULL) },
        { "hessian", adz_hessian(number, m, x, NULL) } };
    for (size_t i = 0; i < sizeof found / sizeof *found; ++i) {
        char name[100];
        snprintf(name, sizeof name, "%s.%s", l->name, found[i].what);
        adz_safetensors_add(file, name, found[i].t);
    }
    if (adz_module_parameters(m).count > 0) {
        char path[4096];
        snprintf(path, sizeof path, "%s/%s.safetensors", folder, l->name);
        adz_module_save(m, path);
    }
    adz_module_release(&m);
}

static void derive_all(const char *folder, adz_safetensors *file)
{
    for (size_t i = 0; i < sizeof layers / sizeof *layers; ++i) {
        if (layers[i].x != VOLUME) { /* a Jacobian would have ten dimensions */
            derive(folder, layers + i, file);
        }
    }
    for (size_t i = 0; i < sizeof others / sizeof *others; ++i) {
        derive(folder, others + i, file);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3) {
        fprintf(stderr, "usage: adze_layers write|read|derive FOLDER\n");
        return 2;
    }
    adz_on_error(die, NULL);
    adz_manual_seed(5);
    adz_scope *scope = adz_scope_open();
    adz_safetensors *file = adz_safetensors_new();
    char path[4096];
    snprintf(path, sizeof path, "%s/layers.safetensors", argv[2]);
    if (strcmp(argv[1], "write") == 0) {
        write_layers(argv[2], file);
    } else if (strcmp(argv[1], "derive") == 0) {
        derive_all(argv[2], file);
        snprintf(path, sizeof path, "%s/derivatives.safetensors", argv[2]);
    } else {
        adz_safetensors *data = adz_safetensors_load(path, NULL);
        read_layers(argv[2], data, file);
        adz_safetensors_free(&data);
        snprintf(path, sizeof path, "%s/answers.safetensors", argv[2]);
    }
    adz_safetensors_save(file, path);
    adz_safetensors_free(&file);
    adz_scope_close(scope);
    return EXIT_SUCCESS;
}
