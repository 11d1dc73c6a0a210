/* Dropout on the weights of any module. */
#include "adze/ops/dropout.h"
#include "nn/zoo/fastai/dropout.h"
#include "base/error.h"
#include "base/options.h"

/* A weight: where it stands in the wrapped module, and what stands there in and outside a call. */
typedef struct {
    size_t slot;
    adz_tensor *inside, *outside;
} weight;

/* The wrapped module is the child; weight i is parameter i. */
typedef struct {
    double p;
    adz_generator *generator;
    size_t count;
    weight weights[];
} weight_dropout_state;

/* What the wrapped module is to compute with. */
static adz_tensor *dropped(adz_module *self, adz_tensor *raw)
{
    const weight_dropout_state *state = self->state;
    if (self->masks != NULL && self->training && state->p > 0) {
        return adz_dropout_mask(raw, adzi_next_mask(self), 1 - state->p);
    }
    return adz_dropout(raw, state->p, self->training, state->generator);
}

/* Note [Weights for one call]
 * Only the wrapped module's slots change, and its lists and its state do not know: they go on
 * naming the raw weights, which return before anybody looks. Where nothing is dropped the slots
 * hold the raw weights already and nothing is written, so that threads may share a module in
 * evaluation. */
static adz_status call(adz_module *self, const adz_values *in, adz_values *out)
{
    weight_dropout_state *state = self->state;
    adz_module *module = adzi_child_at(self, 0);
    bool exchange = false;
    for (size_t i = 0; i < state->count; ++i) {
        adz_tensor *raw = adzi_parameter(self, i);
        exchange = exchange || (self->training && state->p > 0) ||
                   adzi_parameter(module, state->weights[i].slot) != raw;
    }
    if (!exchange) {
        return adz_module_call(module, in, out);
    }
    for (size_t i = 0; i < state->count; ++i) {
        weight *w = &state->weights[i];
        w->outside = adzi_parameter(module, w->slot);
        w->inside = dropped(self, adzi_parameter(self, i));
        if (w->inside == NULL) {
            return adz_error_code();
        }
    }
    for (size_t i = 0; i < state->count; ++i) {
        module->parameters[state->weights[i].slot].tensor = state->weights[i].inside;
    }
    adz_status status = adz_module_call(module, in, out);
    for (size_t i = 0; i < state->count; ++i) {
        module->parameters[state->weights[i].slot].tensor = state->weights[i].outside;
    }
    return status;
}

/* As fastai's reset: the wrapped module has the raw weights again, should somebody have replaced
 * them. */
static adz_status reset(adz_module *self)
{
    const weight_dropout_state *state = self->state;
    adz_module *module = adzi_child_at(self, 0);
    for (size_t i = 0; i < state->count; ++i) {
        const adzi_slot *slot = &module->parameters[state->weights[i].slot];
        if (slot->tensor != adzi_parameter(self, i) &&
            adz_module_set_parameter(module, slot->name, adzi_parameter(self, i)) == NULL) {
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

static bool add_weight(const char *op, adz_module *self, const adz_module *module, const char *name)
{
    weight_dropout_state *state = self->state;
    size_t slot = 0;
    while (slot < module->n_parameters && strcmp(module->parameters[slot].name, name) != 0) {
        ++slot;
    }
    if (slot == module->n_parameters || adzi_is_none(adzi_parameter(module, slot))) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s has no parameter called %s", module->type.name, name);
        return false;
    }
    adzi_text raw = { 0 };
    adzi_text_add(&raw, name);
    adzi_text_add(&raw, "_raw");
    if (raw.failed) {
        adzi_fail_memory(op, strlen(name));
    }
    bool good = !raw.failed && adz_module_add_parameter(
                                   self, adzi_text_get(&raw), adzi_parameter(module, slot)) != NULL;
    adzi_text_free(&raw);
    state->weights[state->count].slot = slot;
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
    if (!ADZI_OPTIONS_READ(op, ADZ_DROPOUT_OPTIONS, &o, options)) {
        adz_module_free(&module);
        return NULL;
    }
    if (module != NULL && count > 0 && names == NULL) {
        adzi_error_null(op, "names");
        adz_module_free(&module);
        return NULL;
    }
    if (count == 0) {
        names = recurrent;
        count = 1;
    }
    if (module == NULL || !adzi_check_probability(op, "weight_p", weight_p)) {
        if (module == NULL) {
            adzi_error_null(op, "module");
        }
        adz_module_free(&module);
        return NULL;
    }
    adz_module *self =
        adz_module_new(&weight_dropout_type, sizeof(weight_dropout_state) + count * sizeof(weight));
    bool good = self != NULL;
    if (good) {
        *(weight_dropout_state *)self->state =
            (weight_dropout_state){ .p = weight_p, .generator = o.generator };
    }
    for (size_t i = 0; i < count && good; ++i) {
        good = names[i] != NULL ? add_weight(op, self, module, names[i])
                                : adzi_error_null(op, "names") == ADZ_OK;
    }
    if (!good) {
        adz_module_free(&module);
    } else {
        good = adz_module_add_child(self, "module", module) != NULL;
    }
    if (!good) {
        adz_module_free(&self);
    }
    return self;
}
