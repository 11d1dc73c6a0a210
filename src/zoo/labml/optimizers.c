/* The optimizers of labml_nn: Adam and the classes that derive from it there. They differ from
 * PyTorch's instead of epsilon (`optimized_update`) and in the options of the weight decay. */
#include "adze/zoo/labml_optimizers.h"

#include "adze/optim/adam_family.h"
#include "zoo.h"

/* The positions of the settings after those of the Adam family. A setting that a type does not have
 * keeps its position and is 0. EXTRA is `warmup`, or `degenerated_to_sgd` of RAdam and AdaBelief.
 * D_MODEL is Noam's, TOTAL_STEPS that of AdamWarmupCosineDecay, and RECTIFY that of AdaBelief. */
ADZ_C_TEXT(
    labml_settings, enum { DECOUPLE = ADZ_ADAM_FIRST_SETTINGS, ABSOLUTE, OPTIMIZED, AMSGRAD, EXTRA,
                        D_MODEL, TOTAL_STEPS = D_MODEL, RECTIFY = D_MODEL, SETTINGS };)
/* The settings that all these optimizers have. All but the rate are members of `options`. */
#define FIRST_SETTINGS(options, eps, optimized)                                          \
    ADZ_ADAM_SETTINGS(options, eps, 0), ADZ_FIELD(options, weight_decouple, .value = 1), \
        ADZ_FIELD(options, absolute, .value = 0),                                        \
        ADZ_FIELD(options, optimized_update, .value = (optimized))

static uint32_t needs(const double *settings)
{
    return settings[AMSGRAD] != 0 ? ADZ_ADAM_NEEDS_THREE : ADZ_ADAM_NEEDS_TWO;
}

/* ---- numbers -------------------------------------------------------------------------------- */

/* The numbers of a step with the rate `lr`. As in labml_nn, a decoupled decay uses the group's rate
 * and not `lr`. With `optimized_update` the correction of v goes into the step, so that epsilon is
 * added to the uncorrected root. */
ADZ_C_TEXT(
    numbers_text, static void labml_numbers_of(double *n, const adz_step_context *at, double lr) {
        const double *s = at->settings;
        const double decay = s[ADZ_ADAM_WEIGHT_DECAY];
        adz_adam_numbers(n, at);
        if (s[DECOUPLE] != 0) {
            n[ADZ_ADAM_N_KEEP] = s[ABSOLUTE] != 0 ? 1 - decay : 1 - s[ADZ_ADAM_LR] * decay;
        } else {
            n[ADZ_ADAM_N_DECAY] = decay;
        }
        const double correction = sqrt(1 - adz_moment_power(at, 1, s[ADZ_ADAM_BETA2]));
        n[ADZ_ADAM_N_STEP] = lr / (1 - adz_moment_power(at, 0, s[ADZ_ADAM_BETA1]));
        if (s[OPTIMIZED] != 0) {
            n[ADZ_ADAM_N_STEP] *= correction;
        } else {
            n[ADZ_ADAM_N_ROOT] = 1 / correction;
        }
    })

ADZ_C_TEXT(
    adam_text, static void labml_adam_numbers(double *n, const adz_step_context *at) {
        labml_numbers_of(n, at, at->settings[ADZ_ADAM_LR]);
    })

/* The rates of the types below. `t` is the number of the step. */
ADZ_C_TEXT(
    warmup_rate_text, static double labml_warmup_rate(double lr, double warmup, double t) {
        return t < warmup ? 1e-8 + t * lr / warmup : lr;
    })

ADZ_C_TEXT(
    noam_rate_text,
    static double labml_noam_rate(double lr, double warmup, double d_model, double t) {
        return lr / sqrt(d_model) * fmin(1 / sqrt(t), t * adz_real_pow(warmup, -1.5));
    })

ADZ_C_TEXT(
    cosine_rate_text,
    static double labml_cosine_rate(double lr, double warmup, double total_steps, double t) {
        if (t < warmup) {
            return labml_warmup_rate(lr, warmup, t);
        }
        const double progress = (t - warmup) / fmax(1, total_steps - warmup);
        return lr * fmax(0.1, 0.5 * (1 + adz_real_cos(3.14159265358979323846 * progress)));
    })

ADZ_C_TEXT(
    warmup_text, static void labml_warmup_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        labml_numbers_of(n, at, labml_warmup_rate(s[ADZ_ADAM_LR], s[EXTRA], (double)at->step));
    })

