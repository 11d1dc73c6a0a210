#include "ops/loss/pair_loss.h"

/* The smooth L1 loss, torch.nn.functional.smooth_l1_loss.
 *
 *     d_i  = x_i - t_i
 *     l_i  = d_i^2 / (2 * beta) if |d_i| < beta, else |d_i| - beta / 2
 *     y    = l, its mean or its sum
 *     dx_i = g_i * max(-1, min(1, d_i / beta)),   dt_i = -dx_i
 *
 * x and the target t broadcast. g_i is dy_i, dy, or dy / N for the mean. Both inputs are
 * differentiable and saved. With beta 0 this is l1_loss. */

ADZI_PAIR_TABLES(smooth_l1_loss);

/* From |d| = beta on the slope is a constant, so that its derivative is 0 there. The engine sums
 * over dimensions that were broadcast. */
/* Third formula: the derived one takes 1.2 times the memory. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    double beta = adzi_attr(node, adzi_pair_attr)->number;
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    adz_tensor *slope = adz_div_number(adzi_pair_loss_held(adz_sub(x, t), beta), beta);
    adz_tensor *g = adz_mul(adzi_pair_loss_upstream(node, dy[0]), slope);
    dx[0] = adzi_needs(node, 0) ? g : NULL;
    dx[1] = adzi_needs(node, 1) ? adz_mul_number(g, -1) : NULL;
    return adzi_needs(node, 1) ? adzi_status(dx[1]) : adzi_status(g);
}

extern const adzi_op adzi_op_smooth_l1_loss;

static const adzi_pair_loss loss = { .op = &adzi_op_smooth_l1_loss,
    ADZI_PAIR_KERNELS(smooth_l1_loss) };

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_pair_loss_fused(&loss, node, dx, dy);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const double beta = ((const adzi_pair_attr *)attr)->number;
    adz_tensor *d = adz_sub(in[0], in[1]), *size = adz_abs(d);
    adz_tensor *curve = adz_mul_number(adz_mul(d, d), 0.5 / beta);
    adz_tensor *line = adz_add_number(size, -beta / 2);
    adz_tensor *losses = adz_where(adz_lt_number(size, beta), curve, line);
    return adzi_pair_loss_reduced(y, losses, attr);
}

static const adz_field fields[] = { ADZI_FIELD_ENUM(
                                        adzi_pair_attr, reduction, adzi_reduction_names),
    ADZI_FIELD_NAMED(adzi_pair_attr, number, "beta"), ADZI_FIELD_HIDDEN(adzi_pair_attr, log_target),
    ADZI_FIELD_HIDDEN(adzi_pair_attr, scale) };

const adzi_op adzi_op_smooth_l1_loss = { .name = "smooth_l1_loss",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

/* beta is the distance from which on the loss is linear. The division by beta is why 0 takes
 * l1_loss. */
adz_tensor *adz_smooth_l1_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, double beta)
{
    if (x != NULL && target != NULL && !(beta >= 0)) {
        return adzi_fail("smooth_l1_loss", ADZ_ERR_ARGUMENT, "beta is %s, but must be 0 or more",
            adzi_text_number(beta));
    }
    return beta == 0 ? adz_l1_loss(x, target, reduction)
                     : adzi_pair_loss_call(&loss, x, target, reduction, beta);
}
