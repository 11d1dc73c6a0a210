/* The group `optim`: what the optimizers, schedules and clipping of a config give. */
#include "ops/parity.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "ops/case.h"

enum { MOST_PARAMETERS = 8, MOST_STEPS = 1000 };

/* What a run gives, as lists over the steps, and the parameters at its end. */
typedef struct outcome {
    double losses[MOST_STEPS], lrs[MOST_STEPS], norms[MOST_STEPS], momenta[MOST_STEPS];
    int64_t steps;
    const char *names[MOST_PARAMETERS];
    adz_tensor *tensors[MOST_PARAMETERS];
    size_t n;
    const char *prefix; /* of the tensors' names under "output." */
} outcome;

static double number(const json_t *value)
{
    return json_is_boolean(value) ? json_is_true(value) : json_number_value(value);
}

static adz_tensor *stored(const vector_file *v, const char *prefix, const char *name)
{
    char full[120];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return vector_tensor(v, full);
}

/* A stored tensor in the run's dtype, as f32 has it when that is asked for. */
static adz_tensor *given(
    const vector_file *v, const char *prefix, const char *name, adz_dtype dtype, bool from_f32)
{
    adz_tensor *t = stored(v, prefix, name);
    return t == NULL ? NULL : from_f32 ? adz_to(adz_to(t, ADZ_F32), dtype) : adz_to(t, dtype);
}

/* ---- optimizers ----------------------------------------------------------------------------- */

static adz_optimizer *optimizer_named(
    const char *reference, adz_tensor_list list, double lr, const json_t *args)
{
    double warmup = config_number(args, "warmup", 0), width = config_number(args, "d_model", 512);
    const char *const names[] = { "torch.optim.SGD", "torch.optim.Adam", "torch.optim.AdamW",
        "torch.optim.RMSprop", "torch.optim.Adagrad", "torch.optim.RAdam", "labml Adam",
        "labml AMSGrad", "labml AdamWarmup", "labml Noam", "labml RAdam",
        "labml AdamWarmupCosineDecay", "labml AdaBelief" };
    int which = 0, n = sizeof names / sizeof *names;
    while (which < n && strcmp(names[which], reference) != 0) {
        ++which;
    }
    switch (which) {
    case 0:
        return adz_sgd_new(list, lr, NULL);
    case 1:
        return adz_adam_new(list, lr, NULL);
    case 2:
        return adz_adamw_new(list, lr, NULL);
    case 3:
        return adz_rmsprop_new(list, lr, NULL);
    case 4:
        return adz_adagrad_new(list, lr, NULL);
    case 5:
        return adz_radam_new(list, lr, NULL);
    case 6:
        return adz_labml_adam_new(list, lr, NULL);
    case 7:
        return adz_labml_amsgrad_new(list, lr, NULL);
    case 8:
        return adz_labml_adam_warmup_new(list, lr, warmup, NULL);
    case 9:
        return adz_labml_noam_new(list, lr, warmup, width, NULL);
    case 10:
        return adz_labml_radam_new(list, lr, NULL);
    case 11:
        return adz_labml_adam_warmup_cosine_decay_new(
            list, lr, warmup, config_number(args, "total_steps", 1e10), NULL);
    case 12:
        return adz_labml_ada_belief_new(list, lr, NULL);
    default:
        return NULL;
    }
}

/* Sets one argument of the reference's constructor; lists and objects have several settings. */
static bool set(adz_optimizer *o, int group, const char *name, const json_t *value)
{
    if (strcmp(name, "betas") == 0) {
        return adz_optimizer_set(o, group, "beta1", number(json_array_get(value, 0))) == ADZ_OK &&
               adz_optimizer_set(o, group, "beta2", number(json_array_get(value, 1))) == ADZ_OK;
    }
    if (strcmp(name, "params") == 0 || strcmp(name, "nesterov") == 0 || json_is_null(value)) {
        return true;
    }
    if (!json_is_object(value)) {
        return adz_optimizer_set(o, group, name, number(value)) == ADZ_OK;
    }
    const char *key;
    const json_t *part;
    bool good = true;
    json_object_foreach((json_t *)value, key, part)
    {
        good = good && adz_optimizer_set(o, group, key, number(part)) == ADZ_OK;
    }
    return good;
}

static bool set_all(adz_optimizer *o, int group, const json_t *args)
{
    const char *key;
    const json_t *value;
    bool good = true;
    json_object_foreach((json_t *)args, key, value)
    {
        good = good && set(o, group, key, value);
    }
    if (good && config_has(args, "nesterov")) { /* only where there is a momentum already */
        good = adz_optimizer_set(o, group, "nesterov", config_flag(args, "nesterov", false)) == 0;
    }
    return good;
}

