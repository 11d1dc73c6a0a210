/* Averaged stochastic gradient descent, as torch.optim.ASGD. */
#include "adze/ops/compare.h"
#include "adze/optim/sgd.h"
#include "adze/real.h"
#include "optim/expressions.h"

ADZ_C_TEXT(asgd_names, enum { ASGD_LR, ASGD_LAMBD, ASGD_ALPHA, ASGD_T0, ASGD_WEIGHT_DECAY,
                           ASGD_MAXIMIZE, ASGD_SETTINGS };
           enum { ASGD_N_LAMBD, ASGD_N_DECAY, ASGD_N_ETA, ASGD_N_MU, ASGD_NUMBERS };)

enum { ETA, MU, AX }; /* states */

/* The new eta and mu, which the next step uses. */
ADZ_C_TEXT(
    asgd_text, static void asgd_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        const double step = (double)at->step;
        n[ASGD_N_LAMBD] = s[ASGD_LAMBD];
        n[ASGD_N_DECAY] = s[ASGD_WEIGHT_DECAY];
        n[ASGD_N_ETA] =
            s[ASGD_LR] / adz_real_pow(1 + s[ASGD_LAMBD] * s[ASGD_LR] * step, s[ASGD_ALPHA]);
        n[ASGD_N_MU] = 1 / fmax(1, step - s[ASGD_T0]);
    })

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *eta = u->states[ETA], *mu = u->states[MU], *ax = u->states[AX];
    const bool decays = adz_update_setting(u, ASGD_WEIGHT_DECAY) != 0;
    adz_tensor *g = adzi_decayed_gradient(
        u, adz_update_setting(u, ASGD_MAXIMIZE) != 0, decays ? u->numbers[ASGD_N_DECAY] : NULL);
    adz_tensor *keep = adz_number_sub(1, adz_mul(u->numbers[ASGD_N_LAMBD], eta));
    adz_tensor *w = adz_sub(adz_mul(keep, u->parameter), adz_mul(eta, g));
    adz_tensor *mean = adz_add(ax, adz_mul(mu, adz_sub(w, ax)));
    results[0] = w;
    results[1 + AX] = adz_where(adz_eq_number(mu, 1), w, mean);
    results[1 + ETA] = u->numbers[ASGD_N_ETA];
    results[1 + MU] = u->numbers[ASGD_N_MU];
    return ADZ_OK;
}

/* eta and mu are one number each. */
static int state_shape(int state, const adz_tensor *parameter, int64_t *sizes)
{
    (void)parameter, (void)sizes;
    return state == AX ? ADZ_STATE_LIKE_PARAMETER : 0;
}

static const adz_optimizer_type asgd_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "ASGD",
    .constructor = "adz_asgd_new",
    .settings = { ADZ_SETTING("lr", 0.01, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_asgd_options, lambd, .value = 1e-4, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_asgd_options, alpha, .value = 0.75, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_asgd_options, t0, .value = 1e6, ADZ_FINITE),
        ADZ_FIELD(adz_asgd_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_asgd_options, maximize, .value = 0) },
    .states = { { "eta", ADZ_INITIAL_LR }, { "mu", ADZ_INITIAL_ONE }, { "ax", 0 } },
    .update = update,
    .numbers = asgd_numbers,
    .numbers_text = { asgd_names, asgd_text },
    .n_numbers = ASGD_NUMBERS,
    .state_shape = state_shape,
    .elementwise = true,
};

ADZ_OPTIONS_TABLE(adz_asgd_options, ADZ_ASGD_OPTIONS, asgd_type.settings)

adz_optimizer *adz_asgd_new(adz_tensor_list parameters, double lr, const adz_asgd_options *options)
{
    return adzi_optimizer_from(&asgd_type, &adz_asgd_options_table, parameters, lr, options);
}
