/* adze-bench toy: the training step of Linear(1, 32) ReLU Linear(32, 1), batch 32, SGD. */
#include <stdlib.h>
#include <string.h>

#include "by_hand.h"
#include "steps.h"

typedef struct {
    adz_tensor *w1, *b1, *w2, *b2, *x, *target;
} toy;

static void update(adz_tensor *p)
{
    float *value = adz_tensor_data_f32(p);
    const float *grad = adz_tensor_data_f32(adz_tensor_grad(p));
    for (int64_t i = 0, n = adz_tensor_numel(p); i < n; ++i) {
        value[i] -= 0.01f * grad[i];
    }
    adz_tensor_touch(p);
}

static void run_toy(void *user)
{
    toy *t = user;
    adz_scope *scope = adz_scope_open();
    adz_tensor *parameters[] = { t->w1, t->b1, t->w2, t->b2 };
    for (int i = 0; i < 4; ++i) {
        adz_tensor_set_grad(parameters[i], ADZ_NONE);
    }
    adz_tensor *h = adz_linear_relu(t->x, t->w1, t->b1);
    adz_tensor *loss = adz_mse_loss(adz_linear(h, t->w2, t->b2), t->target, ADZ_REDUCE_MEAN);
    adz_backward(loss);
    for (int i = 0; i < 4; ++i) {
        update(parameters[i]);
    }
    adz_scope_close(scope);
}

static adz_tensor *parameter(adz_shape shape)
{
    return adz_requires_grad_(adz_keep(adz_mul_number(adz_randn(shape, ADZ_F32), 0.3)), true);
}

int bench_toy(int argc, char **argv)
{
    step_options o;
    if (!read_step_options(argc, argv, &o)) {
        return EXIT_FAILURE;
    }
    adz_scope *scope = adz_scope_open();
    toy t = { parameter(ADZ_SHAPE(32, 1)), parameter(ADZ_SHAPE(32)), parameter(ADZ_SHAPE(1, 32)),
        parameter(ADZ_SHAPE(1)), adz_randn(ADZ_SHAPE(32, 1), ADZ_F32), NULL };
    t.target = adz_mul(t.x, t.x);
    by_hand n = { .b2 = 0 };
    memcpy(n.x, adz_tensor_data(t.x), sizeof n.x);
    memcpy(n.target, adz_tensor_data(t.target), sizeof n.target);
    memcpy(n.w1, adz_tensor_data(t.w1), sizeof n.w1);
    memcpy(n.w2, adz_tensor_data(t.w2), sizeof n.w2);
    int status = run_step_rounds("toy", &o, run_toy, &t, run_by_hand, &n);
    adz_tensor *parameters[] = { t.w1, t.b1, t.w2, t.b2 };
    for (int i = 0; i < 4; ++i) {
        adz_release(&parameters[i]);
    }
    adz_scope_close(scope);
    return status;
}
