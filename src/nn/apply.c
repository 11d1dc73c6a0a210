/* Calls that apply to every module or parameter of a tree: gradients, modes, initial values, hidden
 * states. */
#include "nn/micro_state.h"
#include "nn/parametrize.h"
#include "base/capture.h"

#include <string.h>

#include "adze/autograd.h"
#include "autograd/leaf.h"
#include "base/door.h"
#include "base/error.h"

adz_status adz_module_zero_grad(adz_module *module)
{
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    const adzi_listing *listing = adzi_module_listing("adz_module_zero_grad", module);
    if (listing == NULL) {
        return adz_error_code();
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        adzi_leaf_drop_gradient(listing->parameters[i]);
    }
    return ADZ_OK;
}

adz_status adz_module_fill_grad_zero(adz_module *module)
{
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    const adzi_listing *listing = adzi_module_listing("adz_module_fill_grad_zero", module);
    if (listing == NULL) {
        return adz_error_code();
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        adzi_gradient *gradient = listing->parameters[i]->gradient;
        if (gradient != NULL) {
            adzi_gradient_zero(gradient);
        }
    }
    return ADZ_OK;
}

static void set_mode(adz_module *module, bool mode)
{
    module->training = mode;
    for (size_t i = 0; i < module->n_children; ++i) {
        set_mode(module->children[i].module, mode);
    }
}

adz_status adz_module_train(adz_module *module, bool mode)
{
    if (!adzi_check_module("adz_module_train", "module", module)) {
        return adz_error_code();
    }
    set_mode(module, mode);
    return ADZ_OK;
}

adz_status adz_module_eval(adz_module *module)
{
    return adz_module_train(module, false);
}

bool adz_module_is_training(const adz_module *module)
{
    if (!adzi_check_module("adz_module_is_training", "module", module)) {
        return false;
    }
    adzi_capture *capture = adzi_capture_of(adzi_self());
    if (capture != NULL) {
        capture->uses_modes(capture, module);
    }
    return module->training;
}

adz_status adz_module_forward_changed(adz_module *module)
{
    if (!adzi_check_module("adz_module_forward_changed", "module", module)) {
        return adz_error_code();
    }
    adzi_settings_changed();
    return ADZ_OK;
}

