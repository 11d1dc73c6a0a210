/* The state of an optimizer, for checkpoints: collecting and restoring it. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "nn/state.h"
#include "base/capture.h"
#include "base/text.h"
#include "optim/closure.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "tensor/shape.h"

static const char no_memory[] = "no memory for the state";

/* ---- collecting ----------------------------------------------------------------------------- */

static adz_status add_steps(adz_state_dict *state, const char *name, int64_t steps)
{
    adz_tensor *t = adzi_tensor_new(adzi_self(), "adz_optimizer", ADZ_I64, 0, NULL);
    if (t == NULL) {
        return ADZ_ERR_MEMORY;
    }
    adzi_fill(t, (double)steps);
    adz_status status = adz_state_dict_add(state, name, t);
    adzi_drop(t);
    return status;
}

adz_tensor *adzi_stand_in(const char *name, adz_dtype dtype, int rank, const int64_t *sizes)
{
    const int64_t strides[ADZ_MAX_RANK] = { 0 };
    adz_tensor *one = adzi_tensor_new(adzi_self(), name, dtype, 0, NULL);
    if (one == NULL) {
        return NULL;
    }
    adzi_fill(one, 0);
    adz_tensor *t = adzi_tensor_view(adzi_self(), name, one, rank, sizes, strides, one->data);
    adzi_drop(one);
    return t;
}

/* Adds state k of parameter i, or a tensor that stands for it: of a state that is divided among
 * ranks, and of a state that the settings ask for since the last step, which the next step would
 * fill with one number. */
static adz_status add_state(adz_state_dict *state, const char *name, const adz_optimizer *optimizer,
    const adzi_group *group, size_t i, int k)
{
    const adz_tensor *parameter = group->parameters[i];
    const adzi_kept *kept = &group->kept[i];
    const bool here =
        kept->part.count == parameter->numel || adzi_state_is_undivided(optimizer, parameter, k);
    if (kept->state[k] != NULL && here) {
        return adz_state_dict_add(state, name, kept->state[k]);
    }
    const adz_shape shape = adzi_state_shape(optimizer, parameter, k);
    adz_tensor *t =
        adzi_stand_in("adz_optimizer", (adz_dtype)parameter->dtype, shape.rank, shape.sizes);
    if (t == NULL) {
        return adz_error_code();
    }
    if (here) {
        adzi_fill(t, adzi_state_initial(optimizer, group, k));
    }
    adz_status status = adz_state_dict_add(state, name, t);
    adzi_drop(t);
    return status;
}

adz_status adzi_optimizer_collect_one(const adz_optimizer *optimizer, const adzi_group *group,
    size_t i, size_t index, bool stepped, adz_state_dict *state)
{
    char name[96];
    const adzi_kept *kept = &group->kept[i];
    adz_status status = ADZ_OK;
    const adz_optimizer_type *type = optimizer->type;
    const bool counted = !type->uncounted && (kept->steps > 0 || stepped);
    const uint32_t needs = adzi_optimizer_needs(optimizer, group->settings) &
                           adzi_optimizer_states_of(optimizer, group->parameters[i]);
    if (counted) {
        snprintf(name, sizeof name, "state.%zu.step", index);
        status = add_steps(state, name, kept->steps);
    }
    for (int k = 0; k < optimizer->n_states && status == ADZ_OK; ++k) {
        if (kept->state[k] != NULL || ((counted || stepped) && (needs & (1u << k)))) {
            snprintf(name, sizeof name, "state.%zu.%s", index, type->states[k].name);
            status = add_state(state, name, optimizer, group, i, k);
        }
    }
    return status;
}

adz_status adzi_optimizer_collect(const adz_optimizer *optimizer, adz_state_dict *state)
{
    size_t index = 0;
    if (optimizer->search != NULL) {
        return adzi_search_collect(optimizer, state);
    }
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            adz_status status = adzi_optimizer_collect_one(
                optimizer, optimizer->groups[g], i, index++, false, state);
            if (status != ADZ_OK) {
                return status;
            }
        }
    }
    return ADZ_OK;
}

/* The texts that stand for numbers which JSON does not have. C's strtod and Python's float read
 * them.
 */
static const char *const not_finite[] = { "inf", "-inf", "nan" };

static json_t *number_json(double value)
{
    return isfinite(value) ? json_real(value)
           : isnan(value)  ? json_string(not_finite[2])
                           : json_string(not_finite[value < 0]);
}

/* Reads a number, a bool, or the text of a number that is not finite. False if it is none of them.
 */
