/* The schedulers of the configs of reference vectors. */
#include "adze/zoo.h"
#include "ops/parity_optim.h"

#include <string.h>

static adz_scheduler *one_cycle(adz_optimizer *o, const json_t *c)
{
    adz_one_cycle_lr_options options = ADZ_ONE_CYCLE_LR_OPTIONS;
    options.pct_start = config_number(c, "pct_start", options.pct_start);
    options.anneal_strategy = strcmp(config_text(c, "anneal_strategy", "cos"), "linear") == 0
                                  ? ADZ_ANNEAL_STRATEGY_LINEAR
                                  : ADZ_ANNEAL_STRATEGY_COS;
    options.cycle_momentum = config_flag(c, "cycle_momentum", true);
    options.three_phase = config_flag(c, "three_phase", false);
    options.base_momentum = config_number(c, "base_momentum", options.base_momentum);
    options.max_momentum = config_number(c, "max_momentum", options.max_momentum);
    options.div_factor = config_number(c, "div_factor", options.div_factor);
    options.final_div_factor = config_number(c, "final_div_factor", options.final_div_factor);
    double total = config_number(
        c, "total_steps", config_number(c, "epochs", 0) * config_number(c, "steps_per_epoch", 0));
    return adz_one_cycle_lr_new(o, config_number(c, "max_lr", 0), (int64_t)total, &options);
}

static adz_scheduler *plateau(adz_optimizer *o, const json_t *c)
{
    adz_reduce_lr_on_plateau_options options = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    options.mode = strcmp(config_text(c, "mode", "min"), "max") == 0 ? ADZ_PLATEAU_MODE_MAX
                                                                     : ADZ_PLATEAU_MODE_MIN;
    options.threshold_mode = strcmp(config_text(c, "threshold_mode", "rel"), "abs") == 0
                                 ? ADZ_THRESHOLD_MODE_ABS
                                 : ADZ_THRESHOLD_MODE_REL;
    options.factor = config_number(c, "factor", options.factor);
    options.patience = (int64_t)config_number(c, "patience", (double)options.patience);
    options.threshold = config_number(c, "threshold", options.threshold);
    options.cooldown = (int64_t)config_number(c, "cooldown", (double)options.cooldown);
    options.min_lr = config_number(c, "min_lr", options.min_lr);
    options.eps = config_number(c, "eps", options.eps);
    return adz_reduce_lr_on_plateau_new(o, &options);
}

/* The factor that Noam of the annotated library puts on the rate; its steps count from 1. */
static double noam_factor(int64_t epoch, int group, void *user)
{
    (void)group;
    const json_t *c = user;
    return adz_labml_noam_rate(
        1, config_number(c, "warmup", 0), config_number(c, "d_model", 512), epoch + 1);
}

static double warmup_factor(int64_t epoch, int group, void *user)
{
    (void)group;
    const json_t *c = user;
    double lr = config_number(c, "lr", 1);
    return adz_labml_adam_warmup_rate(lr, config_number(c, "warmup", 0), epoch + 1) / lr;
}

static double cosine_factor(int64_t epoch, int group, void *user)
{
    (void)group;
    const json_t *c = user;
    double lr = config_number(c, "lr", 1);
    return adz_labml_adam_warmup_cosine_decay_rate(lr, config_number(c, "warmup", 0),
               config_number(c, "total_steps", 1e10), epoch + 1) /
           lr;
}

static adz_scheduler *lambda(adz_optimizer *o, const json_t *c, adz_lr_warmup *warmup)
{
    static const struct {
        const char *text;
        adz_lr_lambda lambda;
    } factors[] = {
        { "min(1, (t + 1) / warmup)", adz_lr_warmup_constant },
        { "min((t + 1) / warmup, sqrt(warmup / (t + 1)))", adz_lr_warmup_inverse_sqrt },
        { "t / warmup if t < warmup else max(0, (total - t) / (total - warmup))",
            adz_lr_warmup_linear },
    };
    warmup->warmup = (int64_t)config_number(c, "warmup", 0);
    warmup->total = (int64_t)config_number(c, "total", 0);
    for (size_t i = 0; i < sizeof factors / sizeof *factors; ++i) {
        if (strcmp(factors[i].text, config_text(c, "factor", "")) == 0) {
            return adz_lambda_lr_new(o, factors[i].lambda, warmup);
        }
    }
    return NULL;
}

static adz_scheduler *multi_step(adz_optimizer *o, const json_t *c)
{
    double values[64];
    int64_t milestones[64];
    int n = config_list(c, "milestones", values, 64);
    for (int i = 0; i < n; ++i) {
        milestones[i] = (int64_t)values[i];
    }
    return n < 0 ? NULL
                 : adz_multi_step_lr_new(o, milestones, (size_t)n, config_number(c, "gamma", 0.1));
}

adz_scheduler *make_scheduler(
    adz_optimizer *o, const char *name, const json_t *c, adz_lr_warmup *warmup)
{
    if (strcmp(name, "StepLR") == 0) {
        return adz_step_lr_new(
            o, (int64_t)config_number(c, "step_size", 0), config_number(c, "gamma", 0.1));
    }
    if (strcmp(name, "ExponentialLR") == 0) {
        return adz_exponential_lr_new(o, config_number(c, "gamma", 0));
    }
    if (strcmp(name, "CosineAnnealingLR") == 0) {
        return adz_cosine_annealing_lr_new(
            o, (int64_t)config_number(c, "T_max", 0), config_number(c, "eta_min", 0));
    }
    if (strcmp(name, "CosineAnnealingWarmRestarts") == 0) {
        return adz_cosine_annealing_warm_restarts_new(o, (int64_t)config_number(c, "T_0", 0),
            (int64_t)config_number(c, "T_mult", 1), config_number(c, "eta_min", 0));
    }
    if (strcmp(name, "LinearLR") == 0) {
        return adz_linear_lr_new(o, config_number(c, "start_factor", 1.0 / 3),
            config_number(c, "end_factor", 1), (int64_t)config_number(c, "total_iters", 5));
    }
    return strcmp(name, "MultiStepLR") == 0         ? multi_step(o, c)
           : strcmp(name, "OneCycleLR") == 0        ? one_cycle(o, c)
           : strcmp(name, "ReduceLROnPlateau") == 0 ? plateau(o, c)
           : strcmp(name, "LambdaLR") == 0          ? lambda(o, c, warmup)
           : strcmp(name, "Noam") == 0              ? adz_lambda_lr_new(o, noam_factor, (void *)c)
           : strcmp(name, "AdamWarmup") == 0        ? adz_lambda_lr_new(o, warmup_factor, (void *)c)
           : strcmp(name, "AdamWarmupCosineDecay") == 0
               ? adz_lambda_lr_new(o, cosine_factor, (void *)c)
               : NULL;
}
