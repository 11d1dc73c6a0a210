/* A loss and an optimizer for a network. */
#include "train.h"

#include <stdio.h>
#include <string.h>

#include "../../examples/shared/command_line.h"

enum { MSE, CROSS_ENTROPY, HUBER, BCE, LOSSES };
enum { SGD, ADAM, ADAMW, OPTIMIZERS };

static const char *const losses[] = { "mse", "cross_entropy", "huber", "bce" };
static const char *const optimizers[] = { "sgd", "adam", "adamw" };

static adz_tensor *loss_of(const law *l, adz_tensor *y)
{
    switch (l->loss) {
    case MSE:
        return adz_mse_loss(y, l->target, ADZ_REDUCE_MEAN);
    case CROSS_ENTROPY:
        return adz_cross_entropy(y, l->target, ADZ_NONE, NULL);
    case HUBER:
        return adz_huber_loss(y, l->target, ADZ_REDUCE_MEAN, 1);
    default:
        return adz_binary_cross_entropy(y, l->target, ADZ_NONE, ADZ_REDUCE_MEAN);
    }
}

adz_status train_step(adz_tensor **results, void *user)
{
    const law *l = user;
    adz_tensor *outputs[PORTS];
    adz_optimizer_zero_grad(l->optimizer);
    l->n.call(&l->n, l->inputs, outputs);
    results[0] = loss_of(l, outputs[0]);
    adz_backward(results[0]);
    adz_optimizer_step(l->optimizer);
    return adz_error_code();
}

void draw_target(law *l)
{
    adz_tensor *drawn = adz_randn(adz_tensor_shape(l->target), l->n.outputs[0].dtype);
    adz_tensor *larger = adz_gt(drawn, adz_zeros_like(drawn));
    if (l->loss == CROSS_ENTROPY) { /* the first class or the last one */
        const double last = (double)(l->n.outputs[0].shape.sizes[1] - 1);
        adz_copy_(l->target, adz_mul_number(adz_to(larger, ADZ_I64), last));
    } else {
        adz_copy_(l->target, l->loss == BCE ? adz_sigmoid(drawn) : drawn);
    }
}

static adz_optimizer *new_optimizer(int kind, adz_tensor_list parameters, double rate)
{
    switch (kind) {
    case SGD:
        return adz_sgd_new(parameters, rate > 0 ? rate : 1e-2, NULL);
    case ADAM:
        return adz_adam_new(parameters, rate > 0 ? rate : 1e-3, NULL);
    default:
        return adz_adamw_new(parameters, rate > 0 ? rate : 1e-3, NULL);
    }
}

/* Classes take the place of a row's scores. */
static adz_shape target_shape(const law *l)
{
    adz_shape shape = l->n.outputs[0].shape;
    if (l->loss == CROSS_ENTROPY) {
        if (shape.rank < 2) {
            fail("--train cross_entropy: the result of %s has to be scores [rows, classes]",
                l->n.path);
        }
        for (int d = 1; d + 1 < shape.rank; ++d) {
            shape.sizes[d] = shape.sizes[d + 1];
        }
        --shape.rank;
    }
    return shape;
}

void prepare_training(law *l, const char *how, double rate)
{
    char loss[40];
    const char *comma = strchr(how, ',');
    if (comma == NULL || comma - how >= (ptrdiff_t)sizeof loss) {
        usage_error("--train %s: give a loss and an optimizer, as mse,adam", how);
    }
    memcpy(loss, how, (size_t)(comma - how));
    loss[comma - how] = '\0';
    l->loss = choice("train", loss, losses, LOSSES);
    const int kind = choice("train", comma + 1, optimizers, OPTIMIZERS);
    if (l->n.n_outputs != 1 || !is_float(&l->n.outputs[0])) {
        fail("--train: %s has %zu results; a loss is of one result of real numbers", l->n.path,
            l->n.n_outputs);
    }
    adz_tensor_list parameters = adz_module_parameters(l->n.root);
    if (parameters.count == 0) {
        fail("--train: %s has no parameters that a gradient reaches", l->n.path);
    }
    const adz_dtype dtype = l->loss == CROSS_ENTROPY ? ADZ_I64 : l->n.outputs[0].dtype;
    l->optimizer = new_optimizer(kind, parameters, rate);
    l->target = adz_keep(adz_zeros(target_shape(l), dtype));
    draw_target(l);
}
