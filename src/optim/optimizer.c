/* The part that all optimizers share: ownership, groups, settings, gradients, the step. */
#include "optim/optimizer.h"

#include <math.h>
#include <string.h>

#include "autograd/leaf.h"
#include "tensor/copy.h"
#include "base/error.h"
#include "tensor/shape.h"

/* ---- ownership ------------------------------------------------------------------------------ */

static void group_free(adzi_group *group)
{
    for (size_t i = 0; i < group->count; ++i) {
        adzi_drop(group->parameters[i]);
        for (int k = 0; k < ADZI_OPTIM_STATES; ++k) {
            adzi_drop(group->kept[i].state[k]);
        }
    }
    adzi_free(group->parameters, group->count * sizeof *group->parameters);
    adzi_free(group->kept, group->count * sizeof *group->kept);
    adzi_free(group, sizeof *group);
}

adz_optimizer *adz_optimizer_keep(adz_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return adzi_fail_null("adz_optimizer_keep", "optimizer");
    }
    atomic_fetch_add_explicit(&optimizer->refs, 1, memory_order_relaxed);
    return optimizer;
}

void adz_optimizer_free(adz_optimizer **optimizer)
{
    if (optimizer == NULL || *optimizer == NULL) {
        return;
    }
    adz_optimizer *gone = *optimizer;
    *optimizer = NULL;
    if (atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) == 1) {
        for (size_t g = 0; g < gone->n_groups; ++g) {
            group_free(gone->groups[g]);
        }
        adzi_free(gone->groups, gone->groups_capacity * sizeof *gone->groups);
        adzi_index_free(&gone->parameters);
        adzi_free(gone, sizeof *gone);
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

static bool add_group(const char *op, adz_optimizer *optimizer, adz_tensor_list list)
{
    if (list.count == 0 || list.items == NULL) {
        if (adzi_pending() == ADZ_OK) {
            adzi_error(op, ADZ_ERR_ARGUMENT, "the list of parameters is empty");
        }
        return false;
    }
    if (!check_parameters(op, optimizer, list)) {
        return false;
    }
    adzi_group *group = adzi_alloc_zero(sizeof *group);
    if (group == NULL) {
        adzi_fail_memory(op, sizeof *group);
        return false;
    }
    *group = (adzi_group){ .initial_lr = NAN, .count = list.count };
    memcpy(group->settings, optimizer->defaults, sizeof group->settings);
    group->parameters = adzi_alloc_zero(list.count * sizeof *group->parameters);
    group->kept = adzi_alloc_zero(list.count * sizeof *group->kept);
    if (group->parameters == NULL || group->kept == NULL ||
        !adzi_index_reserve(&optimizer->parameters, list.count) ||
        !adzi_grow(&optimizer->groups, &optimizer->groups_capacity, optimizer->n_groups + 1,
            sizeof group)) {
        adzi_fail_memory(op, list.count * sizeof *group->kept);
        adzi_free(group->parameters, list.count * sizeof *group->parameters);
        adzi_free(group->kept, list.count * sizeof *group->kept);
        adzi_free(group, sizeof *group);
        return false;
    }
    for (size_t i = 0; i < list.count; ++i) {
        adzi_index_enter_address(&optimizer->parameters, list.items[i]);
        group->parameters[i] = adzi_retain(list.items[i]);
    }
    optimizer->groups[optimizer->n_groups++] = group;
    return true;
}

adz_optimizer *adzi_optimizer_new(const char *op, const adzi_optimizer_type *type,
    adz_tensor_list parameters, const double *settings)
{
    if (adzi_check_settings(op, type, settings) != ADZ_OK) {
        return NULL;
    }
    adz_optimizer *optimizer = adzi_alloc_zero(sizeof *optimizer);
    if (optimizer == NULL) {
        return adzi_fail_memory(op, sizeof *optimizer);
    }
    atomic_init(&optimizer->refs, 1);
    optimizer->type = type;
    memcpy(optimizer->defaults, settings, (size_t)type->n_settings * sizeof *settings);
    if (!add_group(op, optimizer, parameters)) {
        adz_optimizer_free(&optimizer);
    }
    return optimizer;
}

int adz_optimizer_add_param_group(adz_optimizer *optimizer, adz_tensor_list parameters)
{
    static const char op[] = "adz_optimizer_add_param_group";
    if (optimizer == NULL) {
        adzi_error_null(op, "optimizer");
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
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
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

adz_status adzi_check_settings(
    const char *op, const adzi_optimizer_type *type, const double *settings)
{
    adz_status status = ADZ_OK;
    for (int i = 0; i < type->n_settings && status == ADZ_OK; ++i) {
        const adzi_setting *s = &type->settings[i];
        const double value = settings[i];
        if (s->range == ADZI_NOT_NEGATIVE) {
            status = adzi_check_not_negative(op, s->name, value);
        } else if (s->range == ADZI_FRACTION && !(value >= 0 && value < 1)) {
            status = adzi_error(op, ADZ_ERR_ARGUMENT,
                "%s is %s, but must be at least 0 and below 1", s->name, adzi_text_number(value));
        }
    }
    return status == ADZ_OK && type->check != NULL ? type->check(op, settings) : status;
}

/* The place of a group's setting, by its name; NULL with the error recorded. */
static double *setting(
    const char *op, const adz_optimizer *optimizer, adzi_group *group, const char *name)
{
    if (name == NULL) {
        return adzi_fail_null(op, "name");
    }
    for (int i = 0; i < optimizer->type->n_settings; ++i) {
        if (strcmp(optimizer->type->settings[i].name, name) == 0) {
            return &group->settings[i];
        }
    }
    if (strcmp(name, "initial_lr") == 0 && !isnan(group->initial_lr)) {
        return &group->initial_lr;
    }
    return adzi_fail(
        op, ADZ_ERR_ARGUMENT, "%s has no setting called %s", optimizer->type->name, name);
}

double adz_optimizer_get(const adz_optimizer *optimizer, int group, const char *name)
{
    static const char op[] = "adz_optimizer_get";
    adzi_group *g = group_at(op, optimizer, group);
    const double *value = g != NULL ? setting(op, optimizer, g, name) : NULL;
    return value != NULL ? *value : NAN;
}

/* Checks whether a group may have the value. With `commit`, which follows a check, sets it. */
static adz_status set_one(const char *op, adz_optimizer *optimizer, int group, const char *name,
    double value, bool commit)
{
    adzi_group *g = optimizer->groups[group], changed = *g;
    double *place = setting(op, optimizer, &changed, name);
    if (place == NULL) {
        return adz_error_code();
    }
    *place = value;
    adz_status status = adzi_check_settings(op, optimizer->type, changed.settings);
    if (commit) {
        *g = changed;
    }
    return status;
}

adz_status adz_optimizer_set(adz_optimizer *optimizer, int group, const char *name, double value)
{
    static const char op[] = "adz_optimizer_set";
    if (optimizer == NULL) {
        return adzi_error_null(op, "optimizer");
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
            status = set_one(op, optimizer, k, name, value, commit == 1);
        }
    }
    return status;
}

/* ---- gradients ------------------------------------------------------------------------------ */

static adz_tensor *grad_of(const adz_tensor *t)
{
    return t->gradient != NULL ? t->gradient->grad : NULL;
}

adz_status adz_optimizer_zero_grad(adz_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return adzi_error_null("adz_optimizer_zero_grad", "optimizer");
    }
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            adzi_gradient *gradient = optimizer->groups[g]->parameters[i]->gradient;
            if (gradient != NULL) {
                adzi_gradient_drop(gradient);
            }
        }
    }
    return ADZ_OK;
}

