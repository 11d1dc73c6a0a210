/* Resilient backpropagation, as torch.optim.Rprop. */
#include "adze/ops/compare.h"
#include "adze/ops/math.h"
#include "adze/ops/rounding.h"
#include "adze/optim/rmsprop.h"
#include "base/error.h"
#include "optim/expressions.h"

/* Settings, which are also the numbers of an update, and states. */
enum {
    RPROP_LR,
    RPROP_ETAMINUS,
    RPROP_ETAPLUS,
    RPROP_STEP_SIZE_MIN,
    RPROP_STEP_SIZE_MAX,
    RPROP_MAXIMIZE
};
enum { PREV, STEP_SIZE };

static adz_status check(const char *op, const double *settings)
{
    if (settings[RPROP_STEP_SIZE_MIN] <= settings[RPROP_STEP_SIZE_MAX]) {
        return ADZ_OK;
    }
    return adzi_error(op, ADZ_ERR_ARGUMENT, "step_size_min is %s, above step_size_max, which is %s",
        adzi_text_number(settings[RPROP_STEP_SIZE_MIN]),
        adzi_text_number(settings[RPROP_STEP_SIZE_MAX]));
}

/* A comparison with NaN is false, so that a gradient of NaN leaves
 * its element and its step size as they are, as in PyTorch. */
static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    adz_tensor *g = adzi_decayed_gradient(u, adz_update_setting(u, RPROP_MAXIMIZE) != 0, NULL);
    adz_tensor *product = adz_mul(g, u->states[PREV]);
    adz_tensor *turns = adz_lt_number(product, 0), *one = adz_ones_like(n[RPROP_LR]);
    adz_tensor *grown = adz_where(adz_gt_number(product, 0), n[RPROP_ETAPLUS], one);
    adz_tensor *size = adz_mul(u->states[STEP_SIZE], adz_where(turns, n[RPROP_ETAMINUS], grown));
    size = adz_minimum(adz_maximum(size, n[RPROP_STEP_SIZE_MIN]), n[RPROP_STEP_SIZE_MAX]);
    g = adz_masked_fill(g, turns, 0);
    results[0] = adz_sub(u->parameter, adz_mul(adz_sign(g), size));
    results[1 + PREV] = g;
    results[1 + STEP_SIZE] = size;
    return ADZ_OK;
}

static const adz_optimizer_type rprop_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Rprop",
    .constructor = "adz_rprop_new",
    .settings = { ADZ_SETTING("lr", 0.01, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rprop_options, etaminus, .value = 0.5, ADZ_BETWEEN(0, 1)),
        ADZ_FIELD(adz_rprop_options, etaplus, .value = 1.2, ADZ_FINITE_ABOVE(1)),
        ADZ_FIELD(adz_rprop_options, step_size_min, .value = 1e-6, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rprop_options, step_size_max, .value = 50, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rprop_options, maximize, .value = 0) },
    .states = { { "prev", 0 }, { "step_size", ADZ_INITIAL_LR } },
    .update = update,
    .check = check,
    .elementwise = true,
};

ADZ_OPTIONS_TABLE(adz_rprop_options, ADZ_RPROP_OPTIONS, rprop_type.settings)

adz_optimizer *adz_rprop_new(
    adz_tensor_list parameters, double lr, const adz_rprop_options *options)
{
    return adzi_optimizer_from(&rprop_type, &adz_rprop_options_table, parameters, lr, options);
}
