#include <math.h>

#include "ops/loss/check_loss.h"

/* A loss of pairs by their angle, torch.nn.functional.cosine_embedding_loss.
 *
 *     c = <a, b> / sqrt((|a|^2 + e) (|b|^2 + e)),   e = 1e-12
 *     l = 1 - c where the target is 1,  max(0, c - margin) where it is -1,  0 elsewhere
 *
 * a and b are [N, D] with target [N], or [D] with target []. A composition: a and b are
 * differentiable to any order. */

static const char name[] = "cosine_embedding_loss";

static bool check(const adz_tensor *a, const adz_tensor *b, const adz_tensor *target)
{
    if (!adzi_check_loss_input(name, "x1", a) || !adzi_check_loss_input(name, "x2", b) ||
        !adzi_check_tensor(name, "target", target)) {
        return false;
    }
    bool fits = (a->rank == 1 || a->rank == 2) && adzi_same_sizes(a, b) &&
                target->rank == a->rank - 1 &&
                (target->rank == 0 || target->sizes[0] == a->sizes[0]);
    if (!fits) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x1%s, x2%s and target%s must be [N, D], [N, D] and [N], or [D], [D] and []",
            adzi_text_shape(a), adzi_text_shape(b), adzi_text_shape(target));
    }
    return fits;
}

/* |x|^2 + e of each row. */
static adz_tensor *size_of(adz_tensor *x)
{
    return adz_add_number(adz_sum(adz_square(x), ADZ_DIMS(-1), ADZ_DROPDIM), 1e-12);
}

adz_tensor *adz_cosine_embedding_loss(
    adz_tensor *x1, adz_tensor *x2, adz_tensor *target, adz_reduction reduction, double margin)
{
    ADZI_COMPOSED();
    if (!check(x1, x2, target) || !adzi_check_reduction(name, reduction) ||
        !adzi_check_margin(name, margin)) {
        return NULL;
    }
    adz_tensor *product = adz_sum(adz_mul(x1, x2), ADZ_DIMS(-1), ADZ_DROPDIM);
    adz_tensor *c = adz_div(product, adz_sqrt(adz_mul(size_of(x1), size_of(x2))));
    adz_tensor *alike = adz_add_number(adz_neg(c), 1);
    adz_tensor *apart = adz_clamp(adz_add_number(c, -margin), 0, INFINITY);
    adz_tensor *l = adz_add(adz_masked_fill(alike, adz_ne_number(target, 1), 0),
        adz_masked_fill(apart, adz_ne_number(target, -1), 0));
    return adzi_weigh_losses(name, l, ADZ_NONE, reduction);
}
