/* bench-lstm-lm: adze's side of bench/torch_lstm_lm.py, which runs it.
 *
 *     bench-lstm-lm THREADS [START]
 *
 * An LSTM language model: 5,000 words, an embedding of 200 tied to the decoder, three layers of
 * 400, 400 and 200, 70 steps of a batch of 16, cross entropy, Adam. For each line on standard input
 * it runs one training step and prints a line: the seconds that the step took, by the clock and of
 * the processor, and its loss, after "memory" also the bytes by which adze's peak and the process's
 * peak grew during the step; for the line "first" the loss alone, without a step. The first
 * weights, the words and the targets are saved to START.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "answers.h"
#include "bench.h"
#include "start.h"

enum { WORDS = 5000, EMBEDDING = 200, HIDDEN = 400, LAYERS = 3, STEPS = 70, BATCH = 16 };
enum { EACH = 4, PARAMETERS = 2 + LAYERS * EACH };

typedef struct {
    adz_tensor *parameters[PARAMETERS]; /* the table, the decoder's bias, then each layer's */
    adz_tensor *states[LAYERS][2];      /* carried from step to step; NULL at first */
    adz_tensor *ids, *targets;
    adz_optimizer *adam;
} model;

static adz_tensor *parameter(adz_shape shape)
{
    adz_tensor *t = adz_mul_number(adz_add_number(adz_rand(shape, ADZ_F32), -0.5), 0.1);
    return adz_requires_grad_(adz_keep(t), true);
}

static model new_model(void)
{
    static const int64_t widths[] = { EMBEDDING, HIDDEN, HIDDEN, EMBEDDING };
    model m = { .adam = NULL };
    adz_scope *scope = adz_scope_open();
    m.parameters[0] = parameter(ADZ_SHAPE(WORDS, EMBEDDING));
    m.parameters[1] = parameter(ADZ_SHAPE(WORDS));
    for (int i = 0; i < LAYERS; ++i) {
        adz_tensor **w = m.parameters + 2 + (ptrdiff_t)i * EACH;
        int64_t h = widths[i + 1];
        w[0] = parameter(ADZ_SHAPE(4 * h, widths[i]));
        w[1] = parameter(ADZ_SHAPE(4 * h, h));
        w[2] = parameter(ADZ_SHAPE(4 * h));
        w[3] = parameter(ADZ_SHAPE(4 * h));
    }
    m.ids = adz_keep(adz_randint(0, WORDS, ADZ_SHAPE(STEPS, BATCH), ADZ_I64));
    m.targets = adz_keep(adz_randint(0, WORDS, ADZ_SHAPE((int64_t)STEPS * BATCH), ADZ_I64));
    m.adam = adz_adam_new((adz_tensor_list){ m.parameters, PARAMETERS }, 0.001, NULL);
    adz_scope_close(scope);
    return m;
}

/* Under the names of PyTorch's model. */
static void save(const model *m, const char *path)
{
    static const char *const parts[] = { "weight_ih_l0", "weight_hh_l0", "bias_ih_l0",
        "bias_hh_l0" };
    char names[LAYERS * EACH][40];
    start_tensor start[PARAMETERS + 2] = { { "decoder.weight", m->parameters[0] },
        { "decoder.bias", m->parameters[1] }, { "ids", m->ids }, { "targets", m->targets } };
    for (int i = 0; i < LAYERS * EACH; ++i) {
        snprintf(names[i], sizeof names[i], "layers.%d.%s", i / EACH, parts[i % EACH]);
        start[4 + i] = (start_tensor){ names[i], m->parameters[2 + i] };
    }
    save_start(path, NULL, start, PARAMETERS + 2);
}

/* The state from which the next step starts, outside the graph. */
static void carry(adz_tensor **state, adz_tensor *last)
{
    adz_release(state);
    *state = adz_keep(adz_detach(last));
}

static adz_tensor *loss_of(model *m)
{
    adz_tensor *table = m->parameters[0], *x = adz_embedding(m->ids, table, NULL);
    for (int i = 0; i < LAYERS; ++i) {
        adz_tensor *h, *c, **s = m->states[i];
        adz_tensor *h0 = s[0] != NULL ? s[0] : ADZ_NONE, *c0 = s[1] != NULL ? s[1] : ADZ_NONE;
        x = adz_lstm(x, h0, c0, m->parameters + 2 + (ptrdiff_t)i * EACH, EACH, NULL, &h, &c);
        carry(&s[0], h);
        carry(&s[1], c);
    }
    x = adz_reshape(x, ADZ_SHAPE((int64_t)STEPS * BATCH, EMBEDDING));
    adz_tensor *logits = adz_linear(x, table, m->parameters[1]);
    return adz_cross_entropy(logits, m->targets, ADZ_NONE, NULL);
}

static void forget(model *m)
{
    for (int i = 0; i < LAYERS; ++i) {
        adz_release(&m->states[i][0]);
        adz_release(&m->states[i][1]);
    }
}

/* From no state. */
static double first(void *model)
{
    const double loss = adz_item(loss_of(model));
    forget(model);
    return loss;
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
        fputs("usage: bench-lstm-lm THREADS [START]\n", stderr);
        return EXIT_FAILURE;
    }
    adz_on_error(end_on_error, "bench-lstm-lm");
    adz_manual_seed(1);
    adz_set_num_threads(threads);
    model m = new_model();
    save(&m, argc == 3 ? argv[2] : NULL);
    answer_lines(&(side){ .step = step, .first = first }, &m);
    for (int i = 0; i < PARAMETERS; ++i) {
        adz_release(&m.parameters[i]);
    }
    forget(&m);
    adz_release(&m.ids);
    adz_release(&m.targets);
    adz_optimizer_release(&m.adam);
    return EXIT_SUCCESS;
}