static bool number_of(const json_t *item, double *value)
{
    const double values[] = { INFINITY, -INFINITY, NAN };
    const char *text = json_string_value(item);
    for (int k = 0; k < 3 && text != NULL; ++k) {
        if (strcmp(text, not_finite[k]) == 0) {
            *value = values[k];
            return true;
        }
    }
    if (json_is_number(item) || json_is_boolean(item)) {
        *value = json_is_number(item) ? json_number_value(item) : (double)json_is_true(item);
        return true;
    }
    return false;
}

static json_t *group_json(
    const adz_optimizer *optimizer, const adzi_group *group, size_t first_index)
{
    json_t *object = json_object(), *indices = json_array();
    int failed = 0;
    for (int k = 0; k < optimizer->n_settings; ++k) {
        const adz_field *s = &optimizer->type->settings[k];
        const double value = group->settings[k];
        failed |= json_object_set_new(object, s->name,
            s->kind == ADZ_FIELD_BOOL ? json_boolean(value != 0) : number_json(value));
    }
    if (!isnan(group->initial_lr)) {
        failed |= json_object_set_new(object, "initial_lr", number_json(group->initial_lr));
    }
    for (size_t i = 0; i < group->count; ++i) {
        failed |= json_array_append_new(indices, json_integer((json_int_t)(first_index + i)));
    }
    failed |= json_object_set_new(object, "params", indices);
    if (failed) {
        json_decref(object);
        return NULL;
    }
    return object;
}

json_t *adzi_optimizer_groups(const adz_optimizer *optimizer)
{
    json_t *array = json_array();
    size_t index = 0;
    int failed = array == NULL;
    for (size_t g = 0; g < optimizer->n_groups && !failed; ++g) {
        const adzi_group *group = optimizer->groups[g];
        failed = json_array_append_new(array, group_json(optimizer, group, index));
        index += group->count;
    }
    if (failed) {
        json_decref(array);
        return adzi_fail("adz_optimizer", ADZ_ERR_MEMORY, no_memory);
    }
    return array;
}

/* ---- restoring ------------------------------------------------------------------------------ */

static const char op[] = "adz_optimizer_restore";

static adz_status read_setting(const json_t *object, const char *name, bool optional, double *value)
{
    const json_t *item = json_object_get(object, name);
    if (item == NULL && optional) {
        return ADZ_OK;
    }
    return number_of(item, value)
               ? ADZ_OK
               : adzi_error(op, ADZ_ERR_STATE, "a group of parameters has no %s", name);
}

/* Reads the settings of one group and checks the number of its parameters. */
static adz_status read_group(
    const adz_optimizer *optimizer, const json_t *object, adzi_group *group)
{
    for (int k = 0; k < optimizer->n_settings; ++k) {
        const char *name = optimizer->type->settings[k].name;
        if (read_setting(object, name, false, &group->settings[k]) != ADZ_OK) {
            return ADZ_ERR_STATE;
        }
    }
    group->initial_lr = NAN;
    if (read_setting(object, "initial_lr", true, &group->initial_lr) != ADZ_OK) {
        return ADZ_ERR_STATE;
    }
    size_t count = json_array_size(json_object_get(object, "params"));
    if (count != group->count) {
        return adzi_error(op, ADZ_ERR_STATE, "a group has %zu parameters in the state, %zu here",
            count, group->count);
    }
    return adzi_check_settings(op, optimizer, group->settings);
}

/* The new settings and states. All are made before anything of the optimizer changes. */
struct adzi_restore {
    adz_optimizer *optimizer;
    adzi_group *groups; /* one per group; only settings and initial_lr are used */
    adzi_kept *kept;    /* one per parameter, numbered over all groups */
    void *memory;       /* of a search */
    size_t n_groups, n_parameters;
};

/* The parameter with this number over all groups. */
static adz_tensor *parameter_at(const adz_optimizer *optimizer, size_t index)
{
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        if (index < optimizer->groups[g]->count) {
            return optimizer->groups[g]->parameters[index];
        }
        index -= optimizer->groups[g]->count;
    }
    return NULL;
}

/* Reads a name such as "state.12.momentum_buffer": parameter 12, and the index of the state, where
 * n_states stands for "step". False if the optimizer has no such state. */
