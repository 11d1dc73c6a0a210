#include "autograd/ops/loss/pair_loss.h"

/* The squared error, torch.nn.functional.mse_loss.
 *
 *     l_i  = (x_i - t_i)^2
 *     y    = l, its mean or its sum
 *     dx_i = 2 * g_i * (x_i - t_i),   dt_i = -dx_i
 *
 * x and the target t broadcast. g_i is dy_i, dy, or dy / N for the mean. Both inputs are
 * differentiable and saved. */

ADZI_PAIR_TABLES(mse_loss);

/* The engine sums over dimensions that were broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    adz_tensor *d = adz_sub(x, t);
    adz_tensor *g = adz_mul_number(adz_mul(d, adzi_pair_loss_upstream(node, dy[0])), 2);
    dx[0] = adzi_needs(node, 0) ? g : NULL;
    dx[1] = adzi_needs(node, 1) ? adz_mul_number(g, -1) : NULL;
    return adzi_needs(node, 1) ? adzi_status(dx[1]) : adzi_status(g);
}

extern const adzi_op adzi_op_mse_loss;

static const adzi_pair_loss loss = { .op = &adzi_op_mse_loss, ADZI_PAIR_KERNELS(mse_loss) };

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_pair_loss_fused(&loss, node, dx, dy);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    adz_tensor *d = adz_sub(in[0], in[1]), *losses = adz_mul(d, d);
    return adzi_pair_loss_reduced(y, losses, attr);
}

const adzi_op adzi_op_mse_loss = { .name = "mse_loss",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(adzi_pair_fields),
    .expression = expression };

/* The forward, the reduction and the checks are those of all pair losses. */
adz_tensor *adz_mse_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction)
{
    return adzi_pair_loss_call(&loss, x, target, reduction, 0);
}
