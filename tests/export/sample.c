/* Writes a network with its training step as net.c and net.h, and what they have to compute as
 * expected.json, for tests/export/targets.py.
 *
 * usage: sample FOLDER */
#include <locale.h>
#include <stdio.h>

#include "adze/adze.h"
#include "export/write_c.h"

enum { ROWS = 4, FEATURES = 13, HIDDEN = 16, STEPS = 200 };

typedef struct {
    adz_module *net;
    adz_tensor *x;
} network;

static adz_tensor *predict(void *user)
{
    const network *n = user;
    return adz_module_forward(n->net, n->x);
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
static adz_status print_training(FILE *file, network *n, adz_tensor *target, adz_optimizer *o)
{
    fprintf(file, "  \"losses\": [");
    for (int i = 0; i < STEPS; ++i) {
        adz_scope *scope = adz_scope_open();
        adz_optimizer_zero_grad(o);
        adz_tensor *loss = adz_mse_loss(predict(n), target, ADZ_REDUCE_MEAN);
        if (adz_backward(loss) != ADZ_OK || adz_optimizer_step(o) != ADZ_OK) {
            return adz_error_code();
        }
        fprintf(file, "%s%.9g", i > 0 ? ", " : "", adz_item(loss));
        adz_scope_close(scope);
    }
    fprintf(file, "],\n");
    print_array(file, "trained", predict(n));
    fprintf(file, "  \"steps\": %d\n}\n", STEPS);
    return ADZ_OK;
}

int main(int argc, char **argv)
{
    char path[4096];
    if (argc != 2) {
        fprintf(stderr, "usage: sample FOLDER\n");
        return 2;
    }
    adz_manual_seed(1);
    network n = { ADZ_SEQUENTIAL(adz_linear_new(FEATURES, HIDDEN, NULL), adz_tanh_new(),
                      adz_linear_new(HIDDEN, 1, NULL)),
        adz_randn(ADZ_SHAPE(ROWS, FEATURES), ADZ_F32) };
    adz_tensor *target = adz_randn(ADZ_SHAPE(ROWS, 1), ADZ_F32);
    adz_optimizer *optimizer = adz_adam_new(adz_module_parameters(n.net), 0.01, NULL);
    const adzi_export what = {
        .function = predict, .user = &n, .inputs = { &n.x, 1 }, .module = n.net
    };
    adz_c_options o = ADZ_C_OPTIONS;
    o.optimizer = optimizer;
    snprintf(path, sizeof path, "%s/net.c", argv[1]);
    bool good = adzi_write_c(&what, path, &o) == ADZ_OK;
    snprintf(path, sizeof path, "%s/expected.json", argv[1]);
    setlocale(LC_NUMERIC, "C"); /* JSON has a dot, whatever the locale in which net.c was written */
    FILE *file = good ? fopen(path, "w") : NULL;
    if (file != NULL) {
        fprintf(file, "{\n");
        print_array(file, "x", n.x);
        print_array(file, "target", target);
        print_array(file, "y", predict(&n));
        good = print_training(file, &n, target, optimizer) == ADZ_OK && fclose(file) == 0;
    }
    if (!good || file == NULL) {
        fprintf(stderr, "sample: %s\n", good ? "cannot write expected.json" : adz_error_message());
    }
    adz_optimizer_free(&optimizer);
    adz_module_free(&n.net);
    return good && file != NULL ? 0 : 1;
}
