/* Adamax, as torch.optim.Adamax. */
#include "adze/ops/math.h"
#include "adze/optim/adam.h"
#include "optim/expressions.h"

ADZ_C_TEXT(adamax_names, enum { ADAMAX_LR, ADAMAX_BETA1, ADAMAX_BETA2, ADAMAX_EPS,
                             ADAMAX_WEIGHT_DECAY, ADAMAX_MAXIMIZE, ADAMAX_SETTINGS };
           enum { ADAMAX_N_STEP, ADAMAX_N_BETA1, ADAMAX_N_FRESH, ADAMAX_N_BETA2, ADAMAX_N_EPS,
               ADAMAX_N_DECAY, ADAMAX_NUMBERS };)

enum { EXP_AVG, EXP_INF }; /* states */

ADZ_C_TEXT(
    adamax_text, static void adamax_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        n[ADAMAX_N_STEP] = s[ADAMAX_LR] / (1 - adz_moment_power(at, 0, s[ADAMAX_BETA1]));
        n[ADAMAX_N_BETA1] = s[ADAMAX_BETA1];
        n[ADAMAX_N_FRESH] = 1 - s[ADAMAX_BETA1];
        n[ADAMAX_N_BETA2] = s[ADAMAX_BETA2];
        n[ADAMAX_N_EPS] = s[ADAMAX_EPS];
        n[ADAMAX_N_DECAY] = s[ADAMAX_WEIGHT_DECAY];
    })

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    const bool decays = adz_update_setting(u, ADAMAX_WEIGHT_DECAY) != 0;
    adz_tensor *g = adzi_decayed_gradient(
        u, adz_update_setting(u, ADAMAX_MAXIMIZE) != 0, decays ? n[ADAMAX_N_DECAY] : NULL);
    adz_tensor *m = adzi_averaged(n[ADAMAX_N_BETA1], u->states[EXP_AVG], n[ADAMAX_N_FRESH], g);
    adz_tensor *before = adz_mul(n[ADAMAX_N_BETA2], u->states[EXP_INF]);
    adz_tensor *largest = adz_maximum(before, adz_add(adz_abs(g), n[ADAMAX_N_EPS]));
    results[0] = adz_sub(u->parameter, adz_div(adz_mul(n[ADAMAX_N_STEP], m), largest));
    results[1 + EXP_AVG] = m;
    results[1 + EXP_INF] = largest;
    return ADZ_OK;
}

static const adz_optimizer_type adamax_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Adamax",
    .constructor = "adz_adamax_new",
    .settings = { ADZ_SETTING("lr", 2e-3, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adamax_options, beta1, .value = 0.9, ADZ_BELOW(0, 1)),
        ADZ_FIELD(adz_adamax_options, beta2, .value = 0.999, ADZ_BELOW(0, 1)),
        ADZ_FIELD(adz_adamax_options, eps, .value = 1e-8, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adamax_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adamax_options, maximize, .value = 0) },
    .states = { { "exp_avg", 0 }, { "exp_inf", 0 } },
    .update = update,
    .numbers = adamax_numbers,
    .numbers_text = { adamax_names, adamax_text },
    .n_numbers = ADAMAX_NUMBERS,
    .elementwise = true,
};

ADZ_OPTIONS_TABLE(adz_adamax_options, ADZ_ADAMAX_OPTIONS, adamax_type.settings)

adz_optimizer *adz_adamax_new(
    adz_tensor_list parameters, double lr, const adz_adamax_options *options)
{
    return adzi_optimizer_from(&adamax_type, &adz_adamax_options_table, parameters, lr, options);
}
