/* Modules: they are made, filled with parameters, buffers and children, and looked up by path.
 * References are in references.c, calls in call.c, walks over a whole tree in listing.c and
 * apply.c. */
#include "nn/module.h"
#include "ops/convert/q8_0.h"
#include "base/capture.h"

#include <string.h>

#include "base/error.h"
#include "base/handle.h"

/* ---- names ---------------------------------------------------------------------------------- */

static const char *const kinds[ADZI_KINDS] = { "parameter", "buffer", "child" };

/* True if an entry of `kind` may get this name: it has no dot, and no other entry has the name.
 * With `replace`, an entry of this kind may have it. */
static bool check_name(
    const char *op, const adz_module *module, int kind, const char *name, bool replace)
{
    if (name[0] == '\0' || strchr(name, '.') != NULL) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "the name \"%s\" is empty or has a dot", name);
        return false;
    }
    for (int k = 0; k < ADZI_KINDS; ++k) {
        bool taken =
            adzi_module_position(module, k, name, strlen(name)) < adzi_module_count(module, k);
        if (taken && !(replace && k == kind)) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "%s has a %s called %s already", module->type.name,
                kinds[k], name);
            return false;
        }
    }
    return true;
}

/* ---- parameters and buffers ----------------------------------------------------------------- */

bool adzi_module_may_store(const adz_module *module, size_t i)
{
    return i < 32 && (module->type.half_parameters >> i & 1) != 0;
}

bool adzi_module_may_store_blocks(const adz_module *module, size_t i)
{
    return i < 32 && (module->type.block_parameters >> i & 1) != 0;
}

/* True for a weight in half precision or in blocks of Q8_0, if the module's type declares that it
 * reads it. */
static bool is_stored_weight(const adz_module *module, const char *name, const adz_tensor *t)
{
    const size_t i = adzi_module_position(module, ADZI_PARAMETER, name, strlen(name));
    return adzi_is_q8_0(t) ? adzi_module_may_store_blocks(module, i)
                           : adzi_is_half((adz_dtype)t->dtype) && adzi_module_may_store(module, i);
}

/* A parameter or buffer that a program gives to a module. */
typedef struct entry {
    const char *op; /* the function that was called */
    adz_module *module;
    int kind; /* ADZI_PARAMETER or ADZI_BUFFER */
    const char *name;
    adz_tensor *t;   /* or ADZ_NONE */
    bool replaces;   /* it may stand in for another one of its name */
    bool persistent; /* it belongs to the state, if there is none of its name yet */
} entry;

/* Whether an entry fits the module. If not, the error is recorded. */
static bool check_entry(const entry *e)
{
    const char *op = e->op, *name = e->name;
    const adz_tensor *t = e->t;
    if (!adzi_check_module(op, "module", e->module)) {
        return false;
    }
    if (name == NULL) {
        adzi_error_null(op, "name");
        return false;
    }
    if (t == NULL || !adzi_is_none(t)) {
        if (!adzi_check_tensor(op, "t", t)) {
            return false;
        }
        if (t->node != NULL || (e->kind == ADZI_BUFFER && t->requires_grad)) {
            adzi_error(op, ADZ_ERR_GRAPH,
                "%s%s takes part in a graph; hand in adz_detach(t) or make it under ADZ_NO_GRAD",
                name, adzi_text_shape(t));
            return false;
        }
        if (!adzi_is_contiguous(t)) {
            adzi_error(op, ADZ_ERR_SHAPE, "%s%s is not contiguous; hand in adz_contiguous(t)", name,
                adzi_text_shape(t));
            return false;
        }
        if (e->kind == ADZI_PARAMETER && !adzi_is_float((adz_dtype)t->dtype) &&
            !is_stored_weight(e->module, name, t)) {
            adzi_error(op, ADZ_ERR_DTYPE,
                "%s%s is %s; parameters are float32 or float64, others are buffers", name,
                adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype));
            return false;
        }
    }
    return check_name(op, e->module, e->kind, name, e->replaces);
}

/* Whether a buffer that is set where there was none makes plans again. What the function of a plan
 * does is part of the plan. A forward outside of plans counts only if a plan has captured a call of
 * this module, because a second model that carries states would otherwise end the plans of the
 * first one in every step. */
