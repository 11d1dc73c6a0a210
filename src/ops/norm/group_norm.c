#include "ops/op.h"
#include "ops/norm/channels.h"

/* Group normalisation, torch.nn.functional.group_norm (Wu and He, 2018). The channels of each
 * sample form groups, which are normalised as the rows of layer_norm are. Weight and bias belong to
 * channels and not to positions of a group, so they follow in one elementwise call. */

static bool check(
    const adz_tensor *x, int64_t groups, const adz_tensor *weight, const adz_tensor *bias)
{
    if (x->rank < 2) {
        adzi_error("group_norm", ADZ_ERR_SHAPE, "x%s needs two dimensions or more: [N, C, ...]",
            adzi_text_shape(x));
        return false;
    }
    if (groups < 1 || x->sizes[1] % groups != 0) {
        adzi_error("group_norm", ADZ_ERR_ARGUMENT,
            "%lld groups do not divide the %lld channels of x%s; use 1 or a divisor of the channels",
            (long long)groups, (long long)x->sizes[1], adzi_text_shape(x));
        return false;
    }
    /* PyTorch refuses a single value in all, too: it would always become 0. */
    if (x->numel > 0 && x->numel == groups) {
        adzi_error("group_norm", ADZ_ERR_SHAPE,
            "x%s has a single value per group, of which no variance can be taken",
            adzi_text_shape(x));
        return false;
    }
    return adzi_check_channels("group_norm", x, weight, "weight") &&
           adzi_check_channels("group_norm", x, bias, "bias");
}

/* Each group is a row for layer_norm; weight and bias are those of channels. */
adz_tensor *adz_group_norm(
    adz_tensor *x, int64_t num_groups, adz_tensor *weight, adz_tensor *bias, double eps)
{
    ADZI_COMPOSED();
    if (!adzi_check_tensor("group_norm", "x", x) ||
        !adzi_check_optional("group_norm", "weight", weight) ||
        !adzi_check_optional("group_norm", "bias", bias) || !check(x, num_groups, weight, bias)) {
        return NULL;
    }
    const adz_shape shape = adz_shape_of(x->rank, x->sizes);
    const int64_t rows = x->sizes[0] * num_groups, each = rows > 0 ? x->numel / rows : 0;
    adz_tensor *flat = adz_reshape(x, ADZ_SHAPE(rows, each));
    adz_tensor *unit = adz_layer_norm(flat, ADZ_SHAPE(each), ADZ_NONE, ADZ_NONE, eps);
    return adzi_affine_channels(adz_reshape(unit, shape), weight, bias);
}
