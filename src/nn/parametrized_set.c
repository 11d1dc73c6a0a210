/* Parametrised parameters that get a value: the originals become what it is computed from (Note
 * [Parametrised parameters]). */
#include "adze/nn/parametrize.h"

#include "adze/autograd.h"
#include "adze/ops/convert.h"
#include "base/capture.h"
#include "base/door.h"
#include "base/error.h"
#include "nn/parametrize.h"

/* Replaces the values by what the parametrisations of the list compute them from, the last
 * parametrisation first. */
static bool invert_all(const char *op, const adz_module *list, adz_values *values)
{
    for (size_t k = list->n_children; k-- > 0;) {
        adz_module *parametrization = adzi_child_at(list, k);
        adz_tensor *value = values->items[0].tensor;
        if (parametrization->type.right_inverse == NULL) {
            adzi_error(op, ADZ_ERR_UNSUPPORTED,
                "%s has no right_inverse, by which its originals would follow from a value",
                parametrization->type.name);
            return false;
        }
        adz_values_clear(values);
        if (!adzi_parametrization_invert(op, parametrization, value, values)) {
            return false;
        }
    }
    return true;
}

/* Gives the originals of parameter i the right inverse of a value. */
static bool assign(const char *op, adz_module *module, size_t i, adz_tensor *value)
{
    adz_module *list = adzi_parametrization_list(op, module, i);
    adz_values values;
    adzi_values_begin(&values);
    bool good = list != NULL && adz_values_add(&values, "", value) == ADZ_OK &&
                invert_all(op, list, &values);
    if (good && values.count != list->n_parameters) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the inverse has %zu results, but there are %zu originals",
            values.count, list->n_parameters);
        good = false;
    }
    for (size_t k = 0; k < values.count && good; ++k) {
        good = adzi_parametrized_like(
            op, "the inverse", values.items[k].tensor, adzi_parameter(list, k));
    }
    for (size_t k = 0; k < values.count && good; ++k) {
        good = adz_copy_(adzi_parameter(list, k), values.items[k].tensor) != NULL;
    }
    adzi_values_end(&values);
    return good;
}

typedef struct assignment {
    const char *op;
    adz_module *module;
    size_t i;
    adz_tensor *value;
} assignment;

static bool run_assignment(void *state)
{
    const assignment *a = state;
    return assign(a->op, a->module, a->i, a->value);
}

adz_status adz_module_assign_parametrized(adz_module *module, const char *name, adz_tensor *value)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_module_assign_parametrized";
    const size_t i = adzi_parametrized_index(op, module, name);
    adz_scope *scope =
        i != SIZE_MAX && adzi_check_tensor(op, "value", value) ? adz_scope_open() : NULL;
    if (scope == NULL) {
        return adz_error_code();
    }
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    assignment a = { op, module, i, value };
    const bool good = adzi_through_door(&door, run_assignment, &a);
    adz_scope_close(scope);
    return good ? ADZ_OK : adz_error_code();
}

/* ---- drawing again --------------------------------------------------------------------------- */

/* Puts plain tensors into the empty slots. `emptied` notes which. */
static bool fill_slots(adz_module *module, bool *emptied)
{
    bool good = true;
    for (size_t i = 0; i < module->n_parameters && good; ++i) {
        if (module->parameters[i].tensor == NULL) {
            const adz_module *list =
                adzi_parametrization_list("adz_module_reset_parameters", module, i);
            const adzi_parametrization_state *state = list != NULL ? list->state : NULL;
            adz_tensor *value =
                list != NULL ? adz_zeros(state->shape, (adz_dtype)adzi_parameter(list, 0)->dtype)
                             : NULL;
            good = value != NULL;
            emptied[i] = good;
            module->parameters[i].tensor = good ? adzi_retain(value) : NULL;
        }
    }
    return good;
}

/* Empties the slots again. The originals follow from the tensors that were there if `good`. */
static bool empty_slots(adz_module *module, const bool *emptied, bool good)
{
    for (size_t i = 0; i < module->n_parameters; ++i) {
        if (emptied[i]) {
            adz_tensor *value = module->parameters[i].tensor;
            module->parameters[i].tensor = NULL;
            good = good && assign("adz_module_reset_parameters", module, i, value);
            adzi_drop(value);
        }
    }
    return good;
}

adz_status adzi_parametrized_reset(adz_module *module)
{
    static const char op[] = "adz_module_reset_parameters";
    bool *emptied = adzi_alloc_zero(module->n_parameters * sizeof *emptied);
    adz_scope *scope = emptied != NULL ? adz_scope_open() : NULL;
    if (scope == NULL) {
        adzi_free(emptied, module->n_parameters * sizeof *emptied);
        adzi_fail_memory(op, module->n_parameters * sizeof *emptied);
        return ADZ_ERR_MEMORY;
    }
    bool good = false;
    ADZ_NO_GRAD
    {
        good = fill_slots(module, emptied) && module->type.reset_parameters(module) == ADZ_OK;
        good = empty_slots(module, emptied, good);
    }
    adz_scope_close(scope);
    adzi_free(emptied, module->n_parameters * sizeof *emptied);
    return good ? ADZ_OK : adz_error_code();
}
