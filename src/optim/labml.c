/* The annotated library's optimizers: Adam with another place for epsilon and a weight decay that
 * is configured on its own, and what derives from it there. */
#include "adze/optim/labml.h"

#include <math.h>

#include "optim/adam_family.h"
#include "base/error.h"
#include "base/options.h"

/* All have these settings; those that an optimizer does not name keep their place and are 0. */
enum {
    DECOUPLE = ADZI_ADAM_SETTINGS,
    ABSOLUTE,
    OPTIMIZED,
    AMSGRAD,
    EXTRA,                 /* warmup, or degenerated_to_sgd */
    D_MODEL,               /* Noam's */
    TOTAL_STEPS = D_MODEL, /* the cosine's */
    RECTIFY = D_MODEL,     /* AdaBelief's */
    SETTINGS
};
#define NAMES                                                           \
    ADZI_ADAM_NAMES, { "weight_decouple", true }, { "absolute", true }, \
    {                                                                   \
        "optimized_update", true                                        \
    }

static unsigned needs(const double *settings)
{
    return settings[AMSGRAD] != 0 ? ADZI_ADAM_MOMENTS_AND_MOST : ADZI_ADAM_MOMENTS;
}

static unsigned adam_needs(const double *settings)
{
    (void)settings;
    return ADZI_ADAM_MOMENTS;
}

/* ---- one step ------------------------------------------------------------------------------- */

/* Decay acts before the step, at the group's own rate. `lr` is the rate of this step. */
static adzi_adam_args args_of(const adzi_update *u, double lr)
{
    const double *s = u->settings;
    double decay = s[ADZI_ADAM_WEIGHT_DECAY];
    adzi_adam_args args = adzi_adam_args_of(u);
    if (s[DECOUPLE] != 0) {
        args.keep = s[ABSOLUTE] != 0 ? 1 - decay : 1 - s[ADZI_ADAM_LR] * decay;
    } else {
        args.decay = decay;
    }
    double correction = sqrt(1 - adzi_update_power(u, 1, args.beta2));
    args.step = lr / (1 - adzi_update_power(u, 0, args.beta1));
    if (s[OPTIMIZED] != 0) {
        args.step *= correction;
    } else {
        args.root = 1 / correction;
    }
    return args;
}

static void adam_update(const adzi_update *u)
{
    adzi_adam_launch(u, args_of(u, u->settings[ADZI_ADAM_LR]), false);
}

static void amsgrad_update(const adzi_update *u)
{
    const double *s = u->settings;
    adzi_adam_launch(u, args_of(u, s[ADZI_ADAM_LR]), s[AMSGRAD] != 0);
}

static void warmup_update(const adzi_update *u)
{
    const double *s = u->settings;
    double lr = adz_labml_adam_warmup_rate(s[ADZI_ADAM_LR], s[EXTRA], u->step);
    adzi_adam_launch(u, args_of(u, lr), s[AMSGRAD] != 0);
}

static void noam_update(const adzi_update *u)
{
    const double *s = u->settings;
    double lr = adz_labml_noam_rate(s[ADZI_ADAM_LR], s[EXTRA], s[D_MODEL], u->step);
    adzi_adam_launch(u, args_of(u, lr), s[AMSGRAD] != 0);
}

static void cosine_update(const adzi_update *u)
{
    const double *s = u->settings;
    double lr =
        adz_labml_adam_warmup_cosine_decay_rate(s[ADZI_ADAM_LR], s[EXTRA], s[TOTAL_STEPS], u->step);
    adzi_adam_launch(u, args_of(u, lr), s[AMSGRAD] != 0);
}

static adzi_adam_args rectified_args_of(const adzi_update *u)
{
    const double *s = u->settings;
    double rho, rectification = adzi_radam_rectification(s[ADZI_ADAM_BETA2], (double)u->step, &rho);
    bool rectifies = rho >= 5;
    adzi_adam_args args = args_of(u, s[ADZI_ADAM_LR] * (rectifies ? rectification : 1));
    if (!rectifies) {
        args.mode = s[EXTRA] != 0 ? ADZI_ADAM_PLAIN : ADZI_ADAM_WAIT;
        args.step = s[ADZI_ADAM_LR] / (1 - adzi_update_power(u, 0, args.beta1));
    }
    return args;
}

static void radam_update(const adzi_update *u)
{
    adzi_adam_launch(u, rectified_args_of(u), u->settings[AMSGRAD] != 0);
}

