#include "ops/loss/pair_loss.h"

/* The squared error, torch.nn.functional.mse_loss.
 *
 *     l_i  = (x_i - t_i)^2
 *     y    = l, its mean or its sum
 *     dx_i = 2 * g_i * (x_i - t_i),   dt_i = -dx_i
 *
 * x and the target t broadcast. g_i is dy_i, dy, or dy / N for the mean. Both inputs are
 * differentiable and saved. */

ADZI_PAIR_TABLES(mse_loss);

extern const adzi_op adzi_op_mse_loss;

static const adzi_pair_loss loss = { .op = &adzi_op_mse_loss, ADZI_PAIR_KERNELS(mse_loss) };

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_pair_loss_fused(&loss, node, dx, dy);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    return adzi_pair_loss_reduced(y, adz_square(adz_sub(in[0], in[1])), attr);
}

const adzi_op adzi_op_mse_loss = {
    .name = "mse_loss", .fused = fused, ADZI_FIELDS(adzi_pair_fields), .expression = expression
};

/* The forward, the reduction and the checks are those of all pair losses. */
adz_tensor *adz_mse_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction)
{
    return adzi_pair_loss_call(&loss, x, target, reduction, 0);
}