ADZ_C_TEXT(
    noam_text, static void labml_noam_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        labml_numbers_of(
            n, at, labml_noam_rate(s[ADZ_ADAM_LR], s[EXTRA], s[D_MODEL], (double)at->step));
    })

ADZ_C_TEXT(
    cosine_text, static void labml_cosine_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        labml_numbers_of(
            n, at, labml_cosine_rate(s[ADZ_ADAM_LR], s[EXTRA], s[TOTAL_STEPS], (double)at->step));
    })

/* RAdam's numbers. Before the rectification is defined (rho < 5), the step is plain with
 * `degenerated_to_sgd`, and otherwise only the moments change. */
ADZ_C_TEXT(
    rectified_text, static void labml_rectified_numbers(double *n, const adz_step_context *at) {
        const double *s = at->settings;
        double rho;
        const double rectification =
            adz_radam_rectification(s[ADZ_ADAM_BETA2], (double)at->step, &rho);
        labml_numbers_of(n, at, s[ADZ_ADAM_LR] * rectification);
        if (!(rho >= 5)) {
            n[ADZ_ADAM_N_MODE] = s[EXTRA] != 0 ? ADZ_ADAM_PLAIN : ADZ_ADAM_WAIT;
            n[ADZ_ADAM_N_STEP] = s[ADZ_ADAM_LR] / (1 - adz_moment_power(at, 0, s[ADZ_ADAM_BETA1]));
        }
    })

ADZ_C_TEXT(
    belief_text, static void labml_belief_numbers(double *n, const adz_step_context *at) {
        if (at->settings[RECTIFY] != 0) {
            labml_rectified_numbers(n, at);
        } else {
            labml_adam_numbers(n, at);
        }
    })

/* The texts that the numbers of every type begin with. */
#define FIRST_TEXTS ADZ_ADAM_TEXTS, labml_settings, numbers_text

/* ---- expressions ---------------------------------------------------------------------------- */

static adz_status express(adz_tensor **results, const adz_update *u, bool belief, bool modes)
{
    const bool decays = adz_update_setting(u, ADZ_ADAM_WEIGHT_DECAY) != 0;
    const bool decoupled = adz_update_setting(u, DECOUPLE) != 0;
    const adz_adam_parts parts = { .decays = decays && !decoupled,
        .keeps = decays && decoupled,
        .belief = belief,
        .modes = modes };
    return adz_adam_express(results, u, &parts);
}

static adz_status adam_update(adz_tensor **results, const adz_update *u)
{
    return express(results, u, false, false);
}

static adz_status radam_update(adz_tensor **results, const adz_update *u)
{
    return express(results, u, false, true);
}

static adz_status ada_belief_update(adz_tensor **results, const adz_update *u)
{
    return express(results, u, true, adz_update_setting(u, RECTIFY) != 0);
}

/* ---- checks --------------------------------------------------------------------------------- */

static adz_status check_noam(const char *op, const double *settings)
{
    if (settings[EXTRA] == 0 || settings[D_MODEL] == 0) {
        return adz_error_format(op, ADZ_ERR_ARGUMENT,
            "%s is 0, but must be above 0: Noam divides by it",
            settings[EXTRA] == 0 ? "warmup" : "d_model");
    }
    return ADZ_OK;
}

/* ---- types ---------------------------------------------------------------------------------- */

/* A type whose settings after FIRST_SETTINGS are given last; `texts` is a list in brackets. */
#define LIST(...) __VA_ARGS__
#define TYPE(NAME, CONSTRUCTOR, options, eps, function, NUMBERS, texts, ...)              \
    {                                                                                     \
        .size = sizeof(adz_optimizer_type), .name = "labml." NAME,                        \
        .settings = { FIRST_SETTINGS(options, eps, 1), __VA_ARGS__ },                     \
        .states = { ADZ_ADAM_THREE_STATES }, .update = (function), .needs = needs,        \
        .numbers = (NUMBERS), .n_numbers = ADZ_ADAM_NUMBERS, .kernels = ADZ_ADAM_KERNELS, \
        .numbers_text = { FIRST_TEXTS, LIST texts }, .constructor = (CONSTRUCTOR),        \
    }
#define NOT_AMSGRAD(options) ADZ_FIELD(options, amsgrad, .value = 0)

