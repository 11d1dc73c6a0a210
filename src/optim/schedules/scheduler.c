/* The part that all schedules share: ownership, the step, and the state for checkpoints. As in
 * PyTorch, a schedule computes the next rate from the current one. Schedules can therefore be
 * combined, and a rate that the user has set is the next one to be scaled. */
#include "optim/schedules/scheduler.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/capture.h"
#include "base/handle.h"
#include "tensor/fields.h"

enum { LR = 0 }; /* the first setting of every optimizer */

/* ---- ownership ------------------------------------------------------------------------------ */

adz_scheduler *adz_scheduler_keep(adz_scheduler *scheduler)
{
    if (!adzi_check_handle("adz_scheduler_keep", "scheduler", scheduler)) {
        return NULL;
    }
    atomic_fetch_add_explicit(&scheduler->refs, 1, memory_order_relaxed);
    return scheduler;
}

static size_t rates_size(int n_groups)
{
    return 4 * (size_t)n_groups * sizeof(double);
}

static void dispose(adz_scheduler *s)
{
    for (size_t i = 0; i < s->n_parts; ++i) {
        adz_scheduler_release(&s->parts[i]);
    }
    adzi_free(s->parts, s->n_parts * sizeof(adz_scheduler *));
    adzi_free(s->undo, s->n_undo * sizeof *s->undo);
    adz_optimizer_release(&s->optimizer);
    adzi_free(s->base_lrs, rates_size(s->n_groups));
    adzi_free(s->list, s->n_list * sizeof *s->list);
    adzi_handle_end(s, sizeof *s);
}

void adz_scheduler_release(adz_scheduler **scheduler)
{
    adz_scheduler *gone = adzi_handle_take("adz_scheduler_release", "scheduler", scheduler);
    if (gone != NULL && atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) == 1) {
        dispose(gone);
    }
}

/* Makes a copy of `plan` with memory for the rates and a copy of the list. NULL with the error
 * recorded under `op`. */
static adz_scheduler *scheduler_alloc(
    const char *op, int n_groups, const adz_scheduler *plan, const double *list, size_t n_list)
{
    adz_scheduler *s = adzi_handle_new(sizeof *s);
    double *rates = adzi_alloc_zero(rates_size(n_groups));
    double *copy = n_list > 0 ? adzi_alloc(n_list * sizeof *copy) : NULL;
    if (s == NULL || rates == NULL || (n_list > 0 && copy == NULL)) {
        adzi_handle_end(s, sizeof *s);
        adzi_free(rates, rates_size(n_groups));
        adzi_free(copy, n_list * sizeof *copy);
        return adzi_fail_memory(op, sizeof *s);
    }
    const adzi_handle handle = s->handle;
    *s = *plan;
    s->handle = handle;
    atomic_init(&s->refs, 1);
    if (n_list > 0) {
        memcpy(copy, list, n_list * sizeof *copy);
    }
    s->list = copy;
    s->n_list = n_list;
    s->n_groups = n_groups;
    s->base_lrs = rates;
    s->last_lrs = rates + n_groups;
    s->next_lrs = rates + 2 * n_groups;
    s->next_momenta = rates + 3 * n_groups;
    return s;
}

/* What the rates of all groups at s->last_epoch are computed from. */
typedef enum { THE_RATE_THAT_IS_SET, A_MILESTONE } rates_from;

static double rate_of(const adz_scheduler *s, int group, rates_from from)
{
    const double now = s->optimizer->groups[group]->settings[LR];
    if (from == THE_RATE_THAT_IS_SET) {
        return s->type->rate(s, group, now);
    }
    return s->type->restart != NULL ? s->type->restart(s, group, now)
                                    : s->type->rate(s, group, s->base_lrs[group]);
}

static bool sets_momentum(const adz_scheduler *s)
{
    return s->type->momentum != NULL && s->momentum_setting >= 0;
}

/* Computes the momentum that belongs to the next rate, and checks both with the other settings. */
static adz_status find_momentum(const char *op, adz_scheduler *s, int group)
{
    double settings[ADZ_OPTIMIZER_SETTINGS];
    const double momentum = s->type->momentum(s, group);
    if (isnan(momentum) && adzi_pending() != ADZ_OK) { /* the user's function has failed */
        return adzi_pending();
    }
    memcpy(settings, s->optimizer->groups[group]->settings, sizeof settings);
    settings[LR] = s->next_lrs[group];
    settings[s->momentum_setting] = s->next_momenta[group] = momentum;
    return adzi_check_settings(op, s->optimizer, settings);
}

