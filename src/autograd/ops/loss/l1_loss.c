#include "autograd/ops/loss/pair_loss.h"

/* The absolute error, torch.nn.functional.l1_loss.
 *
 *     l_i  = |x_i - t_i|
 *     y    = l, its mean or its sum
 *     dx_i = g_i * sign(x_i - t_i),   dt_i = -dx_i
 *
 * x and the target t broadcast. g_i is dy_i, dy, or dy / N for the mean. Both inputs are
 * differentiable and saved; at x = t the gradient is 0, as in PyTorch. */

ADZI_PAIR_TABLES(l1_loss);

extern const adzi_op adzi_op_l1_loss;

static const adzi_pair_loss loss = { .op = &adzi_op_l1_loss, ADZI_PAIR_KERNELS(l1_loss) };

/* sign(x - t), 0 for NaN. It has no graph, because it is constant almost everywhere. */
static adz_tensor *sign(adz_tensor *x, adz_tensor *t, adz_dtype dtype)
{
    return adz_sub(adz_to(adz_gt(x, t), dtype), adz_to(adz_lt(x, t), dtype));
}

/* Only dy is differentiated again. The engine sums over dimensions that were broadcast. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *s =
        sign(adzi_saved_input(node, 0), adzi_saved_input(node, 1), (adz_dtype)dy[0]->dtype);
    adz_tensor *g = adz_mul(adzi_pair_loss_upstream(node, dy[0]), s);
    dx[0] = adzi_needs(node, 0) ? g : NULL;
    dx[1] = adzi_needs(node, 1) ? adz_mul_number(g, -1) : NULL;
    return adzi_needs(node, 1) ? adzi_status(dx[1]) : adzi_status(g);
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_pair_loss_fused(&loss, node, dx, dy);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    adz_tensor *losses = adz_abs(adz_sub(in[0], in[1]));
    return adzi_pair_loss_reduced(y, losses, attr);
}

const adzi_op adzi_op_l1_loss = { .name = "l1_loss",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(adzi_pair_fields),
    .expression = expression };

/* The forward, the reduction and the checks are those of all pair losses. */
adz_tensor *adz_l1_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction)
{
    return adzi_pair_loss_call(&loss, x, target, reduction, 0);
}
