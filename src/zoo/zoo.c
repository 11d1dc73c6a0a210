/* Helpers of the networks in this folder, which use the public headers only. */
#include "zoo.h"

#include "adze/nn/dropout.h"
#include "adze/ops/dropout.h"
#include "adze/ops/linalg.h"
#include "adze/ops/shape.h"

bool adzi_zoo_has_entry(adz_module *module, const char *name)
{
    adz_state_dict *state = adz_module_state_dict(module);
    const bool found = state != NULL && adz_state_dict_get(state, name) != NULL;
    adz_state_dict_free(&state);
    return found;
}

/* ---- tensors and modules -------------------------------------------------------------------- */

adz_module *adzi_zoo_or_free(bool good, adz_module *module)
{
    if (!good) {
        adz_module_release(&module);
    }
    return module;
}

adz_module *adzi_zoo_built(adz_scope *scope, adz_module *module, bool good)
{
    adz_scope_close(scope);
    return adzi_zoo_or_free(good, module);
}

adz_status adzi_zoo_append(adz_values *to, const adz_values *from, size_t first)
{
    adz_status status = ADZ_OK;
    for (size_t i = first; i < adz_values_count(from) && status == ADZ_OK; ++i) {
        status = adz_values_add(to, adz_values_name_at(from, i), adz_values_at(from, i));
    }
    return status;
}

void *adzi_zoo_scratch(size_t bytes)
{
    adz_tensor *memory = adz_empty(ADZ_SHAPE((int64_t)bytes), ADZ_U8);
    void *start = memory != NULL ? adz_tensor_data(memory) : NULL;
    return start != NULL ? memset(start, 0, bytes) : NULL;
}

enum { HEADER = 16 }; /* bytes before the memory; they hold the address of the tensor */

void *adzi_zoo_alloc(size_t bytes)
{
    adz_scope *scope = adz_scope_open();
    adz_tensor *memory = adz_keep(adz_empty(ADZ_SHAPE((int64_t)(HEADER + bytes)), ADZ_U8));
    char *start = memory != NULL ? adz_tensor_data(memory) : NULL;
    adz_scope_close(scope);
    if (start == NULL) {
        return NULL;
    }
    memset(start, 0, HEADER + bytes);
    memcpy(start, &memory, sizeof memory);
    return start + HEADER;
}

void adzi_zoo_free(void *memory)
{
    if (memory != NULL) {
        adz_tensor *t;
        memcpy(&t, (char *)memory - HEADER, sizeof t);
        adz_release(&t);
    }
}

adz_tensor *adzi_zoo_linear(
    adz_module *self, const char *width, adz_tensor *x, adz_tensor *w, adz_tensor *b)
{
    const char *name = adz_module_name(self);
    if (!adz_check_tensor(name, "x", x)) {
        return NULL;
    }
    const int64_t in = adz_tensor_size(w, 0);
    if (adz_tensor_rank(x) < 1 || adz_tensor_size(x, -1) != in) {
        return zoo_fail(name, ADZ_ERR_SHAPE, "x%s must end in %s, which is %lld", adz_text_shape(x),
            width, (long long)in);
    }
    return adz_linear(x, adz_transpose(w, 0, 1), b);
}

/* ---- dropout -------------------------------------------------------------------------------- */

adz_module *adzi_zoo_dropout_new(
    const char *op, const adz_module_type *type, double p, const adz_dropout_options *options)
{
    adz_dropout_options o = ADZ_DROPOUT_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_DROPOUT_OPTIONS, &o, options) ||
        !adz_check_probability(op, "p", p)) {
        return NULL;
    }
    adz_module *self = adz_module_new(type, sizeof(zoo_dropout_state));
    if (self != NULL) {
        *(zoo_dropout_state *)zoo_state(self) = (zoo_dropout_state){ p, false, o.generator };
    }
    return self;
}

adz_tensor *adzi_zoo_apply_dropout(
    adz_module *self, adz_tensor *x, double p, bool active, adz_generator *generator)
{
    adz_tensor *mask = active && p > 0 ? adz_module_next_mask(self) : ADZ_NONE;
    return zoo_is_none(mask) ? adz_dropout(x, p, active, generator)
                             : adz_dropout_mask(x, mask, 1 - p);
}

bool adzi_zoo_attention_dropout(adz_module *dropout, adz_attention_options *options)
{
    adz_bias_activation_options step = ADZ_BIAS_ACTIVATION_OPTIONS;
    const adz_module_type *type = adz_module_type_of(dropout);
    if (type == NULL || type->elementwise_step == NULL) {
        adz_error_format("zoo", ADZ_ERR_ARGUMENT,
            "the child is a %s, but attention needs a dropout there", adz_module_name(dropout));
        return false;
    }
    type->elementwise_step(dropout, &step);
    options->dropout_p = step.dropout;
    options->training = step.training;
    options->generator = step.generator;
    if (step.training && step.dropout > 0) {
        options->dropout_mask = adz_module_next_mask(dropout);
        return options->dropout_mask != NULL;
    }
    return true;
}
