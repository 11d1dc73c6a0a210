/* bench-written-c: networks that are written as C, compared with a plan of the library.
 *
 *     bench-written-c NAME FOLDER [COMMAND]
 *
 * NAME is one of the networks below. FOLDER gets NAME.c, its header and its weights. COMMAND
 * compiles C; by default it is "cc -O3". One line comes out: the seconds of a run of the plan and
 * of the compiled function, the second over the first, the largest difference of the results, and
 * the bytes of static buffers. Each number of seconds is the least of many runs in turn on one
 * thread.
 *
 *     cnn        an image of 3 x 32 x 32; 3x3 kernels with 32, 64 and 128 channels, each followed
 * by batch norm, ReLU and max pooling of 2x2; the mean over the image; a linear layer mobile     an
 * image of 3 x 64 x 64; blocks of a depthwise 3x3 kernel and a 1x1 kernel signal     a signal of
 * 4000 elements; kernels of 80, 3 and 3 elements with strides 4, 1 and 1 generator  transposed
 * convolutions, from 64 x 4 x 4 to an image of 3 x 32 x 32 minilm     6 layers of an encoder: 384
 * features, 12 heads, 1536 hidden features, 128 tokens
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"

enum { LAYERS = 6, WIDTH = 384, HEADS = 12, HIDDEN = 1536, TOKENS = 128, TEXT = 4096 };

typedef struct {
    adz_module *net;
    adz_tensor *x;
} network;

/* ---- networks of convolutions --------------------------------------------------------------- */

static void add_conv(adz_module *net, int64_t in, int64_t out, int64_t kernel, int64_t groups)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding = ADZ_SHAPE(kernel / 2);
    o.groups = groups;
    adz_sequential_append(net, adz_conv2d_new(in, out, ADZ_SHAPE(kernel), &o));
    adz_sequential_append(net, adz_batch_norm2d_new(out, NULL));
    adz_sequential_append(net, adz_relu_new());
}

static void add_head(adz_module *net, int64_t channels)
{
    adz_sequential_append(net, adz_adaptive_avg_pool2d_new(ADZ_SHAPE(1)));
    adz_sequential_append(net, adz_flatten_new(1, -1));
    adz_sequential_append(net, adz_linear_new(channels, 10, NULL));
}

static network new_cnn(void)
{
    static const int64_t channels[] = { 3, 32, 64, 128 };
    network n = { ADZ_SEQUENTIAL(adz_identity_new()), adz_randn(ADZ_SHAPE(1, 3, 32, 32), ADZ_F32) };
    for (int i = 0; i < 3; ++i) {
        add_conv(n.net, channels[i], channels[i + 1], 3, 1);
        adz_sequential_append(n.net, adz_max_pool2d_new(ADZ_SHAPE(2), NULL));
    }
    add_head(n.net, 128);
    return n;
}

static network new_mobile(void)
{
    network n = { ADZ_SEQUENTIAL(adz_identity_new()), adz_randn(ADZ_SHAPE(1, 3, 64, 64), ADZ_F32) };
    add_conv(n.net, 3, 16, 3, 1);
    for (int64_t c = 16; c < 128; c *= 2) {
        add_conv(n.net, c, c, 3, c);
        add_conv(n.net, c, 2 * c, 1, 1);
        adz_sequential_append(n.net, adz_max_pool2d_new(ADZ_SHAPE(2), NULL));
    }
    add_head(n.net, 128);
    return n;
}

static network new_signal(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(4);
    adz_module *net = ADZ_SEQUENTIAL(adz_conv1d_new(1, 32, 80, &o), adz_relu_new(),
        adz_max_pool1d_new(4, NULL), adz_conv1d_new(32, 32, 3, NULL), adz_relu_new(),
        adz_max_pool1d_new(4, NULL), adz_conv1d_new(32, 64, 3, NULL), adz_relu_new());
    return (network){ net, adz_randn(ADZ_SHAPE(1, 1, 4000), ADZ_F32) };
}

