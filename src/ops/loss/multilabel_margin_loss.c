#include "ops/loss/check_loss.h"

/* A hinge loss of labels of which any number is right,
 * torch.nn.functional.multilabel_margin_loss.
 *
 *     l = 1/C sum over labels y of the row, over classes c that are no label of it,
 *         of max(0, 1 - x_y + x_c)
 *
 * The target lists labels up to the first negative number. x and the target are [N, C] or [C]. A
 * composition, which holds the margins of all pairs, N C^2 numbers: x is differentiable to any
 * order. */

static const char name[] = "multilabel_margin_loss";

static bool check(const adz_tensor *x, const adz_tensor *target)
{
    if (!adzi_check_loss_input(name, "x", x) || !adzi_check_tensor(name, "target", target)) {
        return false;
    }
    if (x->rank < 1 || x->rank > 2 || x->sizes[x->rank - 1] == 0 || !adzi_same_sizes(x, target)) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s and target%s must have one shape, [N, C] or [C], with at least one class",
            adzi_text_shape(x), adzi_text_shape(target));
        return false;
    }
    return true;
}

adz_tensor *adz_multilabel_margin_loss(adz_tensor *x, adz_tensor *target, adz_reduction reduction)
{
    ADZI_COMPOSED();
    if (!check(x, target) || !adzi_check_reduction(name, reduction)) {
        return NULL;
    }
    /* 1 for a label, 0 from the first negative number on. */
    adz_tensor *ends = adz_to(adz_lt_number(target, 0), (adz_dtype)x->dtype);
    adz_tensor *behind = adz_gt_number(adz_cumsum(ends, -1), 0);
    adz_tensor *listed = adz_number_sub(1, adz_to(behind, (adz_dtype)x->dtype));
    adz_tensor *masked = adz_masked_fill(target, behind, 0);
    adz_tensor *labels = masked != NULL ? adzi_loss_classes(name, masked, x) : NULL;
    /* How often a class is listed: a class with a count is a label. */
    adz_tensor *counts = adz_scatter_add(adz_zeros_like(x), -1, labels, listed);
    adz_tensor *others = adz_to(adz_eq_number(counts, 0), (adz_dtype)x->dtype);
    /* [..., labels, classes] */
    adz_tensor *own = adz_unsqueeze(adz_gather(x, -1, labels), -1);
    adz_tensor *margins = adz_add_number(adz_sub(adz_unsqueeze(x, -2), own), 1);
    adz_tensor *pairs = adz_mul(adz_unsqueeze(listed, -1), adz_unsqueeze(others, -2));
    margins = adz_masked_fill(margins, adz_eq_number(pairs, 0), 0);
    adz_tensor *each = adz_mean(adz_relu(margins), ADZ_DIMS(-1), ADZ_DROPDIM);
    adz_tensor *l = adz_sum(each, ADZ_DIMS(-1), ADZ_DROPDIM);
    return adzi_weigh_losses(name, l, ADZ_NONE, reduction);
}
