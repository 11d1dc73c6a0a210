#include <math.h>

#include "base/door.h"
#include "ops/loss/check_loss.h"
#include "ops/options.h"

/* A loss of triplets by a distance of the program,
 * torch.nn.functional.triplet_margin_with_distance_loss.
 *
 *     l = max(0, margin + d(anchor, positive) - d(anchor, negative))
 *     swap: the last distance is at most d(positive, negative)
 *
 * A composition: all three are differentiable as often as the distance is. */

static const char name[] = "triplet_margin_with_distance_loss";

static const adz_field fields[] = {
    ADZ_FIELD(adz_triplet_margin_with_distance_loss_options, margin, .value = 1, ADZ_ABOVE(0)),
    ADZ_FIELD(adz_triplet_margin_with_distance_loss_options, swap, .value = false),
    ADZI_REDUCTION_ROW(adz_triplet_margin_with_distance_loss_options),
};

ADZ_OPTIONS_TABLE(adz_triplet_margin_with_distance_loss_options,
    ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS, fields)

/* One call of the distance. */
typedef struct {
    adz_distance_function d;
    adz_tensor *a, *b, *y;
    void *user;
} measuring;

static bool measure(void *state)
{
    measuring *m = state;
    m->y = m->d(m->a, m->b, m->user);
    return m->y != NULL;
}

/* d(a, b), or PyTorch's default distance if d is NULL; NULL with the error recorded. */
static adz_tensor *distance(adz_distance_function d, adz_tensor *a, adz_tensor *b, void *user)
{
    if (d == NULL) {
        return adz_pairwise_distance(a, b, 2, 1e-6, ADZ_DROPDIM);
    }
    const adzi_door door = { .op = name };
    measuring m = { d, a, b, NULL, user };
    const bool good = adzi_through_door(&door, measure, &m);
    adzi_callback_failed(
        name, good ? ADZ_OK : ADZ_ERR_STATE, "the distance function gave no tensor");
    return good ? m.y : NULL;
}

static bool check(const adz_tensor *anchor, const adz_tensor *positive, const adz_tensor *negative)
{
    if (!adzi_check_loss_input(name, "anchor", anchor) ||
        !adzi_check_loss_input(name, "positive", positive) ||
        !adzi_check_loss_input(name, "negative", negative)) {
        return false;
    }
    if (anchor->rank != positive->rank || anchor->rank != negative->rank) {
        adzi_error(name, ADZ_ERR_SHAPE,
            "anchor%s, positive%s and negative%s must have one number of dimensions",
            adzi_text_shape(anchor), adzi_text_shape(positive), adzi_text_shape(negative));
        return false;
    }
    return true;
}

/* The distances are tensors of one shape, which the program or pairwise_distance computes. */
adz_tensor *adz_triplet_margin_with_distance_loss(adz_tensor *anchor, adz_tensor *positive,
    adz_tensor *negative, adz_distance_function distance_function, void *user,
    const adz_triplet_margin_with_distance_loss_options *options)
{
    ADZI_COMPOSED();
    adz_triplet_margin_with_distance_loss_options o;
    if (!check(anchor, positive, negative) ||
        !ADZI_OPTIONS_TAKE(name, adz_triplet_margin_with_distance_loss_options,
            ADZ_TRIPLET_MARGIN_WITH_DISTANCE_LOSS_OPTIONS, &o, options)) {
        return NULL;
    }
    const adz_distance_function d = distance_function;
    adz_tensor *near = distance(d, anchor, positive, user);
    adz_tensor *far = near != NULL ? distance(d, anchor, negative, user) : NULL;
    if (far != NULL && o.swap) {
        adz_tensor *between = distance(d, positive, negative, user);
        far = between != NULL ? adz_minimum(far, between) : NULL;
    }
    if (far == NULL) {
        return NULL;
    }
    adz_tensor *l = adz_clamp(adz_add_number(adz_sub(near, far), o.margin), 0, INFINITY);
    return adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
}
