#include <math.h>

#include "ops/loss/check_loss.h"
#include "ops/options.h"
#include "base/capture.h"
#include "tensor/kernel/real.h"

/* The negative log likelihood of a normal distribution, torch.nn.functional.gaussian_nll_loss.
 *
 *     v = max(var, eps),   l = (log v + (x - t)^2 / v) / 2
 *     full: l + log(2 pi) / 2
 *
 * The variance has the shape of x, or lacks its last dimension, or has size 1 there. As in PyTorch,
 * the limit eps is a constant that is added: var gets its gradient at v, also below eps. A
 * composition: x, the target t and var are differentiable to any order. */

static const char name[] = "gaussian_nll_loss";

static const adz_field fields[] = {
    ADZ_FIELD(adz_gaussian_nll_loss_options, full, .value = false),
    ADZ_FIELD(adz_gaussian_nll_loss_options, eps, .value = 1e-6, ADZ_ABOVE(0)),
    ADZI_REDUCTION_ROW(adz_gaussian_nll_loss_options),
};

ADZ_OPTIONS_TABLE(adz_gaussian_nll_loss_options, ADZ_GAUSSIAN_NLL_LOSS_OPTIONS, fields)

typedef struct {
    const char *var; /* contiguous */
    int64_t n;
    adz_dtype dtype;
} negative_args;

ADZI_ADDRESSES(negative_args, var);

/* Refuses a negative variance. Replays of a plan look at the elements again. */
static adz_status report_negative(const void *block)
{
    const negative_args *a = block;
    for (int64_t i = 0; i < a->n; ++i) {
        const double v = a->dtype == ADZ_F32 ? (double)((const float *)(const void *)a->var)[i]
                                             : ((const double *)(const void *)a->var)[i];
        if (v < 0) {
            return adzi_error(name, ADZ_ERR_ARGUMENT,
                "var has a negative element, %s; a variance is 0 or more, such as adz_exp or adz_softplus gives it",
                adzi_text_number(v));
        }
    }
    return ADZ_OK;
}

/* The variance with the rank of x, or NULL if its shape does not fit. */
static adz_tensor *fitted(adz_tensor *x, adz_tensor *var)
{
    adz_tensor *v = var->rank == x->rank - 1 ? adz_unsqueeze(var, -1) : var;
    bool fits = v != NULL && v->rank == x->rank;
    for (int i = 0; fits && i < x->rank; ++i) {
        fits = v->sizes[i] == x->sizes[i] || (i == x->rank - 1 && v->sizes[i] == 1);
    }
    if (fits || v == NULL) {
        return v;
    }
    return adzi_fail(name, ADZ_ERR_SHAPE,
        "var%s must have the shape of x%s, lack its last dimension, or have size 1 there",
        adzi_text_shape(var), adzi_text_shape(x));
}

static bool check(adz_tensor *x, adz_tensor *target, adz_tensor *var)
{
    if (!adzi_check_loss_input(name, "x", x) || !adzi_check_loss_input(name, "target", target) ||
        !adzi_check_loss_input(name, "var", var)) {
        return false;
    }
    int rank = x->rank;
    int64_t sizes[ADZ_MAX_RANK];
    memcpy(sizes, x->sizes, sizeof sizes);
    if (!adzi_broadcast(name, &rank, sizes, x, target)) {
        return false;
    }
    const adz_tensor *compact = adzi_compact(name, var);
    if (compact == NULL) {
        return false;
    }
    const negative_args args = { compact->data, compact->numel, (adz_dtype)compact->dtype };
    return adzi_repeat(report_negative, negative_args, &args) == ADZ_OK;
}

/* The variance is checked on the host, in each replay of a plan, too. */
adz_tensor *adz_gaussian_nll_loss(adz_tensor *x, adz_tensor *target, adz_tensor *var,
    const adz_gaussian_nll_loss_options *options)
{
    ADZI_COMPOSED();
    adz_gaussian_nll_loss_options o;
    if (!ADZI_OPTIONS_TAKE(
            name, adz_gaussian_nll_loss_options, ADZ_GAUSSIAN_NLL_LOSS_OPTIONS, &o, options) ||
        !check(x, target, var)) {
        return NULL;
    }
    var = fitted(x, var);
    /* What is missing to eps. The difference of the limited and the given variance would be NaN if
     * both were infinite. */
    adz_tensor *missing = adz_neg(adz_add_number(adz_detach(var), -o.eps));
    adz_tensor *limit = adz_clamp(missing, 0, INFINITY);
    adz_tensor *v = adz_add(var, limit);
    adz_tensor *l = adz_add(adz_log(v), adz_div(adz_square(adz_sub(x, target)), v));
    l = adz_mul_number(l, 0.5);
    l = o.full ? adz_add_number(l, 0.5 * adzi_real_log(2 * ADZI_PI)) : l;
    return adzi_weigh_losses(name, l, ADZ_NONE, o.reduction);
}