/* The parameters of one of config.param_groups; returns their number. */
static size_t group_members(const json_t *group, const outcome *r, adz_tensor **members)
{
    const json_t *list = json_object_get(group, "params");
    size_t n = 0;
    for (size_t i = 0; i < json_array_size(list); ++i) {
        for (size_t k = 0; k < r->n; ++k) {
            if (strcmp(r->names[k], json_string_value(json_array_get(list, i))) == 0) {
                members[n++] = r->tensors[k];
            }
        }
    }
    return n;
}

static adz_optimizer *make_optimizer(const vector_file *v, const outcome *r)
{
    const json_t *args = json_object_get(v->config, "optimizer_args");
    const json_t *groups = json_object_get(v->config, "param_groups");
    const char *reference = vector_meta(v, "reference");
    bool slow = strstr(reference, "Adam") != NULL || strncmp(reference, "labml", 5) == 0;
    double lr = config_number(args, "lr", slow ? 1e-3 : 1e-2); /* the references' defaults */
    adz_optimizer *o = NULL;
    if (groups == NULL) {
        o = optimizer_named(reference, adz_tensor_list_of(r->tensors, r->n), lr, args);
    }
    for (size_t g = 0; g < json_array_size(groups); ++g) {
        adz_tensor *members[MOST_PARAMETERS];
        size_t n = group_members(json_array_get(groups, g), r, members);
        if (n == 0) {
            continue; /* an empty group changes nothing */
        }
        adz_tensor_list list = adz_tensor_list_of(members, n);
        if (o == NULL) {
            o = optimizer_named(reference, list, lr, args);
        } else if (adz_optimizer_add_param_group(o, list) < 0) {
            adz_optimizer_free(&o);
            return NULL;
        }
    }
    bool good = o != NULL && set_all(o, -1, args);
    for (size_t g = 0, here = 0; good && g < json_array_size(groups); ++g) {
        const json_t *group = json_array_get(groups, g);
        if (json_array_size(json_object_get(group, "params")) > 0) {
            good = set_all(o, (int)here++, group);
        }
    }
    if (!good) {
        adz_optimizer_free(&o);
    }
    return o;
}

/* The momentum in force, or Adam's first beta; NaN for an optimizer without. */
static double momentum_of(const adz_optimizer *o)
{
    double value = adz_optimizer_get(o, 0, "momentum");
    if (isnan(value)) {
        adz_error_clear();
        value = adz_optimizer_get(o, 0, "beta1");
        adz_error_clear();
    }
    return value;
}

/* ---- schedules ------------------------------------------------------------------------------ */

