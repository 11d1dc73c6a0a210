/* bench-gru: adze's side of bench/torch_gru.py, which runs it.
 *
 *     bench-gru THREADS [START]
 *
 * A GRU of two layers of 256 over 100 steps of a batch of 16, the mean squared error of its
 * outputs, Adam. For each line on standard input it runs one training step and prints a line: the
 * seconds that the step took, by the clock and of the processor, and its loss, after "memory" also
 * the bytes by which adze's peak and the process's peak grew during the step; for the line "first"
 * the loss alone, without a step. The first weights, the input and the target are saved to START.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bench.h"
#include "start.h"

enum { WIDTH = 256, LAYERS = 2, STEPS = 100, BATCH = 16 };

typedef struct {
    adz_module *net;
    adz_tensor *x, *target;
    adz_optimizer *adam;
} model;

static model new_model(void)
{
    adz_gru_module_options o = ADZ_GRU_MODULE_OPTIONS;
    o.num_layers = LAYERS;
    model m = { .net = adz_gru_new(WIDTH, WIDTH, &o) };
    adz_scope *scope = adz_scope_open();
    m.x = adz_keep(adz_randn(ADZ_SHAPE(STEPS, BATCH, WIDTH), ADZ_F32));
    m.target = adz_keep(adz_randn(ADZ_SHAPE(STEPS, BATCH, WIDTH), ADZ_F32));
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
    adz_optimizer_zero_grad(m->adam);
    adz_tensor *loss = loss_of(m);
    adz_backward(loss);
    adz_optimizer_step(m->adam);
    return adz_item(loss);
}

int main(int argc, char **argv)
{
    int threads = argc == 2 || argc == 3 ? atoi(argv[1]) : 0;
    if (threads < 1) {
        fputs("usage: bench-gru THREADS [START]\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-gru");
    adz_manual_seed(1);
    adz_set_num_threads(threads);
    model m = new_model();
    save(&m, argc == 3 ? argv[2] : NULL);
    answer_lines(&(side){ .step = step, .first = first }, &m);
    adz_release(&m.x);
    adz_release(&m.target);
    adz_optimizer_release(&m.adam);
    adz_module_release(&m.net);
    return EXIT_SUCCESS;
}
