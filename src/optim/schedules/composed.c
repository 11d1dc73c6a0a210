/* Schedules that are made of others: SequentialLR and ChainedScheduler. They set no rates
 * themselves. */
#include <math.h>
#include <string.h>

#include "adze/optim/scheduler.h"
#include "base/error.h"
#include "optim/schedules/scheduler.h"

enum { LR = 0 }; /* the first setting of every optimizer */

/* ---- what a step can take back --------------------------------------------------------------- */

static size_t all_states(const adz_scheduler *s)
{
    size_t n = 0;
    for (size_t i = 0; i < s->n_parts; ++i) {
        n += adzi_scheduler_count(s->parts[i]);
    }
    return n;
}

/* The states of all parts, then the settings of all groups. */
static size_t undo_count(const adz_scheduler *s)
{
    return all_states(s) + (size_t)s->n_groups * ADZ_OPTIMIZER_SETTINGS;
}

static void keep(adz_scheduler *s)
{
    double *to = s->undo;
    for (size_t i = 0; i < s->n_parts; ++i) {
        to += adzi_scheduler_write(s->parts[i], to);
    }
    for (int g = 0; g < s->n_groups; ++g, to += ADZ_OPTIMIZER_SETTINGS) {
        memcpy(to, s->optimizer->groups[g]->settings, ADZ_OPTIMIZER_SETTINGS * sizeof *to);
    }
}

static void put_back(const adz_scheduler *s)
{
    const double *from = s->undo;
    for (size_t i = 0; i < s->n_parts; ++i) {
        from += adzi_scheduler_read(s->parts[i], from);
    }
    for (int g = 0; g < s->n_groups; ++g, from += ADZ_OPTIMIZER_SETTINGS) {
        memcpy(s->optimizer->groups[g]->settings, from, ADZ_OPTIMIZER_SETTINGS * sizeof *from);
    }
}

/* ---- steps ---------------------------------------------------------------------------------- */

static void note_rates(adz_scheduler *s)
{
    for (int g = 0; g < s->n_groups; ++g) {
        s->last_lrs[g] = s->optimizer->groups[g]->settings[LR];
    }
}

static adz_status chained_step(const char *op, adz_scheduler *s)
{
    adz_status status = ADZ_OK;
    keep(s);
    for (size_t i = 0; i < s->n_parts && status == ADZ_OK; ++i) {
        status = adzi_scheduler_go_on(op, s->parts[i]);
    }
    if (status != ADZ_OK) {
        put_back(s);
        return status;
    }
    ++s->last_epoch;
    note_rates(s);
    return ADZ_OK;
}

/* The part that the epoch belongs to: the number of milestones that it has reached. */
static size_t part_at(const adz_scheduler *s, int64_t epoch)
{
    size_t part = 0;
    while (part < s->n_list && s->list[part] <= (double)epoch) {
        ++part;
    }
    return part;
}

static adz_status sequential_step(const char *op, adz_scheduler *s)
{
    const int64_t epoch = s->last_epoch + 1;
    const size_t i = part_at(s, epoch);
    const bool begins = i > 0 && s->list[i - 1] == (double)epoch;
    const adz_status status = begins ? adzi_scheduler_start(op, s->parts[i], false)
                                     : adzi_scheduler_go_on(op, s->parts[i]);
    if (status == ADZ_OK) {
        s->last_epoch = epoch;
        note_rates(s);
    }
    return status;
}

static const adzi_schedule_type chained_type = { .name = "ChainedScheduler",
    .go_on = chained_step };
static const adzi_schedule_type sequential_type = { .name = "SequentialLR",
    .go_on = sequential_step };

/* ---- constructors --------------------------------------------------------------------------- */

/* Checks the parts, which are schedules of one optimizer. NULL with the error recorded, or the
 * optimizer. */
static adz_optimizer *optimizer_of(
    const char *op, adz_optimizer *optimizer, adz_scheduler *const *schedulers, size_t n)
{
    if (schedulers == NULL || n == 0) {
        return n > 0 ? adzi_fail_null(op, "schedulers")
                     : adzi_fail(op, ADZ_ERR_ARGUMENT, "there is no scheduler; give one or more");
    }
    for (size_t i = 0; i < n; ++i) {
        if (!adzi_check_handle(op, "a scheduler", schedulers[i])) {
            return NULL;
        }
        optimizer = optimizer != NULL ? optimizer : schedulers[i]->optimizer;
        if (schedulers[i]->type->takes_metric) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT,
                "scheduler %zu is a %s, whose steps need a metric; step it by itself", i,
                schedulers[i]->type->name);
        }
        if (schedulers[i]->optimizer != optimizer) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT,
                "scheduler %zu, a %s, changes the rates of another optimizer; all need the same one",
                i, schedulers[i]->type->name);
        }
        if ((size_t)schedulers[i]->n_groups != optimizer->n_groups) {
            return adzi_fail(op, ADZ_ERR_ARGUMENT,
                "scheduler %zu, a %s, was made over %d groups, and the optimizer has %zu; make the schedulers after the groups",
                i, schedulers[i]->type->name, schedulers[i]->n_groups, optimizer->n_groups);
        }
    }
    return optimizer;
}

