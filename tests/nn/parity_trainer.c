/* Runs the vector files of labml_nn's simple trainer: steps of the autoregressive model with the
 * mean cross entropy, clipped gradients and Noam's update. */
#include <math.h>
#include <stdio.h>

#include "adze/zoo.h"
#include "nn/case.h"
#include "ops/parity.h"

enum { MOST_STEPS = 100 };

extern const module_case labml_transformer_module;

typedef struct training {
    adz_module *module;
    double losses[MOST_STEPS], norms[MOST_STEPS];
    int64_t steps;
} training;

static adz_tensor *given(const vector_file *v, const char *key, adz_dtype dtype, bool from_f32)
{
    adz_tensor *t = vector_tensor(v, key);
    return adz_to(from_f32 ? adz_to(t, ADZ_F32) : t, dtype);
}

static bool load(const vector_file *v, adz_module *module, adz_dtype dtype, bool from_f32)
{
    adz_state_dict *state = adz_state_dict_new();
    const char *key;
    json_t *value;
    bool good = state != NULL && adz_module_to(module, dtype) == ADZ_OK;
    json_object_foreach(v->header, key, value)
    {
        size_t skip = strncmp(key, "param.", 6) == 0 ? 6 : strncmp(key, "buffer.", 7) == 0 ? 7 : 0;
        good = good && (skip == 0 || adz_state_dict_add(state, key + skip,
                                         given(v, key, dtype, from_f32)) == ADZ_OK);
    }
    good = good && adz_module_load_state_dict(module, state, true) == ADZ_OK;
    adz_state_dict_free(&state);
    return good;
}

/* True if the module has its parameters in the file's order. Clipping sums in this order. */
static bool in_order(const vector_file *v, adz_module *module)
{
    const json_t *order = json_object_get(v->config, "parameter_order");
    adz_tensor_list all = adz_module_parameters(module);
    bool same = json_array_size(order) == all.count;
    for (size_t i = 0; i < all.count && same; ++i) {
        const char *name = json_string_value(json_array_get(order, i));
        same = adz_module_get_parameter(module, name) == all.items[i];
    }
    return same;
}

static bool step(
    training *r, adz_optimizer *o, adz_tensor *ids, adz_tensor *target, double max_norm, int64_t t)
{
    adz_scope *scope = adz_scope_open();
    adz_values *in = adz_values_new(), *out = adz_values_new();
    adz_tensor_list all = adz_module_parameters(r->module);
    bool good = adz_values_add(in, "ids", adz_select(ids, 0, t)) == ADZ_OK &&
                adz_values_add(in, "target", adz_select(target, 0, t)) == ADZ_OK &&
                adz_module_call(r->module, in, out) == ADZ_OK &&
                adz_backward(adz_values_get(out, "loss")) == ADZ_OK;
    if (good) {
        r->losses[t] = adz_item(adz_values_get(out, "loss"));
        r->norms[t] = adz_clip_grad_norm(all, max_norm, 2);
        good = !isnan(r->norms[t]) && adz_optimizer_step(o) == ADZ_OK &&
               adz_optimizer_zero_grad(o) == ADZ_OK;
    }
    adz_values_free(&in);
    adz_values_free(&out);
    adz_scope_close(scope);
    return good;
}

static bool train(const vector_file *v, adz_dtype dtype, bool from_f32, training *r)
{
    const json_t *c = v->config;
    r->steps = (int64_t)config_number(c, "steps", 0);
    r->module = labml_transformer_module.from_config(vector_meta(v, "reference"), c);
    if (r->module == NULL || r->steps > MOST_STEPS || !in_order(v, r->module) ||
        !load(v, r->module, dtype, from_f32)) {
        return false;
    }
    double betas[2] = { 0.9, 0.999 };
    adz_labml_amsgrad_options options = ADZ_LABML_WARMUP_OPTIONS;
    options.eps = config_number(c, "eps", options.eps);
    config_list(c, "betas", betas, 2);
    options.beta1 = betas[0];
    options.beta2 = betas[1];
    adz_optimizer *o =
        adz_labml_noam_new(adz_module_parameters(r->module), config_number(c, "lr", 1),
            config_number(c, "warmup", 0), config_number(c, "d_model", 512), &options);
    adz_tensor *ids = vector_tensor(v, "input.ids"), *target = vector_tensor(v, "input.target");
    double max_norm = config_number(c, "grad_norm_clip", 0);
    bool good = o != NULL;
    for (int64_t t = 0; t < r->steps && good; ++t) {
        good = step(r, o, ids, target, max_norm, t);
    }
    adz_optimizer_release(&o);
    return good;
}

/* The run's tensor for a result of the file, or NULL. */
static adz_tensor *result(const training *r, const char *name)
{
    if (strncmp(name, "final.", 6) == 0) {
        return adz_module_get_parameter(r->module, name + 6);
    }
    const double *list = strcmp(name, "losses") == 0       ? r->losses
                         : strcmp(name, "grad_norms") == 0 ? r->norms
                                                           : NULL;
    return list == NULL ? NULL : adz_tensor_from(list, ADZ_SHAPE(r->steps), ADZ_F64);
}

static bool judge_all(
    const vector_file *v, const training *r, const training *reference, verdict *out)
{
    const char *key;
    json_t *value;
    json_object_foreach(v->header, key, value)
    {
        if (strncmp(key, "output.", 7) != 0) {
            continue;
        }
        adz_tensor *got = result(r, key + 7);
        if (got == NULL) {
            snprintf(out->note, sizeof out->note, "nothing was computed for %s", key);
            return false;
        }
        parity_judge(out, "", key, got,
            reference != NULL ? result(reference, key + 7) : vector_tensor(v, key));
    }
    return true;
}

bool parity_trainer(const vector_file *v, bool f32, verdict *out)
{
    training run = { 0 }, again = { 0 };
    out->tolerance = f32 ? 1e-3 : out->tolerance;
    bool good = train(v, f32 ? ADZ_F32 : ADZ_F64, f32, &run) &&
                (!f32 || train(v, ADZ_F64, true, &again)) &&
                judge_all(v, &run, f32 ? &again : NULL, out);
    adz_module_release(&run.module);
    adz_module_release(&again.module);
    return good;
}
