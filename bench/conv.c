/* bench-conv: adze's side of bench/torch_conv.py, which runs it.
 *
 *     bench-conv cnn|stack|volumes|inference THREADS [FILE]
 *
 * A training step of a network of convolutions by SGD:
 *
 *     cnn    32 images of 3 x 32 x 32; 3x3 kernels with 32, 64 and 128 channels, each followed by
 *            batch norm, ReLU and max pooling of 2x2; the mean over the image; a linear layer
 *     stack  4 signals of 16 x 8192; 10 layers of 16 channels with kernels of 2 elements 1, 2, 4
 *            ... 512 apart, which see no later element, and ReLU
 *
 * Two more networks are one convolution of 16 x 16 channels with kernels of 3x3x3 over 4 volumes of
 * 16 x 32 x 32: "volumes" is a training step like the others, and "inference" a call without a
 * graph and the mean of its result.
 *
 * FILE gets the weights and the data. For each line on standard input it runs one step and prints a
 * line: the seconds that the step took, by the clock and of the processor, and the loss, after
 * "memory" also the bytes by which adze's peak and the process's peak grew during the step; for the
 * line "first" the loss alone. For the line "captured" it captures the step as a plan, replays it
 * and prints what "memory" prints. The bytes are then those of the plan and those by which the
 * process has grown since the plan was made.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bench.h"
#include "start.h"

enum {
    IMAGES = 32,
    SIDE = 32,
    CLASSES = 10,
    SIGNALS = 4,
    LENGTH = 8192,
    WIDTH = 16,
    LAYERS = 10,
    DEPTH = 16
};

static const char *const kinds[] = { "cnn", "stack", "volumes", "inference" };
enum { CNN, STACK, VOLUMES, INFERENCE, KINDS };

typedef struct {
    adz_module *network;
    adz_tensor *x, *target;
    adz_optimizer *sgd;
    int kind;
} work;

/* ---- the networks --------------------------------------------------------------------------- */

static adz_module *new_cnn(void)
{
    static const int64_t channels[] = { 3, 32, 64, 128 };
    adz_module *network = ADZ_SEQUENTIAL(adz_identity_new());
    for (int i = 0; i < 3; ++i) {
        adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
        o.padding = ADZ_SHAPE(1);
        adz_sequential_append(
            network, adz_conv2d_new(channels[i], channels[i + 1], ADZ_SHAPE(3), &o));
        adz_sequential_append(network, adz_batch_norm2d_new(channels[i + 1], NULL));
        adz_sequential_append(network, adz_relu_new());
        adz_sequential_append(network, adz_max_pool2d_new(ADZ_SHAPE(2), NULL));
    }
    adz_sequential_append(network, adz_adaptive_avg_pool2d_new(ADZ_SHAPE(1)));
    adz_sequential_append(network, adz_flatten_new(1, -1));
    adz_sequential_append(network, adz_linear_new(128, CLASSES, NULL));
    return network;
}

static adz_module *new_stack(void)
{
    adz_module *network = ADZ_SEQUENTIAL(adz_identity_new());
    for (int i = 0; i < LAYERS; ++i) {
        adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
        o.dilation = ADZ_SHAPE((int64_t)1 << i);
        o.padding_rule = ADZ_PADDING_CAUSAL;
        adz_sequential_append(network, adz_conv1d_new(WIDTH, WIDTH, 2, &o));
        adz_sequential_append(network, adz_relu_new());
    }
    return network;
}

static adz_module *new_volumes(void)
{
    adz_conv_module_options o = ADZ_CONV_MODULE_OPTIONS;
    o.padding = ADZ_SHAPE(1);
    return ADZ_SEQUENTIAL(adz_conv3d_new(WIDTH, WIDTH, ADZ_SHAPE(3), &o));
}

static adz_tensor *loss_of(work *w)
{
    if (w->kind == CNN) {
        adz_tensor *logits = adz_module_forward(w->network, w->x);
        return adz_cross_entropy(logits, w->target, ADZ_NONE, NULL);
    }
    return adz_mse_loss(adz_module_forward(w->network, w->x), w->target, ADZ_REDUCE_MEAN);
}

