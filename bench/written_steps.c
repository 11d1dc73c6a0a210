/* bench-written-steps: training steps that are written as C, compared with those of the library.
 *
 *     bench-written-steps NAME FOLDER [COMMAND]
 *
 * NAME is one of the networks below. FOLDER gets NAME.c, its header and its weights. COMMAND
 * compiles C; by default it is "cc -O3". One line comes out: the microseconds of a step of the
 * library and of the compiled function, the second over the first, the loss of both after the same
 * number of steps, and the bytes of static buffers. Each time is the least of many steps in turn on
 * one thread.
 *
 *     mlp       4 rows; layers 13-16-1 with tanh; mean squared error, Adam
 *     ffn       32 rows; layers 13-50-1 with ReLU; mean squared error, SGD
 *     norm      10 rows; 6-16-16-5 with layer norm and GELU; cross-entropy, Adam
 *     cnn       4 images of 28 x 28; 8 kernels of 3 x 3, max pooling, linear; cross-entropy, SGD
 *     lstm      8 steps of 4 rows; 3-16; mean squared error, SGD
 *     gpt2      2 x 16 tokens; 2 layers of 32 with 4 heads; cross-entropy, Adam
 *     minilm    8 x 64 tokens; 6 layers of 384 with 12 heads and 1536 hidden; a linear layer on the
 *               mean of all tokens; cross-entropy, SGD, whose file has no states as text
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "adze/zoo.h"
#include "bench.h"

enum { TEXT = 4096, BATCH = 8, TOKENS = 64, WIDTH = 384, HEADS = 12, HIDDEN = 1536, LAYERS = 6 };

/* The learning rate. A network that has learnt its batch by heart computes with denormal numbers,
 * which are slow. */
#define SMALL 1e-7

typedef struct learner {
    adz_module *net;
    adz_tensor *x, *target;
    adz_optimizer *optimizer;
    adz_tensor *(*predict)(const struct learner *l);
    int64_t classes; /* of the cross-entropy; 0: mean squared error */
} learner;

/* ---- networks ------------------------------------------------------------------------------- */

static adz_tensor *forward(const learner *l)
{
    return adz_module_forward(l->net, l->x);
}

static adz_tensor *rows_of_tokens(const learner *l)
{
    adz_tensor *y = forward(l);
    return adz_reshape(y, ADZ_SHAPE(-1, adz_tensor_size(y, -1)));
}