adz_status adz_module_requires_grad_(adz_module *module, bool on)
{
    static const char op[] = "adz_module_requires_grad_";
    const adzi_listing *listing = adzi_module_listing(op, module);
    if (listing == NULL) {
        return adz_error_code();
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        const adz_tensor *t = listing->parameters[i];
        if (on && !adzi_is_float((adz_dtype)t->dtype)) {
            return adzi_error(op, ADZ_ERR_DTYPE,
                "a weight%s is %s, which is not trained; call adz_module_to with ADZ_F32 first",
                adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
        }
    }
    for (size_t i = 0; i < listing->n_parameters; ++i) {
        if (listing->parameters[i]->requires_grad != on) {
            listing->parameters[i]->requires_grad = on; /* add_parameter has made t->gradient */
            adzi_settings_changed();
        }
    }
    return ADZ_OK;
}

/* True if child i is an earlier child of this module too. Such a child is visited once, as in
 * PyTorch. */
static bool stands_earlier(const adz_module *module, size_t i)
{
    for (size_t k = 0; k < i; ++k) {
        if (module->children[k].module == module->children[i].module) {
            return true;
        }
    }
    return false;
}

static adz_status visit_tree(adz_module *module, adz_module_visitor visit, void *user)
{
    if (!adzi_check_module("adz_module_apply", "module", module)) {
        return adz_error_code();
    }
    for (size_t i = 0; i < module->n_children; ++i) {
        if (!stands_earlier(module, i)) {
            adz_status status = visit_tree(module->children[i].module, visit, user);
            if (status != ADZ_OK) {
                return status;
            }
        }
    }
    return visit(module, user);
}

typedef struct visit_call {
    adz_module *module;
    adz_module_visitor visit;
    void *user;
    adz_status status;
} visit_call;

static bool run_visit(void *state)
{
    visit_call *call = state;
    call->status = visit_tree(call->module, call->visit, call->user);
    return call->status == ADZ_OK;
}

adz_status adz_module_apply(adz_module *module, adz_module_visitor visit, void *user)
{
    static const adzi_door door = { .op = "adz_module_apply" };
    if (!adzi_check_module(door.op, "module", module)) {
        return adz_error_code();
    }
    if (visit == NULL) {
        return adzi_error_null(door.op, "visit");
    }
    visit_call call = { module, visit, user, ADZ_OK };
    const bool good = adzi_through_door(&door, run_visit, &call);
    return good || call.status != ADZ_OK ? call.status : adz_error_code();
}

static adz_status draw_anew(adz_module *module, void *user)
{
    (void)user;
    if (module->type.reset_parameters == NULL) {
        return ADZ_OK;
    }
    return module->n_parametrized > 0 ? adzi_parametrized_reset(module)
                                      : module->type.reset_parameters(module);
}

adz_status adz_module_reset_parameters(adz_module *module)
{
    return adz_module_apply(module, draw_anew, NULL);
}

/* ---- hidden states -------------------------------------------------------------------------- */

/* A buffer before the change, with a reference to its tensor. */
typedef struct kept_buffer {
    adz_module *module;
    size_t index;
    adz_tensor *tensor;
} kept_buffer;

/* The modules of a tree whose type has `reset` or `select_hidden`, each once, and their buffers.
 * Such a module carries a hidden state from one call to the next. */
typedef struct carriers {
    const char *op;
    adz_module **modules;
    kept_buffer *buffers;
    size_t n_modules, modules_capacity, n_buffers, buffers_capacity;
    adz_tensor *rows; /* those of a selection, or NULL for a reset */
    adz_status status;
} carriers;

static adz_status add_carrier(adz_module *module, void *user)
{
    carriers *all = user;
    bool known = module->type.reset == NULL && module->type.select_hidden == NULL;
    for (size_t i = 0; i < all->n_modules && !known; ++i) {
        known = all->modules[i] == module;
    }
    if (known) {
        return ADZ_OK;
    }
    if (!adzi_grow(
            &all->modules, &all->modules_capacity, all->n_modules + 1, sizeof *all->modules) ||
        !adzi_grow(&all->buffers, &all->buffers_capacity, all->n_buffers + module->n_buffers,
            sizeof *all->buffers)) {
        adzi_fail_memory(all->op, (module->n_buffers + 1) * sizeof *all->buffers);
        return ADZ_ERR_MEMORY;
    }
    all->modules[all->n_modules++] = module;
    for (size_t i = 0; i < module->n_buffers; ++i) {
        adz_tensor *t = module->buffers[i].tensor;
        t = adzi_is_none(t) ? t : adzi_retain(t);
        all->buffers[all->n_buffers++] = (kept_buffer){ module, i, t };
    }
    return ADZ_OK;
}

/* Frees the lists. If the change failed, puts the earlier buffers back first. */
static void end_carriers(carriers *all, bool good)
{
    for (size_t i = 0; i < all->n_buffers; ++i) {
        kept_buffer *kept = &all->buffers[i];
        adzi_slot *slot = &kept->module->buffers[kept->index];
        if (!good && slot->tensor != kept->tensor) {
            adz_tensor *replaced = slot->tensor;
            slot->tensor = kept->tensor;
            kept->tensor = replaced;
            adzi_module_buffer_replaced(kept->module);
        }
        adzi_drop(kept->tensor);
    }
    adzi_free(all->modules, all->modules_capacity * sizeof *all->modules);
    adzi_free(all->buffers, all->buffers_capacity * sizeof *all->buffers);
}

/* Resets one module if `rows` is NULL, else keeps these rows of its hidden state. */
static adz_status reset_or_select(adz_module *module, adz_tensor *rows)
{
    const adz_module_type *type = &module->type;
    adz_status status = ADZ_OK;
    if (rows == NULL) {
        status = type->reset != NULL ? type->reset(module) : ADZ_OK;
    } else if (type->select_hidden != NULL) {
        status = type->select_hidden(module, rows);
    }
    adzi_callback_failed(type->name, status, "the call failed without saying why");
    return status;
}

static bool change_all(void *state)
{
    carriers *all = state;
    for (size_t i = 0; i < all->n_modules && all->status == ADZ_OK; ++i) {
        all->status = reset_or_select(all->modules[i], all->rows);
    }
    return all->status == ADZ_OK;
}

/* Resets the hidden states of the tree if `rows` is NULL, else keeps these rows of them. After an
 * error no module is changed. */
static adz_status change_carried(const char *op, adz_module *module, adz_tensor *rows)
{
    const adzi_door door = { .op = op, .mode = ADZI_DOOR_RECORDS_NOTHING };
    carriers all = { .op = op, .rows = rows };
    all.status = visit_tree(module, add_carrier, &all);
    adz_scope *scope = all.status == ADZ_OK ? adz_scope_open() : NULL;
    const bool good = scope != NULL && adzi_through_door(&door, change_all, &all);
    for (size_t i = 0; i < all.n_modules && good && rows == NULL; ++i) {
        adzi_micro_state_was_reset(all.modules[i]);
    }
    end_carriers(&all, good);
    if (scope != NULL) {
        adz_scope_close(scope);
    }
    return good ? ADZ_OK : all.status != ADZ_OK ? all.status : adz_error_code();
}

adz_status adz_module_reset(adz_module *module)
{
    static const char op[] = "adz_module_reset";
    return adzi_check_module(op, "module", module) ? change_carried(op, module, NULL)
                                                   : adz_error_code();
}

adz_status adz_module_select_hidden(adz_module *module, adz_tensor *rows)
{
    static const char op[] = "adz_module_select_hidden";
    if (!adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (!adzi_check_tensor(op, "rows", rows)) {
        return adz_error_code();
    }
    if (rows->dtype != ADZ_I64) {
        return adzi_error(op, ADZ_ERR_DTYPE, "rows are %s, but must be int64",
            adz_dtype_name((adz_dtype)rows->dtype));
    }
    if (rows->rank != 1) {
        return adzi_error(op, ADZ_ERR_SHAPE, "rows%s must be [n]", adzi_text_shape(rows));
    }
    return change_carried(op, module, rows);
}