static network new_generator(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.stride = ADZ_SHAPE(2);
    o.padding = ADZ_SHAPE(1);
    adz_module *net = ADZ_SEQUENTIAL(adz_conv_transpose2d_new(64, 32, ADZ_SHAPE(4), &o),
        adz_relu_new(), adz_conv_transpose2d_new(32, 16, ADZ_SHAPE(4), &o), adz_relu_new(),
        adz_conv_transpose2d_new(16, 3, ADZ_SHAPE(4), &o));
    return (network){ net, adz_randn(ADZ_SHAPE(1, 64, 4, 4), ADZ_F32) };
}

static adz_tensor *forward(void *user)
{
    const network *n = user;
    return adz_module_forward(n->net, n->x);
}

/* ---- the encoder ---------------------------------------------------------------------------- */

static network new_minilm(void)
{
    network n = { ADZ_SEQUENTIAL(adz_identity_new()),
        adz_randn(ADZ_SHAPE(TOKENS, WIDTH), ADZ_F32) };
    for (int i = 0; i < LAYERS; ++i) {
        adz_sequential_append(n.net, adz_linear_new(WIDTH, 3 * WIDTH, NULL));
        adz_sequential_append(n.net, adz_linear_new(WIDTH, WIDTH, NULL));
        adz_sequential_append(n.net, adz_layer_norm_new(ADZ_SHAPE(WIDTH), NULL));
        adz_sequential_append(n.net, adz_linear_new(WIDTH, HIDDEN, NULL));
        adz_sequential_append(n.net, adz_linear_new(HIDDEN, WIDTH, NULL));
        adz_sequential_append(n.net, adz_layer_norm_new(ADZ_SHAPE(WIDTH), NULL));
    }
    return n;
}

/* Columns `part` of qkv[T, 3 D] as heads [H, T, D / H]. */
static adz_tensor *heads(adz_tensor *qkv, int part)
{
    adz_tensor *x = adz_slice(qkv, 1, part * (int64_t)WIDTH, (part + 1) * (int64_t)WIDTH, 1);
    return adz_transpose(adz_reshape(x, ADZ_SHAPE(TOKENS, HEADS, WIDTH / HEADS)), 0, 1);
}

static adz_tensor *encode(void *user)
{
    const network *n = user;
    adz_tensor *x = n->x;
    for (int i = 0; i < LAYERS; ++i) {
        adz_module *m[6];
        for (int k = 0; k < 6; ++k) {
            m[k] = adz_module_child_at(n->net, (size_t)(1 + 6 * i + k));
        }
        adz_tensor *qkv = adz_module_forward(m[0], x);
        adz_tensor *mixed =
            adz_scaled_dot_product_attention(heads(qkv, 0), heads(qkv, 1), heads(qkv, 2), NULL);
        mixed = adz_reshape(adz_transpose(mixed, 0, 1), ADZ_SHAPE(TOKENS, WIDTH));
        x = adz_module_forward(m[2], adz_add(x, adz_module_forward(m[1], mixed)));
        adz_tensor *hidden = adz_gelu(adz_module_forward(m[3], x), ADZ_GELU_NONE);
        x = adz_module_forward(m[5], adz_add(x, adz_module_forward(m[4], hidden)));
    }
    return x;
}

static const struct {
    const char *name;
    network (*make)(void);
    adz_plan_function run;
} networks[] = {
    { "cnn", new_cnn, forward },
    { "mobile", new_mobile, forward },
    { "signal", new_signal, forward },
    { "generator", new_generator, forward },
    { "minilm", new_minilm, encode },
    { NULL, NULL, NULL },
};

/* ---- times ---------------------------------------------------------------------------------- */

typedef void written(const float *x, float *y);

