/* Modules and their types. */
#include <string.h>

#include "base/capture.h"
#include "base/error.h"
#include "nn/module.h"
#include "tensor/fields.h"

/* Whether the fields lie within the state, which adz_module_print reads by them. */
static bool check_fields(const char *op, const adz_module_type *type, size_t state_size)
{
    if (type->n_fields > 0 && type->fields == NULL) {
        adzi_error(
            op, ADZ_ERR_NULL, "the type %s has %zu fields at NULL", type->name, type->n_fields);
        return false;
    }
    const adz_field *beyond = adzi_fields_beyond(type->fields, type->n_fields, NULL, state_size);
    if (beyond != NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "field %s at byte %zu of the type %s does not fit the state, which has %zu bytes",
            beyond->name, beyond->offset, type->name, state_size);
    }
    return beyond == NULL;
}

adz_module *adz_module_new(const adz_module_type *type, size_t state_size)
{
    ADZI_NOT_CAPTURED(ADZI_MAKES_OBJECT, NULL);
    static const char op[] = "adz_module_new";
    if (type == NULL) {
        return adzi_fail_null(op, "type");
    }
    adz_module_type all = { 0 };
    if (type->size < sizeof type->size) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "the type's size is %zu; set it to sizeof(adz_module_type)", type->size);
    }
    memcpy(&all, type, type->size < sizeof all ? type->size : sizeof all);
    if (all.name == NULL || (all.forward == NULL && all.call == NULL)) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "the type has no %s", all.name == NULL ? "name" : "forward");
    }
    if (!check_fields(op, &all, state_size)) {
        return NULL;
    }
    adz_module *module = adzi_handle_alloc(sizeof *module);
    void *state = state_size > 0 ? adzi_alloc_zero(state_size) : NULL;
    if (module == NULL || (state_size > 0 && state == NULL)) {
        adzi_handle_free(module, sizeof *module);
        adzi_free(state, state_size);
        return adzi_fail_memory(op, sizeof *module + state_size);
    }
    memset(module, 0, sizeof *module);
    atomic_init(&module->refs, 1);
    module->alive = ADZI_MODULE_ALIVE;
    module->training = true;
    module->made = adzi_captures_before();
    module->type = all;
    module->identity = type;
    module->state = state;
    module->state_size = state_size;
    return module;
}

adz_module *adzi_module_of(const adz_module_type *type, const void *state, size_t size)
{
    adz_module *self = adz_module_new(type, size);
    if (self != NULL) {
        memcpy(self->state, state, size);
    }
    return self;
}

void *adz_module_data(adz_module *module)
{
    return adzi_check_module("adz_module_data", "module", module) ? module->state : NULL;
}

const adz_module_type *adz_module_type_of(const adz_module *module)
{
    return adzi_check_module("adz_module_type_of", "module", module) ? module->identity : NULL;
}

const char *adz_module_name(const adz_module *module)
{
    return adzi_check_module("adz_module_name", "module", module) ? module->type.name : NULL;
}
