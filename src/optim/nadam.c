/* Adam with Nesterov's momentum, as torch.optim.NAdam. */
#include "adze/ops/math.h"
#include "adze/optim/adam.h"
#include "adze/real.h"
#include "optim/expressions.h"

ADZ_C_TEXT(nadam_names, enum { NADAM_LR, NADAM_BETA1, NADAM_BETA2, NADAM_EPS, NADAM_WEIGHT_DECAY,
                            NADAM_MOMENTUM_DECAY, NADAM_DECOUPLED, NADAM_MAXIMIZE, NADAM_SETTINGS };
           enum { NADAM_N_BETA1, NADAM_N_FRESH1, NADAM_N_BETA2, NADAM_N_FRESH2, NADAM_N_ROOT,
               NADAM_N_EPS, NADAM_N_KEEP, NADAM_N_DECAY, NADAM_N_MU, NADAM_N_MU_NEXT,
               NADAM_N_GRADIENT, NADAM_N_MOMENT, NADAM_NUMBERS };)

enum { MU_PRODUCT, EXP_AVG, EXP_AVG_SQ }; /* states */

/* mu of step t is beta1 (1 - 0.96^(t momentum_decay) / 2). */
ADZ_C_TEXT(
    nadam_text,
    static inline double nadam_mu(const double *s, double step) {
        return s[NADAM_BETA1] * (1 - 0.5 * adz_real_pow(0.96, step * s[NADAM_MOMENTUM_DECAY]));
    } static void nadam_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        const double decay = s[NADAM_WEIGHT_DECAY];
        n[NADAM_N_BETA1] = s[NADAM_BETA1];
        n[NADAM_N_FRESH1] = 1 - s[NADAM_BETA1];
        n[NADAM_N_BETA2] = s[NADAM_BETA2];
        n[NADAM_N_FRESH2] = 1 - s[NADAM_BETA2];
        n[NADAM_N_ROOT] = 1 - adz_moment_power(at, 1, s[NADAM_BETA2]);
        n[NADAM_N_EPS] = s[NADAM_EPS];
        n[NADAM_N_KEEP] = 1 - s[NADAM_LR] * decay;
        n[NADAM_N_DECAY] = decay;
        n[NADAM_N_MU] = nadam_mu(s, (double)at->step);
        n[NADAM_N_MU_NEXT] = nadam_mu(s, (double)at->step + 1);
        n[NADAM_N_GRADIENT] = s[NADAM_LR] * (1 - n[NADAM_N_MU]);
        n[NADAM_N_MOMENT] = s[NADAM_LR] * n[NADAM_N_MU_NEXT];
    })

/* The factor numerator / (1 - product) of the gradient or of its mean. */
static adz_tensor *factor(adz_tensor *numerator, adz_tensor *product)
{
    return adz_div(numerator, adz_number_sub(1, product));
}

static adz_status update(adz_tensor **results, const adz_update *u)
{
    adz_tensor *const *n = u->numbers;
    const bool decays = adz_update_setting(u, NADAM_WEIGHT_DECAY) != 0;
    const bool decoupled = adz_update_setting(u, NADAM_DECOUPLED) != 0;
    adz_tensor *g = adzi_decayed_gradient(u, adz_update_setting(u, NADAM_MAXIMIZE) != 0,
        decays && !decoupled ? n[NADAM_N_DECAY] : NULL);
    adz_tensor *w = decays && decoupled ? adz_mul(n[NADAM_N_KEEP], u->parameter) : u->parameter;
    adz_tensor *product = adz_mul(u->states[MU_PRODUCT], n[NADAM_N_MU]);
    adz_tensor *m = adzi_averaged(n[NADAM_N_BETA1], u->states[EXP_AVG], n[NADAM_N_FRESH1], g);
    adz_tensor *v =
        adzi_averaged(n[NADAM_N_BETA2], u->states[EXP_AVG_SQ], n[NADAM_N_FRESH2], adz_square(g));
    adz_tensor *size = adz_add(adz_sqrt(adz_div(v, n[NADAM_N_ROOT])), n[NADAM_N_EPS]);
    adz_tensor *of_gradient = factor(n[NADAM_N_GRADIENT], product);
    adz_tensor *of_moment = factor(n[NADAM_N_MOMENT], adz_mul(product, n[NADAM_N_MU_NEXT]));
    w = adz_sub(w, adz_div(adz_mul(of_gradient, g), size));
    results[0] = adz_sub(w, adz_div(adz_mul(of_moment, m), size));
    results[1 + MU_PRODUCT] = product;
    results[1 + EXP_AVG] = m;
    results[1 + EXP_AVG_SQ] = v;
    return ADZ_OK;
}

/* The product of all mu is one number. */
static int state_shape(int state, const adz_tensor *parameter, int64_t *sizes)
{
    (void)parameter, (void)sizes;
    return state == MU_PRODUCT ? 0 : ADZ_STATE_LIKE_PARAMETER;
}

static const adz_optimizer_type nadam_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "NAdam",
    .constructor = "adz_nadam_new",
    .settings = { ADZ_SETTING("lr", 2e-3, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_nadam_options, beta1, .value = 0.9, ADZ_BELOW(0, 1)),
        ADZ_FIELD(adz_nadam_options, beta2, .value = 0.999, ADZ_BELOW(0, 1)),
        ADZ_FIELD(adz_nadam_options, eps, .value = 1e-8, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_nadam_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_nadam_options, momentum_decay, .value = 4e-3, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_nadam_options, decoupled_weight_decay, .value = 0),
        ADZ_FIELD(adz_nadam_options, maximize, .value = 0) },
    .states = { { "mu_product", ADZ_INITIAL_ONE }, { "exp_avg", 0 }, { "exp_avg_sq", 0 } },
    .update = update,
    .numbers = nadam_numbers,
    .numbers_text = { nadam_names, nadam_text },
    .n_numbers = NADAM_NUMBERS,
    .state_shape = state_shape,
    .elementwise = true,
};

ADZ_OPTIONS_TABLE(adz_nadam_options, ADZ_NADAM_OPTIONS, nadam_type.settings)

adz_optimizer *adz_nadam_new(
    adz_tensor_list parameters, double lr, const adz_nadam_options *options)
{
    return adzi_optimizer_from(&nadam_type, &adz_nadam_options_table, parameters, lr, options);
}
