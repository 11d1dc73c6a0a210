/* The part that all optimizers share: ownership, groups, settings, gradients. */
#include "optim/closure.h"
#include "base/capture.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "autograd/leaf.h"
#include "base/error.h"
#include "base/handle.h"
#include "tensor/fields.h"

/* ---- ownership ------------------------------------------------------------------------------ */

void adzi_kept_release(adzi_kept *kept)
{
    for (int k = 0; k < ADZ_OPTIMIZER_STATES; ++k) {
        adzi_drop(kept->state[k]);
    }
    for (int k = 0; k <= ADZ_OPTIMIZER_STATES; ++k) {
        adzi_drop(kept->next[k]);
    }
}

static void group_free(adzi_group *group)
{
    for (size_t i = 0; i < group->count; ++i) {
        adzi_drop(group->parameters[i]);
        adzi_kept_release(&group->kept[i]);
    }
    adzi_free(group->parameters, group->count * sizeof *group->parameters);
    adzi_free(group->kept, group->count * sizeof *group->kept);
    adzi_free(group, sizeof *group);
}

adz_optimizer *adz_optimizer_keep(adz_optimizer *optimizer)
{
    if (!adzi_check_handle("adz_optimizer_keep", "optimizer", optimizer)) {
        return NULL;
    }
    atomic_fetch_add_explicit(&optimizer->refs, 1, memory_order_relaxed);
    return optimizer;
}

void adz_optimizer_release(adz_optimizer **optimizer)
{
    adz_optimizer *gone = adzi_handle_take("adz_optimizer_release", "optimizer", optimizer);
    if (gone != NULL && atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) == 1) {
        for (size_t g = 0; g < gone->n_groups; ++g) {
            group_free(gone->groups[g]);
        }
        if (gone->search != NULL) {
            adzi_search_end(gone);
        }
        adzi_free(gone->groups, gone->groups_capacity * sizeof *gone->groups);
        adzi_index_free(&gone->parameters);
        adzi_handle_end(gone, sizeof *gone);
    }
}

const char *adz_optimizer_name(const adz_optimizer *optimizer)
{
    return optimizer != NULL ? optimizer->type->name
                             : adzi_fail_null("adz_optimizer_name", "optimizer");
}

/* ---- groups --------------------------------------------------------------------------------- */

/* True if parameter i of the list can be added: a contiguous floating-point leaf that is in no
 * group yet. `before` has the parameters of the list before i. False with the error recorded. */
static bool check_parameter(const char *op, const adz_optimizer *optimizer, adz_tensor_list list,
    size_t i, const adzi_index *before)
{
    const adz_tensor *t = list.items[i];
    if (!adzi_check_tensor(op, "a parameter", t)) {
        return false;
    }
    const char *shape = adzi_text_shape(t);
    if (t->node != NULL) {
        adzi_error(op, ADZ_ERR_GRAPH, "parameter %zu%s is the result of an operator, not a leaf", i,
            shape);
        return false;
    }
    if (!adzi_is_float((adz_dtype)t->dtype)) {
        adzi_error(op, ADZ_ERR_DTYPE, "parameter %zu%s is %s, not float32 or float64", i, shape,
            adz_dtype_name((adz_dtype)t->dtype));
        return false;
    }
    if (!adzi_is_contiguous(t)) {
        adzi_error(op, ADZ_ERR_SHAPE,
            "parameter %zu%s is not contiguous; make the leaf with adz_contiguous", i, shape);
        return false;
    }
    if (!adzi_type_takes(op, optimizer, t, i)) {
        return false;
    }
    bool twice =
        adzi_index_has_address(&optimizer->parameters, t) || adzi_index_has_address(before, t);
    if (twice) {
        adzi_error(op, ADZ_ERR_ARGUMENT, "parameter %zu%s is in a group already", i, shape);
    }
    return !twice;
}

static bool check_parameters(const char *op, const adz_optimizer *optimizer, adz_tensor_list list)
{
    adzi_index before = { 0 };
    bool good = adzi_index_reserve(&before, list.count);
    if (!good) {
        adzi_fail_memory(op, 2 * list.count * sizeof(adzi_index_slot));
    }
    for (size_t i = 0; i < list.count && good; ++i) {
        good = check_parameter(op, optimizer, list, i, &before);
        if (good) {
            adzi_index_enter_address(&before, list.items[i]);
        }
    }
    adzi_index_free(&before);
    return good;
}