/* Sets the rates and momenta of all groups at s->last_epoch. If a rate is negative or not finite,
 * or the optimizer refuses a momentum, none is set and ADZ_ERR_ARGUMENT is recorded. */
static adz_status set_rates(const char *op, adz_scheduler *s, rates_from from)
{
    for (int g = 0; g < s->n_groups && s->type->rate != NULL; ++g) {
        double lr = rate_of(s, g, from);
        s->next_lrs[g] = lr;
        if (!(lr >= 0 && isfinite(lr))) {
            if (isnan(lr) && adzi_pending() != ADZ_OK) { /* the user's function has failed */
                return adzi_pending();
            }
            return adzi_error(op, ADZ_ERR_ARGUMENT,
                "%s gives group %d the rate %s at epoch %lld; it must be finite and 0 or more",
                s->type->name, g, adzi_text_number(lr), (long long)s->last_epoch);
        }
        if (sets_momentum(s) && find_momentum(op, s, g) != ADZ_OK) {
            return adzi_pending();
        }
    }
    for (int g = 0; g < s->n_groups && s->type->rate != NULL; ++g) {
        double *settings = s->optimizer->groups[g]->settings;
        settings[LR] = s->last_lrs[g] = s->next_lrs[g];
        if (sets_momentum(s)) {
            settings[s->momentum_setting] = s->next_momenta[g];
        }
    }
    return ADZ_OK;
}

adz_scheduler *adzi_scheduler_new(const char *op, adz_optimizer *optimizer,
    const adz_scheduler *plan, const double *list, size_t n_list)
{
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    if (adzi_is_captured(op, ADZI_MAKES_OBJECT)) {
        return NULL;
    }
    for (size_t i = 0; i < plan->type->n_fields; ++i) {
        if (!adzi_field_check_number(op, &plan->type->fields[i], plan->numbers[i])) {
            return NULL;
        }
    }
    adz_scheduler *s = scheduler_alloc(op, (int)optimizer->n_groups, plan, list, n_list);
    if (s == NULL) {
        return NULL;
    }
    s->optimizer = adz_optimizer_keep(optimizer);
    for (int g = 0; g < s->n_groups; ++g) {
        const adzi_group *group = optimizer->groups[g];
        s->base_lrs[g] = s->type->base != NULL      ? s->type->base(s, g)
                         : isnan(group->initial_lr) ? group->settings[LR]
                                                    : group->initial_lr;
    }
    memcpy(s->first_moving, s->moving, sizeof s->moving);
    if (set_rates(op, s, THE_RATE_THAT_IS_SET) != ADZ_OK) {
        dispose(s);
        return NULL;
    }
    /* as in PyTorch, ReduceLROnPlateau does not set initial_lr */
    for (int g = 0; g < s->n_groups && !s->type->takes_metric; ++g) {
        adzi_group *group = optimizer->groups[g];
        const bool keeps = s->type->keeps_initial_lr && !isnan(group->initial_lr);
        group->initial_lr = keeps ? group->initial_lr : s->base_lrs[g];
    }
    return s;
}

/* ---- the step ------------------------------------------------------------------------------- */

const char *adz_scheduler_name(const adz_scheduler *scheduler)
{
    return scheduler != NULL ? scheduler->type->name
                             : adzi_fail_null("adz_scheduler_name", "scheduler");
}

/* Sets the rates of the new epoch. If one of them is invalid, returns to the old epoch. */
static adz_status settle(
    const char *op, adz_scheduler *s, rates_from from, int64_t old_epoch, const double old_moving[])
{
    adz_status status = set_rates(op, s, from);
    if (status != ADZ_OK) {
        s->last_epoch = old_epoch;
        memcpy(s->moving, old_moving, sizeof s->moving);
    }
    return status;
}

adz_status adzi_scheduler_start(const char *op, adz_scheduler *s, bool first)
{
    double moving[ADZI_SCHEDULE_MOVING];
    const int64_t epoch = s->last_epoch;
    memcpy(moving, s->moving, sizeof moving);
    memcpy(s->moving, s->first_moving, sizeof s->moving);
    s->last_epoch = 0;
    return settle(op, s, first ? THE_RATE_THAT_IS_SET : A_MILESTONE, epoch, moving);
}

