/* fastai's WeightDropout: dropout on weights of another module. In training, each call draws masks
 * and calls the wrapped module with the dropped weights instead of its own. */
#include <stdio.h>

#include "adze/zoo/fastai_dropout.h"
#include "adze/ops/dropout.h"
#include "zoo.h"

/* The wrapped module is the child. Its parameter names[i] is also parameter i of the WeightDropout,
 * under the name "<name>_raw". */
typedef struct {
    double p;
    adz_generator *generator;
    size_t count;
    char names[][ADZ_VALUE_NAME + 1];
} weight_dropout_state;

/* True if a call must put other weights into the wrapped module. In evaluation it has the raw
 * weights already; the call then changes nothing, so that several threads can share the module. */
static bool exchanges(adz_module *self)
{
    const weight_dropout_state *state = zoo_state(self);
    bool exchange = adz_module_is_training(self) && state->p > 0;
    for (size_t i = 0; i < state->count && !exchange; ++i) {
        exchange =
            adz_module_get_parameter(zoo_child(self, 0), state->names[i]) != zoo_parameter(self, i);
    }
    return exchange;
}

static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    const weight_dropout_state *state = zoo_state(self);
    adz_module *module = zoo_child(self, 0);
    if (!exchanges(self)) {
        return adz_module_call(module, in, out);
    }
    adz_values *weights = adz_values_new();
    adz_status status = ADZ_OK; /* A list that is NULL refuses what is added. */
    for (size_t i = 0; i < state->count && status == ADZ_OK; ++i) {
        adz_tensor *dropped = adzi_zoo_apply_dropout(
            self, zoo_parameter(self, i), state->p, adz_module_is_training(self), state->generator);
        status = adz_values_add(weights, state->names[i], dropped);
    }
    if (status == ADZ_OK) {
        status = adz_module_functional_call(module, weights, in, out);
    }
    adz_values_free(&weights);
    return status;
}

/* Puts the raw weights back into the wrapped module, as fastai's reset does. A user's code may have
 * replaced them. */
static adz_status reset(adz_module *self)
{
    const weight_dropout_state *state = zoo_state(self);
    adz_module *module = zoo_child(self, 0);
    for (size_t i = 0; i < state->count; ++i) {
        adz_tensor *raw = zoo_parameter(self, i);
        if (adz_module_get_parameter(module, state->names[i]) != raw &&
            adz_module_set_parameter(module, state->names[i], raw) == NULL) {
            return adz_error_code();
        }
    }
    return ADZ_OK;
}

static const adz_module_type weight_dropout_type = {
    .size = sizeof(adz_module_type),
    .name = "WeightDropout",
    .call = call,
    .reset = reset,
};

/* Makes the wrapped module's parameter `name` a parameter of the WeightDropout too. */
static bool add_weight(const char *op, adz_module *self, adz_module *module, const char *name)
{
    weight_dropout_state *state = zoo_state(self);
    char *known = state->names[state->count], raw[ADZ_VALUE_NAME + 8];
    const bool found = strlen(name) <= ADZ_VALUE_NAME && adzi_zoo_has_entry(module, name);
    adz_tensor *weight = found ? adz_module_get_parameter(module, name) : NULL;
    if (weight == NULL || zoo_is_none(weight)) {
        adz_error_format(
            op, ADZ_ERR_ARGUMENT, "%s has no parameter called %s", adz_module_name(module), name);
        return false;
    }
    snprintf(known, ADZ_VALUE_NAME + 1, "%s", name);
    snprintf(raw, sizeof raw, "%s_raw", known);
    bool good = adz_module_add_parameter(self, raw, weight) != NULL;
    state->count += good;
    return good;
}

adz_module *adz_fastai_weight_dropout_new(adz_module *module, double weight_p,
    const char *const *names, size_t count, const adz_dropout_options *options)
{
    static const char op[] = "adz_fastai_weight_dropout_new", *const recurrent[] = {
        "weight_hh_l0"
    };
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_DROPOUT_OPTIONS, &o, options)) {
        adz_module_release(&module);
        return NULL;
    }
    if (module != NULL && count > 0 && names == NULL) {
        adz_error_null(op, "names");
        adz_module_release(&module);
        return NULL;
    }
    if (count == 0) {
        names = recurrent;
        count = 1;
    }
    if (module == NULL || !adz_check_probability(op, "weight_p", weight_p)) {
        if (module == NULL) {
            adz_error_null(op, "module");
        }
        adz_module_release(&module);
        return NULL;
    }
    adz_module *self = adz_module_new(
        &weight_dropout_type, sizeof(weight_dropout_state) + count * (ADZ_VALUE_NAME + 1));
    bool good = self != NULL;
    if (good) {
        *(weight_dropout_state *)zoo_state(self) =
            (weight_dropout_state){ .p = weight_p, .generator = o.generator };
    }
    for (size_t i = 0; i < count && good; ++i) {
        good = names[i] != NULL ? add_weight(op, self, module, names[i])
                                : adz_error_null(op, "names") == ADZ_OK;
    }
    if (!good) {
        adz_module_release(&module);
    } else {
        good = adz_module_add_child(self, "module", module) != NULL;
    }
    return adzi_zoo_or_free(good, self);
}
