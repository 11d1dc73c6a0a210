/* Adam and AdamW. */
#include "adze/optim/adam.h"

#include <math.h>

#include "optim/adam_family.h"
#include "base/error.h"
#include "base/options.h"

KERNEL_TABLE_FLOAT(adam);

/* ---- what the relatives share --------------------------------------------------------------- */

static adz_status check_beta(const char *op, const char *name, double value)
{
    return value >= 0 && value < 1
               ? ADZ_OK
               : adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %s, but must be at least 0 and below 1",
                     name, adzi_text_number(value));
}

adz_status adzi_adam_check(const char *op, const double *settings)
{
    if (adzi_check_not_negative(op, "lr", settings[ADZI_ADAM_LR]) != ADZ_OK ||
        check_beta(op, "beta1", settings[ADZI_ADAM_BETA1]) != ADZ_OK ||
        check_beta(op, "beta2", settings[ADZI_ADAM_BETA2]) != ADZ_OK ||
        adzi_check_not_negative(op, "eps", settings[ADZI_ADAM_EPS]) != ADZ_OK ||
        adzi_check_not_negative(op, "weight_decay", settings[ADZI_ADAM_WEIGHT_DECAY]) != ADZ_OK) {
        return ADZ_ERR_ARGUMENT;
    }
    return ADZ_OK;
}

adzi_adam_args adzi_adam_args_of(const adzi_update *u)
{
    const double *s = u->settings;
    return (adzi_adam_args){ .beta1 = s[ADZI_ADAM_BETA1],
        .beta2 = s[ADZI_ADAM_BETA2],
        .keep = 1,
        .sign = 1,
        .root = 1,
        .eps = s[ADZI_ADAM_EPS],
        .mode = ADZI_ADAM_ADAPTIVE };
}

void adzi_adam_launch(const adzi_update *u, adzi_adam_args args, bool amsgrad)
{
    args.w = u->parameter->data;
    args.dw = u->gradient->data;
    args.m = u->state[0]->data;
    args.v = u->state[1]->data;
    args.most = amsgrad ? u->state[2]->data : NULL;
    adzi_launch(
        KERNEL_FOR(adam, u->parameter->dtype), &args, u->parameter->numel, ADZI_OPTIM_GRAIN);
}

/* ---- PyTorch's two -------------------------------------------------------------------------- */

enum { AMSGRAD = ADZI_ADAM_SETTINGS, MAXIMIZE, SETTINGS };

static unsigned needs(const double *settings)
{
    return settings[AMSGRAD] != 0 ? ADZI_ADAM_MOMENTS_AND_MOST : ADZI_ADAM_MOMENTS;
}

static void update(const adzi_update *u, bool decoupled)
{
    const double *s = u->settings;
    double lr = s[ADZI_ADAM_LR], decay = s[ADZI_ADAM_WEIGHT_DECAY];
    adzi_adam_args args = adzi_adam_args_of(u);
    args.keep = decoupled ? 1 - lr * decay : 1;
    args.decay = decoupled ? 0 : decay;
    args.sign = s[MAXIMIZE] != 0 ? -1 : 1;
    args.root = 1 / sqrt(1 - adzi_update_power(u, 1, args.beta2));
    args.step = lr / (1 - adzi_update_power(u, 0, args.beta1));
    adzi_adam_launch(u, args, s[AMSGRAD] != 0);
}

static void adam_update(const adzi_update *u)
{
    update(u, false);
}

static void adamw_update(const adzi_update *u)
{
    update(u, true);
}

/* The two differ in the update alone. */
#define ADAM_TYPE(NAME, UPDATE)                                                                    \
    {                                                                                              \
        .name = (NAME), .n_settings = SETTINGS,                                                    \
        .settings = { ADZI_ADAM_NAMES, { "amsgrad", true }, { "maximize", true } }, .n_states = 3, \
        .states = ADZI_ADAM_STATES, .counts_steps = true, .check = adzi_adam_check,                \
        .needs = needs, .update = (UPDATE),                                                        \
    }

static const adzi_optimizer_type adam_type = ADAM_TYPE("Adam", adam_update);
static const adzi_optimizer_type adamw_type = ADAM_TYPE("AdamW", adamw_update);

ADZI_OPTIONS_INIT(adz_adam_options_init, adz_adam_options, ADZ_ADAM_OPTIONS)

adz_optimizer *adz_adam_new(adz_tensor_list parameters, double lr, const adz_adam_options *options)
{
    adz_adam_options o = ADZ_ADAM_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_adam_new", ADZ_ADAM_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad,
        o.maximize };
    return adzi_optimizer_new("adz_adam_new", &adam_type, parameters, settings);
}

ADZI_OPTIONS_INIT(adz_adamw_options_init, adz_adamw_options, ADZ_ADAMW_OPTIONS)

adz_optimizer *adz_adamw_new(
    adz_tensor_list parameters, double lr, const adz_adamw_options *options)
{
    adz_adamw_options o = ADZ_ADAMW_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_adamw_new", ADZ_ADAMW_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.amsgrad,
        o.maximize };
    return adzi_optimizer_new("adz_adamw_new", &adamw_type, parameters, settings);
}