static learner new_mlp(void)
{
    learner l = { ADZ_SEQUENTIAL(
                      adz_linear_new(13, 16, NULL), adz_tanh_new(), adz_linear_new(16, 1, NULL)),
        adz_randn(ADZ_SHAPE(4, 13), ADZ_F32), .predict = forward };
    l.optimizer = adz_adam_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

static learner new_ffn(void)
{
    learner l = { ADZ_SEQUENTIAL(
                      adz_linear_new(13, 50, NULL), adz_relu_new(), adz_linear_new(50, 1, NULL)),
        adz_randn(ADZ_SHAPE(32, 13), ADZ_F32), .predict = forward };
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

static learner new_norm(void)
{
    learner l = { ADZ_SEQUENTIAL(adz_linear_new(6, 16, NULL), adz_relu_new(),
                      adz_layer_norm_new(ADZ_SHAPE(16), NULL), adz_linear_new(16, 16, NULL),
                      adz_gelu_new(ADZ_GELU_NONE), adz_linear_new(16, 5, NULL)),
        adz_randn(ADZ_SHAPE(10, 6), ADZ_F32), .predict = forward, .classes = 5 };
    l.optimizer = adz_adam_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

static learner new_cnn(void)
{
    learner l = { ADZ_SEQUENTIAL(adz_conv2d_new(1, 8, ADZ_SHAPE(3), NULL), adz_relu_new(),
                      adz_max_pool2d_new(ADZ_SHAPE(2), NULL), adz_flatten_new(1, -1),
                      adz_linear_new(8 * 13 * 13, 10, NULL)),
        adz_randn(ADZ_SHAPE(4, 1, 28, 28), ADZ_F32), .predict = forward, .classes = 10 };
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

static learner new_lstm(void)
{
    learner l = { adz_lstm_new(3, 16, NULL), adz_randn(ADZ_SHAPE(8, 4, 3), ADZ_F32),
        .predict = forward };
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

static learner new_gpt2(void)
{
    adz_gpt2_options o = ADZ_GPT2_OPTIONS;
    o.vocab_size = 32;
    o.n_positions = o.n_ctx = 16;
    o.n_embd = 32;
    o.n_head = 4;
    o.n_layer = 2;
    learner l = { adz_gpt2_lm_head_model_new(&o), adz_randint(0, 32, ADZ_SHAPE(2, 16), ADZ_I64),
        .predict = rows_of_tokens, .classes = 32 };
    l.optimizer = adz_adam_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

/* Columns `part` of qkv[B * T, 3 D] as heads [B, H, T, D / H]. */
static adz_tensor *heads(adz_tensor *qkv, int part)
{
    adz_tensor *x = adz_slice(qkv, 1, part * (int64_t)WIDTH, (part + 1) * (int64_t)WIDTH, 1);
    return adz_transpose(adz_reshape(x, ADZ_SHAPE(BATCH, TOKENS, HEADS, WIDTH / HEADS)), 1, 2);
}

static adz_tensor *encode(const learner *l)
{
    adz_tensor *x = l->x;
    adz_module *m[6];
    for (int i = 0; i < LAYERS; ++i) {
        for (int k = 0; k < 6; ++k) {
            m[k] = adz_module_child_at(l->net, (size_t)(6 * i + k));
        }
        adz_tensor *qkv = adz_module_forward(m[0], x);
        adz_tensor *mixed =
            adz_scaled_dot_product_attention(heads(qkv, 0), heads(qkv, 1), heads(qkv, 2), NULL);
        mixed = adz_reshape(adz_transpose(mixed, 1, 2), ADZ_SHAPE(BATCH * TOKENS, WIDTH));
        x = adz_module_forward(m[2], adz_add(x, adz_module_forward(m[1], mixed)));
        adz_tensor *hidden = adz_gelu(adz_module_forward(m[3], x), ADZ_GELU_NONE);
        x = adz_module_forward(m[5], adz_add(x, adz_module_forward(m[4], hidden)));
    }
    x = adz_mean(adz_reshape(x, ADZ_SHAPE(BATCH, TOKENS, WIDTH)), ADZ_DIMS(1), ADZ_DROPDIM);
    return adz_module_forward(adz_module_child_at(l->net, 6 * (size_t)LAYERS), x);
}

static learner new_minilm(void)
{
    learner l = { adz_sequential_new(NULL, 0), adz_randn(ADZ_SHAPE(BATCH * TOKENS, WIDTH), ADZ_F32),
        .predict = encode, .classes = 2 };
    for (int i = 0; i < LAYERS; ++i) {
        adz_sequential_append(l.net, adz_linear_new(WIDTH, 3 * WIDTH, NULL));
        adz_sequential_append(l.net, adz_linear_new(WIDTH, WIDTH, NULL));
        adz_sequential_append(l.net, adz_layer_norm_new(ADZ_SHAPE(WIDTH), NULL));
        adz_sequential_append(l.net, adz_linear_new(WIDTH, HIDDEN, NULL));
        adz_sequential_append(l.net, adz_linear_new(HIDDEN, WIDTH, NULL));
        adz_sequential_append(l.net, adz_layer_norm_new(ADZ_SHAPE(WIDTH), NULL));
    }
    adz_sequential_append(l.net, adz_linear_new(WIDTH, l.classes, NULL));
    l.optimizer = adz_sgd_new(adz_module_parameters(l.net), SMALL, NULL);
    return l;
}

static const struct {
    const char *name;
    learner (*make)(void);
} networks[] = {
    { "mlp", new_mlp },
    { "ffn", new_ffn },
    { "norm", new_norm },
    { "cnn", new_cnn },
    { "lstm", new_lstm },
    { "gpt2", new_gpt2 },
    { "minilm", new_minilm },
    { NULL, NULL },
};

static adz_tensor *train(void *user)
{
    const learner *l = user;
    adz_optimizer_zero_grad(l->optimizer);
    adz_tensor *y = l->predict(l);
    adz_tensor *loss = l->classes > 0 ? adz_cross_entropy(y, l->target, ADZ_NONE, NULL)
                                      : adz_mse_loss(y, l->target, ADZ_REDUCE_MEAN);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(l->optimizer) == ADZ_OK ? loss : NULL;
}

/* ---- times ---------------------------------------------------------------------------------- */

typedef void written(const void *x, const void *target, float *loss);

/* The contents of a file, which stay in memory. */
static float *contents(const char *path)
{
    FILE *file = fopen(path, "rb");
    if (file == NULL) {
        fprintf(stderr, "%s is missing\n", path);
        exit(EXIT_FAILURE);
    }
    fseek(file, 0, SEEK_END);
    const size_t bytes = (size_t)ftell(file);
    rewind(file);
    float *all = malloc(bytes);
    const bool whole = fread(all, 1, bytes, file) == bytes;
    fclose(file);
    return whole ? all : NULL;
}

static written *load(const char *base)
{
    char path[TEXT + 16], symbol[80];
    snprintf(path, sizeof path, "%s.so", base);
    void *library = dlopen(path, RTLD_NOW);
    snprintf(path, sizeof path, "%s.bin", base);
    const char *name = strrchr(base, '/') + 1;
    void (*take)(const float *) = NULL;
    written *step = NULL;
    if (library != NULL) {
        snprintf(symbol, sizeof symbol, "%s_load", name);
        *(void **)(void *)&take = dlsym(library, symbol);
        snprintf(symbol, sizeof symbol, "%s_step", name);
        *(void **)(void *)&step = dlsym(library, symbol);
    }
    if (take == NULL || step == NULL) {
        fprintf(stderr, "%s.so cannot be loaded\n", base);
        exit(EXIT_FAILURE);
    }
    take(contents(path));
    return step;
}

/* The elements as the function reads them: integers are int32_t. */
static const void *argument(const adz_tensor *t)
{
    if (adz_tensor_dtype(t) != ADZ_I64) {
        return adz_tensor_data((adz_tensor *)(uintptr_t)t);
    }
    const int64_t n = adz_tensor_numel(t);
    int32_t *narrow = malloc((size_t)n * sizeof *narrow);
    for (int64_t i = 0; i < n; ++i) {
        narrow[i] = (int32_t)adz_tensor_data_i64((adz_tensor *)(uintptr_t)t)[i];
    }
    return narrow;
}

/* Seconds of `steps` steps of the library. */
static double steps_here(const learner *l, int steps, double *loss)
{
    const double start = processor_time();
    for (int i = 0; i < steps; ++i) {
        adz_scope *scope = adz_scope_open();
        *loss = adz_item(train((void *)(uintptr_t)l));
        adz_scope_close(scope);
    }
    return processor_time() - start;
}

static void compare(const char *base, const learner *l, written *step)
{
    const void *x = argument(l->x), *target = argument(l->target);
    double here = 1e9, there = 1e9, loss = 0, seconds = 0;
    float loss_there = 0;
    int steps = 1;
    const double end = now() + 4;
    for (int turn = 0; turn < 5 || now() < end; ++turn) {
        const double mine = steps_here(l, steps, &loss) / steps;
        const double start = processor_time();
        for (int i = 0; i < steps; ++i) {
            step(x, target, &loss_there);
        }
        seconds = processor_time() - start;
        here = mine < here ? mine : here;
        there = seconds / steps < there ? seconds / steps : there;
        if (seconds < 0.002) { /* the clock counts microseconds */
            steps *= 2;
            here = there = 1e9;
        }
    }
    printf("%-8s %.1f %.1f %.2f  %.6g %.6g", strrchr(base, '/') + 1, 1e6 * here, 1e6 * there,
        there / here, loss, (double)loss_there);
}

/* Writes the step and compiles it. */
static void write_step(const learner *l, const char *base, const char *compiler)
{
    char path[TEXT + 16], weights[TEXT + 16], command[4 * TEXT];
    snprintf(path, sizeof path, "%s.c", base);
    snprintf(weights, sizeof weights, "%s.bin", base);
    snprintf(command, sizeof command, "%s -shared -fPIC -o %s.so %s", compiler, base, path);
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of((adz_tensor *[]){ l->x, l->target }, 2);
    o.module = l->net;
    adz_plan *plan = adz_plan_new(train, (void *)(uintptr_t)l, &o);
    adz_plan *const plans[] = { plan };
    adz_c_options c = ADZ_C_OPTIONS;
    c.weights = weights;
    adz_plan_write_c_many(plans, (const char *const[]){ "step" }, 1, path, &c);
    adz_plan_free(&plan);
    if (system(command) != 0) {
        exit(EXIT_FAILURE);
    }
}

int main(int argc, char **argv)
{
    char base[TEXT], command[4 * TEXT];
    int which = 0;
    while (argc > 2 && networks[which].name != NULL && strcmp(networks[which].name, argv[1]) != 0) {
        ++which;
    }
    if (argc < 3 || networks[which].name == NULL) {
        fprintf(stderr,
            "usage: bench-written-steps mlp|ffn|norm|cnn|lstm|gpt2|minilm FOLDER [COMMAND]\n");
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-written-steps");
    adz_set_num_threads(1);
    adz_manual_seed(3);
    learner l = networks[which].make();
    adz_module_eval(l.net);
    adz_tensor *y = l.predict(&l);
    l.target = l.classes > 0 ? adz_randint(0, l.classes, ADZ_SHAPE(adz_tensor_size(y, 0)), ADZ_I64)
                             : adz_randn(adz_tensor_shape(y), ADZ_F32);
    snprintf(base, sizeof base, "%s/%s", argv[2], argv[1]);
    write_step(&l, base, argc > 3 ? argv[3] : "cc -O3");
    compare(base, &l, load(base));
    snprintf(command, sizeof command, "sed -n 's/.*BUFFER_BYTES/ /p' %s.h", base);
    fflush(stdout);
    const int status = system(command);
    adz_optimizer_release(&l.optimizer);
    adz_module_release(&l.net);
    return status == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
