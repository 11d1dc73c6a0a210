/* Parametrised parameters: how they are registered and removed (Note [Parametrised parameters]). */
#include "nn/parametrize.h"

#include <stdio.h>
#include <string.h>

#include "adze/autograd.h"
#include "adze/nn/parametrize.h"
#include "adze/ops/convert.h"
#include "base/capture.h"
#include "base/door.h"
#include "base/error.h"
#include "nn/containers.h"
#include "tensor/shape.h"

static const char dict_name[] = "parametrizations";

bool adz_module_is_parametrized(const adz_module *module, const char *name)
{
    if (module == NULL || !adzi_check_module("adz_module_is_parametrized", "module", module)) {
        return false;
    }
    if (name == NULL) {
        return module->n_parametrized > 0;
    }
    const size_t i = adzi_parameter_index(module, name);
    return i < module->n_parameters && module->parameters[i].tensor == NULL;
}

/* ---- the name of the type -------------------------------------------------------------------- */

static bool give_name(const char *op, adz_module *module)
{
    adzi_text text = { 0 };
    adzi_text_format(&text, "Parametrized%s", module->identity->name);
    char *name = text.failed ? NULL : adzi_string_copy(text.data);
    adzi_text_free(&text);
    if (name == NULL) {
        adzi_fail_memory(op, strlen(module->identity->name));
        return false;
    }
    adzi_string_free(module->parametrized_name);
    module->parametrized_name = name;
    module->type.name = name;
    return true;
}

bool adzi_parametrized_slot(const char *op, adz_module *module, const char *name)
{
    char *copy = adzi_string_copy(name);
    if (copy == NULL || !adzi_grow(&module->parameters, &module->parameters_capacity,
                            module->n_parameters + 1, sizeof *module->parameters)) {
        adzi_string_free(copy);
        adzi_fail_memory(op, sizeof *module->parameters);
        return false;
    }
    module->parameters[module->n_parameters++] = (adzi_slot){ copy, NULL, true };
    adzi_module_named(module, ADZI_PARAMETER);
    ++module->n_parametrized;
    return module->parametrized_name != NULL || give_name(op, module);
}

static void restore_name(adz_module *module)
{
    module->type.name = module->identity->name;
    adzi_string_free(module->parametrized_name);
    module->parametrized_name = NULL;
}

/* ---- registering ----------------------------------------------------------------------------- */

/* A tensor of its own with the elements of an original. */
static adz_tensor *own_copy(adz_tensor *t, bool requires_grad)
{
    adz_tensor *copy = adz_contiguous(adz_clone(adz_detach(t)));
    if (copy != NULL) {
        copy->requires_grad = requires_grad;
    }
    return copy;
}

/* The list with the originals of t and one parametrisation. */
static adz_module *list_new(adz_tensor *t, const adz_values *originals, adz_module *parametrization)
{
    const adzi_parametrization_state state = { adz_shape_of(t->rank, t->sizes) };
    adz_module *list = adzi_module_of(&adzi_parametrization_list_type, &state, sizeof state);
    const bool wants = t->requires_grad, single = originals->count == 1;
    bool good = list != NULL;
    for (size_t i = 0; i < originals->count && good; ++i) {
        char name[32];
        snprintf(name, sizeof name, "original%zu", i);
        adz_tensor *original = single ? t : own_copy(originals->items[i].tensor, wants);
        good = original != NULL &&
               adz_module_add_parameter(list, single ? "original" : name, original) != NULL;
        if (original != NULL) {
            original->requires_grad = wants;
        }
    }
    good = good && adz_module_add_child(list, "0", adz_module_keep(parametrization)) != NULL;
    if (!good) {
        adz_module_release(&list);
    }
    return list;
}

/* Puts the list, whose reference is taken over, below the module. */
static bool attach(const char *op, adz_module *module, const char *name, adz_module *list)
{
    adz_module *dict = adzi_parametrizations(module);
    if (list == NULL) {
        return false;
    }
    list->training = module->training;
    if (dict != NULL) {
        return adz_module_add_child(dict, name, list) != NULL;
    }
    dict = adz_module_new(&adzi_module_dict_type, 0);
    if (dict == NULL) {
        adz_module_release(&list);
        return false;
    }
    if (adz_module_add_child(dict, name, list) == NULL) {
        adz_module_release(&dict);
        return false;
    }
    dict->training = module->training;
    if (!give_name(op, module)) {
        adz_module_release(&dict);
        return false;
    }
    if (adz_module_add_child(module, dict_name, dict) == NULL) {
        restore_name(module);
        return false;
    }
    return true;
}