static adz_scheduler *one_cycle(adz_optimizer *o, const json_t *c)
{
    adz_one_cycle_options options = ADZ_ONE_CYCLE_OPTIONS;
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
    adz_plateau_options options = ADZ_PLATEAU_OPTIONS;
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

/* Labml's Noam as a factor on the rate, for the schedule alone; t counts from 1. */
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

static adz_scheduler *make_scheduler(
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

/* A schedule alone, over an optimizer that has nothing to do. */
static bool run_schedule(const vector_file *v, outcome *r)
{
    const json_t *c = v->config;
    adz_tensor *w = adz_requires_grad_(adz_zeros(ADZ_SHAPE(1), ADZ_F64), true);
    adz_optimizer *o = adz_sgd_new(adz_tensor_list_of(&w, 1), config_number(c, "lr", 0), NULL);
    adz_lr_warmup warmup;
    adz_scheduler *s = make_scheduler(o, config_text(c, "scheduler", ""), c, &warmup);
    adz_tensor *metrics = vector_tensor(v, "input.metrics");
    r->steps = (int64_t)config_number(c, "steps", 0);
    bool good = s != NULL && r->steps <= MOST_STEPS;
    for (int64_t t = 0; good && t < r->steps; ++t) {
        if (metrics != NULL) {
            good = adz_scheduler_step_metric(s, adz_tensor_at(metrics, &t)) == ADZ_OK;
        }
        r->lrs[t] = adz_optimizer_get(o, 0, "lr");
        r->momenta[t] = momentum_of(o);
        if (metrics == NULL) {
            good = good && adz_scheduler_step(s) == ADZ_OK;
        }
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
    return good;
}

/* ---- training runs -------------------------------------------------------------------------- */

static adz_tensor *parameter(const outcome *r, const char *name)
{
    for (size_t k = 0; k < r->n; ++k) {
        if (strcmp(r->names[k], name) == 0) {
            return r->tensors[k];
        }
    }
    return ADZ_NONE;
}

static adz_tensor *activate(const char *name, adz_tensor *x)
{
    return strcmp(name, "relu") == 0       ? adz_relu(x)
           : strcmp(name, "gelu") == 0     ? adz_gelu(x, ADZ_GELU_NONE)
           : strcmp(name, "silu") == 0     ? adz_silu(x)
           : strcmp(name, "tanh") == 0     ? adz_tanh(x)
           : strcmp(name, "sigmoid") == 0  ? adz_sigmoid(x)
           : strcmp(name, "identity") == 0 ? x
                                           : NULL;
}

static adz_tensor *model(const json_t *config, const outcome *r, adz_tensor *x)
{
    const json_t *m = json_object_get(config, "model");
    adz_tensor *h = adz_linear(x, parameter(r, "layer1.weight"), parameter(r, "layer1.bias"));
    h = activate(config_text(m, "activation", "relu"), h);
    if (config_flag(m, "is_gated", false)) {
        h = adz_mul(
            h, adz_linear(x, parameter(r, "linear_v.weight"), parameter(r, "linear_v.bias")));
    }
    return adz_linear(h, parameter(r, "layer2.weight"), parameter(r, "layer2.bias"));
}

/* Clips as config.clip says; the norm before that, or NaN for clipping by value. */
static bool clip(const json_t *config, const outcome *r, double *norm)
{
    const json_t *c = json_object_get(config, "clip");
    adz_tensor_list list = adz_tensor_list_of(r->tensors, r->n);
    *norm = NAN;
    if (c == NULL) {
        return true;
    }
    if (strcmp(config_text(c, "kind", ""), "value") == 0) {
        return adz_clip_grad_value(list, config_number(c, "clip_value", 0)) == ADZ_OK;
    }
    *norm =
        adz_clip_grad_norm(list, config_number(c, "max_norm", 0), config_number(c, "norm_type", 2));
    return !isnan(*norm);
}

static bool train_step(const vector_file *v, outcome *r, adz_optimizer *o, adz_tensor *x,
    adz_tensor *target, int64_t t)
{
    adz_scope *scope = adz_scope_open();
    int64_t batch = t % adz_tensor_shape(x).sizes[0];
    r->lrs[t] = adz_optimizer_get(o, 0, "lr");
    r->momenta[t] = momentum_of(o);
    adz_tensor *y = model(v->config, r, adz_select(x, 0, batch));
    adz_tensor *loss = adz_mse_loss(y, adz_select(target, 0, batch), ADZ_REDUCE_MEAN);
    bool good = adz_optimizer_zero_grad(o) == ADZ_OK && adz_backward(loss) == ADZ_OK &&
                clip(v->config, r, &r->norms[t]) && adz_optimizer_step(o) == ADZ_OK;
    r->losses[t] = good ? adz_item(loss) : NAN;
    adz_scope_close(scope);
    return good;
}

/* A ReduceLROnPlateau watches the loss. */
static bool follow(adz_scheduler *s, double loss)
{
    return strcmp(adz_scheduler_name(s), "ReduceLROnPlateau") == 0
               ? adz_scheduler_step_metric(s, loss) == ADZ_OK
               : adz_scheduler_step(s) == ADZ_OK;
}

static bool run_training(const vector_file *v, adz_dtype dtype, bool from_f32, outcome *r)
{
    const json_t *order = json_object_get(v->config, "parameter_order");
    const json_t *schedule = json_object_get(v->config, "scheduler");
    r->prefix = "final.";
    r->steps = (int64_t)config_number(v->config, "steps", 0);
    r->n = json_array_size(order);
    if (r->n > MOST_PARAMETERS || r->steps > MOST_STEPS) {
        return false;
    }
    for (size_t k = 0; k < r->n; ++k) {
        r->names[k] = json_string_value(json_array_get(order, k));
        r->tensors[k] = adz_requires_grad_(given(v, "param.", r->names[k], dtype, from_f32), true);
    }
    adz_tensor *x = given(v, "input.", "x", dtype, from_f32);
    adz_tensor *target = given(v, "input.", "target", dtype, from_f32);
    adz_optimizer *o = make_optimizer(v, r);
    adz_lr_warmup warmup;
    adz_scheduler *s = o != NULL && schedule != NULL
                           ? make_scheduler(o, config_text(schedule, "name", ""), schedule, &warmup)
                           : NULL;
    bool good = o != NULL && (schedule == NULL || s != NULL);
    for (int64_t t = 0; good && t < r->steps; ++t) {
        good = train_step(v, r, o, x, target, t) && (s == NULL || follow(s, r->losses[t]));
    }
    adz_scheduler_free(&s);
    adz_optimizer_free(&o);
    return good;
}

/* ---- clipping alone ------------------------------------------------------------------------- */

static bool run_clipping(const vector_file *v, adz_dtype dtype, bool from_f32, outcome *r)
{
    static const char *const names[MOST_PARAMETERS] = { "g0", "g1", "g2", "g3", "g4", "g5", "g6",
        "g7" };
    adz_tensor *owners[MOST_PARAMETERS];
    r->prefix = "";
    for (; r->n < MOST_PARAMETERS && stored(v, "input.", names[r->n]) != NULL; ++r->n) {
        adz_tensor *g = given(v, "input.", names[r->n], dtype, from_f32);
        owners[r->n] = adz_requires_grad_(adz_zeros_like(g), true);
        if (adz_tensor_set_grad(owners[r->n], g) != ADZ_OK) {
            return false;
        }
        r->names[r->n] = names[r->n];
    }
    r->steps = 1;
    r->norms[0] = adz_clip_grad_norm(adz_tensor_list_of(owners, r->n),
        config_number(v->config, "max_norm", 0), config_number(v->config, "norm_type", 2));
    for (size_t k = 0; k < r->n; ++k) {
        r->tensors[k] = adz_tensor_grad(owners[k]);
    }
    return r->n > 0 && !isnan(r->norms[0]);
}

/* ---- judging -------------------------------------------------------------------------------- */

static bool compute(const vector_file *v, adz_dtype dtype, bool from_f32, outcome *r)
{
    const char *reference = vector_meta(v, "reference");
    return config_has(v->config, "model")                    ? run_training(v, dtype, from_f32, r)
           : config_has(v->config, "scheduler")              ? run_schedule(v, r)
           : strcmp(reference, "torch clip_grad_norm_") == 0 ? run_clipping(v, dtype, from_f32, r)
                                                             : false;
}

/* The list that a name under "output." stands for; NULL when it is none. */
static const double *list_of(const outcome *r, const char *name)
{
    return strcmp(name, "losses") == 0                                    ? r->losses
           : strcmp(name, "lrs") == 0                                     ? r->lrs
           : strcmp(name, "momentums") == 0                               ? r->momenta
           : strcmp(name, "grad_norms") == 0 || strcmp(name, "norm") == 0 ? r->norms
                                                                          : NULL;
}

/* The result of that name as a tensor; NULL when the run has none. */
static adz_tensor *result(const outcome *r, const char *name)
{
    const double *list = list_of(r, name);
    if (list != NULL) {
        adz_shape shape = strcmp(name, "norm") == 0 ? adz_shape_of(0, NULL) : ADZ_SHAPE(r->steps);
        return adz_tensor_from(list, shape, ADZ_F64);
    }
    size_t length = strlen(r->prefix);
    for (size_t k = 0; k < r->n; ++k) {
        if (strncmp(name, r->prefix, length) == 0 && strcmp(name + length, r->names[k]) == 0) {
            return r->tensors[k];
        }
    }
    return NULL;
}

static bool missing(verdict *out, const char *name)
{
    snprintf(out->note, sizeof out->note, "no %s", name);
    return false;
}

bool parity_optim(const vector_file *v, bool f32, verdict *out)
{
    static outcome runs[2];
    memset(runs, 0, sizeof runs);
    out->tolerance = f32 ? 1e-3 : out->tolerance;
    if (!compute(v, f32 ? ADZ_F32 : ADZ_F64, f32, &runs[0]) ||
        (f32 && !compute(v, ADZ_F64, true, &runs[1]))) {
        return adz_error_code() == ADZ_OK ? missing(out, "such run") : false;
    }
    const char *key;
    const json_t *entry;
    json_object_foreach(v->header, key, entry)
    {
        if (strncmp(key, "output.", 7) == 0) {
            adz_tensor *got = result(&runs[0], key + 7);
            adz_tensor *expected = f32 ? result(&runs[1], key + 7) : vector_tensor(v, key);
            if (got == NULL || expected == NULL) {
                return missing(out, key);
            }
            parity_judge(out, "", key + 7, got, expected);
        }
    }
    return true;
}
