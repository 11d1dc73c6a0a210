/* bench-optimizers: adze's side of bench/torch_optimizers.py, which runs it.
 *
 *     bench-optimizers OPTIMIZER THREADS FILE
 *
 * The steps of an optimizer for the weights of a feed-forward block, 768 - 3072 - 768: 4.7 million
 * numbers. FILE gets the parameters and their gradients. For each line on standard input the
 * program makes a step and prints a line: its seconds, by the clock and of the processor, and the
 * mean of the squares of what all steps have changed. For the line "first" it prints the mean of
 * the squares of all parameters. Muon has the two matrices only.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bench.h"
#include "start.h"

enum { PARAMETERS = 4 };

#define MAKER(which)                                    \
    static adz_optimizer *which##_of(adz_tensor_list l) \
    {                                                   \
        return adz_##which##_new(l, 1e-3, NULL);        \
    }

MAKER(sgd)
MAKER(adam)
MAKER(adamw)
MAKER(radam)
MAKER(rmsprop)
MAKER(adagrad)
MAKER(nadam)
MAKER(adamax)
MAKER(adadelta)
MAKER(asgd)
MAKER(rprop)
MAKER(adafactor)
MAKER(muon)

typedef struct {
    const char *name; /* as in torch.optim */
    adz_optimizer *(*make)(adz_tensor_list list);
    bool matrices;
} maker;

static const maker makers[] = { { "SGD", sgd_of, false }, { "Adam", adam_of, false },
    { "AdamW", adamw_of, false }, { "RAdam", radam_of, false }, { "RMSprop", rmsprop_of, false },
    { "Adagrad", adagrad_of, false }, { "NAdam", nadam_of, false }, { "Adamax", adamax_of, false },
    { "Adadelta", adadelta_of, false }, { "ASGD", asgd_of, false }, { "Rprop", rprop_of, false },
    { "Adafactor", adafactor_of, false }, { "Muon", muon_of, true } };

static const char *const names[] = { "w0", "w1", "w2", "w3" };
static const char *const gradient_names[] = { "g0", "g1", "g2", "g3" };

typedef struct {
    adz_tensor *w[PARAMETERS], *start[PARAMETERS];
    int n;
    adz_optimizer *optimizer;
} work;

static work new_work(const maker *of, const char *path)
{
    const adz_shape shapes[PARAMETERS] = { ADZ_SHAPE(3072, 768), ADZ_SHAPE(768, 3072),
        ADZ_SHAPE(3072), ADZ_SHAPE(768) };
    adz_scope *scope = adz_scope_open();
    work w = { .n = of->matrices ? 2 : PARAMETERS };
    start_tensor start[2 * PARAMETERS];
    for (int i = 0; i < w.n; ++i) {
        w.start[i] = adz_keep(adz_randn(shapes[i], ADZ_F32));
        w.w[i] = adz_requires_grad_(adz_keep(adz_clone(w.start[i])), true);
        adz_tensor *g = adz_randn(shapes[i], ADZ_F32);
        adz_tensor_set_grad(w.w[i], g);
        start[2 * i] = (start_tensor){ names[i], w.w[i] };
        start[2 * i + 1] = (start_tensor){ gradient_names[i], g };
    }
    save_start(path, NULL, start, (size_t)(2 * w.n));
    w.optimizer = of->make(adz_tensor_list_of(w.w, (size_t)w.n));
    adz_scope_close(scope);
    return w;
}

/* The mean of the squares of all parameters, or of what the steps have changed. */
static double mean_of(const work *w, bool changed)
{
    double sum = 0;
    for (int i = 0; i < w->n; ++i) {
        adz_tensor *t = adz_detach(w->w[i]);
        t = changed ? adz_sub(t, w->start[i]) : t;
        sum += adz_item(adz_mean(adz_square(t), ADZ_ALL_DIMS, ADZ_DROPDIM));
    }
    return sum / w->n;
}

static double first_of(void *user)
{
    return mean_of(user, false);
}

static void run_timed(void *user)
{
    const work *w = user;
    const double start = now(), cpu = processor_time();
    adz_optimizer_step(w->optimizer);
    const double seconds = now() - start, processor = processor_time() - cpu;
    adz_scope *scope = adz_scope_open();
    printf("%.9f %.9f %.9g", seconds, processor, mean_of(w, true));
    adz_scope_close(scope);
}

int main(int argc, char **argv)
{
    const int threads = argc == 4 ? atoi(argv[2]) : 0;
    const maker *of = NULL;
    for (size_t i = 0; threads > 0 && i < sizeof makers / sizeof *makers; ++i) {
        of = strcmp(argv[1], makers[i].name) == 0 ? &makers[i] : of;
    }
    if (of == NULL) {
        fputs("usage: bench-optimizers OPTIMIZER THREADS FILE\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-optimizers");
    adz_set_num_threads(threads);
    adz_manual_seed(7);
    work w = new_work(of, argv[3]);
    answer_lines(&(side){ .first = first_of, .timed = run_timed }, &w);
    adz_optimizer_release(&w.optimizer);
    for (int i = 0; i < w.n; ++i) {
        adz_release(&w.w[i]);
        adz_release(&w.start[i]);
    }
    return EXIT_SUCCESS;
}
