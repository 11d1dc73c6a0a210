/* Adagrad, as torch.optim.Adagrad. The formula is in adagrad.kernel.c. The rate of step t is
 * lr / (1 + (t - 1) lr_decay). */
#include "adze/optim/adagrad.h"

#include "adze/ops/math.h"
#include "adze/options.h"
#include "optim/adagrad.h"
#include "optim/expressions.h"

ADZI_UPDATE_KERNEL_TABLE(adagrad);

ADZ_C_TEXT(adagrad_settings, enum { ADAGRAD_LR, ADAGRAD_LR_DECAY, ADAGRAD_EPS, ADAGRAD_WEIGHT_DECAY,
                                 ADAGRAD_INITIAL, ADAGRAD_MAXIMIZE, ADAGRAD_SETTINGS };)

ADZ_C_TEXT(
    adagrad_text, static void adagrad_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        n[ADZI_ADAGRAD_LR] = s[ADAGRAD_LR] / (1 + (double)(at->step - 1) * s[ADAGRAD_LR_DECAY]);
        n[ADZI_ADAGRAD_EPS] = s[ADAGRAD_EPS];
        n[ADZI_ADAGRAD_DECAY] = s[ADAGRAD_WEIGHT_DECAY];
        n[ADZI_ADAGRAD_SIGN] = s[ADAGRAD_MAXIMIZE] != 0 ? -1 : 1;
    })

static adz_status update(adz_tensor **results, const adz_update *u)
{
    const bool decays = adz_update_setting(u, ADAGRAD_WEIGHT_DECAY) != 0;
    adz_tensor *g = adzi_decayed_gradient(u, adz_update_setting(u, ADAGRAD_MAXIMIZE) != 0,
        decays ? u->numbers[ADZI_ADAGRAD_DECAY] : NULL);
    adz_tensor *sum = adz_add(u->states[0], adz_mul(g, g));
    adz_tensor *size = adz_add(adz_sqrt(sum), u->numbers[ADZI_ADAGRAD_EPS]);
    results[0] = adz_sub(u->parameter, adz_div(adz_mul(u->numbers[ADZI_ADAGRAD_LR], g), size));
    results[1] = sum;
    return ADZ_OK;
}

static const adz_optimizer_type adagrad_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "Adagrad",
    .constructor = "adz_adagrad_new",
    .settings = { ADZ_SETTING("lr", 0.01, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adagrad_options, lr_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adagrad_options, eps, .value = 1e-10, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adagrad_options, weight_decay, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adagrad_options, initial_accumulator_value, .value = 0, ADZ_FINITE_FROM(0)),
        ADZ_FIELD(adz_adagrad_options, maximize, .value = 0) },
    .states = { { "sum", ADAGRAD_INITIAL } },
    .update = update,
    .numbers = adagrad_numbers,
    .numbers_text = { adagrad_settings, adzi_adagrad_names, adagrad_text },
    .n_numbers = ADZI_ADAGRAD_NUMBERS,
    .kernels = ADZI_UPDATE_KERNELS(adagrad),
};

ADZ_OPTIONS_TABLE(adz_adagrad_options, ADZ_ADAGRAD_OPTIONS, adagrad_type.settings)

adz_optimizer *adz_adagrad_new(
    adz_tensor_list parameters, double lr, const adz_adagrad_options *options)
{
    return adzi_optimizer_from(&adagrad_type, &adz_adagrad_options_table, parameters, lr, options);
}
