/* References of modules: who has them, how a module ends, and how a module loses a part. */
#include "nn/module.h"

#include <string.h>

#include "base/capture.h"
#include "base/error.h"
#include "base/handle.h"

bool adzi_refuse_module(const char *op, const char *argument, const adz_module *module)
{
    if (module == NULL) {
        adzi_pass_null(op, argument);
    } else {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "%s is a stale pointer: the module has ended, because its last reference or its parent was freed; take a reference with adz_module_keep",
            argument);
    }
    return false;
}

int adzi_module_refs_of_callers(const adz_module *module)
{
    return atomic_load(&module->refs) - atomic_load(&module->parents);
}

adz_module *adz_module_keep(adz_module *module)
{
    if (!adzi_check_module("adz_module_keep", "module", module)) {
        return NULL;
    }
    atomic_fetch_add_explicit(&module->refs, 1, memory_order_relaxed);
    return module;
}

/* Called before `parent` ends or gives up `child`, so that the child does not keep a pointer to it.
 * A child that was added to another parent later points there, and is left alone. */
static void forget_position(const adz_module *parent, adz_module *child)
{
    if (child->parent == parent) {
        child->parent = NULL;
    }
}

static void slots_free(adzi_slot *slots, size_t count, size_t capacity)
{
    for (size_t i = 0; i < count; ++i) {
        adzi_string_free(slots[i].name);
        adzi_drop(slots[i].tensor);
    }
    adzi_free(slots, capacity * sizeof *slots);
}

static void drop(adz_module *module);

void adzi_module_drop_child(const adz_module *parent, adz_module *child)
{
    forget_position(parent, child);
    atomic_fetch_sub(&child->parents, 1);
    drop(child);
}

static void destroy(adz_module *module)
{
    adzi_frames_forget(adzi_self(), module);
    if (module->type.destroy != NULL) {
        module->type.destroy(module);
    }
    module->alive = 0;
    slots_free(module->parameters, module->n_parameters, module->parameters_capacity);
    slots_free(module->buffers, module->n_buffers, module->buffers_capacity);
    for (size_t i = 0; i < module->n_children; ++i) {
        adzi_string_free(module->children[i].name);
        adzi_module_drop_child(module, module->children[i].module);
    }
    adzi_free(module->children, module->children_capacity * sizeof *module->children);
    adzi_index_free(&module->names);
    adzi_string_free(module->parametrized_name);
    adzi_listing_free(module->listing);
    adzi_free(module->state, module->state_size);
    adzi_handle_free(module, sizeof *module);
}

/* Ends a reference. */
static void drop(adz_module *module)
{
    if (atomic_fetch_sub_explicit(&module->refs, 1, memory_order_acq_rel) == 1) {
        destroy(module);
    }
}

void adz_module_release(adz_module **module)
{
    static const char op[] = "adz_module_release";
    if (module == NULL || *module == NULL) {
        return;
    }
    adz_module *gone = *module;
    *module = NULL;
    if (!adzi_check_module(op, "module", gone)) {
        return;
    }
    if (adzi_module_refs_of_callers(gone) < 1) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "the %s belongs to its parent, which ends it; adz_module_keep takes a reference of your own",
            gone->type.name);
        return;
    }
    drop(gone);
}

void adzi_module_give_back(adz_module *module)
{
    if (module != NULL && module->alive == ADZI_MODULE_ALIVE &&
        adzi_module_refs_of_callers(module) > 0) {
        drop(module);
    }
}

/* ---- what is taken out of a module ---------------------------------------------------------- */

adz_status adzi_module_remove_child(const char *op, adz_module *module, const char *name)
{
    if (name == NULL) {
        return adzi_error_null(op, "name");
    }
    const size_t i = adzi_module_position(module, ADZI_CHILD, name, strlen(name));
    if (i == module->n_children) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "%s has no child %s", module->type.name, name);
    }
    const adzi_child gone = module->children[i];
    adzi_index_free(&module->names);
    --module->n_children;
    memmove(&module->children[i], &module->children[i + 1],
        (module->n_children - i) * sizeof *module->children);
    adzi_string_free(gone.name);
    adzi_module_drop_child(module, gone.module);
    adzi_module_changed(module);
    adzi_settings_changed();
    return ADZ_OK;
}

adz_status adzi_module_remove_parameter(const char *op, adz_module *module, const char *name)
{
    if (name == NULL) {
        return adzi_error_null(op, "name");
    }
    const size_t i = adzi_parameter_index(module, name);
    if (i == module->n_parameters) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "%s has no parameter %s", module->type.name, name);
    }
    if (module->parameters[i].tensor == NULL) {
        return adzi_error(op, ADZ_ERR_STATE,
            "%s is parametrised; adz_module_remove_parametrizations makes it a plain parameter first",
            name);
    }
    const adzi_slot gone = module->parameters[i];
    const bool none = adzi_is_none(gone.tensor);
    if (!none && gone.tensor->gradient != NULL && gone.tensor->gradient->place != NULL) {
        return adzi_error(op, ADZ_ERR_STATE,
            "%s%s lies in a flat buffer; call adz_flat_parameters_free first", name,
            adzi_text_shape(gone.tensor));
    }
    adzi_index_free(&module->names);
    --module->n_parameters;
    memmove(&module->parameters[i], &module->parameters[i + 1],
        (module->n_parameters - i) * sizeof *module->parameters);
    if (!none) { /* plans that use the tensor are over, even if somebody keeps it */
        adzi_leave_memory(gone.tensor->storage->data, gone.tensor->storage->bytes);
    }
    adzi_string_free(gone.name);
    adzi_drop(gone.tensor);
    adzi_module_changed(module);
    adzi_settings_changed();
    return ADZ_OK;
}
