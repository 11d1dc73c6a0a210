/* Refusing to save weights that are not finite. */
#include "io/finite.h"

#include <stdio.h>

#include "ops/op.h"
#include "nn/module.h"

adz_status adzi_check_finite(const char *op, const char *name, const adz_tensor *t, bool nan_only)
{
    int64_t at[ADZ_MAX_RANK];
    const adzi_nonfinite kind =
        adzi_is_none(t) ? ADZI_FINITE : adzi_find_nonfinite(t, nan_only, at);
    if (kind == ADZI_FINITE) {
        return ADZ_OK;
    }
    return adzi_error(op, ADZ_ERR_NUMERIC,
        "%s%s is %s at %s, so the file would hold the weights of a training that went wrong; adz_set_anomaly_enabled finds where it begins, and the option allow_nonfinite saves it all the same",
        name, adzi_text_shape(t), adzi_nonfinite_text(kind), adzi_text_sizes(t->rank, at));
}

/* Checks what one module of a tree has. */
static adz_status check_module(adz_module *module, const char *prefix, void *user)
{
    const char *op = user;
    adz_status status = ADZ_OK;
    const size_t n = module->n_parameters + module->n_buffers;
    for (size_t i = 0; i < n && status == ADZ_OK; ++i) {
        const bool buffer = i >= module->n_parameters;
        const adzi_slot *slot =
            buffer ? &module->buffers[i - module->n_parameters] : &module->parameters[i];
        char name[256];
        snprintf(name, sizeof name, "%s%s", prefix, slot->name);
        status = slot->persistent && slot->tensor != NULL
                     ? adzi_check_finite(op, name, slot->tensor, buffer)
                     : ADZ_OK;
    }
    return status;
}

adz_status adzi_module_check_finite(const char *op, adz_module *module)
{
    adzi_text prefix = { 0 };
    const adz_status status =
        adzi_module_walk(module, &prefix, check_module, (void *)(uintptr_t)op);
    adzi_text_free(&prefix);
    if (status != ADZ_OK && adzi_pending() == ADZ_OK) {
        adzi_fail_memory(op, 0);
    }
    return status;
}
