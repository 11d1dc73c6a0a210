#include <math.h>

#include "ops/loss/check_loss.h"
#include "ops/options.h"
#include "tensor/kernel/real.h"

/* The negative log likelihood of counts, torch.nn.functional.poisson_nll_loss.
 *
 *     l = e^x - t x,  or  x - t log(x + eps) if x is the rate itself
 *     full: l + t log t - t + log(2 pi t) / 2 where t > 1      (Stirling's formula for log t!)
 *
 * A composition: x and the target t are differentiable to any order. */

static const char name[] = "poisson_nll_loss";

static const adz_field fields[] = {
    ADZ_FIELD(adz_poisson_nll_loss_options, log_input, .value = true),
    ADZ_FIELD(adz_poisson_nll_loss_options, full, .value = false),
    ADZ_FIELD(adz_poisson_nll_loss_options, eps, .value = 1e-8, ADZ_AT_LEAST(0)),
    ADZI_REDUCTION_ROW(adz_poisson_nll_loss_options),
};

ADZ_OPTIONS_TABLE(adz_poisson_nll_loss_options, ADZ_POISSON_NLL_LOSS_OPTIONS, fields)

/* log t! for t above 1, and 0 elsewhere. Where it is 0 the logarithm gets 1, because an infinite
 * derivative at 0 would be multiplied by 0. */
static adz_tensor *stirling(adz_tensor *t)
{
    adz_tensor *small = adz_le_number(t, 1), *safe = adz_masked_fill(t, small, 1);
    adz_tensor *powers = adz_sub(adz_mul(safe, adz_log(safe)), safe);
    adz_tensor *root = adz_mul_number(adz_log(adz_mul_number(safe, 2 * ADZI_PI)), 0.5);
    return adz_masked_fill(adz_add(powers, root), small, 0);
}

adz_tensor *adz_poisson_nll_loss(
    adz_tensor *x, adz_tensor *target, const adz_poisson_nll_loss_options *options)
{
    ADZI_COMPOSED();
    adz_poisson_nll_loss_options o;
    if (!adzi_check_loss_input(name, "x", x) || !adzi_check_loss_input(name, "target", target) ||
        !ADZI_OPTIONS_TAKE(
            name, adz_poisson_nll_loss_options, ADZ_POISSON_NLL_LOSS_OPTIONS, &o, options)) {
        return NULL;
    }
    int rank = x->rank;
    int64_t sizes[ADZ_MAX_RANK];
    memcpy(sizes, x->sizes, sizeof sizes);
    if (!adzi_broadcast(name, &rank, sizes, x, target)) {
        return NULL;
    }
    adz_tensor *l = o.log_input ? adz_sub(adz_exp(x), adz_mul(target, x))
                                : adz_sub(x, adz_mul(target, adz_log(adz_add_number(x, o.eps))));
    l = o.full ? adz_add(l, stirling(target)) : l;
    return adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
}