/* Takes the list of a parameter away, and the dict with the last one. */
static void detach(const char *op, adz_module *module, const char *name)
{
    adz_module *dict = adzi_parametrizations(module);
    adzi_module_remove_child(op, dict, name);
    if (dict->n_children == 0) {
        adzi_module_remove_child(op, module, dict_name);
        restore_name(module);
    }
}

/* The slot gives up its tensor, which the list below the module holds or replaces. */
static void empty_slot(adz_module *module, size_t i)
{
    adz_tensor *t = module->parameters[i].tensor;
    module->parameters[i].tensor = NULL;
    ++module->n_parametrized;
    adzi_leave_memory(t->storage->data, t->storage->bytes);
    adzi_module_changed(module);
    adzi_settings_changed();
    adzi_drop(t);
}

/* What a parametrisation that is registered makes of its originals. It reports its errors at once
 * (Note [Reports after cleaning up]). */
static adz_tensor *first_value(adz_module *parametrization, const adz_values *originals)
{
    const unsigned holds = adzi_pause_reports();
    adz_tensor *y = adzi_parametrization_apply(parametrization, originals);
    adzi_resume_reports(holds);
    return y;
}

/* The value of parameter i, and what a further parametrisation makes of it. */
static adz_tensor *next_value(
    adz_module *module, size_t i, adz_module *parametrization, adz_tensor **value)
{
    const unsigned holds = adzi_pause_reports();
    *value = adzi_parametrized(module, i);
    adz_tensor *y = *value != NULL ? adz_module_forward(parametrization, *value) : NULL;
    adzi_resume_reports(holds);
    return y;
}

/* The first parametrisation of parameter i. */
static bool register_first(
    const char *op, adz_module *module, size_t i, adz_module *parametrization)
{
    adz_tensor *t = module->parameters[i].tensor;
    const char *name = module->parameters[i].name;
    adz_values originals;
    adzi_values_begin(&originals);
    bool good = adzi_parametrization_invert(op, parametrization, t, &originals);
    good = good && adzi_parametrized_like(op, "the result of the parametrisation",
                       first_value(parametrization, &originals), t);
    if (good && originals.count == 1) {
        good = adzi_parametrized_like(op, "the original", originals.items[0].tensor, t);
    } else if (good && t->gradient != NULL && t->gradient->place != NULL) {
        good =
            adzi_fail(op, ADZ_ERR_STATE,
                "%s%s lies in a flat buffer, and several tensors cannot replace it; call adz_flat_parameters_free first",
                name, adzi_text_shape(t)) != NULL;
    }
    adz_tensor *only = good && originals.count == 1 ? originals.items[0].tensor : t;
    good = good && attach(op, module, name, list_new(t, &originals, parametrization));
    if (good && only != t && adz_copy_(t, only) == NULL) {
        detach(op, module, name);
        good = false;
    }
    if (good) {
        empty_slot(module, i);
    }
    adzi_values_end(&originals);
    return good;
}

/* A further parametrisation of parameter i: a function from its values to such values. */
static bool register_next(const char *op, adz_module *module, size_t i, adz_module *parametrization)
{
    adz_module *list = adzi_parametrization_list(op, module, i);
    adz_tensor *value = NULL;
    adz_tensor *y = list != NULL ? next_value(module, i, parametrization, &value) : NULL;
    bool good =
        y != NULL && adzi_parametrized_like(op, "the result of the parametrisation", y, value);
    adz_values originals;
    adzi_values_begin(&originals);
    good = good && adzi_parametrization_invert(op, parametrization, y, &originals);
    if (good && originals.count > 1) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "the inverse of %s has %zu results, but only the first parametrisation of a parameter may have several",
            parametrization->type.name, originals.count);
        good = false;
    }
    good = good && adzi_parametrized_like(op, "the inverse", originals.items[0].tensor, value);
    adzi_values_end(&originals);
    char name[24];
    snprintf(name, sizeof name, "%zu", list != NULL ? list->n_children : 0);
    return good && adz_module_add_child(list, name, adz_module_keep(parametrization)) != NULL;
}

