/* Trains on a table, writes the network as C99, compiles that file and compares its predictions.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include <adze/adze.h>

#include "shared/about.h"

typedef struct {
    adz_module *net;
    adz_tensor *x; /* [1, D]: one row of the table, in its own units */
} network;

/* What is exported. */
static adz_tensor *predict(void *user)
{
    const network *n = user;
    return adz_module_forward(n->net, n->x);
}

static void train(adz_module *net, adz_tensor *x, adz_tensor *y)
{
    adz_optimizer *adam = adz_adam_new(adz_module_parameters(net), 0.01, NULL);
    for (int step = 0; step < 500; ++step) {
        adz_scope *scope = adz_scope_open();
        adz_module_zero_grad(net);
        adz_tensor *loss = adz_mse_loss(adz_module_forward(net, x), y, ADZ_REDUCE_MEAN);
        adz_backward(loss);
        adz_optimizer_step(adam);
        if (step % 100 == 0) {
            printf("step %3d  loss %.4f\n", step, adz_item(loss));
        }
        adz_scope_close(scope);
    }
    adz_optimizer_release(&adam);
}

/* Writes net.c and net.h. */
static void write_c(network *n)
{
    adz_plan_options o = ADZ_PLAN_OPTIONS;
    o.inputs = adz_tensor_list_of(&n->x, 1);
    o.module = n->net;
    adz_module_eval(n->net);
    adz_plan *plan = adz_plan_new(predict, n, &o);
    adz_plan_write_c(plan, "net.c", NULL);
    adz_plan_free(&plan);
}

static const char help[] =
    "Trains on a table, writes the network as C99, compiles that file and compares\n"
    "its predictions. The last column is predicted from the others.\n"
    "\n"
    "usage: ship_as_c [TABLE.csv] [COMPILER]\n"
    "\n"
    "  TABLE.csv  a table of numbers with a header line (table.csv)\n"
    "  COMPILER   the command that compiles C (cc)\n";

int main(int argc, char **argv)
{
    begin_program("ship_as_c", argc, argv, 2, help);
    adz_on_error(adz_die, NULL); /* the first call that fails ends the program */
    adz_manual_seed(1);
    adz_csv *table = adz_csv_read(argc > 1 ? argv[1] : "table.csv", NULL);
    adz_tensor *all = adz_to(adz_csv_values(table), ADZ_F32);
    const int64_t d = adz_tensor_size(all, 1) - 1;
    adz_tensor *x = adz_contiguous(adz_slice(all, 1, 0, d, 1)), *y = adz_slice(all, 1, d, d + 1, 1);
    adz_module *scale = adz_standardizer_new(d, ADZ_F32);
    adz_standardizer_fit(scale, x);
    network n = { ADZ_SEQUENTIAL(scale, adz_linear_new(d, 20, NULL), adz_relu_new(),
                      adz_linear_new(20, 1, NULL)),
        adz_zeros(ADZ_SHAPE(1, d), ADZ_F32) };
    train(n.net, x, y);
    write_c(&n);

    char command[500];
    snprintf(command, sizeof command, "%s -std=c99 -O2 -fPIC -shared net.c -o net.so",
        argc > 2 ? argv[2] : "cc");
    void *library = system(command) == 0 ? dlopen("./net.so", RTLD_NOW) : NULL;
    void (*run)(const float *x, float *y) = NULL;
    *(void **)(void *)&run = library != NULL ? dlsym(library, "net_run") : NULL;
    if (run == NULL) {
        fprintf(stderr, "net.c could not be compiled or loaded\n");
        return 1;
    }
    adz_tensor *wanted = adz_detach(adz_module_forward(n.net, x));
    double worst = 0, largest = 0;
    for (int64_t i = 0; i < adz_tensor_size(x, 0); ++i) {
        float prediction;
        run(adz_tensor_data_f32(x) + i * d, &prediction);
        const double right = (double)adz_tensor_data_f32(wanted)[i];
        worst = fmax(worst, fabs((double)prediction - right));
        largest = fmax(largest, fabs(right));
    }
    printf("net.c predicts the same: %s\n", worst <= 1e-6 * largest ? "yes" : "no");
    adz_module_release(&n.net);
    adz_csv_free(&table);
    return worst <= 1e-6 * largest ? 0 : 1;
}