static void ada_belief_update(const adzi_update *u)
{
    const double *s = u->settings;
    adzi_adam_args args = s[RECTIFY] != 0 ? rectified_args_of(u) : args_of(u, s[ADZI_ADAM_LR]);
    args.belief = true;
    adzi_adam_launch(u, args, s[AMSGRAD] != 0);
}

/* ---- checks --------------------------------------------------------------------------------- */

static adz_status check_warmup(const char *op, const double *settings)
{
    adz_status status = adzi_adam_check(op, settings);
    return status == ADZ_OK ? adzi_check_not_negative(op, "warmup", settings[EXTRA]) : status;
}

static adz_status check_cosine(const char *op, const double *settings)
{
    adz_status status = check_warmup(op, settings);
    return status == ADZ_OK ? adzi_check_not_negative(op, "total_steps", settings[TOTAL_STEPS])
                            : status;
}

static adz_status check_noam(const char *op, const double *settings)
{
    adz_status status = check_warmup(op, settings);
    status = status == ADZ_OK ? adzi_check_not_negative(op, "d_model", settings[D_MODEL]) : status;
    if (status == ADZ_OK && (settings[EXTRA] == 0 || settings[D_MODEL] == 0)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "%s is 0, but must be above 0: Noam divides by it",
            settings[EXTRA] == 0 ? "warmup" : "d_model");
    }
    return status;
}

/* ---- the types ------------------------------------------------------------------------------ */

static const adzi_optimizer_type adam_type = {
    .name = "labml.Adam",
    .n_settings = AMSGRAD,
    .settings = { NAMES },
    .n_states = 2,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = adzi_adam_check,
    .needs = adam_needs,
    .update = adam_update,
};

static const adzi_optimizer_type amsgrad_type = {
    .name = "labml.AMSGrad",
    .n_settings = EXTRA,
    .settings = { NAMES, { "amsgrad", true } },
    .n_states = 3,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = adzi_adam_check,
    .needs = needs,
    .update = amsgrad_update,
};

static const adzi_optimizer_type warmup_type = {
    .name = "labml.AdamWarmup",
    .n_settings = D_MODEL,
    .settings = { NAMES, { "amsgrad", true }, { "warmup", false } },
    .n_states = 3,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = check_warmup,
    .needs = needs,
    .update = warmup_update,
};

static const adzi_optimizer_type cosine_type = {
    .name = "labml.AdamWarmupCosineDecay",
    .n_settings = SETTINGS,
    .settings = { NAMES, { "amsgrad", true }, { "warmup", false }, { "total_steps", false } },
    .n_states = 3,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = check_cosine,
    .needs = needs,
    .update = cosine_update,
};

static const adzi_optimizer_type noam_type = {
    .name = "labml.Noam",
    .n_settings = SETTINGS,
    .settings = { NAMES, { "amsgrad", true }, { "warmup", false }, { "d_model", false } },
    .n_states = 3,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = check_noam,
    .needs = needs,
    .update = noam_update,
};

static const adzi_optimizer_type radam_type = {
    .name = "labml.RAdam",
    .n_settings = D_MODEL,
    .settings = { NAMES, { "amsgrad", true }, { "degenerated_to_sgd", true } },
    .n_states = 3,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = adzi_adam_check,
    .needs = needs,
    .update = radam_update,
};

static const adzi_optimizer_type ada_belief_type = {
    .name = "labml.AdaBelief",
    .n_settings = SETTINGS,
    .settings = { NAMES, { "amsgrad", true }, { "degenerate_to_sgd", true }, { "rectify", true } },
    .n_states = 3,
    .states = { "exp_avg", "exp_avg_var", "max_exp_avg_var" },
    .counts_steps = true,
    .check = adzi_adam_check,
    .needs = needs,
    .update = ada_belief_update,
};

/* ---- public --------------------------------------------------------------------------------- */

ADZI_OPTIONS_INIT(adz_labml_adam_options_init, adz_labml_adam_options, ADZ_LABML_ADAM_OPTIONS)

adz_optimizer *adz_labml_adam_new(
    adz_tensor_list parameters, double lr, const adz_labml_adam_options *options)
{
    adz_labml_adam_options o = ADZ_LABML_ADAM_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_labml_adam_new", ADZ_LABML_ADAM_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.weight_decouple,
        o.absolute, o.optimized_update };
    return adzi_optimizer_new("adz_labml_adam_new", &adam_type, parameters, settings);
}