static const adz_optimizer_type adam_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "labml.Adam",
    .settings = { FIRST_SETTINGS(adz_labml_adam_options, 1e-16, 1) },
    .states = { ADZ_ADAM_TWO_STATES },
    .update = adam_update,
    .numbers = labml_adam_numbers,
    .n_numbers = ADZ_ADAM_NUMBERS,
    .kernels = ADZ_ADAM_KERNELS,
    .numbers_text = { FIRST_TEXTS, adam_text },
    .constructor = "adz_labml_adam_new",
};
static const adz_optimizer_type amsgrad_type =
    TYPE("AMSGrad", "adz_labml_amsgrad_new", adz_labml_amsgrad_options, 1e-16, adam_update,
        labml_adam_numbers, (adam_text), ADZ_FIELD(adz_labml_amsgrad_options, amsgrad, .value = 1));
static const adz_optimizer_type warmup_type =
    TYPE("AdamWarmup", "adz_labml_adam_warmup_new", adz_labml_amsgrad_options, 1e-16, adam_update,
        labml_warmup_numbers, (warmup_rate_text, warmup_text),
        NOT_AMSGRAD(adz_labml_amsgrad_options), ADZ_SETTING("warmup", 0, ADZ_FINITE_FROM(0)));
static const adz_optimizer_type cosine_type = TYPE("AdamWarmupCosineDecay",
    "adz_labml_adam_warmup_cosine_decay_new", adz_labml_amsgrad_options, 1e-16, adam_update,
    labml_cosine_numbers, (warmup_rate_text, cosine_rate_text, cosine_text),
    NOT_AMSGRAD(adz_labml_amsgrad_options), ADZ_SETTING("warmup", 0, ADZ_FINITE_FROM(0)),
    ADZ_SETTING("total_steps", 1e10, ADZ_FINITE_FROM(0)));
static const adz_optimizer_type radam_type = TYPE("RAdam", "adz_labml_radam_new",
    adz_labml_radam_options, 1e-8, radam_update, labml_rectified_numbers,
    (adz_radam_text, rectified_text), NOT_AMSGRAD(adz_labml_radam_options),
    ADZ_FIELD(adz_labml_radam_options, degenerated_to_sgd, .value = 1));

static const adz_optimizer_type noam_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "labml.Noam",
    .settings = { FIRST_SETTINGS(adz_labml_amsgrad_options, 1e-16, 1),
        NOT_AMSGRAD(adz_labml_amsgrad_options), ADZ_SETTING("warmup", 0, ADZ_FINITE_FROM(0)),
        ADZ_SETTING("d_model", 0, ADZ_FINITE_FROM(0)) },
    .states = { ADZ_ADAM_THREE_STATES },
    .update = adam_update,
    .check = check_noam,
    .needs = needs,
    .numbers = labml_noam_numbers,
    .n_numbers = ADZ_ADAM_NUMBERS,
    .kernels = ADZ_ADAM_KERNELS,
    .numbers_text = { FIRST_TEXTS, noam_rate_text, noam_text },
    .constructor = "adz_labml_noam_new",
};

static const adz_optimizer_type ada_belief_type = {
    .size = sizeof(adz_optimizer_type),
    .name = "labml.AdaBelief",
    .settings = { FIRST_SETTINGS(adz_labml_ada_belief_options, 1e-16, 0),
        NOT_AMSGRAD(adz_labml_ada_belief_options),
        ADZ_FIELD(adz_labml_ada_belief_options, degenerate_to_sgd, .value = 1),
        ADZ_FIELD(adz_labml_ada_belief_options, rectify, .value = 1) },
    .states = { { "exp_avg", 0 }, { "exp_avg_var", 0 }, { "max_exp_avg_var", 0 } },
    .update = ada_belief_update,
    .needs = needs,
    .numbers = labml_belief_numbers,
    .n_numbers = ADZ_ADAM_NUMBERS,
    .kernels = ADZ_ADA_BELIEF_KERNELS,
    .numbers_text = { FIRST_TEXTS, adz_radam_text, adam_text, rectified_text, belief_text },
    .constructor = "adz_labml_ada_belief_new",
};

/* ---- constructors --------------------------------------------------------------------------- */

/* Makes an optimizer. Settings that are members of the options come from there. The other ones are
 * given by `arguments` in their order. */
