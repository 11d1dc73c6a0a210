/* Stochastic gradient descent, as torch.optim.SGD. The formula is in sgd.kernel.c. */
#include "adze/optim/sgd.h"

#include "base/error.h"
#include "adze/options.h"
#include "optim/expressions.h"
#include "optim/sgd.h"

ADZI_UPDATE_KERNEL_TABLE(sgd);

static adz_status check(const char *op, const double *settings)
{
    const double momentum = settings[ADZI_SGD_MOMENTUM], dampening = settings[ADZI_SGD_DAMPENING];
    if (settings[ADZI_SGD_NESTEROV] != 0 && (momentum == 0 || dampening != 0)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "momentum %s, dampening %s: nesterov needs a momentum and no dampening",
            adzi_text_number(momentum), adzi_text_number(dampening));
    }
    return ADZ_OK;
}

static uint32_t needs(const double *settings)
{
    return settings[ADZI_SGD_MOMENTUM] != 0 ? 1u : 0u;
}

/* At first m is 0, and becomes g. */
ADZ_C_TEXT(
    sgd_text, static void sgd_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        const bool first = at->fresh & 1u;
        n[ADZI_SGD_BY_LR] = s[ADZI_SGD_LR];
        n[ADZI_SGD_BY_MOMENTUM] = s[ADZI_SGD_MOMENTUM];
        n[ADZI_SGD_FRESH] = first ? 1 : 1 - s[ADZI_SGD_DAMPENING];
        n[ADZI_SGD_DECAY] = s[ADZI_SGD_WEIGHT_DECAY];
        n[ADZI_SGD_SIGN] = s[ADZI_SGD_MAXIMIZE] != 0 ? -1 : 1;
        n[ADZI_SGD_LOOKS_AHEAD] = s[ADZI_SGD_NESTEROV];
    })

static adz_status update(adz_tensor **results, const adz_update *u)
{
    const bool decays = adz_update_setting(u, ADZI_SGD_WEIGHT_DECAY) != 0;
    adz_tensor *g = adzi_decayed_gradient(u, adz_update_setting(u, ADZI_SGD_MAXIMIZE) != 0,
        decays ? u->numbers[ADZI_SGD_DECAY] : NULL);
    if (u->states[0] != ADZ_NONE) {
        adz_tensor *momentum = u->numbers[ADZI_SGD_BY_MOMENTUM];
        adz_tensor *m = adzi_averaged(momentum, u->states[0], u->numbers[ADZI_SGD_FRESH], g);
        results[1] = m;
        g = adz_update_setting(u, ADZI_SGD_NESTEROV) != 0 ? adz_add(g, adz_mul(momentum, m)) : m;
    }
    results[0] = adz_sub(u->parameter, adz_mul(u->numbers[ADZI_SGD_BY_LR], g));
    return ADZ_OK;
}

const adz_optimizer_type adzi_sgd_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "SGD",
    .constructor = "adz_sgd_new",
    .settings = { ADZ_SETTING("lr", 1e-3, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_sgd_options, momentum, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_sgd_options, dampening, ADZ_CLOSED(-INFINITY, INFINITY)),
        ADZ_FIELD(adz_sgd_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_sgd_options, nesterov, .value = 0),
        ADZ_FIELD(adz_sgd_options, maximize, .value = 0) },
    .states = { { "momentum_buffer", 0 } },
    .update = update,
    .check = check,
    .needs = needs,
    .numbers = sgd_numbers,
    .n_numbers = ADZI_SGD_NUMBERS,
    .kernels = ADZI_UPDATE_KERNELS(sgd),
    .uncounted = true,
    .numbers_text = { adzi_sgd_names, sgd_text },
};

ADZ_OPTIONS_TABLE(adz_sgd_options, ADZ_SGD_OPTIONS, adzi_sgd_type.settings)

adz_optimizer *adz_sgd_new(adz_tensor_list parameters, double lr, const adz_sgd_options *options)
{
    return adzi_optimizer_from(&adzi_sgd_type, &adz_sgd_options_table, parameters, lr, options);
}