/* The parameter that a program names; SIZE_MAX with the error recorded if there is none. */
static size_t find_parameter(const char *op, const adz_module *module, const char *name)
{
    if (!adzi_check_module(op, "module", module)) {
        return SIZE_MAX;
    }
    if (name == NULL) {
        adzi_error_null(op, "name");
        return SIZE_MAX;
    }
    const size_t i = adzi_parameter_index(module, name);
    if (i == module->n_parameters || adzi_is_none(module->parameters[i].tensor)) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "%s has no parameter %s", module->type.name, name);
        return SIZE_MAX;
    }
    const adz_tensor *t = module->parameters[i].tensor;
    if (t != NULL && !adzi_is_float((adz_dtype)t->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "%s%s is %s; call adz_module_to with ADZ_F32 first", name,
            adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
        return SIZE_MAX;
    }
    return i;
}

typedef struct registration {
    const char *op;
    adz_module *module;
    size_t i;
    adz_module *parametrization;
} registration;

static bool run_registration(void *state)
{
    const registration *r = state;
    return r->module->parameters[r->i].tensor == NULL
               ? register_next(r->op, r->module, r->i, r->parametrization)
               : register_first(r->op, r->module, r->i, r->parametrization);
}

static bool register_checked(
    const char *op, adz_module *module, const char *name, adz_module *parametrization)
{
    const size_t i = find_parameter(op, module, name);
    if (i == SIZE_MAX || !adzi_check_module(op, "parametrization", parametrization)) {
        return false;
    }
    if (adzi_module_refs_of_callers(parametrization) < 1) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "the %s belongs to another parent, which has the only reference; hand in adz_module_keep(parametrization)",
            parametrization->type.name);
        return false;
    }
    adz_module_train(parametrization, module->training);
    adz_scope *scope = adz_scope_open();
    if (scope == NULL) {
        return false;
    }
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    registration r = { op, module, i, parametrization };
    const bool good = adzi_through_door(&door, run_registration, &r);
    adz_scope_close(scope);
    return good;
}

adz_module *adz_module_register_parametrization(
    adz_module *module, const char *name, adz_module *parametrization)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    ADZI_HOLD_REPORTS;
    const bool good =
        register_checked("adz_module_register_parametrization", module, name, parametrization);
    adzi_module_give_back(parametrization); /* the list has a reference of its own */
    return good ? parametrization : NULL;
}

/* ---- removing -------------------------------------------------------------------------------- */

/* What becomes the parameter; NULL with the error recorded. Without a graph around. */
static adz_tensor *plain_parameter(
    const char *op, adz_module *module, size_t i, const adz_module *list, bool keep_value)
{
    adz_tensor *only = list->n_parameters == 1 ? adzi_parameter(list, 0) : NULL;
    if (!keep_value) {
        return only != NULL
                   ? only
                   : adzi_fail(op, ADZ_ERR_ARGUMENT,
                         "%s has %zu originals, of which none can be the parameter; remove with leave_parametrized",
                         module->parameters[i].name, list->n_parameters);
    }
    adz_tensor *value = adzi_parametrized(module, i);
    if (only != NULL) {
        return value != NULL ? adz_copy_(only, value) : NULL;
    }
    bool wants = false;
    for (size_t k = 0; k < list->n_parameters; ++k) {
        wants = wants || adzi_parameter(list, k)->requires_grad;
    }
    return value != NULL ? own_copy(value, wants) : NULL;
}

typedef struct removal {
    const char *op;
    adz_module *module;
    size_t i;
    const adz_module *list;
    bool keep_value;
    adz_tensor *result;
} removal;

static bool run_removal(void *state)
{
    removal *r = state;
    r->result = plain_parameter(r->op, r->module, r->i, r->list, r->keep_value);
    return r->result != NULL;
}

/* Makes t the parameter of the empty slot. */
static bool refill_slot(const char *op, adz_module *module, size_t i, adz_tensor *t)
{
    if (adzi_gradient_of(op, t) == NULL) {
        return false;
    }
    module->parameters[i].tensor = adzi_retain(t);
    --module->n_parametrized;
    detach(op, module, module->parameters[i].name);
    adzi_module_changed(module);
    adzi_settings_changed();
    return true;
}

adz_status adz_module_remove_parametrizations(
    adz_module *module, const char *name, bool leave_parametrized)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_module_remove_parametrizations";
    const size_t i = adzi_parametrized_index(op, module, name);
    const adz_module *list = i != SIZE_MAX ? adzi_parametrization_list(op, module, i) : NULL;
    adz_scope *scope = list != NULL ? adz_scope_open() : NULL;
    if (scope == NULL) {
        return adz_error_code();
    }
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    removal r = { op, module, i, list, leave_parametrized, NULL };
    const bool good =
        adzi_through_door(&door, run_removal, &r) && refill_slot(op, module, i, r.result);
    adz_scope_close(scope);
    return good ? ADZ_OK : adz_error_code();
}
