#include <math.h>

#include "ops/loss/check_loss.h"
#include "ops/options.h"

/* A loss of triplets, torch.nn.functional.triplet_margin_loss.
 *
 *     d(u, v) = |u - v + eps|_p over the last dimension
 *     l = max(0, margin + d(anchor, positive) - d(anchor, negative))
 *     swap: the last distance is at most d(positive, negative)
 *
 * All are [N, D] or [D]. A composition: they are differentiable to any order. */

static const char name[] = "triplet_margin_loss";

static const adz_field fields[] = {
    ADZ_FIELD(adz_triplet_margin_loss_options, margin, .value = 1, ADZ_ABOVE(0)),
    ADZ_FIELD(adz_triplet_margin_loss_options, p, .value = 2, ADZ_ABOVE(0)),
    ADZ_FIELD(adz_triplet_margin_loss_options, eps, .value = 1e-6, ADZ_FINITE),
    ADZ_FIELD(adz_triplet_margin_loss_options, swap, .value = false),
    ADZI_REDUCTION_ROW(adz_triplet_margin_loss_options),
};

ADZ_OPTIONS_TABLE(adz_triplet_margin_loss_options, ADZ_TRIPLET_MARGIN_LOSS_OPTIONS, fields)

static bool check(const adz_tensor *anchor, const adz_tensor *positive, const adz_tensor *negative)
{
    if (!adzi_check_loss_input(name, "anchor", anchor) ||
        !adzi_check_loss_input(name, "positive", positive) ||
        !adzi_check_loss_input(name, "negative", negative)) {
        return false;
    }
    if (anchor->rank < 1 || !adzi_same_sizes(anchor, positive) ||
        !adzi_same_sizes(anchor, negative)) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "anchor%s, positive%s and negative%s must have one shape, [N, D] or [D]",
            adzi_text_shape(anchor), adzi_text_shape(positive), adzi_text_shape(negative));
        return false;
    }
    return true;
}

static adz_tensor *distance(adz_tensor *u, adz_tensor *v, const adz_triplet_margin_loss_options *o)
{
    return adz_norm(adz_add_number(adz_sub(u, v), o->eps), o->p, ADZ_DIMS(-1), ADZ_DROPDIM);
}

/* The distances are p-norms of differences, to which eps is added. */
adz_tensor *adz_triplet_margin_loss(adz_tensor *anchor, adz_tensor *positive, adz_tensor *negative,
    const adz_triplet_margin_loss_options *options)
{
    ADZI_COMPOSED();
    adz_triplet_margin_loss_options o;
    if (!check(anchor, positive, negative) ||
        !ADZI_OPTIONS_TAKE(
            name, adz_triplet_margin_loss_options, ADZ_TRIPLET_MARGIN_LOSS_OPTIONS, &o, options)) {
        return NULL;
    }
    adz_tensor *near = distance(anchor, positive, &o), *far = distance(anchor, negative, &o);
    far = o.swap ? adz_minimum(far, distance(positive, negative, &o)) : far;
    adz_tensor *l = adz_clamp(adz_add_number(adz_sub(near, far), o.margin), 0, INFINITY);
    return adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
}