adz_status adzi_scheduler_go_on(const char *op, adz_scheduler *s)
{
    double moving[ADZI_SCHEDULE_MOVING];
    if (s->type->go_on != NULL) {
        return s->type->go_on(op, s);
    }
    memcpy(moving, s->moving, sizeof moving);
    if (s->type->last != NULL && s->last_epoch >= s->type->last(s)) {
        return adzi_error(op, ADZ_ERR_STATE, "%s was made for %lld steps, which are over",
            s->type->name, (long long)s->type->last(s));
    }
    int64_t epoch = s->last_epoch++;
    if (s->type->advance != NULL) {
        s->type->advance(s);
    }
    return settle(op, s, THE_RATE_THAT_IS_SET, epoch, moving);
}

typedef struct {
    adz_scheduler *scheduler;
} step_args;

ADZI_ADDRESSES(step_args, scheduler);

static const char op_step[] = "adz_scheduler_step";

/* Why a traced step has no schedule. */
static const char in_trace[] = "the rate is a variable of the written step; call it after the step";

/* A replay of a captured step moves the schedule on, too. */
static adz_status step_again(const void *block)
{
    return adzi_scheduler_go_on(op_step, ((const step_args *)block)->scheduler);
}

adz_status adz_scheduler_step(adz_scheduler *scheduler)
{
    const char *op = op_step;
    if (!adzi_check_handle(op, "scheduler", scheduler)) {
        return adz_error_code();
    }
    if (scheduler->type->takes_metric) {
        return adzi_error(op, ADZ_ERR_STATE, "%s needs a metric; call adz_scheduler_step_metric",
            scheduler->type->name);
    }
    if (adzi_trace_refuse(op, in_trace) != ADZ_OK ||
        adzi_capture_keeps(op, "the schedule, so call it outside of the function") != ADZ_OK) {
        return adz_error_code();
    }
    return adzi_repeat(step_again, step_args, &(step_args){ scheduler });
}

adz_status adz_scheduler_step_metric(adz_scheduler *scheduler, double metric)
{
    static const char op[] = "adz_scheduler_step_metric";
    if (!adzi_check_handle(op, "scheduler", scheduler)) {
        return adz_error_code();
    }
    if (!scheduler->type->takes_metric) {
        return adzi_error(op, ADZ_ERR_STATE, "%s takes no metric; call adz_scheduler_step",
            scheduler->type->name);
    }
    if (adzi_is_captured(op, "the metric is a number of the host")) {
        return adz_error_code();
    }
    scheduler->numbers[0] = metric;
    return adzi_scheduler_go_on(op, scheduler);
}

adz_status adz_scheduler_step_to(adz_scheduler *scheduler, double epoch)
{
    static const char op[] = "adz_scheduler_step_to";
    if (!adzi_check_handle(op, "scheduler", scheduler)) {
        return adz_error_code();
    }
    if (scheduler->type->move == NULL) {
        return adzi_error(op, ADZ_ERR_STATE,
            "%s knows no fractions of an epoch; call adz_scheduler_step", scheduler->type->name);
    }
    if (!(epoch >= 0 && epoch < 0x1p53)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT, "epoch is %s, but must be finite and 0 or more",
            adzi_text_number(epoch));
    }
    if (adzi_is_captured(op, "the epoch is a number of the host")) {
        return adz_error_code();
    }
    double moving[ADZI_SCHEDULE_MOVING];
    memcpy(moving, scheduler->moving, sizeof moving);
    int64_t old = scheduler->last_epoch;
    scheduler->type->move(scheduler, epoch);
    return settle(op, scheduler, THE_RATE_THAT_IS_SET, old, moving);
}

int64_t adz_scheduler_last_epoch(const adz_scheduler *scheduler)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, -1);
    if (!adzi_check_handle("adz_scheduler_last_epoch", "scheduler", scheduler)) {
        return -1;
    }
    return scheduler->last_epoch;
}

double adz_scheduler_last_lr(const adz_scheduler *scheduler, int group)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, NAN);
    static const char op[] = "adz_scheduler_last_lr";
    if (!adzi_check_handle(op, "scheduler", scheduler)) {
        return NAN;
    }
    if (group < 0 || group >= scheduler->n_groups) {
        adzi_error(op, ADZ_ERR_INDEX, "there is no group %d, only %d", group, scheduler->n_groups);
        return NAN;
    }
    return scheduler->last_lrs[group];
}

/* ---- state ---------------------------------------------------------------------------------- */

