/* RMSprop, as torch.optim.RMSprop. The formula is in rmsprop.kernel.c. */
#include "adze/optim/rmsprop.h"

#include <math.h>

#include "adze/ops/compare.h"
#include "adze/ops/math.h"
#include "adze/options.h"
#include "optim/expressions.h"
#include "optim/rmsprop.h"

ADZI_UPDATE_KERNEL_TABLE(rmsprop);

ADZ_C_TEXT(rms_settings, enum { RMS_LR, RMS_ALPHA, RMS_EPS, RMS_WEIGHT_DECAY, RMS_MOMENTUM,
                             RMS_CENTERED, RMS_MAXIMIZE, RMS_SETTINGS };)

static uint32_t needs(const double *settings)
{
    return 1u << ADZI_RMS_SQUARE | (settings[RMS_MOMENTUM] != 0 ? 1u << ADZI_RMS_BUFFER : 0) |
           (settings[RMS_CENTERED] != 0 ? 1u << ADZI_RMS_MEAN : 0);
}

ADZ_C_TEXT(
    rms_text, static void rms_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        n[ADZI_RMS_LR] = s[RMS_LR];
        n[ADZI_RMS_ALPHA] = s[RMS_ALPHA];
        n[ADZI_RMS_FRESH] = 1 - s[RMS_ALPHA];
        n[ADZI_RMS_EPS] = s[RMS_EPS];
        n[ADZI_RMS_MOMENTUM] = s[RMS_MOMENTUM];
        n[ADZI_RMS_DECAY] = s[RMS_WEIGHT_DECAY];
        n[ADZI_RMS_SIGN] = s[RMS_MAXIMIZE] != 0 ? -1 : 1;
    })

/* v - mean^2, at least 0. An infinite v stays infinite. */
static adz_tensor *centred(adz_tensor *v, adz_tensor *mean)
{
    adz_tensor *s = adz_sub(v, adz_mul(mean, mean));
    s = adz_masked_fill(s, adz_lt_number(s, 0), 0);
    return adz_where(adz_eq_number(v, INFINITY), v, s);
}

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    const bool decays = adz_update_setting(u, RMS_WEIGHT_DECAY) != 0;
    adz_tensor *g = adzi_decayed_gradient(
        u, adz_update_setting(u, RMS_MAXIMIZE) != 0, decays ? n[ADZI_RMS_DECAY] : NULL);
    adz_tensor *fresh = n[ADZI_RMS_FRESH], *old = u->states[ADZI_RMS_SQUARE];
    adz_tensor *v = adz_add(adz_mul(n[ADZI_RMS_ALPHA], old), adz_mul(adz_mul(fresh, g), g));
    results[1 + ADZI_RMS_SQUARE] = v;
    if (u->states[ADZI_RMS_MEAN] != ADZ_NONE) {
        adz_tensor *mean = adzi_averaged(n[ADZI_RMS_ALPHA], u->states[ADZI_RMS_MEAN], fresh, g);
        results[1 + ADZI_RMS_MEAN] = mean;
        v = centred(v, mean);
    }
    adz_tensor *size = adz_add(adz_sqrt(v), n[ADZI_RMS_EPS]), *step;
    if (u->states[ADZI_RMS_BUFFER] != ADZ_NONE) {
        adz_tensor *before = adz_mul(n[ADZI_RMS_MOMENTUM], u->states[ADZI_RMS_BUFFER]);
        adz_tensor *m = adz_add(before, adz_div(g, size));
        results[1 + ADZI_RMS_BUFFER] = m;
        step = adz_mul(n[ADZI_RMS_LR], m);
    } else {
        step = adz_div(adz_mul(n[ADZI_RMS_LR], g), size);
    }
    results[0] = adz_sub(u->parameter, step);
    return ADZ_OK;
}

static const adz_optimizer_type rmsprop_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "RMSprop",
    .constructor = "adz_rmsprop_new",
    .settings = { ADZ_SETTING("lr", 0.01, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rmsprop_options, alpha, .value = 0.99, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rmsprop_options, eps, .value = 1e-8, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rmsprop_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rmsprop_options, momentum, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_rmsprop_options, centered, .value = 0),
        ADZ_FIELD(adz_rmsprop_options, maximize, .value = 0) },
    .states = { { "square_avg", 0 }, { "momentum_buffer", 0 }, { "grad_avg", 0 } },
    .update = update,
    .needs = needs,
    .numbers = rms_numbers,
    .numbers_text = { rms_settings, adzi_rms_names, rms_text },
    .n_numbers = ADZI_RMS_NUMBERS,
    .kernels = ADZI_UPDATE_KERNELS(rmsprop),
};

ADZ_OPTIONS_TABLE(adz_rmsprop_options, ADZ_RMSPROP_OPTIONS, rmsprop_type.settings)

adz_optimizer *adz_rmsprop_new(
    adz_tensor_list parameters, double lr, const adz_rmsprop_options *options)
{
    return adzi_optimizer_from(&rmsprop_type, &adz_rmsprop_options_table, parameters, lr, options);
}