/* Makes a schedule of the parts, with memory for what a step takes back. */
static adz_scheduler *composite_new(const char *op, adz_optimizer *optimizer,
    const adzi_schedule_type *type, adz_scheduler *const *parts, size_t n, const double *list,
    size_t n_list)
{
    adz_scheduler plan = { .type = type, .momentum_setting = -1 };
    adz_scheduler *s = adzi_scheduler_new(op, optimizer, &plan, list, n_list);
    adz_scheduler **copy = s != NULL ? adzi_alloc(n * sizeof(adz_scheduler *)) : NULL;
    if (copy == NULL) {
        adz_scheduler_release(&s);
        return adzi_pending() != ADZ_OK ? NULL : adzi_fail_memory(op, n * sizeof(adz_scheduler *));
    }
    for (size_t i = 0; i < n; ++i) {
        copy[i] = adz_scheduler_keep(parts[i]);
    }
    s->parts = copy;
    s->n_parts = n;
    s->n_undo = undo_count(s);
    s->undo = adzi_alloc(s->n_undo * sizeof *s->undo);
    if (s->undo == NULL) {
        s->n_undo = 0;
        adz_scheduler_release(&s);
        return adzi_fail_memory(op, sizeof *s);
    }
    note_rates(s);
    return s;
}

adz_scheduler *adz_chained_scheduler_new(adz_scheduler *const *schedulers, size_t n_schedulers)
{
    static const char op[] = "adz_chained_scheduler_new";
    adz_optimizer *optimizer = optimizer_of(op, NULL, schedulers, n_schedulers);
    return optimizer != NULL
               ? composite_new(op, optimizer, &chained_type, schedulers, n_schedulers, NULL, 0)
               : NULL;
}

/* Whether the milestones are epochs in order, one fewer than schedulers. A schedule of schedules
 * has no epoch 0 to begin at. */
static bool check_sequence(const char *op, adz_scheduler *const *schedulers, size_t n,
    const int64_t *milestones, size_t n_milestones)
{
    if (n_milestones + 1 != n) {
        adzi_error(op, ADZ_ERR_ARGUMENT,
            "there are %zu milestones for %zu schedulers; give one milestone fewer", n_milestones,
            n);
        return false;
    }
    if (milestones == NULL && n_milestones > 0) {
        adzi_error_null(op, "milestones");
        return false;
    }
    for (size_t i = 0; i < n_milestones; ++i) {
        if (milestones[i] < (i == 0 ? 1 : milestones[i - 1])) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "milestone %zu is %lld; milestones are epochs from 1 on, in ascending order", i,
                (long long)milestones[i]);
            return false;
        }
    }
    for (size_t i = 0; i < n; ++i) {
        if (schedulers[i]->n_parts > 0) {
            adzi_error(op, ADZ_ERR_ARGUMENT,
                "scheduler %zu is a %s, which cannot begin at a milestone; put schedulers into the sequence themselves",
                i, schedulers[i]->type->name);
            return false;
        }
    }
    return true;
}

/* Begins the first part from the initial rates. The old rates and states come back if it fails. */
static bool begin(const char *op, adz_scheduler *s)
{
    keep(s);
    for (int g = 0; g < s->n_groups; ++g) {
        s->optimizer->groups[g]->settings[LR] = s->optimizer->groups[g]->initial_lr;
    }
    if (adzi_scheduler_start(op, s->parts[0], true) != ADZ_OK) {
        put_back(s);
        return false;
    }
    note_rates(s);
    return true;
}

adz_scheduler *adz_sequential_lr_new(adz_optimizer *optimizer, adz_scheduler *const *schedulers,
    size_t n_schedulers, const int64_t *milestones, size_t n_milestones)
{
    static const char op[] = "adz_sequential_lr_new";
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    if (optimizer_of(op, optimizer, schedulers, n_schedulers) == NULL ||
        !check_sequence(op, schedulers, n_schedulers, milestones, n_milestones)) {
        return NULL;
    }
    double *list = n_milestones > 0 ? adzi_alloc(n_milestones * sizeof *list) : NULL;
    if (n_milestones > 0 && list == NULL) {
        return adzi_fail_memory(op, n_milestones * sizeof *list);
    }
    for (size_t i = 0; i < n_milestones; ++i) {
        list[i] = (double)milestones[i];
    }
    adz_scheduler *s = composite_new(
        op, optimizer, &sequential_type, schedulers, n_schedulers, list, n_milestones);
    adzi_free(list, n_milestones * sizeof *list);
    if (s != NULL && !begin(op, s)) {
        adz_scheduler_release(&s);
    }
    return s;
}