/* Finds the part of each parameter that this process updates. False with the error recorded. */
static bool find_parts(
    const char *op, const adz_optimizer *optimizer, adz_tensor_list list, adzi_kept *kept)
{
    const adzi_shard *shard = optimizer->shard;
    for (size_t i = 0; i < list.count; ++i) {
        kept[i].part = (adzi_part){ 0, list.items[i]->numel };
        if (shard != NULL && !shard->part(shard, op, list.items[i], i, &kept[i].part)) {
            return false;
        }
    }
    return true;
}

/* Makes a group without parameters, which has memory for those of the list. NULL with the error
 * recorded. */
static adzi_group *group_new(const char *op, adz_optimizer *optimizer, adz_tensor_list list)
{
    adzi_group *group = adzi_alloc_zero(sizeof *group);
    if (group == NULL) {
        return adzi_fail_memory(op, sizeof *group);
    }
    memcpy(group->settings, optimizer->defaults, sizeof group->settings);
    group->initial_lr = NAN;
    group->parameters = adzi_alloc_zero(list.count * sizeof *group->parameters);
    group->kept = adzi_alloc_zero(list.count * sizeof *group->kept);
    const bool room = group->parameters != NULL && group->kept != NULL &&
                      adzi_index_reserve(&optimizer->parameters, list.count) &&
                      adzi_grow(&optimizer->groups, &optimizer->groups_capacity,
                          optimizer->n_groups + 1, sizeof group);
    if (!room) {
        adzi_fail_memory(op, list.count * sizeof *group->kept);
    }
    if (!room || !find_parts(op, optimizer, list, group->kept)) {
        adzi_free(group->parameters, list.count * sizeof *group->parameters);
        adzi_free(group->kept, list.count * sizeof *group->kept);
        adzi_free(group, sizeof *group);
        return NULL;
    }
    return group;
}

static bool add_group(const char *op, adz_optimizer *optimizer, adz_tensor_list list)
{
    if (list.count == 0 || list.items == NULL) {
        if (adzi_pending() == ADZ_OK) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "the list of parameters is empty");
        }
        return false;
    }
    adzi_group *group =
        check_parameters(op, optimizer, list) ? group_new(op, optimizer, list) : NULL;
    if (group == NULL) {
        return false;
    }
    for (size_t i = 0; i < list.count; ++i) {
        adzi_index_enter_address(&optimizer->parameters, list.items[i]);
        group->parameters[i] = adzi_retain(list.items[i]);
    }
    group->count = list.count;
    optimizer->groups[optimizer->n_groups++] = group;
    if (optimizer->n_groups > 1) { /* the first group comes before any step */
        adzi_settings_changed();
    }
    return true;
}

adz_optimizer *adzi_optimizer_make(const char *op, const adz_optimizer_type *type,
    adz_tensor_list parameters, const double *settings, size_t n)
{
    if (adzi_is_captured(op, ADZI_MAKES_OBJECT)) {
        return NULL;
    }
    adz_optimizer *optimizer = adzi_handle_new(sizeof *optimizer);
    if (optimizer == NULL) {
        return adzi_fail_memory(op, sizeof *optimizer);
    }
    atomic_init(&optimizer->refs, 1);
    bool good = adzi_optimizer_read_type(op, optimizer, type);
    if (good && (n > (size_t)optimizer->n_settings || (n > 0 && settings == NULL))) {
        adzi_error(op, settings == NULL ? ADZ_ERR_NULL : ADZ_ERR_ARGUMENT,
            "%zu settings%s are given; %s has %d", n, settings == NULL ? " at NULL" : "",
            type->name, optimizer->n_settings);
        good = false;
    }
    for (size_t i = 0; good && i < (size_t)optimizer->n_settings; ++i) {
        optimizer->defaults[i] = i < n ? settings[i] : optimizer->type->settings[i].value;
    }
    good = good && adzi_check_settings(op, optimizer, optimizer->defaults) == ADZ_OK &&
           add_group(op, optimizer, parameters);
    if (!good) {
        adz_optimizer_release(&optimizer);
    }
    return optimizer;
}