/* Loads the compiled file and hands the weights over. They stay in memory. */
static written *load(const char *base)
{
    char path[TEXT + 16], symbol[80];
    snprintf(path, sizeof path, "%s.so", base);
    void *library = dlopen(path, RTLD_NOW);
    snprintf(path, sizeof path, "%s.bin", base);
    FILE *file = fopen(path, "rb");
    if (library == NULL || file == NULL) {
        fprintf(stderr, "%s: %s\n", path, library == NULL ? dlerror() : "is missing");
        exit(EXIT_FAILURE);
    }
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    float *weights = malloc(bytes);
    const bool whole = fread(weights, 1, bytes, file) == bytes;
    fclose(file);
    const char *name = strrchr(base, '/') + 1;
    void (*take)(const float *) = NULL;
    written *run = NULL;
    snprintf(symbol, sizeof symbol, "%s_load", name);
    *(void **)(void *)&take = dlsym(library, symbol);
    snprintf(symbol, sizeof symbol, "%s_run", name);
    *(void **)(void *)&run = dlsym(library, symbol);
    if (!whole || take == NULL || run == NULL) {
        fprintf(stderr, "%s cannot be loaded\n", base);
        exit(EXIT_FAILURE);
    }
    take(weights);
    return run;
}

static double difference(adz_tensor *y, const float *ours)
{
    double worst = 0;
    const float *theirs = adz_tensor_data_f32(y);
    for (int64_t i = 0; i < adz_tensor_numel(y); ++i) {
        const double d = fabs((double)ours[i] - (double)theirs[i]);
        worst = d > worst || isnan(d) ? d : worst;
    }
    return worst;
}

static void compare(const char *base, adz_plan *plan, const network *n, written *run)
{
    float *ours = malloc((size_t)adz_tensor_numel(adz_plan_output(plan)) * sizeof *ours);
    double plans = 1e9, written_c = 1e9;
    const double end = now() + 4;
    for (int i = 0; i < 5 || now() < end; ++i) {
        const double start = processor_time();
        adz_plan_run(plan);
        const double middle = processor_time();
        run(adz_tensor_data_f32(n->x), ours);
        const double last = processor_time();
        plans = middle - start < plans ? middle - start : plans;
        written_c = last - middle < written_c ? last - middle : written_c;
    }
    printf("%-10s %.6f %.6f %.2f  %.1e", strrchr(base, '/') + 1, plans, written_c,
        written_c / plans, difference(adz_plan_output(plan), ours));
    free(ours);
}

int main(int argc, char **argv)
{
    char base[TEXT], path[TEXT + 16], weights[TEXT + 16], command[4 * TEXT];
    int which = 0;
    while (argc > 2 && networks[which].name != NULL && strcmp(networks[which].name, argv[1]) != 0) {
        ++which;
    }
    if (argc < 3 || networks[which].name == NULL) {
        fprintf(
            stderr, "usage: bench-written-c cnn|mobile|signal|generator|minilm FOLDER [COMMAND]\n");
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-written-c");
    adz_set_num_threads(1);
    adz_manual_seed(7);
    network n = networks[which].make();
    adz_module_eval(n.net);
    adz_set_grad_enabled(false);
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&n.x, 1);
    o.module = n.net;
    adz_plan *plan = adz_plan_new(networks[which].run, &n, &o);
    snprintf(base, sizeof base, "%s/%s", argv[2], argv[1]);
    snprintf(path, sizeof path, "%s.c", base);
    snprintf(weights, sizeof weights, "%s.bin", base);
    adz_c_options c = ADZ_C_OPTIONS;
    c.weights = weights;
    adz_plan_write_c(plan, path, &c);
    snprintf(command, sizeof command, "%s -shared -fPIC -o %s.so %s", argc > 3 ? argv[3] : "cc -O3",
        base, path);
    if (system(command) != 0) {
        return EXIT_FAILURE;
    }
    compare(base, plan, &n, load(base));
    snprintf(command, sizeof command, "sed -n 's/.*BUFFER_BYTES/ /p' %s.h", base);
    fflush(stdout);
    const int status = system(command);
    adz_plan_free(&plan);
    adz_module_release(&n.net);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