adz_status adz_optimizer_fill_grad_zero(adz_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return adzi_error_null("adz_optimizer_fill_grad_zero", "optimizer");
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

/* ---- the step ------------------------------------------------------------------------------- */

/* Checks the gradient of parameter i and makes the states that it needs and does not have. Their
 * bits in `fresh` stay set until begin_update has run, so that undo() can find them. */
static bool prepare(const adz_optimizer *optimizer, adzi_group *group, size_t i, unsigned needs)
{
    static const char op[] = "adz_optimizer_step";
    const adz_tensor *t = group->parameters[i], *grad = grad_of(t);
    adzi_kept *kept = &group->kept[i];
    if (t->gradient->spoiled) {
        adzi_error(op, ADZ_ERR_STATE,
            "a backward failed after it had written the gradient of parameter %zu%s; call "
            "adz_optimizer_zero_grad or adz_module_zero_grad and compute the batch again",
            i, adzi_text_shape(t));
        return false;
    }
    if (grad->dtype != t->dtype || !adzi_same_sizes(t, grad) || !adzi_is_contiguous(grad) ||
        !adzi_is_contiguous(t)) {
        adzi_error(op, ADZ_ERR_STATE,
            "parameter %zu%s and its gradient%s must be contiguous and have one shape and dtype", i,
            adzi_text_shape(t), adzi_text_shape(grad));
        return false;
    }
    for (int k = 0; k < optimizer->type->n_states; ++k) {
        if (!(needs & (1u << k))) {
            continue;
        }
        if (kept->state[k] == NULL) {
            kept->state[k] =
                adzi_tensor_new(adzi_self(), op, (adz_dtype)t->dtype, t->rank, t->sizes);
            if (kept->state[k] == NULL) {
                return false;
            }
            adzi_fill(kept->state[k], 0);
            kept->fresh |= 1u << k;
        } else if (kept->state[k]->dtype != t->dtype) {
            adzi_error(op, ADZ_ERR_DTYPE,
                "parameter %zu%s is %s, its %s %s; make the optimizer after adz_module_to", i,
                adzi_text_shape(t), adz_dtype_name((adz_dtype)t->dtype), optimizer->type->states[k],
                adz_dtype_name((adz_dtype)kept->state[k]->dtype));
            return false;
        }
    }
    return true;
}

/* Releases the states that a failed step has made. */
static void undo(adz_optimizer *optimizer)
{
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        for (size_t i = 0; i < optimizer->groups[g]->count; ++i) {
            adzi_kept *kept = &optimizer->groups[g]->kept[i];
            for (int k = 0; k < ADZI_OPTIM_STATES; ++k) {
                if (kept->fresh & (1u << k)) {
                    adzi_drop(kept->state[k]);
                    kept->state[k] = NULL;
                }
            }
            kept->fresh = 0;
        }
    }
}