adz_optimizer *adz_optimizer_new(const adz_optimizer_type *type, adz_tensor_list parameters,
    const double *settings, size_t n_settings)
{
    const size_t least = offsetof(adz_optimizer_type, constructor) + sizeof type->constructor;
    const bool named = type != NULL && type->size >= least && type->constructor != NULL;
    return adzi_optimizer_make(
        named ? type->constructor : "adz_optimizer_new", type, parameters, settings, n_settings);
}

adz_optimizer *adzi_optimizer_new(const char *op, const adz_optimizer_type *type,
    adz_tensor_list parameters, const double *settings)
{
    size_t n = 0;
    while (n < ADZ_OPTIMIZER_SETTINGS && type->settings[n].name != NULL) {
        ++n;
    }
    return adzi_optimizer_make(op, type, parameters, settings, n);
}

bool adzi_optimizer_take(const char *op, const adz_options_table *table, const void *options,
    void *all, double settings[ADZ_OPTIMIZER_SETTINGS])
{
    if (!adz_options_take(op, table, all, options)) {
        return false;
    }
    for (size_t i = 1; i < table->n_fields && table->fields[i].name != NULL; ++i) {
        const adz_field *field = &table->fields[i];
        settings[i] = adzi_field_number(field, (const char *)all + field->offset);
    }
    return true;
}

adz_optimizer *adzi_optimizer_from(const adz_optimizer_type *type, const adz_options_table *table,
    adz_tensor_list parameters, double lr, const void *options)
{
    enum { LARGEST = 256 };
    _Alignas(max_align_t) unsigned char all[LARGEST];
    double settings[ADZ_OPTIMIZER_SETTINGS] = { lr };
    const char *op = type->constructor;
    const bool good =
        table->size <= LARGEST && adzi_optimizer_take(op, table, options, all, settings);
    return good ? adzi_optimizer_new(op, type, parameters, settings) : NULL;
}

int adz_optimizer_add_param_group(adz_optimizer *optimizer, adz_tensor_list parameters)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, -1);
    static const char op[] = "adz_optimizer_add_param_group";
    if (!adzi_check_handle(op, "optimizer", optimizer)) {
        return -1;
    }
    if (optimizer->search != NULL) {
        adzi_error(op, ADZ_ERR_UNSUPPORTED,
            "%s treats all parameters as one vector and has one group; give all of them to its constructor",
            optimizer->type->name);
        return -1;
    }
    return add_group(op, optimizer, parameters) ? (int)optimizer->n_groups - 1 : -1;
}

int adz_optimizer_group_count(const adz_optimizer *optimizer)
{
    return optimizer != NULL ? (int)optimizer->n_groups : 0;
}

static adzi_group *group_at(const char *op, const adz_optimizer *optimizer, int group)
{
    if (!adzi_check_handle(op, "optimizer", optimizer)) {
        return NULL;
    }
    if (group < 0 || (size_t)group >= optimizer->n_groups) {
        return adzi_fail(
            op, ADZ_ERR_INDEX, "there is no group %d, only %zu", group, optimizer->n_groups);
    }
    return optimizer->groups[group];
}

adz_tensor_list adz_optimizer_group_parameters(const adz_optimizer *optimizer, int group)
{
    const adzi_group *g = group_at("adz_optimizer_group_parameters", optimizer, group);
    return g != NULL ? (adz_tensor_list){ g->parameters, g->count } : (adz_tensor_list){ NULL, 0 };
}

/* ---- settings ------------------------------------------------------------------------------- */

adz_status adzi_check_not_negative(const char *op, const char *name, double value)
{
    return value >= 0 && isfinite(value)
               ? ADZ_OK
               : adzi_error(op, ADZ_ERR_ARGUMENT, "%s is %s, but must be finite and 0 or more",
                     name, adzi_text_number(value));
}

enum { NAMES = 1024 };

/* Adds a name to a list. What does not fit is left out. */
static void append_name(char *names, const char *name)
{
    const size_t used = strlen(names);
    snprintf(names + used, NAMES - used, "%s%s", used > 0 ? ", " : "", name);
}