ADZI_OPTIONS_INIT(
    adz_labml_amsgrad_options_init, adz_labml_amsgrad_options, ADZ_LABML_AMSGRAD_OPTIONS)

/* AMSGrad and what derives from it: the same options, amsgrad on or off. */
static adz_optimizer *derived_new(const char *op, const adzi_optimizer_type *type,
    adz_tensor_list parameters, double lr, const adz_labml_amsgrad_options *options, double extra,
    double second)
{
    adz_labml_amsgrad_options o = ADZ_LABML_AMSGRAD_OPTIONS;
    o.amsgrad = type == &amsgrad_type;
    if (!ADZI_OPTIONS_READ(op, ADZ_LABML_AMSGRAD_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.weight_decouple,
        o.absolute, o.optimized_update, o.amsgrad, extra, second };
    return adzi_optimizer_new(op, type, parameters, settings);
}

adz_optimizer *adz_labml_amsgrad_new(
    adz_tensor_list parameters, double lr, const adz_labml_amsgrad_options *options)
{
    return derived_new("adz_labml_amsgrad_new", &amsgrad_type, parameters, lr, options, 0, 0);
}

adz_optimizer *adz_labml_adam_warmup_new(
    adz_tensor_list parameters, double lr, double warmup, const adz_labml_amsgrad_options *options)
{
    return derived_new(
        "adz_labml_adam_warmup_new", &warmup_type, parameters, lr, options, warmup, 0);
}

adz_optimizer *adz_labml_adam_warmup_cosine_decay_new(adz_tensor_list parameters, double lr,
    double warmup, double total_steps, const adz_labml_amsgrad_options *options)
{
    return derived_new("adz_labml_adam_warmup_cosine_decay_new", &cosine_type, parameters, lr,
        options, warmup, total_steps);
}

adz_optimizer *adz_labml_noam_new(adz_tensor_list parameters, double lr, double warmup,
    double d_model, const adz_labml_amsgrad_options *options)
{
    return derived_new("adz_labml_noam_new", &noam_type, parameters, lr, options, warmup, d_model);
}

ADZI_OPTIONS_INIT(adz_labml_radam_options_init, adz_labml_radam_options, ADZ_LABML_RADAM_OPTIONS)

adz_optimizer *adz_labml_radam_new(
    adz_tensor_list parameters, double lr, const adz_labml_radam_options *options)
{
    adz_labml_radam_options o = ADZ_LABML_RADAM_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_labml_radam_new", ADZ_LABML_RADAM_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.weight_decouple,
        o.absolute, o.optimized_update, o.amsgrad, o.degenerated_to_sgd };
    return adzi_optimizer_new("adz_labml_radam_new", &radam_type, parameters, settings);
}

ADZI_OPTIONS_INIT(
    adz_labml_ada_belief_options_init, adz_labml_ada_belief_options, ADZ_LABML_ADA_BELIEF_OPTIONS)

adz_optimizer *adz_labml_ada_belief_new(
    adz_tensor_list parameters, double lr, const adz_labml_ada_belief_options *options)
{
    adz_labml_ada_belief_options o = ADZ_LABML_ADA_BELIEF_OPTIONS;
    if (!ADZI_OPTIONS_READ("adz_labml_ada_belief_new", ADZ_LABML_ADA_BELIEF_OPTIONS, &o, options)) {
        return NULL;
    }
    double settings[SETTINGS] = { lr, o.beta1, o.beta2, o.eps, o.weight_decay, o.weight_decouple,
        o.absolute, o.optimized_update, o.amsgrad, o.degenerate_to_sgd, o.rectify };
    return adzi_optimizer_new("adz_labml_ada_belief_new", &ada_belief_type, parameters, settings);
}

double adz_labml_noam_rate(double lr, double warmup, double d_model, int64_t step)
{
    double t = (double)step;
    return lr / sqrt(d_model) * fmin(1 / sqrt(t), t * pow(warmup, -1.5));
}

double adz_labml_adam_warmup_rate(double lr, double warmup, int64_t step)
{
    return (double)step < warmup ? 1e-8 + (double)step * lr / warmup : lr;
}

double adz_labml_adam_warmup_cosine_decay_rate(
    double lr, double warmup, double total_steps, int64_t step)
{
    if ((double)step < warmup) {
        return adz_labml_adam_warmup_rate(lr, warmup, step);
    }
    const double pi = 3.14159265358979323846;
    double progress = ((double)step - warmup) / fmax(1, total_steps - warmup);
    return lr * fmax(0.1, 0.5 * (1 + cos(pi * progress)));
}
