/* adze-bench mlp: a training step of the network of uci-regression.
 * adze-bench epoch: batches of its training in one call of a plan, and as captured steps one by
 * one. */
#include <stdlib.h>

#include "start.h"
#include "steps.h"

/* Dropout, Linear(13, 50), ReLU, dropout, Linear(50, 1) on 128 rows, with Adam. */
typedef struct {
    adz_module *network;
    adz_optimizer *adam;
    adz_tensor *weights[2], *biases[2], *x, *target;
} mlp;

/* What a plan captures, and what an ordinary step computes in a scope. */
static adz_tensor *compute(void *user)
{
    mlp *m = user;
    adz_tensor *y = adz_module_forward(m->network, m->x);
    adz_tensor *loss = adz_mse_loss(y, m->target, ADZ_REDUCE_MEAN);
    adz_backward(loss);
    adz_optimizer_step(m->adam);
    adz_module_zero_grad(m->network);
    return loss;
}

static void run_mlp(void *user)
{
    adz_scope *scope = adz_scope_open();
    compute(user);
    adz_scope_close(scope);
}

/* Without dropout. */
static double first_loss(const mlp *m)
{
    adz_scope *scope = adz_scope_open();
    adz_module_eval(m->network);
    adz_tensor *y = adz_module_forward(m->network, m->x);
    double loss = adz_item(adz_mse_loss(y, m->target, ADZ_REDUCE_MEAN));
    adz_module_train(m->network, true);
    adz_scope_close(scope);
    return loss;
}

/* The penalty on the squared weights is Adam's weight decay. */
static mlp new_mlp(double penalty)
{
    mlp m = { .network = NULL };
    m.network = ADZ_SEQUENTIAL(adz_dropout_new(0.05, NULL), adz_linear_new(13, 50, NULL),
        adz_relu_new(), adz_dropout_new(0.05, NULL), adz_linear_new(50, 1, NULL));
    m.weights[0] = adz_module_get_parameter(m.network, "1.weight");
    m.weights[1] = adz_module_get_parameter(m.network, "4.weight");
    m.biases[0] = adz_module_get_parameter(m.network, "1.bias");
    m.biases[1] = adz_module_get_parameter(m.network, "4.bias");
    m.x = adz_randn(ADZ_SHAPE(128, 13), ADZ_F32);
    m.target = adz_randn(ADZ_SHAPE(128, 1), ADZ_F32);
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    o.weight_decay = 2 * penalty;
    m.adam = adz_adam_new((adz_tensor_list){ m.weights, 2 }, 0.001, &o);
    int biases = adz_optimizer_add_param_group(m.adam, (adz_tensor_list){ m.biases, 2 });
    adz_optimizer_set(m.adam, biases, "weight_decay", 0);
    return m;
}

int bench_mlp(int argc, char **argv)
{
    step_options o;
    if (!read_step_options(argc, argv, &o)) {
        return EXIT_FAILURE;
    }
    adz_scope *scope = adz_scope_open();
    mlp m = new_mlp(1e-6);
    const start_tensor start[] = { { "x", m.x }, { "target", m.target } };
    save_start(o.start, m.network, start, 2);
    o.first_loss = first_loss(&m);
    adz_set_num_threads((int)o.threads);
    adz_plan *plan = o.captured ? adz_plan_new(compute, &m, NULL) : NULL;
    int status = plan != NULL ? run_step_rounds("mlp", &o, run_plan, plan, NULL, NULL)
                              : run_step_rounds("mlp", &o, run_mlp, &m, NULL, NULL);
    adz_plan_free(&plan);
    adz_optimizer_release(&m.adam);
    adz_module_release(&m.network);
    adz_scope_close(scope);
    return status;
}

/* ---- an epoch ---------------------------------------------------------------------------------
 */

enum { BATCHES = 64, ROWS = 128, FEATURES = 13 };

typedef struct {
    mlp m;
    adz_plan *plan;
    adz_tensor *data[2], *losses; /* x and target of all batches */
    double sum;
} epoch;

static void in_one_call(void *user)
{
    epoch *e = user;
    adz_scope *scope = adz_scope_open();
    adz_plan_run_batches(e->plan, e->data, 2, NULL, &e->losses);
    e->sum = adz_item(adz_sum(e->losses, ADZ_ALL_DIMS, ADZ_DROPDIM));
    adz_scope_close(scope);
}

static void step_by_step(void *user)
{
    epoch *e = user;
    const float *x = adz_tensor_data_constant(e->data[0]),
                *y = adz_tensor_data_constant(e->data[1]);
    e->sum = 0;
    for (int i = 0; i < BATCHES; ++i) {
        adz_tensor_write(e->m.x, x + i * ROWS * FEATURES, ROWS * FEATURES * sizeof *x);
        adz_tensor_write(e->m.target, y + i * ROWS, ROWS * sizeof *y);
        adz_plan_run(e->plan);
        e->sum += adz_item(adz_plan_output(e->plan));
    }
}

int bench_epoch(int argc, char **argv)
{
    step_options o;
    if (!read_step_options(argc, argv, &o)) {
        return EXIT_FAILURE;
    }
    adz_set_num_threads((int)o.threads);
    adz_scope *scope = adz_scope_open();
    epoch e = { .m = new_mlp(1e-6) };
    adz_plan_options plan = ADZ_PLAN_OPTIONS;
    plan.inputs = adz_tensor_list_of((adz_tensor *[]){ e.m.x, e.m.target }, 2);
    e.data[0] = adz_randn(ADZ_SHAPE(BATCHES * ROWS, FEATURES), ADZ_F32);
    e.data[1] = adz_randn(ADZ_SHAPE(BATCHES * ROWS, 1), ADZ_F32);
    e.plan = adz_plan_new(compute, &e.m, &plan);
    const int status = e.plan != NULL && e.data[1] != NULL
                           ? run_step_rounds("epoch", &o, in_one_call, &e, step_by_step, &e)
                           : EXIT_FAILURE;
    adz_plan_free(&e.plan);
    adz_optimizer_release(&e.m.adam);
    adz_module_release(&e.m.network);
    adz_scope_close(scope);
    return status;
}
