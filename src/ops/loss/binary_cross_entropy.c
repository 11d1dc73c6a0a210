#include "ops/loss/binary_cross_entropy.h"

#include <math.h>

#include "ops/loss/pair_loss.h"

/* The binary cross entropy of probabilities, torch.nn.functional.binary_cross_entropy.
 *
 *     l_i  = -(t_i * log x_i + (1 - t_i) * log(1 - x_i))
 *     y    = l, its mean or its sum
 *     dx_i = g_i * (x_i - t_i) / max(x_i * (1 - x_i), 1e-12)
 *     dt_i = g_i * (log(1 - x_i) - log x_i)
 *
 * x and the target t have one shape; x holds probabilities in [0, 1]. Logarithms are at least -100,
 * so that an x of 0 or 1 gives finite losses, as in PyTorch. g_i is dy_i, dy, or dy / N for the
 * mean. Both inputs are differentiable and saved. Weights are a composition with mul. */

ADZI_PAIR_TABLES(binary_cross_entropy);
KERNEL_TABLE_FLOAT(probability_check);

/* max(log x, -100). Where the bound is used, x is replaced by 1 before the logarithm. Otherwise the
 * infinite derivative at 0 would be multiplied by 0 in a second derivative. */
static adz_tensor *bounded_log(adz_tensor *x)
{
    adz_tensor *low = adz_lt_number(adz_log(adz_detach(x)), -100);
    return adz_masked_fill(adz_log(adz_masked_fill(x, low, 1)), low, -100);
}

/* max(log(1 - x), -100), with the digits that 1 - x loses for a small x. */
static adz_tensor *bounded_log_of_rest(adz_tensor *x)
{
    adz_tensor *low = adz_lt_number(adz_log1p(adz_neg(adz_detach(x))), -100);
    return adz_masked_fill(adz_log1p(adz_neg(adz_masked_fill(x, low, 0))), low, -100);
}

/* The gradients as expressions. The bound 1e-12 on the variance x (1 - x) is that of the kernel. */
/* Third formula: the slope is bounded by 1e12 where the loss is constant, as in PyTorch. */
static adz_status backward(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    adz_tensor *x = adzi_saved_input(node, 0), *t = adzi_saved_input(node, 1);
    adz_tensor *g = adzi_pair_loss_upstream(node, dy[0]);
    if (adzi_needs(node, 0)) {
        adz_tensor *variance = adz_mul(x, adz_number_sub(1, x));
        adz_tensor *slope = adz_div(adz_sub(x, t), adz_clamp(variance, 1e-12, INFINITY));
        dx[0] = adz_mul(g, slope);
        if (dx[0] == NULL) {
            return adzi_status(NULL);
        }
    }
    if (adzi_needs(node, 1)) {
        dx[1] = adz_mul(g, adz_sub(bounded_log(adz_number_sub(1, x)), bounded_log(x)));
        return adzi_status(dx[1]);
    }
    return ADZ_OK;
}

typedef struct {
    const atomic_bool *outside; /* what the kernel has found */
    adz_shape x;
} report_args;

/* Fails if the kernel has found an element outside [0, 1]. */
static adz_status report(const void *block)
{
    const report_args *args = block;
    if (!atomic_load_explicit(args->outside, memory_order_relaxed)) {
        return ADZ_OK;
    }
    return adzi_error("binary_cross_entropy", ADZ_ERR_ARGUMENT,
        "x%s has elements that are no probabilities in [0, 1]; for unbounded scores use adz_binary_cross_entropy_with_logits",
        adzi_text_sizes(args->x.rank, args->x.sizes));
}

/* Checks that x holds probabilities. A launch looks at the elements and sets a flag; units are
 * elements. Any thread may set the flag, so it is atomic. */
static bool check(const adzi_call *call)
{
    adz_tensor *x = adzi_compact("binary_cross_entropy", call->in[0]);
    adz_tensor *found = x != NULL ? adzi_scratch("binary_cross_entropy", ADZ_BOOL, 0, NULL) : NULL;
    if (found == NULL) {
        return false;
    }
    adzi_fill(found, 0);
    adzi_probability_check args = { x->data, (atomic_bool *)(void *)found->data };
    adzi_launch(KERNEL_FOR(probability_check, x->dtype), &args, x->numel, ADZI_POINTWISE_GRAIN);
    const report_args shown = { args.outside, adz_tensor_shape(x) };
    return adzi_repeat(report, &shown) == ADZ_OK;
}

extern const adzi_op adzi_op_binary_cross_entropy;

static const adzi_pair_loss loss = { .op = &adzi_op_binary_cross_entropy,
    ADZI_PAIR_KERNELS(binary_cross_entropy),
    .same_shape = true,
    .check = check };

static adz_status fused(adzi_node *node, adz_tensor **dx, adz_tensor *const *dy)
{
    return adzi_pair_loss_fused(&loss, node, dx, dy);
}

/* The forward as an expression. */
static adz_status expression(adz_tensor **y, adz_tensor *const *in, const void *attr)
{
    adz_tensor *x = in[0], *t = in[1];
    adz_tensor *yes = adz_mul(t, bounded_log(x));
    adz_tensor *no = adz_mul(adz_number_sub(1, t), bounded_log_of_rest(x));
    adz_tensor *losses = adz_neg(adz_add(yes, no));
    return adzi_pair_loss_reduced(y, losses, attr);
}

const adzi_op adzi_op_binary_cross_entropy = { .name = "binary_cross_entropy",
    .backward = backward,
    .fused = fused,
    ADZI_FIELDS(adzi_pair_fields),
    .expression = expression };

/* The check for probabilities is part of the call, as in PyTorch: a value outside [0, 1] is an
 * error. */
adz_tensor *adz_binary_cross_entropy(
    adz_tensor *x, adz_tensor *target, adz_tensor *weight, adz_reduction reduction)
{
    /* A weight multiplies the losses before they are reduced, which is a composition. */
    if (weight == ADZ_NONE) {
        return adzi_pair_loss_call(&loss, x, target, reduction, 0);
    }
    adz_tensor *losses = adzi_pair_loss_call(&loss, x, target, ADZ_REDUCE_NONE, 0);
    return adzi_weigh_losses("binary_cross_entropy", losses, weight, reduction);
}
