/* bench-encoder: adze's side of bench/torch_encoder.py, which runs it.
 *
 *     bench-encoder train|infer THREADS [START]
 *
 * A TransformerEncoder of 4 layers: width 256, 4 heads, feed-forward 1,024, no dropout, 128 tokens.
 *
 *     train   a step of training with a batch of 16: the mean squared error of the outputs, Adam
 *     infer   the outputs for one sequence, in evaluation and without a graph
 *
 * For each line on standard input it runs one step and prints a line: the seconds that the step
 * took, by the clock and of the processor, and its loss, after "memory" also the bytes by which
 * adze's peak and the process's peak grew during the step; for the line "first" the loss alone,
 * without a step. The first weights, the input and the target are saved to START.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bench.h"
#include "start.h"

enum { WIDTH = 256, HEADS = 4, HIDDEN = 1024, LAYERS = 4, TOKENS = 128, BATCH = 16 };

typedef struct {
    adz_module *net;
    adz_tensor *x, *target;
    adz_optimizer *adam;
    bool trains;
} model;

static model new_model(bool trains)
{
    adz_transformer_encoder_layer_options o = ADZ_TRANSFORMER_ENCODER_LAYER_OPTIONS;
    o.dim_feedforward = HIDDEN;
    o.dropout = 0;
    o.batch_first = true;
    adz_module *layer = adz_transformer_encoder_layer_new(WIDTH, HEADS, &o);
    model m = { .net = adz_transformer_encoder_new(layer, LAYERS, NULL), .trains = trains };
    adz_module_train(m.net, trains);
    adz_scope *scope = adz_scope_open();
    const adz_shape shape = ADZ_SHAPE(trains ? BATCH : 1, TOKENS, WIDTH);
    m.x = adz_keep(adz_randn(shape, ADZ_F32));
    m.target = adz_keep(adz_randn(shape, ADZ_F32));
    m.adam = adz_adam_new(adz_module_parameters(m.net), 0.001, NULL);
    adz_scope_close(scope);
    return m;
}

/* Under the names of PyTorch's module. */
static void save(const model *m, const char *path)
{
    start_tensor start[] = { { "x", m->x }, { "target", m->target } };
    save_start(path, m->net, start, 2);
}

static adz_tensor *loss_of(model *m)
{
    return adz_mse_loss(adz_module_forward(m->net, m->x), m->target, ADZ_REDUCE_MEAN);
}

static double first(void *model)
{
    return adz_item(loss_of(model));
}

static double step(void *user)
{
    model *m = user;
    if (!m->trains) {
        const bool recorded = adz_set_grad_enabled(false);
        adz_tensor *y = adz_module_forward(m->net, m->x);
        adz_set_grad_enabled(recorded);
        return (double)adz_tensor_data_f32(y)[0];
    }
    adz_optimizer_zero_grad(m->adam);
    adz_tensor *loss = loss_of(m);
    adz_backward(loss);
    adz_optimizer_step(m->adam);
    return adz_item(loss);
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    const bool trains = strcmp(what, "train") == 0;
    const int threads =
        (argc == 3 || argc == 4) && (trains || strcmp(what, "infer") == 0) ? atoi(argv[2]) : 0;
    if (threads < 1) {
        fputs("usage: bench-encoder train|infer THREADS [START]\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-encoder");
    adz_manual_seed(1);
    adz_set_num_threads(threads);
    model m = new_model(trains);
    save(&m, argc == 4 ? argv[3] : NULL);
    answer_lines(&(side){ .step = step, .first = first }, &m);
    adz_release(&m.x);
    adz_release(&m.target);
    adz_optimizer_release(&m.adam);
    adz_module_release(&m.net);
    return EXIT_SUCCESS;
}
