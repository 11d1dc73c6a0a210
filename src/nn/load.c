/* adz_module_state_dict, which collects the state of a module, and adz_module_load_state_dict. */
#include "nn/module.h"

#include <string.h>

#include "nn/state.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "tensor/shape.h"

/* ---- collecting ----------------------------------------------------------------------------- */

typedef adz_status (*on_slot)(const char *name, adz_tensor *t, void *user);

typedef struct slots_walk {
    on_slot visit;
    void *user;
    adzi_text name;
} slots_walk;

static adz_status visit_slots(
    slots_walk *walk, const char *prefix, const adzi_slot *slots, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        if (adzi_is_none(slots[i].tensor) || !slots[i].persistent) {
            continue;
        }
        adzi_text_cut(&walk->name, 0);
        adzi_text_add(&walk->name, prefix);
        adzi_text_add(&walk->name, slots[i].name);
        if (walk->name.failed) {
            return adzi_error("adz_module", ADZ_ERR_MEMORY, "no memory for a name");
        }
        adz_status status = walk->visit(walk->name.data, slots[i].tensor, walk->user);
        if (status != ADZ_OK) {
            return status;
        }
    }
    return ADZ_OK;
}

static adz_status visit_module(adz_module *module, const char *prefix, void *user)
{
    adz_status status = visit_slots(user, prefix, module->parameters, module->n_parameters);
    return status == ADZ_OK ? visit_slots(user, prefix, module->buffers, module->n_buffers)
                            : status;
}

/* Calls `visit` for every entry of the module's state in PyTorch's order: a module's parameters,
 * its persistent buffers, then its children. */
static adz_status each_entry(adz_module *module, on_slot visit, void *user)
{
    slots_walk walk = { visit, user, { 0 } };
    adzi_text prefix = { 0 };
    adz_status status = adzi_module_walk(module, &prefix, visit_module, &walk);
    adzi_text_free(&prefix);
    adzi_text_free(&walk.name);
    return status;
}

static adz_status add_to_state(const char *name, adz_tensor *t, void *state)
{
    return adz_state_add(state, name, t);
}

adz_state *adz_module_state_dict(adz_module *module)
{
    if (module == NULL) {
        return adzi_fail_null("adz_module_state_dict", "module");
    }
    adz_state *state = adz_state_new();
    if (state != NULL && each_entry(module, add_to_state, state) != ADZ_OK) {
        adz_state_free(&state);
    }
    return state;
}

/* ---- loading -------------------------------------------------------------------------------- */

/* What the check of a state found before anything is loaded. */
typedef struct load {
    const adz_state *state;
    bool *used; /* for each entry of `state`, whether the module has an entry of its name */
    size_t n_missing, n_misshaped, n_mistyped;
    adzi_text missing, misshaped, mistyped;
} load;

static void append(adzi_text *list, const char *name)
{
    if (list->length > 0) {
        adzi_text_add(list, ", ");
    }
    adzi_text_add(list, name);
}

/* True if the given tensor may be loaded into t. Half precision is converted, because it occurs in
 * files only. Other dtypes must agree: a conversion would change values without notice. */
static bool fits(const adz_tensor *given, const adz_tensor *t)
{
    bool half = given->dtype == ADZ_F16 || given->dtype == ADZ_BF16;
    return given->dtype == t->dtype || (half && (t->dtype == ADZ_F32 || t->dtype == ADZ_F64));
}

/* Compares one entry of the module with the state and notes what does not fit. */
static void check_entry(load *l, const char *name, const adz_tensor *t)
{
    size_t i = adzi_state_find(l->state, name);
    if (i == adz_state_count(l->state)) {
        ++l->n_missing;
        append(&l->missing, name);
        return;
    }
    l->used[i] = true;
    const adz_tensor *given = adz_state_tensor(l->state, i);
    if (!adzi_same_sizes(t, given)) {
        ++l->n_misshaped;
        append(&l->misshaped, name);
        adzi_text_format(
            &l->misshaped, " (%s given, %s here)", adzi_text_shape(given), adzi_text_shape(t));
    } else if (!fits(given, t)) {
        ++l->n_mistyped;
        append(&l->mistyped, name);
        adzi_text_format(&l->mistyped, " (%s given, %s here)",
            adz_dtype_name((adz_dtype)given->dtype), adz_dtype_name((adz_dtype)t->dtype));
    }
}

