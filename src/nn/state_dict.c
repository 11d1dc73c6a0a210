/* adz_module_state_dict, which collects the state of a module, and adz_module_load_state_dict. */
#include "nn/module.h"

#include <string.h>

#include "nn/load.h"
#include "nn/state.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "adze/options.h"
#include "tensor/shape.h"

/* ---- collecting ----------------------------------------------------------------------------- */

typedef adz_status (*on_slot)(const char *name, adz_tensor *t, void *user);

typedef struct slots_walk {
    on_slot visit;
    void *user;
    bool empty; /* slots without a tensor are visited, and no others */
    adzi_text name;
} slots_walk;

static adz_status visit_slots(
    slots_walk *walk, const char *prefix, const adzi_slot *slots, size_t count)
{
    for (size_t i = 0; i < count; ++i) {
        const bool empty = slots[i].tensor == NULL || adzi_is_none(slots[i].tensor);
        if (empty != walk->empty || !slots[i].persistent) {
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
 * its persistent buffers, then its children. With `empty` it is called for those that have a place
 * and no tensor, instead. */
static adz_status each_entry(adz_module *module, bool empty, on_slot visit, void *user)
{
    slots_walk walk = { visit, user, empty, { 0 } };
    adzi_text prefix = { 0 };
    adz_status status = adzi_module_walk(module, &prefix, visit_module, &walk);
    adzi_text_free(&prefix);
    adzi_text_free(&walk.name);
    return status;
}

static adz_status add_to_state(const char *name, adz_tensor *t, void *state)
{
    return adz_state_dict_add(state, name, t);
}

adz_state_dict *adz_module_state_dict(adz_module *module)
{
    if (!adzi_check_module("adz_module_state_dict", "module", module)) {
        return NULL;
    }
    adz_state_dict *state = adz_state_dict_new();
    if (state != NULL && each_entry(module, false, add_to_state, state) != ADZ_OK) {
        adz_state_dict_free(&state);
    }
    return state;
}

/* ---- what fits ------------------------------------------------------------------------------ */

/* What the check of a state found before anything is loaded. */
typedef struct load {
    const char *op;
    adz_module *module;
    const adz_state_dict *state;
    adz_load_report *report; /* or NULL */
    bool *used;              /* for each entry of `state`, whether the module has its name */
    size_t *from;            /* for each entry of the module, its position in `state` */
    size_t n_fit, n_missing, n_misshaped, n_mistyped;
    bool floats; /* an entry of a float dtype is of another float dtype in the module */
    adzi_text missing, misshaped, mistyped;
} load;

static void append(adzi_text *list, const char *name)
{
    if (list->length > 0) {
        adzi_text_add(list, ", ");
    }
    adzi_text_add(list, name);
}

/* The smallest and the largest value of a dtype of whole numbers; false for another dtype. */
static bool bounds_of(adz_dtype dtype, int64_t *least, int64_t *most)
{
    *least = dtype == ADZ_I32 ? INT32_MIN : dtype == ADZ_I64 ? INT64_MIN : 0;
    *most = dtype == ADZ_I32   ? INT32_MAX
            : dtype == ADZ_I64 ? INT64_MAX
            : dtype == ADZ_U8  ? UINT8_MAX
                               : 1;
    return dtype == ADZ_I32 || dtype == ADZ_I64 || dtype == ADZ_U8 || dtype == ADZ_BOOL;
}

/* True if a dtype has all values of another one. Both are of whole numbers. */
static bool has_all_of(adz_dtype dtype, adz_dtype other)
{
    int64_t least, most, other_least, other_most;
    bounds_of(dtype, &least, &most);
    bounds_of(other, &other_least, &other_most);
    return least <= other_least && most >= other_most;
}

typedef enum outcome { FITS, OTHER_DTYPE, OTHER_VALUE, NO_MEMORY } outcome;

/* FITS if all values of the given tensor of whole numbers are values of `dtype`; otherwise `value`
 * receives one that is none. */
static outcome compare_values(
    const load *l, const adz_tensor *given, adz_dtype dtype, int64_t *value)
{
    int64_t least, most;
    bounds_of(dtype, &least, &most);
    adz_tensor *all = adzi_tensor_new(adzi_self(), l->op, ADZ_I64, given->rank, given->sizes);
    if (all == NULL) {
        return NO_MEMORY;
    }
    adzi_copy(all, given);
    outcome result = FITS;
    const int64_t *x = (const int64_t *)(const void *)all->data;
    for (int64_t i = 0; i < all->numel && result == FITS; ++i) {
        if (x[i] < least || x[i] > most) {
            *value = x[i];
            result = OTHER_VALUE;
        }
    }
    adzi_drop(all);
    return result;
}

/* Whether the given tensor may be loaded into one of `dtype`. A conversion must not change a value
 * without notice: whole numbers are converted if all of them fit, and half precision, which occurs
 * in files only. Other dtypes must agree. */
static outcome compare(const load *l, const adz_tensor *given, adz_dtype dtype, int64_t *value)
{
    const adz_dtype from = (adz_dtype)given->dtype;
    const bool half = adzi_is_half(from);
    int64_t least, most;
    if (from == dtype || (half && adzi_is_float(dtype))) {
        return FITS;
    }
    if (!bounds_of(from, &least, &most) || !bounds_of(dtype, &least, &most)) {
        return OTHER_DTYPE;
    }
    return has_all_of(dtype, from) ? FITS : compare_values(l, given, dtype, value);
}

/* Compares one entry of the module with the given tensor and notes what does not fit. */
static bool check_given(load *l, const char *name, const adz_tensor *t, const adz_tensor *given)
{
    const adz_dtype from = (adz_dtype)given->dtype, to = (adz_dtype)t->dtype;
    int64_t value = 0;
    if (!adzi_same_sizes(t, given)) {
        ++l->n_misshaped;
        append(&l->misshaped, name);
        adzi_text_format(
            &l->misshaped, " (%s given, %s here)", adzi_text_shape(given), adzi_text_shape(t));
        return true;
    }
    const outcome found = compare(l, given, to, &value);
    if (found == OTHER_DTYPE || found == OTHER_VALUE) {
        ++l->n_mistyped;
        l->floats = l->floats || (adzi_is_float(from) && adzi_is_float(to));
        append(&l->mistyped, name);
        adzi_text_format(
            &l->mistyped, " (%s given, %s here", adz_dtype_name(from), adz_dtype_name(to));
        if (found == OTHER_VALUE) {
            adzi_text_format(&l->mistyped, ", which has no %lld", (long long)value);
        }
        adzi_text_add(&l->mistyped, ")");
    }
    return found != NO_MEMORY;
}

/* Writes the position of a module's entry in the state, by its name or by the older one of a
 * parametrised parameter; the number of entries if the state has neither. False with the error
 * recorded if memory was refused. */
static bool find_entry(const load *l, const char *name, size_t *i)
{
    *i = adzi_state_find(l->state, name);
    adzi_text older = { 0 };
    if (*i == adz_state_dict_count(l->state) && adzi_load_older_name(name, &older)) {
        *i = adzi_state_find(l->state, older.data);
    }
    const bool good = !older.failed;
    adzi_text_free(&older);
    if (!good) {
        adzi_fail_memory(l->op, strlen(name));
    }
    return good;
}

/* Looks for one entry of the module in the state, whose position *from receives. False with the
 * error recorded if memory was refused. */
static bool check_entry(load *l, const char *name, const adz_tensor *t, size_t *from)
{
    if (!find_entry(l, name, from)) {
        return false;
    }
    const size_t i = *from;
    if (i == adz_state_dict_count(l->state)) {
        ++l->n_missing;
        append(&l->missing, name);
        return adzi_load_report_add(l->op, l->report, ADZ_LOAD_MISSING, name);
    }
    ++l->n_fit;
    l->used[i] = true;
    return check_given(l, name, t, adz_state_dict_at(l->state, i)) &&
           adzi_load_report_add(l->op, l->report, ADZ_LOAD_LOADED, name);
}

/* Looks for all entries of the module. False with the error recorded if memory was refused. */
static bool check_entries(load *l, const adz_state_dict *targets)
{
    const size_t count = adz_state_dict_count(targets);
    l->from = adzi_alloc_zero((count + 1) * sizeof *l->from);
    if (l->from == NULL) {
        adzi_fail_memory(l->op, count * sizeof *l->from);
    }
    bool good = l->from != NULL;
    for (size_t i = 0; good && i < count; ++i) {
        good = check_entry(
            l, adz_state_dict_name_at(targets, i), adz_state_dict_at(targets, i), &l->from[i]);
    }
    return good;
}

/* ---- judging -------------------------------------------------------------------------------- */

static void add_list(adzi_text *message, const char *what, const adzi_text *names)
{
    if (names->length > 0) {
        adzi_text_add(message, message->length > 0 ? "; " : "");
        adzi_text_add(message, what);
        adzi_text_add(message, names->data);
    }
}

/* Collects the names of the state that the module does not have. False with the error recorded if
 * memory was refused. */
static bool find_unexpected(const load *l, adzi_text *unexpected, size_t *n)
{
    for (size_t i = 0; i < adz_state_dict_count(l->state); ++i) {
        if (!l->used[i]) {
            const char *name = adz_state_dict_name_at(l->state, i);
            ++*n;
            append(unexpected, name);
            if (!adzi_load_report_add(l->op, l->report, ADZ_LOAD_UNEXPECTED, name)) {
                return false;
            }
        }
    }
    return true;
}

/* Counts a tensor of the state whose place in the module is empty. */
typedef struct {
    const adz_state_dict *state;
    size_t n;
} empty_places;

static adz_status count_empty(const char *name, adz_tensor *none, void *user)
{
    empty_places *e = user;
    (void)none;
    e->n += adzi_state_find(e->state, name) < adz_state_dict_count(e->state);
    return ADZ_OK;
}

/* Advice on tensors that the module has a place for and does without: a bias, or the masks of a
 * GPT-2 that a file brings. */
static void add_empty(const load *l, adzi_text *hint)
{
    empty_places e = { l->state, 0 };
    if (each_entry(l->module, true, count_empty, &e) != ADZ_OK) {
        hint->failed = true;
    } else if (e.n > 0) {
        adzi_text_format(hint,
            "%zu unexpected ones have a place in the module, which works without them: load without `strict` to leave them out. ",
            e.n);
    }
}

/* Records one message that names all that is wrong. With `names`, this includes names that only one
 * side has. */
static adz_status refuse(const load *l, const adz_state_dict *targets, bool names,
    const adzi_text *unexpected, size_t n_unexpected)
{
    adzi_text message = { 0 }, hint = { 0 };
    if (names) {
        adzi_load_hint(&hint, l->state, targets, l->n_fit);
        add_empty(l, &hint);
        add_list(&message, "missing: ", &l->missing);
        add_list(&message, "unexpected: ", unexpected);
    }
    add_list(&message, "of another shape: ", &l->misshaped);
    add_list(&message,
        l->floats ? "of another dtype, which adz_module_to changes: " : "of another dtype: ",
        &l->mistyped);
    adz_status status = ADZ_ERR_MEMORY;
    if (l->missing.failed || l->misshaped.failed || l->mistyped.failed || unexpected->failed ||
        message.failed || hint.failed) {
        adzi_error(l->op, ADZ_ERR_MEMORY, "no memory for the names that do not fit");
    } else if (names && l->n_fit == 0) {
        status = adzi_error(l->op, ADZ_ERR_STATE,
            "none of %zu tensors has a name of the module; nothing was loaded. %s%s",
            adz_state_dict_count(l->state), adzi_text_get(&hint), adzi_text_get(&message));
    } else {
        status = adzi_error(l->op, ADZ_ERR_STATE,
            "%zu missing, %zu unexpected, %zu of another shape, %zu of another dtype; nothing was loaded. %s%s",
            names ? l->n_missing : 0, names ? n_unexpected : 0, l->n_misshaped, l->n_mistyped,
            adzi_text_get(&hint), adzi_text_get(&message));
    }
    adzi_text_free(&message);
    adzi_text_free(&hint);
    return status;
}

/* ADZ_OK if the state can be loaded; otherwise the error is recorded. A load in which no name fits
 * is a mistake, strict or not. */
static adz_status check_fit(const load *l, const adz_state_dict *targets, bool strict)
{
    adzi_text unexpected = { 0 };
    size_t n_unexpected = 0;
    adz_status status = ADZ_OK;
    if (!find_unexpected(l, &unexpected, &n_unexpected)) {
        status = ADZ_ERR_MEMORY;
    } else {
        const bool nothing = l->n_fit == 0 && l->n_missing > 0;
        const bool names = nothing || (strict && l->n_missing + n_unexpected > 0);
        if (names || l->n_misshaped + l->n_mistyped > 0) {
            status = refuse(l, targets, names, &unexpected, n_unexpected);
        }
    }
    adzi_text_free(&unexpected);
    return status;
}

/* ---- loading -------------------------------------------------------------------------------- */

static void copy_entry(const load *l, size_t i, adz_tensor *t)
{
    if (i < adz_state_dict_count(l->state)) {
        adz_tensor *given = adz_state_dict_at(l->state, i);
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

static void copy_all(const load *l, const adz_state_dict *targets)
{
    for (int raw = 0; raw < 2; ++raw) {
        for (size_t i = 0; i < adz_state_dict_count(targets); ++i) {
            if (raw == 0 || is_raw(adz_state_dict_name_at(targets, i))) {
                copy_entry(l, l->from[i], adz_state_dict_at(targets, i));
            }
        }
    }
}

/* Checks a load, and does it unless `only_check`. */
static adz_status check_and_load(const char *op, adz_module *module, const adz_state_dict *state,
    const adz_load_options *options, bool only_check)
{
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    adzi_load_report_clear(options->report);
    size_t count = adz_state_dict_count(state);
    load l = { .op = op, .module = module, .state = state, .report = options->report };
    l.used = adzi_alloc_zero(count + 1);
    if (l.used == NULL) {
        adzi_fail_memory(op, count);
        return ADZ_ERR_MEMORY;
    }
    adz_state_dict *targets = adz_module_state_dict(module);
    adz_status status = targets != NULL ? ADZ_OK : adz_error_code();
    if (status == ADZ_OK && !check_entries(&l, targets)) {
        status = ADZ_ERR_MEMORY;
    }
    if (status == ADZ_OK) {
        status = check_fit(&l, targets, options->strict);
    }
    if (status == ADZ_OK && !only_check) {
        copy_all(&l, targets);
    }
    adzi_free(l.from, (adz_state_dict_count(targets) + 1) * sizeof *l.from);
    adz_state_dict_free(&targets);
    adzi_text_free(&l.missing);
    adzi_text_free(&l.misshaped);
    adzi_text_free(&l.mistyped);
    adzi_free(l.used, count + 1);
    return status;
}

adz_status adzi_load(const char *op, adz_module *module, const adz_state_dict *state,
    const adz_load_options *options)
{
    return check_and_load(op, module, state, options, false);
}

adz_status adzi_load_check(const char *op, adz_module *module, const adz_state_dict *state)
{
    const adz_load_options strict = ADZ_LOAD_OPTIONS;
    return check_and_load(op, module, state, &strict, true);
}

/* The tensors of a state under the names that they get by the options; NULL with the error
 * recorded. */
static adz_state_dict *renamed(
    const char *op, const adz_state_dict *state, const adz_load_options *options)
{
    adz_state_dict *all = adz_state_dict_new();
    adzi_text name = { 0 };
    bool good = all != NULL;
    for (size_t i = 0; good && i < adz_state_dict_count(state); ++i) {
        const adzi_renamed found =
            adzi_load_rename(op, options, adz_state_dict_name_at(state, i), &name);
        good = found == ADZI_RENAME_SKIP ||
               (found == ADZI_RENAME_KEEP && adz_state_dict_add(all, adzi_text_get(&name),
                                                 adz_state_dict_at(state, i)) == ADZ_OK);
    }
    adzi_text_free(&name);
    if (!good) {
        adz_state_dict_free(&all);
    }
    return all;
}

adz_status adz_module_load_state_dict_with(
    adz_module *module, const adz_state_dict *state, const adz_load_options *options)
{
    ADZI_HOLD_REPORTS;
    static const char op[] = "adz_module_load_state_dict";
    adz_load_options o = ADZ_LOAD_OPTIONS;
    if (!ADZ_OPTIONS_READ(op, ADZ_LOAD_OPTIONS, &o, options) ||
        !adzi_check_module(op, "module", module)) {
        return adz_error_code();
    }
    if (!adzi_check_handle(op, "state", state)) {
        return adz_error_code();
    }
    if (adzi_refused(op) != ADZ_OK) {
        return adzi_pending();
    }
    if (o.prefix == NULL && o.rename == NULL) {
        return adzi_load(op, module, state, &o);
    }
    adz_state_dict *all = renamed(op, state, &o);
    adz_status status = all != NULL ? adzi_load(op, module, all, &o) : adz_error_code();
    adz_state_dict_free(&all);
    return status;
}

adz_status adz_module_load_state_dict(adz_module *module, const adz_state_dict *state, bool strict)
{
    adz_load_options options = ADZ_LOAD_OPTIONS;
    options.strict = strict;
    return adz_module_load_state_dict_with(module, state, &options);
}
