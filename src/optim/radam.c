/* Rectified Adam, as PyTorch has it. */
#include "adze/optim/radam.h"

#include "adze/optim/adam_family.h"
#include "adze/options.h"
#include "optim/optimizer.h"

ADZ_C_TEXT(radam_settings,
           enum { RADAM_DECOUPLED = ADZ_ADAM_FIRST_SETTINGS, RADAM_MAXIMIZE, RADAM_SETTINGS };)

/* With rho above 5, epsilon joins the uncorrected root. */
ADZ_C_TEXT(
    radam_text, static void radam_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        const double beta2 = s[ADZ_ADAM_BETA2];
        const double lr = s[ADZ_ADAM_LR];
        const double decay = s[ADZ_ADAM_WEIGHT_DECAY];
        double rho;
        adz_adam_numbers(n, at);
        const double rectification = adz_radam_rectification(beta2, (double)at->step, &rho);
        n[ADZ_ADAM_N_KEEP] = s[RADAM_DECOUPLED] != 0 ? 1 - lr * decay : 1;
        n[ADZ_ADAM_N_DECAY] = s[RADAM_DECOUPLED] != 0 ? 0 : decay;
        n[ADZ_ADAM_N_SIGN] = s[RADAM_MAXIMIZE] != 0 ? -1 : 1;
        n[ADZ_ADAM_N_STEP] = lr / (1 - adz_moment_power(at, 0, s[ADZ_ADAM_BETA1]));
        if (rho > 5) {
            n[ADZ_ADAM_N_STEP] *= rectification * sqrt(1 - adz_moment_power(at, 1, beta2));
        } else {
            n[ADZ_ADAM_N_MODE] = ADZ_ADAM_PLAIN;
        }
    })

static adz_status update(adz_tensor **results, const adz_update *u)
{
    const bool decays = adz_update_setting(u, ADZ_ADAM_WEIGHT_DECAY) != 0;
    const bool decoupled = adz_update_setting(u, RADAM_DECOUPLED) != 0;
    const adz_adam_parts parts = {
        .maximizes = adz_update_setting(u, RADAM_MAXIMIZE) != 0,
        .decays = decays && !decoupled,
        .keeps = decays && decoupled,
        .modes = true,
    };
    return adz_adam_express(results, u, &parts);
}

static const adz_optimizer_type radam_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "RAdam",
    .constructor = "adz_radam_new",
    .settings = { ADZ_ADAM_SETTINGS(adz_radam_options, 1e-8, 0),
        ADZ_FIELD(adz_radam_options, decoupled_weight_decay, .value = 0),
        ADZ_FIELD(adz_radam_options, maximize, .value = 0) },
    .states = { ADZ_ADAM_TWO_STATES },
    .update = update,
    .numbers = radam_numbers,
    .numbers_text = { ADZ_ADAM_TEXTS, adz_radam_text, radam_settings, radam_text },
    .n_numbers = ADZ_ADAM_NUMBERS,
    .kernels = ADZ_ADAM_KERNELS,
};

ADZ_OPTIONS_TABLE(adz_radam_options, ADZ_RADAM_OPTIONS, radam_type.settings)

adz_optimizer *adz_radam_new(
    adz_tensor_list parameters, double lr, const adz_radam_options *options)
{
    return adzi_optimizer_from(&radam_type, &adz_radam_options_table, parameters, lr, options);
}