static bool ends_plans(const adz_module *module, const adzi_capture *capture)
{
    return capture == NULL && (adzi_self()->n_frames == 0 || module->is_captured);
}

/* Makes plans again that use the tensor which t replaces, and tells the capture of a plan. */
static void tell_plans(
    adz_module *module, int kind, const char *name, adz_tensor *old, const adz_tensor *t)
{
    adzi_capture *capture = adzi_capture_of(adzi_self());
    const bool held = old != NULL && !adzi_is_none(old);
    if (old != t && held) { /* plans that use the old tensor are over, even if somebody keeps it */
        adzi_leave_memory(old->storage->data, old->storage->bytes);
    }
    if (old != t && adzi_is_older_than_a_capture(module->made) &&
        (kind == ADZI_PARAMETER || (!held && ends_plans(module, capture)))) {
        adzi_settings_changed();
    }
    if (capture != NULL && kind == ADZI_BUFFER && old != NULL && old != t && !adzi_is_none(old)) {
        capture->replaced(capture, module, name, old);
    }
}

/* Puts the tensor of a checked entry at the position of its name, which is made if the module has
 * none of that name. Nothing changes if memory is refused. */
static adz_tensor *put_slot(const entry *e)
{
    const char *op = e->op, *name = e->name;
    adz_module *module = e->module;
    adz_tensor *t = e->t;
    const int kind = e->kind;
    adzi_slot **slots = kind == ADZI_PARAMETER ? &module->parameters : &module->buffers;
    size_t *count = kind == ADZI_PARAMETER ? &module->n_parameters : &module->n_buffers;
    size_t *capacity =
        kind == ADZI_PARAMETER ? &module->parameters_capacity : &module->buffers_capacity;
    const bool wants_gradient = kind == ADZI_PARAMETER && !adzi_is_none(t);
    adz_tensor *old = NULL;
    if (wants_gradient && adzi_gradient_of(op, t) == NULL) {
        return NULL;
    }
    const size_t i = adzi_module_position(module, kind, name, strlen(name));
    if (i < *count) {
        old = (*slots)[i].tensor;
        if (old == NULL) {
            return adzi_fail(op, ADZ_ERR_STATE,
                "%s is parametrised; adz_module_assign_parametrized sets its value, and adz_module_remove_parametrizations makes it a plain parameter",
                name);
        }
        if (old != t && old->gradient != NULL && old->gradient->place != NULL) {
            return adzi_fail(op, ADZ_ERR_STATE,
                "%s%s lies in a flat buffer; use adz_copy_, or call adz_flat_parameters_free first",
                name, adzi_text_shape(old));
        }
    } else {
        char *copy = adzi_string_copy(name);
        if (copy == NULL || !adzi_grow(slots, capacity, *count + 1, sizeof **slots)) {
            adzi_string_free(copy);
            return adzi_fail_memory(op, sizeof **slots);
        }
        (*slots)[(*count)++] = (adzi_slot){ copy, NULL, e->persistent };
        adzi_module_named(module, kind);
    }
    (*slots)[i].tensor = adzi_is_none(t) ? t : adzi_retain(t);
    if (wants_gradient) {
        t->requires_grad = adzi_is_float((adz_dtype)t->dtype);
    }
    tell_plans(module, kind, (*slots)[i].name, old, t);
    if (old != NULL && kind == ADZI_BUFFER) {
        adzi_module_buffer_replaced(module);
    } else {
        adzi_module_changed(module);
    }
    adzi_drop(old);
    return t;
}

static adz_tensor *put(entry e)
{
    return check_entry(&e) ? put_slot(&e) : NULL;
}

adz_tensor *adz_module_add_parameter(adz_module *module, const char *name, adz_tensor *t)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    return put((entry){ __func__, module, ADZI_PARAMETER, name, t, .persistent = true });
}

adz_tensor *adz_module_set_parameter(adz_module *module, const char *name, adz_tensor *t)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    return put(
        (entry){ __func__, module, ADZI_PARAMETER, name, t, .replaces = true, .persistent = true });
}

adz_tensor *adz_module_add_buffer(
    adz_module *module, const char *name, adz_tensor *t, bool persistent)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    return put((entry){ __func__, module, ADZI_BUFFER, name, t, .persistent = persistent });
}

