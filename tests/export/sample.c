/* Writes a network with its training step as net.c and net.h, and what they have to compute as
 * expected.json, for tests/export/targets.py.
 *
 * usage: sample FOLDER [own]
 *
 * The step trains with the mean squared error and Adam. With `own` it has a loss of its own, the
 * first layer is frozen, the gradients are clipped, and RMSprop updates the rest. */
#include <locale.h>
#include <stdio.h>

#include "adze/adze.h"
#include "export/c99/write/write_c.h"

#include <string.h>

enum { ROWS = 4, FEATURES = 13, HIDDEN = 16 };

typedef struct {
    adz_module *net;
    adz_tensor *x, *target;
    adz_optimizer *optimizer;
    bool own;
    int steps;
} network;

static adz_tensor *predict(void *user)
{
    const network *n = user;
    return adz_module_forward(n->net, n->x);
}

/* Huber's loss of a scaled residual, and a penalty on the last layer. */
static adz_tensor *own_loss(const network *n, adz_tensor *y)
{
    adz_tensor *scaled = adz_mul_number(adz_sub(y, n->target), 3);
    adz_tensor *loss = adz_huber_loss(scaled, adz_zeros_like(scaled), ADZ_REDUCE_MEAN, 0.7);
    adz_tensor *w = adz_module_get_parameter(n->net, "2.weight");
    return adz_add(loss, adz_mul_number(adz_sum(adz_abs(w), ADZ_ALL_DIMS, ADZ_DROPDIM), 0.01));
}

static adz_tensor *train(void *user)
{
    network *n = user;
    adz_optimizer_zero_grad(n->optimizer);
    adz_tensor *y = predict(n);
    adz_tensor *loss = n->own ? own_loss(n, y) : adz_mse_loss(y, n->target, ADZ_REDUCE_MEAN);
    if (adz_backward(loss) != ADZ_OK) {
        return NULL;
    }
    if (n->own) {
        adz_clip_grads(adz_module_parameters(n->net), 0.5, 2);
    }
    return adz_optimizer_step(n->optimizer) == ADZ_OK ? loss : NULL;
}

static void freeze(adz_module *net)
{
    adz_requires_grad_(adz_module_get_parameter(net, "0.weight"), false);
    adz_requires_grad_(adz_module_get_parameter(net, "0.bias"), false);
}

static void print_array(FILE *file, const char *name, const adz_tensor *t)
{
    fprintf(file, "  \"%s\": [", name);
    for (int64_t i = 0; i < adz_tensor_numel(t); ++i) {
        fprintf(file, "%s%.9g", i > 0 ? ", " : "",
            (double)adz_tensor_data_f32((adz_tensor *)(uintptr_t)t)[i]);
    }
    fprintf(file, "],\n");
}

/* Trains in the library and prints the loss of every step and the predictions after the last. */
static adz_status print_training(FILE *file, network *n)
{
    fprintf(file, "  \"losses\": [");
    for (int i = 0; i < n->steps; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_tensor *loss = train(n);
        if (loss == NULL) {
            return adz_error_code();
        }
        fprintf(file, "%s%.9g", i > 0 ? ", " : "", adz_item(loss));
        adz_scope_close(scope);
    }
    fprintf(file, "],\n");
    print_array(file, "trained", predict(n));
    fprintf(file, "  \"steps\": %d\n}\n", n->steps);
    return ADZ_OK;
}

static adz_status write_network(network *n, const char *path)
{
    adz_tensor *const inputs[] = { n->x, n->target };
    const adzi_export what[] = {
        { .function = predict, .user = n, .inputs = { inputs, 1 }, .module = n->net },
        { .name = "step", .function = train, .user = n, .inputs = { inputs, 2 }, .module = n->net }
    };
    return adzi_write_c("sample", path, what, 2, NULL);
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc < 2 || argc > 3 || (argc == 3 && strcmp(argv[2], "own") != 0)) {
        fprintf(stderr, "usage: sample FOLDER [own]\n");
        return 2;
    }
    adz_manual_seed(1);
    network n = { .net = ADZ_SEQUENTIAL(adz_linear_new(FEATURES, HIDDEN, NULL), adz_tanh_new(),
                      adz_linear_new(HIDDEN, 1, NULL)),
        .x = adz_randn(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32),
        .target = adz_randn(ADZ_SHAPE(ROWS, 1), ADZ_F32),
        .own = argc == 3,
        .steps = argc == 3 ? 500 : 200 };
    if (n.own) {
        freeze(n.net);
    }
    n.optimizer = n.own ? adz_rmsprop_new(adz_module_parameters(n.net), 0.002, NULL)
                        : adz_adam_new(adz_module_parameters(n.net), 0.01, NULL);
    snprintf(path, sizeof path, "%s/net.c", argv[1]);
    bool good = write_network(&n, path) == ADZ_OK;
    snprintf(path, sizeof path, "%s/expected.json", argv[1]);
    setlocale(LC_NUMERIC, "C"); /* JSON has a dot, whatever the locale in which net.c was written */
    FILE *file = good ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "{\n");
        print_array(file, "x", n.x);
        print_array(file, "target", n.target);
        print_array(file, "y", predict(&n));
        good = print_training(file, &n) == ADZ_OK && fclose(file) == 0;
    }
    if (!good || file == NULL) {
        fprintf(stderr, "sample: %s\n", good ? "cannot write expected.json" : adz_error_message());
    }
    adz_optimizer_release(&n.optimizer);
    adz_module_release(&n.net);
    return good && file != NULL ? 0 : 1;
}