double adzi_moment_power(const adzi_moment *moment, int i, double base)
{
    adzi_power *p = &moment->powers[i];
    if (p->step != moment->step || p->base != base) {
        *p = (adzi_power){ base, pow(base, (double)moment->step), moment->step };
    }
    return p->power;
}

typedef struct {
    const adzi_optimizer_type *type;
    const double *settings;
    adzi_kept *kept;
    adzi_power *powers;
} begin_args;

/* Kernel of one unit: counts the step and computes the numbers of one parameter's update. */
static void begin_update(const void *block, int64_t begin, int64_t end)
{
    const begin_args *args = block;
    adzi_kept *kept = args->kept;
    if (begin < end) {
        const adzi_moment moment = { args->settings, kept->fresh, ++kept->steps, args->powers };
        args->type->numbers(&moment, kept->numbers);
        kept->fresh = 0;
    }
}

/* Updates parameter i of a group. prepare() has made everything that this needs, so it cannot fail.
 */
static void update(adz_optimizer *optimizer, adzi_group *group, size_t i, unsigned needs)
{
    adz_tensor *t = group->parameters[i];
    adzi_kept *kept = &group->kept[i];
    const begin_args args = { optimizer->type, group->settings, kept, optimizer->powers };
    const adzi_update u = { .parameter = t,
        .gradient = grad_of(t),
        .state = kept->state,
        .needs = needs,
        .fresh = kept->fresh,
        .settings = group->settings,
        .numbers = kept->numbers };
    adzi_launch(begin_update, &args, 1, 1);
    optimizer->type->update(&u);
    adzi_written(t, "adz_optimizer_step");
}

/* All states are made before the first parameter changes, so that a failure changes none. */
adz_status adz_optimizer_step(adz_optimizer *optimizer)
{
    if (optimizer == NULL) {
        return adzi_error_null("adz_optimizer_step", "optimizer");
    }
    adzi_settle(adzi_self()); /* a backward that was left by a jump may spoil gradients */
    if (adzi_pending() != ADZ_OK) {
        return adzi_pending();
    }
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        adzi_group *group = optimizer->groups[g];
        unsigned needs = optimizer->type->needs(group->settings);
        for (size_t i = 0; i < group->count; ++i) {
            if (grad_of(group->parameters[i]) != NULL && !prepare(optimizer, group, i, needs)) {
                undo(optimizer);
                return adz_error_code();
            }
        }
    }
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        adzi_group *group = optimizer->groups[g];
        const unsigned needs = optimizer->type->needs(group->settings);
        for (size_t i = 0; i < group->count; ++i) {
            if (grad_of(group->parameters[i]) != NULL) {
                update(optimizer, group, i, needs);
            }
        }
    }
    return ADZ_OK;
}