adz_tensor *adz_module_set_buffer(adz_module *module, const char *name, adz_tensor *t)
{
    return put(
        (entry){ __func__, module, ADZI_BUFFER, name, t, .replaces = true, .persistent = true });
}

/* ---- children ------------------------------------------------------------------------------- */

/* True if `module` is `tree` or one of its descendants. */
static bool stands_in(const adz_module *tree, const adz_module *module)
{
    if (tree == module) {
        return true;
    }
    for (size_t i = 0; i < tree->n_children; ++i) {
        if (stands_in(tree->children[i].module, module)) {
            return true;
        }
    }
    return false;
}

/* True if the module may get this child: both live, and the caller has a reference to hand over. */
static bool check_child(
    const char *op, const adz_module *module, const char *name, const adz_module *child)
{
    if (!adzi_check_module(op, "module", module)) {
        return false;
    }
    if (name == NULL) {
        adzi_error_null(op, "name");
        return false;
    }
    if (!adzi_check_module(op, "child", child)) {
        return false;
    }
    if (adzi_module_refs_of_callers(child) < 1) {
        adzi_error(op, ADZ_ERR_OWNERSHIP,
            "the %s belongs to another parent already, which has the only reference; to put it into two positions, hand in adz_module_keep(child)",
            child->type.name);
        return false;
    }
    return true;
}

/* Puts the child at the position of `name` and takes over the caller's reference to it. Returns
 * false with the error recorded; the reference is then still the caller's. */
static bool put_child(
    const char *op, adz_module *module, const char *name, adz_module *child, bool replace)
{
    if (!check_child(op, module, name, child) ||
        !check_name(op, module, ADZI_CHILD, name, replace)) {
        return false;
    }
    if (stands_in(child, module)) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "%s cannot be put inside itself: the child is this module or contains it",
            module->type.name);
        return false;
    }
    adz_module *before = NULL;
    size_t i = adzi_module_position(module, ADZI_CHILD, name, strlen(name));
    if (i < module->n_children) {
        before = module->children[i].module;
    } else {
        char *copy = adzi_string_copy(name);
        if (copy == NULL || !adzi_grow(&module->children, &module->children_capacity,
                                module->n_children + 1, sizeof *module->children)) {
            adzi_string_free(copy);
            adzi_fail_memory(op, sizeof *module->children);
            return false;
        }
        module->children[module->n_children++].name = copy;
        adzi_module_named(module, ADZI_CHILD);
    }
    module->children[i].module = child;
    atomic_fetch_add(&child->parents, 1);
    if (before != NULL) { /* after the new child is counted: it may be the same one */
        adzi_module_drop_child(module, before);
    }
    child->parent = module;
    adzi_module_changed(module);
    if (adzi_is_older_than_a_capture(module->made)) {
        adzi_settings_changed();
    }
    return true;
}

adz_module *adz_module_add_child(adz_module *module, const char *name, adz_module *child)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    if (!put_child("adz_module_add_child", module, name, child, false)) {
        adzi_module_give_back(child);
        return NULL;
    }
    return child;
}

adz_module *adz_module_set_child(adz_module *module, const char *name, adz_module *child)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, NULL);
    if (!put_child("adz_module_set_child", module, name, child, true)) {
        adzi_module_give_back(child);
        return NULL;
    }
    return child;
}

size_t adz_module_child_count(const adz_module *module)
{
    return module != NULL && adzi_check_module("adz_module_child_count", "module", module)
               ? module->n_children
               : 0;
}

static adzi_child *child_at(const char *op, const adz_module *module, size_t index)
{
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    if (index >= module->n_children) {
        return adzi_fail(op, ADZ_ERR_INDEX, "%s has no child %zu, only %zu", module->type.name,
            index, module->n_children);
    }
    return &module->children[index];
}

adz_module *adz_module_child_at(adz_module *module, size_t index)
{
    const adzi_child *child = child_at("adz_module_child_at", module, index);
    return child != NULL ? child->module : NULL;
}

const char *adz_module_child_name_at(const adz_module *module, size_t index)
{
    const adzi_child *child = child_at("adz_module_child_name_at", module, index);
    return child != NULL ? child->name : NULL;
}

/* ---- looking up ----------------------------------------------------------------------------- */

/* Walks down the children that a path names: from "a.b.weight" to the child b of the child a. *path
 * then points to the last name, "weight". NULL with the error recorded. */