/* The state is a list of numbers: last_epoch, base_lrs and last_lrs of the groups, then `moving`,
 * then the states of the parts. base_lrs and last_lrs follow each other in memory. */

/* How many numbers the state has without those of the parts. */
static size_t own_count(const adz_scheduler *s)
{
    return 1 + 2 * (size_t)s->n_groups + (size_t)s->type->n_moving;
}

size_t adzi_scheduler_count(const adz_scheduler *s)
{
    size_t n = own_count(s);
    for (size_t i = 0; i < s->n_parts; ++i) {
        n += adzi_scheduler_count(s->parts[i]);
    }
    return n;
}

/* Number i of the state. */
static double number_at(const adz_scheduler *s, size_t i)
{
    const size_t rates = 2 * (size_t)s->n_groups;
    size_t part = 0;
    if (i < own_count(s)) {
        return i == 0       ? (double)s->last_epoch
               : i <= rates ? s->base_lrs[i - 1]
                            : s->moving[i - 1 - rates];
    }
    for (i -= own_count(s); i >= adzi_scheduler_count(s->parts[part]); ++part) {
        i -= adzi_scheduler_count(s->parts[part]);
    }
    return number_at(s->parts[part], i);
}

size_t adzi_scheduler_write(const adz_scheduler *s, double *values)
{
    const size_t n = adzi_scheduler_count(s);
    for (size_t i = 0; i < n; ++i) {
        values[i] = number_at(s, i);
    }
    return n;
}

size_t adz_scheduler_get_state(const adz_scheduler *scheduler, double *values, size_t count)
{
    ADZI_NOT_CAPTURED(ADZI_READS_SETTING, 0);
    if (!adzi_check_handle("adz_scheduler_get_state", "scheduler", scheduler)) {
        return 0;
    }
    const size_t all = adzi_scheduler_count(scheduler);
    for (size_t i = 0; i < all && i < count && values != NULL; ++i) {
        values[i] = number_at(scheduler, i);
    }
    return all;
}

/* Whether the numbers are a possible state, without those of the parts. */
static bool own_fits(const adz_scheduler *s, const double *values)
{
    size_t rates = 2 * (size_t)s->n_groups;
    double end = fmin(s->type->last != NULL ? (double)s->type->last(s) : INFINITY, 0x1p53 - 1);
    bool sound = values[0] >= 0 && values[0] <= end;
    for (size_t i = 1; i <= rates; ++i) {
        sound = sound && values[i] >= 0 && isfinite(values[i]);
    }
    return sound && (s->type->is_sound == NULL || s->type->is_sound(s, values + 1 + rates));
}

bool adzi_scheduler_fits(const adz_scheduler *s, const double *values, size_t count)
{
    if (count != adzi_scheduler_count(s)) {
        return false;
    }
    bool sound = own_fits(s, values);
    values += own_count(s);
    for (size_t i = 0; i < s->n_parts; ++i) {
        const size_t n = adzi_scheduler_count(s->parts[i]);
        sound = sound && adzi_scheduler_fits(s->parts[i], values, n);
        values += n;
    }
    return sound;
}

size_t adzi_scheduler_read(adz_scheduler *s, const double *values)
{
    const size_t rates = 2 * (size_t)s->n_groups;
    size_t n = own_count(s);
    s->last_epoch = (int64_t)values[0];
    memcpy(s->base_lrs, values + 1, rates * sizeof *values);
    memcpy(s->moving, values + 1 + rates, (size_t)s->type->n_moving * sizeof *values);
    for (size_t i = 0; i < s->n_parts; ++i) {
        n += adzi_scheduler_read(s->parts[i], values + n);
    }
    return n;
}

adz_status adz_scheduler_set_state(adz_scheduler *scheduler, const double *values, size_t count)
{
    ADZI_NOT_CAPTURED(ADZI_ACTS, ADZ_ERR_STATE);
    static const char op[] = "adz_scheduler_set_state";
    if (!adzi_check_handle(op, "scheduler", scheduler)) {
        return adz_error_code();
    }
    if (values == NULL) {
        return adzi_error_null(op, "values");
    }
    if (!adzi_scheduler_fits(scheduler, values, count)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "this is no state of a %s over %d groups, which has %zu numbers", scheduler->type->name,
            scheduler->n_groups, adz_scheduler_get_state(scheduler, NULL, 0));
    }
    adzi_scheduler_read(scheduler, values);
    return ADZ_OK;
}
