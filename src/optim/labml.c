/* The optimizers of labml_nn: Adam and the classes that derive from it there. They differ from
 * PyTorch's in the place of epsilon (`optimized_update`) and in the options of the weight decay. */
#include "adze/optim/labml.h"

#include <math.h>

#include "optim/adam_family.h"
#include "base/error.h"
#include "base/options.h"

/* The places of the settings after those of the Adam family. A setting that a type does not have
 * keeps its place and is 0. */
enum {
    DECOUPLE = ADZI_ADAM_SETTINGS,
    ABSOLUTE,
    OPTIMIZED,
    AMSGRAD,
    EXTRA,                 /* `warmup`, or `degenerated_to_sgd` of RAdam and AdaBelief */
    D_MODEL,               /* of Noam */
    TOTAL_STEPS = D_MODEL, /* of AdamWarmupCosineDecay */
    RECTIFY = D_MODEL,     /* of AdaBelief */
    SETTINGS
};
/* The names of the settings that all these optimizers have. */
#define NAMES                                                                     \
    ADZI_ADAM_NAMES, { "weight_decouple", ADZI_FLAG }, { "absolute", ADZI_FLAG }, \
    {                                                                             \
        "optimized_update", ADZI_FLAG                                             \
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

/* The numbers of a step with the rate `lr`. As in labml_nn, a decoupled decay uses the group's rate
 * and not `lr`. With `optimized_update` the correction of v goes into the step, so that epsilon is
 * added to the uncorrected root. */
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

/* RAdam's numbers. Before the rectification is defined (rho < 5), the step is plain with
 * `degenerated_to_sgd`, and otherwise only the moments change. */
static adzi_adam_numbers rectified_numbers_of(const adzi_moment *at)
{
    const double *s = at->settings;
    double rho,
        rectification = adzi_radam_rectification(s[ADZI_ADAM_BETA2], (double)at->step, &rho);
    bool rectifies = rho >= 5;
    adzi_adam_numbers n = numbers_of(at, s[ADZI_ADAM_LR] * rectification);
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

static adz_status check_noam(const char *op, const double *settings)
{
    if (settings[EXTRA] == 0 || settings[D_MODEL] == 0) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "%s is 0, but must be above 0: Noam divides by it",
            settings[EXTRA] == 0 ? "warmup" : "d_model");
    }
    return ADZ_OK;
}

/* ---- types ---------------------------------------------------------------------------------- */

/* A type with `count` settings: those of NAMES, then the ones that are given last. */
#define TYPE(NAME, count, states_kept, states_needed, function, ...)                 \
    {                                                                                \
        .name = (NAME), .n_settings = (count), .settings = { NAMES, __VA_ARGS__ },   \
        .n_states = (states_kept), .states = ADZI_ADAM_STATES, .counts_steps = true, \
        .needs = (states_needed), .numbers = (function), .update = adzi_adam_update, \
    }
/* A type that can keep the largest v, if its setting `amsgrad` is on. */
#define WITH_MOST(NAME, count, function, ...) \
    TYPE("labml." NAME, count, 3, needs, function, { "amsgrad", ADZI_FLAG }, __VA_ARGS__)

static const adzi_optimizer_type adam_type =
    TYPE("labml.Adam", AMSGRAD, 2, adam_needs, adam_numbers, { NULL, ADZI_FLAG });
static const adzi_optimizer_type amsgrad_type =
    WITH_MOST("AMSGrad", EXTRA, adam_numbers, { NULL, ADZI_FLAG });
static const adzi_optimizer_type warmup_type =
    WITH_MOST("AdamWarmup", D_MODEL, warmup_numbers, { "warmup", ADZI_NOT_NEGATIVE });
static const adzi_optimizer_type cosine_type = WITH_MOST("AdamWarmupCosineDecay", SETTINGS,
    cosine_numbers, { "warmup", ADZI_NOT_NEGATIVE }, { "total_steps", ADZI_NOT_NEGATIVE });
static const adzi_optimizer_type radam_type =
    WITH_MOST("RAdam", D_MODEL, radam_numbers, { "degenerated_to_sgd", ADZI_FLAG });

static const adzi_optimizer_type noam_type = {
    .name = "labml.Noam",
    .n_settings = SETTINGS,
    .settings = { NAMES, { "amsgrad", ADZI_FLAG }, { "warmup", ADZI_NOT_NEGATIVE },
        { "d_model", ADZI_NOT_NEGATIVE } },
    .n_states = 3,
    .states = ADZI_ADAM_STATES,
    .counts_steps = true,
    .check = check_noam,
    .needs = needs,
    .numbers = noam_numbers,
    .update = adzi_adam_update,
};

static const adzi_optimizer_type ada_belief_type = {
    .name = "labml.AdaBelief",
    .n_settings = SETTINGS,
    .settings = { NAMES, { "amsgrad", ADZI_FLAG }, { "degenerate_to_sgd", ADZI_FLAG },
        { "rectify", ADZI_FLAG } },
    .n_states = 3,
    .states = { "exp_avg", "exp_avg_var", "max_exp_avg_var" },
    .counts_steps = true,
    .needs = needs,
    .numbers = ada_belief_numbers,
    .update = adzi_adam_update,
};

/* ---- constructors --------------------------------------------------------------------------- */

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

/* Makes an optimizer that derives from AMSGrad in labml_nn. `amsgrad` is on by default for AMSGrad
 * itself and off for the others. `extra` and `second` become the last two settings. */
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