static work new_work(int kind, const char *path)
{
    work w = { .kind = kind };
    adz_manual_seed(7);
    adz_scope *scope = adz_scope_open();
    w.network = kind == CNN ? new_cnn() : kind == STACK ? new_stack() : new_volumes();
    const adz_shape shape = kind == CNN     ? ADZ_SHAPE(IMAGES, 3, SIDE, SIDE)
                            : kind == STACK ? ADZ_SHAPE(SIGNALS, WIDTH, LENGTH)
                                            : ADZ_SHAPE(SIGNALS, WIDTH, DEPTH, SIDE, SIDE);
    w.x = adz_keep(adz_randn(shape, ADZ_F32));
    w.target = adz_keep(kind == CNN ? adz_randint(0, CLASSES, ADZ_SHAPE(IMAGES), ADZ_I64)
                                    : adz_randn(shape, ADZ_F32));
    w.sgd = adz_sgd_new(adz_module_parameters(w.network), 0.01, NULL);
    const start_tensor data[] = { { "x", w.x }, { "target", w.target } };
    save_start(path, w.network, data, 2);
    adz_scope_close(scope);
    return w;
}

/* ---- steps ---------------------------------------------------------------------------------- */

/* The statistics of batch norm stay as they are. */
static double first(void *user)
{
    work *w = user;
    adz_module_eval(w->network);
    const double loss = adz_item(loss_of(w));
    adz_module_train(w->network, true);
    return loss;
}

static adz_tensor *step(void *user)
{
    work *w = user;
    adz_optimizer_zero_grad(w->sgd);
    adz_tensor *loss = loss_of(w);
    return adz_backward(loss) == ADZ_OK && adz_optimizer_step(w->sgd) == ADZ_OK ? loss : NULL;
}

static double run(void *user)
{
    work *w = user;
    if (w->kind != INFERENCE) {
        return adz_item(step(user));
    }
    double mean = 0;
    ADZ_NO_GRAD
    {
        mean = adz_item(adz_mean(adz_module_forward(w->network, w->x), ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    return mean;
}

static void run_captured(void *user)
{
    work *w = user;
    enum { RUNS = 20 };
    adz_plan_info info;
    adz_module_zero_grad(w->network);
    adz_empty_cache();
    const long long before = process_bytes("VmRSS");
    adz_plan *plan = adz_plan_new(step, w, NULL);
    adz_plan_run(plan);
    adz_empty_cache();
    adz_plan_run(plan);
    reset_process_peak();
    const double start = now(), cpu = processor_time();
    for (int i = 0; i < RUNS; ++i) {
        adz_plan_run(plan);
    }
    adz_plan_get_info(plan, &info, sizeof info);
    printf("%.6f %.6f %.6f %zu %lld", (now() - start) / RUNS, (processor_time() - cpu) / RUNS,
        adz_item(adz_plan_output(plan)), info.memory_bytes, process_bytes("VmHWM") - before);
    adz_plan_free(&plan);
}

int main(int argc, char **argv)
{
    const int threads = argc == 3 || argc == 4 ? atoi(argv[2]) : 0;
    int kind = 0;
    while (threads > 0 && kind < KINDS && strcmp(argv[1], kinds[kind]) != 0) {
        ++kind;
    }
    if (threads < 1 || kind == KINDS) {
        fputs("usage: bench-conv cnn|stack|volumes|inference THREADS [FILE]\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-conv");
    adz_set_num_threads(threads);
    work w = new_work(kind, argc == 4 ? argv[3] : NULL);
    answer_lines(&(side){ .step = run, .first = first, .captured = run_captured }, &w);
    adz_optimizer_release(&w.sgd);
    adz_module_release(&w.network);
    adz_release(&w.x);
    adz_release(&w.target);
    return EXIT_SUCCESS;
}
