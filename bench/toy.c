/* adze-bench toy: the training step of Linear(1, 32) ReLU Linear(32, 1), batch 32, SGD. */
#include <stdlib.h>
#include <string.h>

#include "by_hand.h"
#include "start.h"
#include "steps.h"

/* The parameters stay in place for a whole training, so their addresses are looked up once. */
typedef struct {
    adz_tensor *tensor;
    float *values;
    int64_t count;
} parameter;

typedef struct {
    parameter w1, b1, w2, b2;
    adz_tensor *x, *target;
    adz_optimizer *sgd; /* of a captured step; an ordinary step updates by hand */
} toy;

static void update(const parameter *p)
{
    update_by_hand(p->values, adz_tensor_data_f32(adz_tensor_grad(p->tensor)), p->count);
    adz_tensor_touch(p->tensor);
}

static adz_tensor *loss_of(const toy *t)
{
    adz_tensor *h = adz_linear_relu(t->x, t->w1.tensor, t->b1.tensor);
    adz_tensor *y = adz_linear(h, t->w2.tensor, t->b2.tensor);
    return adz_mse_loss(y, t->target, ADZ_REDUCE_MEAN);
}

static void run_toy(void *user)
{
    toy *t = user;
    adz_scope *scope = adz_scope_open();
    const parameter *parameters[] = { &t->w1, &t->b1, &t->w2, &t->b2 };
    for (int i = 0; i < 4; ++i) {
        adz_tensor_set_grad(parameters[i]->tensor, ADZ_NONE);
    }
    adz_backward(loss_of(t));
    for (int i = 0; i < 4; ++i) {
        update(parameters[i]);
    }
    adz_scope_close(scope);
}

/* What a plan captures. */
static adz_tensor *compute(void *user)
{
    toy *t = user;
    adz_tensor *loss = loss_of(t);
    adz_backward(loss);
    adz_optimizer_step(t->sgd);
    adz_optimizer_zero_grad(t->sgd);
    return loss;
}

static parameter parameter_of(adz_shape shape)
{
    adz_tensor *t =
        adz_requires_grad_(adz_keep(adz_mul_number(adz_randn(shape, ADZ_F32), 0.3)), true);
    return (parameter){ t, adz_tensor_data_f32(t), adz_tensor_numel(t) };
}

int bench_toy(int argc, char **argv)
{
    step_options o;
    if (!read_step_options(argc, argv, &o)) {
        return EXIT_FAILURE;
    }
    adz_scope *scope = adz_scope_open();
    toy t = { parameter_of(ADZ_SHAPE(32, 1)), parameter_of(ADZ_SHAPE(32)),
        parameter_of(ADZ_SHAPE(1, 32)), parameter_of(ADZ_SHAPE(1)),
        adz_randn(ADZ_SHAPE(32, 1), ADZ_F32), NULL, NULL };
    t.target = adz_mul(t.x, t.x);
    const start_tensor start[] = { { "0.weight", t.w1.tensor }, { "0.bias", t.b1.tensor },
        { "2.weight", t.w2.tensor }, { "2.bias", t.b2.tensor }, { "x", t.x },
        { "target", t.target } };
    save_start(o.start, NULL, start, sizeof start / sizeof *start);
    o.first_loss = adz_item(loss_of(&t));
    by_hand n = { .b2 = t.b2.values[0] };
    memcpy(n.x, adz_tensor_data(t.x), sizeof n.x);
    memcpy(n.target, adz_tensor_data(t.target), sizeof n.target);
    memcpy(n.w1, t.w1.values, sizeof n.w1);
    memcpy(n.b1, t.b1.values, sizeof n.b1);
    memcpy(n.w2, t.w2.values, sizeof n.w2);
    adz_tensor *all[] = { t.w1.tensor, t.b1.tensor, t.w2.tensor, t.b2.tensor };
    t.sgd = adz_sgd_new((adz_tensor_list){ all, 4 }, 0.01, NULL);
    adz_set_num_threads((int)o.threads);
    adz_plan *plan = o.captured ? adz_plan_new(compute, &t, NULL) : NULL;
    int status = plan != NULL ? run_step_rounds("toy", &o, run_plan, plan, run_by_hand, &n)
                              : run_step_rounds("toy", &o, run_toy, &t, run_by_hand, &n);
    adz_plan_free(&plan);
    adz_optimizer_release(&t.sgd);
    parameter *parameters[] = { &t.w1, &t.b1, &t.w2, &t.b2 };
    for (int i = 0; i < 4; ++i) {
        adz_release(&parameters[i]->tensor);
    }
    adz_scope_close(scope);
    return status;
}
