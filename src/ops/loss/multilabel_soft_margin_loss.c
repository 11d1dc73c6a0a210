#include "ops/loss/check_loss.h"

/* The cross entropy of labels of which any number is right,
 * torch.nn.functional.multilabel_soft_margin_loss.
 *
 *     l[...] = mean over the classes of weight (target softplus(-x) + (1 - target) softplus(x))
 *
 * A composition: x, target and weight are differentiable to any order. */
adz_tensor *adz_multilabel_soft_margin_loss(
    adz_tensor *x, adz_tensor *target, adz_tensor *weight, adz_reduction reduction)
{
    ADZI_COMPOSED();
    static const char name[] = "multilabel_soft_margin_loss";
    if (!adzi_check_loss_input(name, "x", x) || !adzi_check_loss_input(name, "target", target) ||
        !adzi_check_optional(name, "weight", weight) || !adzi_check_reduction(name, reduction)) {
        return NULL;
    }
    if (x->rank == 0 || !adzi_same_sizes(x, target)) {
        return adzi_fail(name, ADZ_ERR_SHAPE, "x%s and target%s must have one shape, [..., C]",
            adzi_text_shape(x), adzi_text_shape(target));
    }
    adz_tensor *each =
        adz_binary_cross_entropy_with_logits(x, target, ADZ_NONE, ADZ_REDUCE_NONE, ADZ_NONE);
    each = adzi_weigh_losses(name, each, weight, ADZ_REDUCE_NONE);
    adz_tensor *l = adz_mean(each, ADZ_DIMS(-1), ADZ_DROPDIM);
    return adzi_weigh_losses(name, l, ADZ_NONE, reduction);
}