/* Where a group's setting is kept, by its name; NULL if there is none. */
static double *find_setting(const adz_optimizer *optimizer, adzi_group *group, const char *name)
{
    for (int i = 0; i < optimizer->n_settings; ++i) {
        if (strcmp(optimizer->type->settings[i].name, name) == 0) {
            return &group->settings[i];
        }
    }
    if (strcmp(name, "initial_lr") == 0 && !isnan(group->initial_lr)) {
        return &group->initial_lr;
    }
    return NULL;
}

/* find_setting, with an error that lists the names if there is none. */
static double *setting(
    const char *op, const adz_optimizer *optimizer, adzi_group *group, const char *name)
{
    char names[NAMES] = "", counted[NAMES] = "";
    double *found = NULL;
    if (name == NULL) {
        return adzi_fail_null(op, "name");
    }
    found = find_setting(optimizer, group, name);
    if (found != NULL) {
        return found;
    }
    for (int i = 0; i < optimizer->n_settings; ++i) {
        append_name(names, optimizer->type->settings[i].name);
    }
    if (!isnan(group->initial_lr)) {
        append_name(names, "initial_lr");
    }
    for (int k = 0; adzi_search_number_name(optimizer, k) != NULL; ++k) {
        append_name(counted, adzi_search_number_name(optimizer, k));
    }
    return adzi_fail(op, ADZ_ERR_ARGUMENT, "%s has no setting called %s; it has %s%s%s",
        optimizer->type->name, name, names,
        counted[0] != '\0' ? "; adz_optimizer_get also knows " : "", counted);
}

double adz_optimizer_get(const adz_optimizer *optimizer, int group, const char *name)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, NAN);
    static const char op[] = "adz_optimizer_get";
    adzi_group *g = group_at(op, optimizer, group);
    const double *value = NULL;
    if (g != NULL && name != NULL && find_setting(optimizer, g, name) == NULL) {
        value = adzi_search_number_of(optimizer, name);
    }
    value = value == NULL && g != NULL ? setting(op, optimizer, g, name) : value;
    return value != NULL ? *value : NAN;
}

/* Checks whether a group may have the value. With `commit`, which follows a check, sets it. */
static adz_status set_one(
    adz_optimizer *optimizer, int group, const char *name, double value, bool commit)
{
    static const char op[] = "adz_optimizer_set";
    adzi_group *g = optimizer->groups[group], changed = *g;
    double *kept = setting(op, optimizer, &changed, name);
    if (kept == NULL) {
        return adz_error_code();
    }
    if (*kept != value && strcmp(name, "lr") != 0) {
        adzi_settings_changed();
    }
    *kept = value;
    adz_status status = adzi_check_settings(op, optimizer, changed.settings);
    if (commit) {
        *g = changed;
    }
    return status;
}

adz_status adz_optimizer_set(adz_optimizer *optimizer, int group, const char *name, double value)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_optimizer_set";
    if (!adzi_check_handle(op, "optimizer", optimizer)) {
        return adz_error_code();
    }
    if (group != -1 && group_at(op, optimizer, group) == NULL) {
        return adz_error_code();
    }
    int begin = group == -1 ? 0 : group;
    int end = group == -1 ? (int)optimizer->n_groups : group + 1;
    adz_status status = ADZ_OK;
    /* the first pass only checks, so that an error in one group changes none */
    for (int commit = 0; commit <= 1; ++commit) {
        for (int k = begin; k < end && status == ADZ_OK; ++k) {
            status = set_one(optimizer, k, name, value, commit == 1);
        }
    }
    return status;
}

/* ---- gradients ------------------------------------------------------------------------------ */

adz_status adz_optimizer_zero_grad(adz_optimizer *optimizer)
{
    if (!adzi_check_handle("adz_optimizer_zero_grad", "optimizer", optimizer)) {
        return adz_error_code();
    }
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            adzi_leaf_drop_gradient(optimizer->groups[g]->parameters[i]);
        }
    }
    return ADZ_OK;
}

adz_status adz_optimizer_fill_grad_zero(adz_optimizer *optimizer)
{
    if (!adzi_check_handle("adz_optimizer_fill_grad_zero", "optimizer", optimizer)) {
        return adz_error_code();
    }
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            adzi_gradient *gradient = optimizer->groups[g]->parameters[i]->gradient;
            if (gradient != NULL) {
                adzi_gradient_zero(gradient);
            }
        }
    }
    return ADZ_OK;
}