static bool parse_name(const adz_optimizer *optimizer, const char *name, size_t *index, int *which)
{
    const char *digits = name + strlen("state.");
    char *end = NULL;
    unsigned long long value =
        digits[0] >= '0' && digits[0] <= '9' ? strtoull(digits, &end, 10) : 0;
    if (end == NULL || *end != '.') {
        return false;
    }
    *index = (size_t)value;
    for (*which = 0; *which < optimizer->n_states; ++*which) {
        if (strcmp(end + 1, optimizer->type->states[*which].name) == 0) {
            return true;
        }
    }
    return !optimizer->type->uncounted && strcmp(end + 1, "step") == 0;
}

/* Copies the elements of the part from `t`, which has the shape of the parameter and is contiguous,
 * as the tensors of files are. False with the error recorded. */
static bool copy_part(adz_tensor *to, adz_tensor *t, const adzi_part *part)
{
    const int64_t stride = 1;
    if (part->count == t->numel) {
        adzi_copy(to, t);
        return true;
    }
    adz_tensor *row = adzi_tensor_view(adzi_self(), op, t, 1, &part->count, &stride,
        t->data + (size_t)part->begin * adzi_item_size(t));
    if (row != NULL) {
        adzi_copy(to, row);
        adzi_drop(row);
    }
    return row != NULL;
}

/* Whether a tensor of a file has the shape of state k of its parameter. False with the error
 * recorded. */
static bool check_shape(const adz_optimizer *optimizer, const char *name,
    const adz_tensor *parameter, int k, const adz_tensor *t)
{
    if (!(adzi_optimizer_states_of(optimizer, parameter) & (1u << k))) {
        adzi_error(op, ADZ_ERR_STATE, "%s is a state that the parameter%s does not have in %s",
            name, adzi_text_shape(parameter), optimizer->type->name);
        return false;
    }
    const adz_shape shape = adzi_state_shape(optimizer, parameter, k);
    if (t->rank == shape.rank &&
        memcmp(t->sizes, shape.sizes, (size_t)shape.rank * sizeof *t->sizes) == 0) {
        return true;
    }
    const bool like = !adzi_state_is_undivided(optimizer, parameter, k);
    adzi_error(op, ADZ_ERR_STATE, "%s%s does not have the shape %s parameter%s%s%s", name,
        adzi_text_shape(t), like ? "of its" : "that a state of the", adzi_text_shape(parameter),
        like ? "" : " has, ", like ? "" : adzi_text_sizes(shape.rank, shape.sizes));
    return false;
}

static adz_status read_entry(
    const adz_optimizer *optimizer, const char *name, adz_tensor *t, adzi_restore *r)
{
    size_t index = 0;
    int which = 0;
    if (!parse_name(optimizer, name, &index, &which) || index >= r->n_parameters) {
        return adzi_error(op, ADZ_ERR_STATE,
            "%s has no %s; it has %zu parameters, and the state is that of another optimizer",
            optimizer->type->name, name, r->n_parameters);
    }
    if (which == optimizer->n_states) {
        double steps = t->numel == 1 ? adz_item(t) : NAN;
        if (!(steps >= 0 && steps < 0x1p53)) {
            return adzi_error(op, ADZ_ERR_STATE, "%s is no number of steps", name);
        }
        r->kept[index].steps = (int64_t)steps;
        r->kept[index].fresh = 1; /* tells check_complete that there is a step */
        return ADZ_OK;
    }
    const adz_tensor *parameter = parameter_at(optimizer, index);
    if (!check_shape(optimizer, name, parameter, which, t)) {
        return ADZ_ERR_STATE;
    }
    const bool undivided = adzi_state_is_undivided(optimizer, parameter, which);
    const adzi_part part = undivided ? (adzi_part){ 0, t->numel } : r->kept[index].part;
    adz_tensor *copy = adzi_state_new(op, optimizer, parameter, which, &r->kept[index].part);
    if (copy == NULL || !copy_part(copy, t, &part)) {
        adzi_drop(copy);
        return adz_error_code();
    }
    r->kept[index].state[which] = copy;
    return ADZ_OK;
}

/* For an optimizer that counts steps, checks that every parameter with a state has a step, and that
 * after the first step no state is missing. */
static adz_status check_complete(const adz_optimizer *optimizer, adzi_restore *r)
{
    const adz_optimizer_type *type = optimizer->type;
    size_t index = 0;
    for (size_t g = 0; g < optimizer->n_groups && !type->uncounted; ++g) {
        const uint32_t needs = adzi_optimizer_needs(optimizer, r->groups[g].settings);
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i, ++index) {
            adzi_kept *kept = &r->kept[index];
            const adz_tensor *parameter = optimizer->groups[g]->parameters[i];
            const uint32_t its = needs & adzi_optimizer_states_of(optimizer, parameter);
            for (int k = 0; k < optimizer->n_states; ++k) {
                if (kept->state[k] != NULL && kept->fresh == 0) {
                    return adzi_error(op, ADZ_ERR_STATE, "there is state.%zu.%s, but no step",
                        index, type->states[k].name);
                }
                if (kept->state[k] == NULL && kept->steps > 0 && (its & (1u << k))) {
                    return adzi_error(
                        op, ADZ_ERR_STATE, "there is no state.%zu.%s", index, type->states[k].name);
                }
            }
            kept->fresh = 0;
        }
    }
    return ADZ_OK;
}