static adz_module *follow(const char *op, adz_module *module, const char **path)
{
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    if (*path == NULL) {
        return adzi_fail_null(op, "path");
    }
    const char *whole = *path;
    for (const char *dot; (dot = strchr(*path, '.')) != NULL; *path = dot + 1) {
        size_t i = adzi_module_position(module, ADZI_CHILD, *path, (size_t)(dot - *path));
        if (i == module->n_children) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT, "%s: %s has no child %.*s", whole,
                module->type.name, (int)(dot - *path), *path);
        }
        module = module->children[i].module;
    }
    return module;
}

/* The module whose parameter or buffer a path names, and the index there; NULL with the error
 * recorded under `op`. */
static adz_module *lookup(
    const char *op, adz_module *module, int kind, const char *path, size_t *index)
{
    const char *whole = path;
    module = follow(op, module, &path);
    if (module == NULL) {
        return NULL;
    }
    *index = adzi_module_position(module, kind, path, strlen(path));
    if (*index == adzi_module_count(module, kind)) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT, "%s: %s has no %s %s", whole, module->type.name,
            kinds[kind], path);
    }
    return module;
}

adzi_slot *adzi_parameter_slot(const char *op, adz_module *module, const char *path)
{
    size_t i;
    const adz_module *owner = lookup(op, module, ADZI_PARAMETER, path, &i);
    if (owner != NULL && owner->parameters[i].tensor == NULL) {
        return adzi_fail(op, ADZ_ERR_ARGUMENT,
            "%s is parametrised; name its originals below %s's child parametrizations.%s", path,
            owner->type.name, owner->parameters[i].name);
    }
    return owner != NULL ? &owner->parameters[i] : NULL;
}

adz_tensor *adz_module_get_parameter(adz_module *module, const char *path)
{
    size_t i;
    const adz_module *owner = lookup("adz_module_get_parameter", module, ADZI_PARAMETER, path, &i);
    return owner != NULL ? adzi_parameter(owner, i) : NULL;
}

adz_tensor *adz_module_get_buffer(adz_module *module, const char *path)
{
    size_t i;
    const adz_module *owner = lookup("adz_module_get_buffer", module, ADZI_BUFFER, path, &i);
    return owner != NULL ? owner->buffers[i].tensor : NULL;
}

adz_module *adz_module_get_child(adz_module *module, const char *path)
{
    static const char op[] = "adz_module_get_child";
    const char *whole = path;
    module = follow(op, module, &path);
    if (module == NULL) {
        return NULL;
    }
    size_t i = adzi_module_position(module, ADZI_CHILD, path, strlen(path));
    return i < module->n_children ? module->children[i].module
                                  : adzi_fail(op, ADZ_ERR_ARGUMENT, "%s: %s has no child %s", whole,
                                        module->type.name, path);
}

static adz_tensor *slot_at(const char *op, adz_module *module, int kind, size_t index)
{
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    if (index >= adzi_module_count(module, kind)) {
        return adzi_fail(op, ADZ_ERR_INDEX, "%s has no %s %zu, only %zu", module->type.name,
            kinds[kind], index, adzi_module_count(module, kind));
    }
    return kind == ADZI_PARAMETER ? adzi_parameter(module, index) : module->buffers[index].tensor;
}

adz_tensor *adz_module_parameter_at(adz_module *module, size_t index)
{
    return slot_at("adz_module_parameter_at", module, ADZI_PARAMETER, index);
}

size_t adz_module_parameter_count(const adz_module *module)
{
    return module != NULL && adzi_check_module("adz_module_parameter_count", "module", module)
               ? module->n_parameters
               : 0;
}

const char *adz_module_parameter_name_at(const adz_module *module, size_t index)
{
    static const char op[] = "adz_module_parameter_name_at";
    if (!adzi_check_module(op, "module", module)) {
        return NULL;
    }
    return index < module->n_parameters
               ? module->parameters[index].name
               : adzi_fail(op, ADZ_ERR_INDEX, "%s has no parameter %zu, only %zu",
                     module->type.name, index, module->n_parameters);
}

adz_tensor *adz_module_buffer_at(adz_module *module, size_t index)
{
    return slot_at("adz_module_buffer_at", module, ADZI_BUFFER, index);
}
