#include <math.h>

#include "ops/loss/check_loss.h"

/* A loss of distances whose target says which are to be small,
 * torch.nn.functional.hinge_embedding_loss.
 *
 *     l = x where the target is 1,  max(0, margin - x) where it is -1,  their sum elsewhere
 *
 * A composition: x is differentiable to any order. */
adz_tensor *adz_hinge_embedding_loss(
    adz_tensor *x, adz_tensor *target, adz_reduction reduction, double margin)
{
    ADZI_COMPOSED();
    static const char name[] = "hinge_embedding_loss";
    int rank;
    int64_t sizes[ADZ_MAX_RANK];
    if (!adzi_check_loss_input(name, "x", x) || !adzi_check_tensor(name, "target", target) ||
        !adzi_check_reduction(name, reduction) || !adzi_check_margin(name, margin) ||
        !adzi_broadcast(name, &rank, sizes, x, target)) {
        return NULL;
    }
    adz_tensor *zero = adz_scalar(0, (adz_dtype)x->dtype);
    adz_tensor *apart = adz_clamp(adz_number_sub(margin, x), 0, INFINITY);
    adz_tensor *l = adz_add(adz_where(adz_ne_number(target, 1), apart, zero),
        adz_where(adz_ne_number(target, -1), x, zero));
    return adzi_weigh_losses(name, l, ADZ_NONE, reduction);
}