static void copy_entry(const load *l, const char *name, adz_tensor *t)
{
    size_t i = adzi_state_find(l->state, name);
    if (i < adz_state_count(l->state)) {
        adz_tensor *given = adz_state_tensor(l->state, i);
        if (given != t) {
            adzi_copy(t, given);
            adzi_written(t, "load_state_dict");
        }
    }
}

/* True for a name that ends in "_raw". fastai's WeightDropout saves a weight as `weight_raw`, and
 * under `module.weight` the last draw with dropout. In adze both names stand for one tensor, so the
 * values of `weight_raw` are copied last and stay. */
static bool is_raw(const char *name)
{
    static const char end[] = "_raw";
    size_t n = strlen(name), m = sizeof end - 1;
    return n > m && strcmp(name + n - m, end) == 0;
}

static void add_list(adzi_text *message, const char *what, const adzi_text *names)
{
    if (names->length > 0) {
        adzi_text_add(message, message->length > 0 ? "; " : "");
        adzi_text_add(message, what);
        adzi_text_add(message, names->data);
    }
}

/* ADZ_OK if the state can be loaded; otherwise records one message that names all that is wrong. */
static adz_status judge(const char *op, const load *l, bool strict)
{
    adzi_text unexpected = { 0 }, message = { 0 };
    size_t count = adz_state_count(l->state), n_unexpected = 0;
    for (size_t i = 0; i < count; ++i) {
        if (!l->used[i]) {
            ++n_unexpected;
            append(&unexpected, adz_state_name(l->state, i));
        }
    }
    if (strict) {
        add_list(&message, "missing: ", &l->missing);
        add_list(&message, "unexpected: ", &unexpected);
    }
    add_list(&message, "of another shape: ", &l->misshaped);
    add_list(&message, "of another dtype, which adz_module_to changes: ", &l->mistyped);
    adz_status status = ADZ_OK;
    if (l->missing.failed || l->misshaped.failed || l->mistyped.failed || unexpected.failed ||
        message.failed) {
        status = adzi_error(op, ADZ_ERR_MEMORY, "no memory for the names that do not fit");
    } else if (message.length > 0) {
        status = adzi_error(op, ADZ_ERR_STATE,
            "%zu missing, %zu unexpected, %zu of another shape, %zu of another dtype; nothing was "
            "loaded. %s",
            strict ? l->n_missing : 0, strict ? n_unexpected : 0, l->n_misshaped, l->n_mistyped,
            message.data);
    }
    adzi_text_free(&unexpected);
    adzi_text_free(&message);
    return status;
}

adz_status adz_module_load_state_dict(adz_module *module, const adz_state *state, bool strict)
{
    static const char op[] = "adz_module_load_state_dict";
    if (module == NULL || state == NULL) {
        return adzi_error_null(op, module == NULL ? "module" : "state");
    }
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    size_t count = adz_state_count(state);
    load l = { .state = state, .used = adzi_alloc_zero(count + 1) };
    if (l.used == NULL) {
        adzi_fail_memory(op, count);
        return ADZ_ERR_MEMORY;
    }
    adz_state *targets = adz_module_state_dict(module);
    adz_status status = targets != NULL ? ADZ_OK : adz_error_code();
    for (size_t i = 0; status == ADZ_OK && i < adz_state_count(targets); ++i) {
        check_entry(&l, adz_state_name(targets, i), adz_state_tensor(targets, i));
    }
    if (status == ADZ_OK) {
        status = judge(op, &l, strict);
    }
    for (int raw = 0; status == ADZ_OK && raw < 2; ++raw) {
        for (size_t i = 0; i < adz_state_count(targets); ++i) {
            const char *name = adz_state_name(targets, i);
            if (raw == 0 || is_raw(name)) {
                copy_entry(&l, name, adz_state_tensor(targets, i));
            }
        }
    }
    adz_state_free(&targets);
    adzi_text_free(&l.missing);
    adzi_text_free(&l.misshaped);
    adzi_text_free(&l.mistyped);
    adzi_free(l.used, count + 1);
    return status;
}
