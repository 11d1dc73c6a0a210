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
static adzi_adam_numbers numbers_of(const adzi_moment *at, double lr)
{
    const double *s = at->settings;
    double decay = s[ADZI_ADAM_WEIGHT_DECAY];
    adzi_adam_numbers n = adzi_adam_numbers_of(at);
    if (s[DECOUPLE] != 0) {
        n.keep = s[ABSOLUTE] != 0 ? 1 - decay : 1 - s[ADZI_ADAM_LR] * decay;
    } else {
        n.decay = decay;
    }
    double correction = sqrt(1 - adzi_moment_power(at, 1, n.beta2));
    n.step = lr / (1 - adzi_moment_power(at, 0, n.beta1));
    if (s[OPTIMIZED] != 0) {
        n.step *= correction;
    } else {
        n.root = 1 / correction;
    }
    return n;
}

static void adam_numbers(const adzi_moment *at, void *out)
{
    *(adzi_adam_numbers *)out = numbers_of(at, at->settings[ADZI_ADAM_LR]);
}

static void amsgrad_numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    *(adzi_adam_numbers *)out = numbers_of(at, s[ADZI_ADAM_LR]);
}

static void warmup_numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    double lr = adz_labml_adam_warmup_rate(s[ADZI_ADAM_LR], s[EXTRA], at->step);
    *(adzi_adam_numbers *)out = numbers_of(at, lr);
}

static void noam_numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    double lr = adz_labml_noam_rate(s[ADZI_ADAM_LR], s[EXTRA], s[D_MODEL], at->step);
    *(adzi_adam_numbers *)out = numbers_of(at, lr);
}

static void cosine_numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    double lr = adz_labml_adam_warmup_cosine_decay_rate(
        s[ADZI_ADAM_LR], s[EXTRA], s[TOTAL_STEPS], at->step);
    *(adzi_adam_numbers *)out = numbers_of(at, lr);
}

static adzi_adam_numbers rectified_numbers_of(const adzi_moment *at)
{
    const double *s = at->settings;
    double rho,
        rectification = adzi_radam_rectification(s[ADZI_ADAM_BETA2], (double)at->step, &rho);
    bool rectifies = rho >= 5;
    adzi_adam_numbers n = numbers_of(at, s[ADZI_ADAM_LR] * (rectifies ? rectification : 1));
    if (!rectifies) {
        n.mode = s[EXTRA] != 0 ? ADZI_ADAM_PLAIN : ADZI_ADAM_WAIT;
        n.step = s[ADZI_ADAM_LR] / (1 - adzi_moment_power(at, 0, n.beta1));
    }
    return n;
}

static void radam_numbers(const adzi_moment *at, void *out)
{
    *(adzi_adam_numbers *)out = rectified_numbers_of(at);
}

static void ada_belief_numbers(const adzi_moment *at, void *out)
{
    const double *s = at->settings;
    adzi_adam_numbers n =
        s[RECTIFY] != 0 ? rectified_numbers_of(at) : numbers_of(at, s[ADZI_ADAM_LR]);
    n.belief = true;
    *(adzi_adam_numbers *)out = n;
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
    .numbers = adam_numbers,
    .update = adzi_adam_update,
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
    .numbers = amsgrad_numbers,
    .update = adzi_adam_update,
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
    .numbers = warmup_numbers,
    .update = adzi_adam_update,
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
    .numbers = cosine_numbers,
    .update = adzi_adam_update,
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
    .numbers = noam_numbers,
    .update = adzi_adam_update,
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
    .numbers = radam_numbers,
    .update = adzi_adam_update,
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
    .numbers = ada_belief_numbers,
    .update = adzi_adam_update,
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
