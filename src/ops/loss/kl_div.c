#include "ops/loss/pair_loss.h"

/* The Kullback-Leibler divergence, torch.nn.functional.kl_div.
 *
 *     l_i  = t_i * (log t_i - x_i)            x holds log-probabilities
 *     dx_i = -g_i * t_i
 *     dt_i = g_i * (log t_i + 1 - x_i)
 *
 *     log_target:  l_i = exp(t_i) * (t_i - x_i),   dx_i = -g_i * exp(t_i),
 *                  dt_i = g_i * exp(t_i) * (t_i + 1 - x_i)
 *
 * x and the target t broadcast. The reduction "batchmean" divides the sum by the size of dimension
 * 0. g_i is dy_i or dy times the factor of the reduction. Both inputs are differentiable and
 * saved. */

ADZI_PAIR_TABLES(kl_div);
ADZI_PAIR_TABLES(kl_div_log);

extern const adzi_op adzi_op_kl_div;

/* The kernels without and with log_target; the flag is the index. */
static const adzi_pair_loss losses[2] = {
    { .op = &adzi_op_kl_div, ADZI_PAIR_KERNELS(kl_div), .batchmean = true, .yields = true },
    { .op = &adzi_op_kl_div,
        ADZI_PAIR_KERNELS(kl_div_log),
        .batchmean = true,
        .yields = true,
        .log_target = true },
};

/* The gradients as expressions. With log_target, exp(t) replaces t, and dt has it as a
 * factor. */
/* Third formula: at t = 0 the expression is a constant, whose slope would be 0. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    bool log_target = adzi_attr(node, adzi_pair_attr)->log_target;
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    int rank;
    /* dx depends on t alone, which may be smaller than the common shape. So g is expanded first. */
    int64_t sizes[ADZ_MAX_RANK];
    if (x == NULL || t == NULL || !adzi_broadcast("kl_div", &rank, sizes, x, t)) {
        return adzi_status(NULL);
    }
    adz_tensor *g = adz_expand(adzi_pair_loss_upstream(node, dy[0]), adz_shape_of(rank, sizes));
    adz_tensor *scaled = log_target ? adz_mul(g, adz_exp(t)) : g;
    if (adzi_needs(node, 0)) {
        dx[0] = adz_mul_number(log_target ? scaled : adz_mul(g, t), -1);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        adz_tensor *ratio = adz_sub(log_target ? t : adz_log(t), x);
        dx[1] = adz_mul(scaled, adz_add_number(ratio, 1));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    const adzi_pair_loss *loss = &losses[adzi_attr(node, adzi_pair_attr)->log_target];
    return adzi_pair_loss_fused(loss, node, dx, dy);
}

/* t log t, with its limit 0 at t = 0. */
static adz_tensor *entropy_of(adz_tensor *t)
{
    return adz_masked_fill(adz_mul(t, adz_log(t)), adz_eq_number(t, 0), 0);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    const bool log_target = ((const adzi_pair_attr *)attr)->log_target;
    adz_tensor *x = in[0], *t = in[1];
    adz_tensor *each =
        log_target ? adz_mul(adz_exp(t), adz_sub(t, x)) : adz_sub(entropy_of(t), adz_mul(t, x));
    return adzi_pair_loss_reduced(y, each, attr);
}

static const adz_field fields[] = { ADZI_FIELD_ENUM(
                                        adzi_pair_attr, reduction, adzi_reduction_names),
    ADZI_FIELD(adzi_pair_attr, log_target), ADZI_FIELD_HIDDEN(adzi_pair_attr, scale),
    ADZI_FIELD_HIDDEN(adzi_pair_attr, number) };

const adzi_op adzi_op_kl_div = { .name = "kl_div",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(fields),
    .expression = expression };

/* "mean" divides by the number of elements, as in PyTorch, although the divergence of a batch is
 * "batchmean". */
adz_tensor *adz_kl_div(adz_tensor *x, adz_tensor *target, adz_reduction reduction, bool log_target)
{
    return adzi_pair_loss_call(&losses[log_target], x, target, reduction, 0);
}
