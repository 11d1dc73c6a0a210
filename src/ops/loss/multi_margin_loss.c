#include "ops/loss/check_loss.h"
#include "ops/options.h"

/* A hinge loss of classes, torch.nn.functional.multi_margin_loss.
 *
 *     l = 1/C sum over c != y of weight_y max(0, margin - x_y + x_c)^p,  y = target
 *
 * x is [N, C] with target [N], or [C] with target []. A composition: x is differentiable to any
 * order. */

static const char name[] = "multi_margin_loss";

static const adz_field fields[] = {
    ADZ_FIELD(adz_multi_margin_loss_options, p, .value = 1, ADZ_CLOSED(1, 2)),
    ADZ_FIELD(adz_multi_margin_loss_options, margin, .value = 1, ADZ_FINITE),
    ADZI_REDUCTION_ROW(adz_multi_margin_loss_options),
};

ADZ_OPTIONS_TABLE(adz_multi_margin_loss_options, ADZ_MULTI_MARGIN_LOSS_OPTIONS, fields)

static bool check(const adz_tensor *x, const adz_tensor *target, const adz_tensor *weight)
{
    if (!adzi_check_loss_input(name, "x", x) || !adzi_check_tensor(name, "target", target) ||
        !adzi_check_optional(name, "weight", weight)) {
        return false;
    }
    if (x->rank < 1 || x->rank > 2 || x->sizes[x->rank - 1] == 0 || target->rank != x->rank - 1 ||
        (target->rank == 1 && target->sizes[0] != x->sizes[0])) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "x%s and target%s must be [N, C] and [N], or [C] and [], with at least one class",
            adzi_text_shape(x), adzi_text_shape(target));
        return false;
    }
    if (!adzi_is_none(weight) && (weight->rank != 1 || weight->sizes[0] != x->sizes[x->rank - 1])) {
        adzi_error(name, ADZ_ERR_SHAPE, "weight%s must have one element for each class of x%s",
            adzi_text_shape(weight), adzi_text_shape(x));
        return false;
    }
    return true;
}

/* The power of the margins, 0 at the class of the row itself. relu has slope 0 at 0, as a margin
 * that is kept exactly costs nothing. */
static adz_tensor *powers_of(adz_tensor *margins, adz_tensor *y, int p)
{
    adz_tensor *classes =
        adz_arange(0, (double)margins->sizes[margins->rank - 1], 1, (adz_dtype)y->dtype);
    adz_tensor *h = adz_relu(adz_masked_fill(margins, adz_eq(classes, y), 0));
    return p == 2 ? adz_square(h) : h;
}

/* The weight of each row's class, shaped like the target. */
static adz_tensor *weights_of(adz_tensor *weight, adz_tensor *target)
{
    adz_tensor *flat = adz_reshape(target, ADZ_SHAPE(target->numel));
    return adz_reshape(adz_gather(weight, 0, flat), adz_tensor_shape(target));
}

adz_tensor *adz_multi_margin_loss(adz_tensor *x, adz_tensor *target, adz_tensor *weight,
    const adz_multi_margin_loss_options *options)
{
    ADZI_COMPOSED();
    adz_multi_margin_loss_options o;
    if (!check(x, target, weight) || !ADZI_OPTIONS_TAKE(name, adz_multi_margin_loss_options,
                                         ADZ_MULTI_MARGIN_LOSS_OPTIONS, &o, options)) {
        return NULL;
    }
    target = adzi_loss_classes(name, target, x);
    adz_tensor *y = adz_unsqueeze(target, -1), *own = adz_gather(x, -1, y);
    adz_tensor *margins = adz_add_number(adz_sub(x, own), o.margin);
    if (margins == NULL) {
        return NULL;
    }
    adz_tensor *l = adz_mean(powers_of(margins, y, o.p), ADZ_DIMS(-1), ADZ_DROPDIM);
    l = weight == ADZ_NONE ? l : adz_mul(l, weights_of(weight, target));
    return adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
}
