#include "ops/loss/pair_loss.h"

/* The binary cross entropy of scores, torch.nn.functional.binary_cross_entropy_with_logits.
 *
 *     l_i  = max(x_i, 0) - t_i * x_i + log(1 + exp(-|x_i|))
 *     y    = l, its mean or its sum
 *     dx_i = g_i * (sigmoid(x_i) - t_i)
 *     dt_i = -g_i * x_i
 *
 * This is binary_cross_entropy of sigmoid(x), without its overflow and loss of digits. x and the
 * target t have one shape. g_i is dy_i, dy, or dy / N for the mean. Both inputs are differentiable
 * and saved. Weights are compositions of operators. */

ADZI_PAIR_TABLES(binary_cross_entropy_with_logits);

static const char name[] = "binary_cross_entropy_with_logits";

/* The gradients as expressions. The sigmoid is computed again, because x is saved and its sigmoid
 * is not. */
/* Third formula: the derived one takes 1.7 times the memory. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    adz_tensor *g = adzi_pair_loss_upstream(node, dy[0]);
    if (adzi_needs(node, 0)) {
        dx[0] = adz_mul(g, adz_sub(adz_sigmoid(x), t));
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        dx[1] = adz_mul_number(adz_mul(g, x), -1);
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

extern const adzi_op adzi_op_binary_cross_entropy_with_logits;

static const adzi_pair_loss loss = { .op = &adzi_op_binary_cross_entropy_with_logits,
    ADZI_PAIR_KERNELS(binary_cross_entropy_with_logits),
    .same_shape = true };

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_pair_loss_fused(&loss, node, dx, dy);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    adz_tensor *x = in[0], *t = in[1];
    adz_tensor *rest = adz_log1p(adz_exp(adz_neg(adz_abs(x))));
    /* The sum of max(x, 0) and -t x in one product, which an infinite x does not make NaN. */
    adz_tensor *slope =
        adz_where(adz_gt_number(x, 0), adz_mul(adz_number_sub(1, t), x), adz_neg(adz_mul(t, x)));
    adz_tensor *losses = adz_add(rest, slope);
    return adzi_pair_loss_reduced(y, losses, attr);
}

const adzi_op adzi_op_binary_cross_entropy_with_logits = { .name = name,
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(adzi_pair_fields),
    .expression = expression };

/* The losses with a weight p for the positive class, as a composition:
 *
 *     l_i = -(p * t_i * log sigmoid(x_i) + (1 - t_i) * log sigmoid(-x_i))
 *
 * The two logarithms are computed apart, because the gradient of t is their difference. At most one
 * of them is infinite, so the difference is not NaN. */
static adz_tensor *weighed_losses(adz_tensor *x, adz_tensor *target, adz_tensor *pos_weight)
{
    adzi_call call; /* checks the inputs; nothing is computed with it */
    if (!ADZI_ENTER(&call, binary_cross_entropy_with_logits, x, target, pos_weight) ||
        !adzi_want_float(&call, 0) || !adzi_want_float(&call, 1) ||
        !adzi_pair_loss_same_shape(name, x, target)) {
        return NULL;
    }
    adz_tensor *yes = adz_mul(adz_mul(target, pos_weight), adz_logsigmoid(x));
    adz_tensor *no = adz_mul(adz_number_sub(1, target), adz_logsigmoid(adz_neg(x)));
    adz_tensor *losses = adz_neg(adz_add(yes, no));
    if (losses != NULL && !adzi_same_sizes(losses, x)) {
        return adzi_fail(name, ADZ_ERR_SHAPE, "pos_weight%s does not broadcast to target%s",
            adzi_text_shape(pos_weight), adzi_text_shape(target));
    }
    return losses;
}

/* pos_weight multiplies the losses of positive targets, weight those of all elements. */
adz_tensor *adz_binary_cross_entropy_with_logits(adz_tensor *x, adz_tensor *target,
    adz_tensor *weight, adz_reduction reduction, adz_tensor *pos_weight)
{
    /* The fused kernels know no weights. */
    if (weight == ADZ_NONE && pos_weight == ADZ_NONE) {
        return adzi_pair_loss_call(&loss, x, target, reduction, 0);
    }
    adz_tensor *losses = pos_weight == ADZ_NONE
                             ? adzi_pair_loss_call(&loss, x, target, ADZ_REDUCE_NONE, 0)
                             : weighed_losses(x, target, pos_weight);
    return adzi_weigh_losses(name, losses, weight, reduction);
}
