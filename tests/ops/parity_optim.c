/* Runs the files of the group `optim`: optimizers, schedules and clipping, as the config says. */
#include "ops/parity_optim.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static adz_tensor *stored(const vector_file *v, const char *prefix, const char *name)
{
    char full[120];
    snprintf(full, sizeof full, "%s%s", prefix, name);
    return vector_tensor(v, full);
}

/* A stored tensor in the dtype of the run. With `from_f32` it is rounded to f32 first. */
static adz_tensor *given(
    const vector_file *v, const char *prefix, const char *name, adz_dtype dtype, bool from_f32)
{
    adz_tensor *t = stored(v, prefix, name);
    return t == NULL ? NULL : from_f32 ? adz_to(adz_to(t, ADZ_F32), dtype) : adz_to(t, dtype);
}

/* The present momentum, or Adam's first beta; NaN if the optimizer has neither. */
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

/* ---- a schedule alone ----------------------------------------------------------------------- */

/* Runs a scheduler with an optimizer that takes no step. */
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
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
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

/* Clips as config.clip says. *norm is the norm before it, or NaN for clipping by value. */
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

/* Steps the scheduler; ReduceLROnPlateau gets the loss. */
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
    adz_scheduler_release(&s);
    adz_optimizer_release(&o);
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

/* The list for a name under "output."; NULL if there is none. */
static const double *list_of(const outcome *r, const char *name)
{
    return strcmp(name, "losses") == 0                                    ? r->losses
           : strcmp(name, "lrs") == 0                                     ? r->lrs
           : strcmp(name, "momentums") == 0                               ? r->momenta
           : strcmp(name, "grad_norms") == 0 || strcmp(name, "norm") == 0 ? r->norms
                                                                          : NULL;
}

/* The result of that name as a tensor; NULL if the run has none. */
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
