#include <math.h>

#include "ops/loss/check_loss.h"

/* A loss of pairs of scores whose target says which is to be higher,
 * torch.nn.functional.margin_ranking_loss.
 *
 *     l = max(0, margin - target (x1 - x2))
 *
 * A composition: all three are differentiable to any order. */

static const char name[] = "margin_ranking_loss";

static bool check(const adz_tensor *x1, const adz_tensor *x2, const adz_tensor *target)
{
    if (!adzi_check_loss_input(name, "x1", x1) || !adzi_check_loss_input(name, "x2", x2) ||
        !adzi_check_tensor(name, "target", target)) {
        return false;
    }
    if (x1->rank != x2->rank || x1->rank != target->rank) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x1%s, x2%s and target%s must have one number of dimensions", adzi_text_shape(x1),
            adzi_text_shape(x2), adzi_text_shape(target));
        return false;
    }
    return true;
}

/* A target of 1 wants x1 above x2, and one of -1 the reverse. */
adz_tensor *adz_margin_ranking_loss(
    adz_tensor *x1, adz_tensor *x2, adz_tensor *target, adz_reduction reduction, double margin)
{
    ADZI_COMPOSED();
    if (!check(x1, x2, target) || !adzi_check_reduction(name, reduction) ||
        !adzi_check_margin(name, margin)) {
        return NULL;
    }
    adz_tensor *won = adz_mul(target, adz_sub(x1, x2));
    adz_tensor *l = adz_clamp(adz_number_sub(margin, won), 0, INFINITY);
    return adzi_weigh_losses(name, l, ADZ_NONE, reduction);
}