static adz_status read_all(const adz_optimizer *optimizer, const adz_state_dict *state,
    const json_t *groups, adzi_restore *r)
{
    if (json_array_size(groups) != optimizer->n_groups) {
        return adzi_error(op, ADZ_ERR_STATE, "the state has %zu groups of parameters, %s %zu",
            json_array_size(groups), optimizer->type->name, optimizer->n_groups);
    }
    adz_status status = ADZ_OK;
    size_t index = 0;
    for (size_t g = 0; g < optimizer->n_groups && status == ADZ_OK; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            r->kept[index++].part = optimizer->groups[g]->kept[i].part;
        }
        r->groups[g] = *optimizer->groups[g];
        status = read_group(optimizer, json_array_get(groups, g), &r->groups[g]);
    }
    if (status == ADZ_OK && optimizer->search != NULL) {
        r->memory = adzi_search_read(optimizer, state);
        return adzi_status(r->memory);
    }
    for (size_t i = 0; i < adz_state_dict_count(state) && status == ADZ_OK; ++i) {
        const char *name = adz_state_dict_name_at(state, i);
        if (strncmp(name, "state.", strlen("state.")) == 0) {
            status = read_entry(optimizer, name, adz_state_dict_at(state, i), r);
        }
    }
    return status == ADZ_OK ? check_complete(optimizer, r) : status;
}

void adzi_restore_commit(adzi_restore *r)
{
    size_t index = 0;
    void *memory = r->optimizer->memory;
    r->optimizer->memory = r->memory;
    r->memory = memory;
    for (size_t g = 0; g < r->n_groups; ++g) {
        adzi_group *group = r->optimizer->groups[g];
        memcpy(group->settings, r->groups[g].settings, sizeof group->settings);
        group->initial_lr = r->groups[g].initial_lr;
        for (size_t i = 0; i < group->count; ++i, ++index) {
            adzi_kept old = group->kept[i];
            group->kept[i] = r->kept[index];
            r->kept[index] = old; /* adzi_restore_free releases the old states */
        }
    }
    adzi_settings_changed();
}

void adzi_restore_free(adzi_restore **address)
{
    adzi_restore *r = *address;
    *address = NULL;
    if (r == NULL) {
        return;
    }
    for (size_t i = 0; i < r->n_parameters && r->kept != NULL; ++i) {
        adzi_kept_release(&r->kept[i]);
    }
    if (r->memory != NULL) {
        adzi_search_drop(r->optimizer, r->memory);
    }
    adzi_free(r->groups, r->n_groups * sizeof *r->groups);
    adzi_free(r->kept, r->n_parameters * sizeof *r->kept);
    adzi_free(r, sizeof *r);
}

adzi_restore *adzi_restore_new(
    adz_optimizer *optimizer, const adz_state_dict *state, const json_t *groups)
{
    adzi_restore *r = adzi_alloc_zero(sizeof *r);
    if (r == NULL) {
        return adzi_fail_memory(op, sizeof *r);
    }
    r->optimizer = optimizer;
    r->n_groups = optimizer->n_groups;
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        r->n_parameters += optimizer->groups[g]->count;
    }
    r->groups = adzi_alloc_zero(r->n_groups * sizeof *r->groups);
    r->kept = adzi_alloc_zero(r->n_parameters * sizeof *r->kept);
    if (r->groups == NULL || r->kept == NULL) {
        adzi_error(op, ADZ_ERR_MEMORY, no_memory);
        adzi_restore_free(&r);
    } else if (read_all(optimizer, state, groups, r) != ADZ_OK) {
        adzi_restore_free(&r);
    }
    return r;
}

adz_status adzi_optimizer_restore(
    adz_optimizer *optimizer, const adz_state_dict *state, const json_t *groups)
{
    adzi_restore *r = adzi_restore_new(optimizer, state, groups);
    if (r == NULL) {
        return adz_error_code();
    }
    adzi_restore_commit(r);
    adzi_restore_free(&r);
    return ADZ_OK;
}