static adz_optimizer *made(const adz_optimizer_type *type, const adz_options_table *table,
    adz_tensor_list parameters, const double *arguments, const void *options)
{
    union {
        adz_labml_adam_options adam;
        adz_labml_amsgrad_options amsgrad;
        adz_labml_radam_options radam;
        adz_labml_ada_belief_options ada_belief;
    } o;
    double settings[SETTINGS];
    size_t n = 0;
    if (!adz_options_take(type->constructor, table, &o, options)) {
        return NULL;
    }
    for (; n < SETTINGS && type->settings[n].name != NULL; ++n) {
        const adz_field *field = &type->settings[n];
        const char *at = (const char *)&o + field->offset;
        if (field->offset == 0) { /* the size of the options is there, so this is no member */
            settings[n] = *arguments++;
        } else if (field->kind == ADZ_FIELD_BOOL) {
            settings[n] = *(const bool *)at;
        } else {
            memcpy(&settings[n], at, sizeof settings[n]);
        }
    }
    return adz_optimizer_new(type, parameters, settings, n);
}

ADZ_OPTIONS_TABLE(adz_labml_adam_options, ADZ_LABML_ADAM_OPTIONS, adam_type.settings)
ADZ_OPTIONS_TABLE(adz_labml_amsgrad_options, ADZ_LABML_AMSGRAD_OPTIONS, amsgrad_type.settings)
ADZ_OPTIONS_TABLE(adz_labml_radam_options, ADZ_LABML_RADAM_OPTIONS, radam_type.settings)
ADZ_OPTIONS_TABLE(
    adz_labml_ada_belief_options, ADZ_LABML_ADA_BELIEF_OPTIONS, ada_belief_type.settings)

/* Makes an optimizer that derives from AMSGrad in labml_nn and has `amsgrad` off by default. */
static adz_optimizer *derived_new(const adz_optimizer_type *type, adz_tensor_list parameters,
    const double *arguments, const adz_labml_amsgrad_options *options)
{
    const adz_options_table table = { "ADZ_LABML_WARMUP_OPTIONS", sizeof *options, type->settings,
        ADZ_OPTIMIZER_SETTINGS };
    return made(type, &table, parameters, arguments, options);
}

adz_optimizer *adz_labml_adam_new(
    adz_tensor_list parameters, double lr, const adz_labml_adam_options *options)
{
    return made(&adam_type, &adz_labml_adam_options_table, parameters, &lr, options);
}

adz_optimizer *adz_labml_amsgrad_new(
    adz_tensor_list parameters, double lr, const adz_labml_amsgrad_options *options)
{
    return made(&amsgrad_type, &adz_labml_amsgrad_options_table, parameters, &lr, options);
}

adz_optimizer *adz_labml_adam_warmup_new(
    adz_tensor_list parameters, double lr, double warmup, const adz_labml_amsgrad_options *options)
{
    return derived_new(&warmup_type, parameters, (double[]){ lr, warmup }, options);
}

adz_optimizer *adz_labml_adam_warmup_cosine_decay_new(adz_tensor_list parameters, double lr,
    double warmup, double total_steps, const adz_labml_amsgrad_options *options)
{
    return derived_new(&cosine_type, parameters, (double[]){ lr, warmup, total_steps }, options);
}

adz_optimizer *adz_labml_noam_new(adz_tensor_list parameters, double lr, double warmup,
    double d_model, const adz_labml_amsgrad_options *options)
{
    return derived_new(&noam_type, parameters, (double[]){ lr, warmup, d_model }, options);
}

adz_optimizer *adz_labml_radam_new(
    adz_tensor_list parameters, double lr, const adz_labml_radam_options *options)
{
    return made(&radam_type, &adz_labml_radam_options_table, parameters, &lr, options);
}

adz_optimizer *adz_labml_ada_belief_new(
    adz_tensor_list parameters, double lr, const adz_labml_ada_belief_options *options)
{
    return made(&ada_belief_type, &adz_labml_ada_belief_options_table, parameters, &lr, options);
}

double adz_labml_noam_rate(double lr, double warmup, double d_model, int64_t step)
{
    return labml_noam_rate(lr, warmup, d_model, (double)step);
}

double adz_labml_adam_warmup_rate(double lr, double warmup, int64_t step)
{
    return labml_warmup_rate(lr, warmup, (double)step);
}

double adz_labml_adam_warmup_cosine_decay_rate(
    double lr, double warmup, double total_steps, int64_t step)
{
    return labml_cosine_rate(lr, warmup, total_steps, (double)step);
}
