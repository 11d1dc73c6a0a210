/* Adadelta, as torch.optim.Adadelta. */
#include "adze/ops/math.h"
#include "adze/optim/adagrad.h"
#include "optim/expressions.h"

ADZ_C_TEXT(adadelta_names, enum { ADADELTA_LR, ADADELTA_RHO, ADADELTA_EPS, ADADELTA_WEIGHT_DECAY,
                               ADADELTA_MAXIMIZE, ADADELTA_SETTINGS };
           enum { ADADELTA_N_LR, ADADELTA_N_RHO, ADADELTA_N_FRESH, ADADELTA_N_EPS, ADADELTA_N_DECAY,
               ADADELTA_NUMBERS };)

enum { SQUARE_AVG, ACC_DELTA }; /* states */

ADZ_C_TEXT(
    adadelta_text, static void adadelta_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        n[ADADELTA_N_LR] = s[ADADELTA_LR];
        n[ADADELTA_N_RHO] = s[ADADELTA_RHO];
        n[ADADELTA_N_FRESH] = 1 - s[ADADELTA_RHO];
        n[ADADELTA_N_EPS] = s[ADADELTA_EPS];
        n[ADADELTA_N_DECAY] = s[ADADELTA_WEIGHT_DECAY];
    })

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    adz_tensor *rho = n[ADADELTA_N_RHO], *fresh = n[ADADELTA_N_FRESH], *eps = n[ADADELTA_N_EPS];
    const bool decays = adz_update_setting(u, ADADELTA_WEIGHT_DECAY) != 0;
    adz_tensor *g = adzi_decayed_gradient(
        u, adz_update_setting(u, ADADELTA_MAXIMIZE) != 0, decays ? n[ADADELTA_N_DECAY] : NULL);
    adz_tensor *v = adzi_averaged(rho, u->states[SQUARE_AVG], fresh, adz_square(g));
    adz_tensor *old = adz_sqrt(adz_add(u->states[ACC_DELTA], eps));
    adz_tensor *delta = adz_mul(adz_div(old, adz_sqrt(adz_add(v, eps))), g);
    results[0] = adz_sub(u->parameter, adz_mul(n[ADADELTA_N_LR], delta));
    results[1 + SQUARE_AVG] = v;
    results[1 + ACC_DELTA] = adzi_averaged(rho, u->states[ACC_DELTA], fresh, adz_square(delta));
    return ADZ_OK;
}

static const adz_optimizer_type adadelta_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Adadelta",
    .constructor = "adz_adadelta_new",
    .settings = { ADZ_SETTING("lr", 1, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adadelta_options, rho, .value = 0.9, ADZ_CLOSED(0, 1)),
        ADZ_FIELD(adz_adadelta_options, eps, .value = 1e-6, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adadelta_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adadelta_options, maximize, .value = 0) },
    .states = { { "square_avg", 0 }, { "acc_delta", 0 } },
    .update = update,
    .numbers = adadelta_numbers,
    .numbers_text = { adadelta_names, adadelta_text },
    .n_numbers = ADADELTA_NUMBERS,
    .elementwise = true,
};

ADZ_OPTIONS_TABLE(adz_adadelta_options, ADZ_ADADELTA_OPTIONS, adadelta_type.settings)

adz_optimizer *adz_adadelta_new(
    adz_tensor_list parameters, double lr, const adz_adadelta_options *options)
{
    return adzi_optimizer_from(
        &adadelta_type, &adz_adadelta_options_table, parameters, lr, options);
}
