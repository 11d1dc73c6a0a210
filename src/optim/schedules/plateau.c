/* ReduceLROnPlateau: the rate is multiplied by a factor when a metric has not improved for more
 * than `patience` epochs. */
#include "adze/optim/plateau.h"

#include <math.h>

#include "optim/schedules/scheduler.h"
#include "base/error.h"
#include "adze/options.h"

enum { METRIC, FACTOR, PATIENCE, THRESHOLD, KIND, COOLDOWN, EPS }; /* numbers; METRIC is the last */
enum { BEST, BAD_EPOCHS, COOLING };                                /* moving */

/* The list: the least rate of each group. */

/* True if the metric is better than the best one by more than the threshold. */
static bool is_better(const adz_scheduler *s)
{
    double metric = s->numbers[METRIC], best = s->moving[BEST], threshold = s->numbers[THRESHOLD];
    switch ((int)s->numbers[KIND]) {
    case 0: /* min, rel: the threshold is a part of the best */
        return metric < best * (1 - threshold);
    case 1: /* min, abs: the threshold is an amount */
        return metric < best - threshold;
    case 2: /* max, rel */
        return metric > best * (threshold + 1);
    default: /* max, abs */
        return metric > best + threshold;
    }
}

/* Counts the bad epochs. When there are more than `patience`, rate() reduces the rate, and the next
 * call of advance() begins a new count. The count itself says that the rate is to be reduced, so
 * the saved state needs no flag. */
static void advance(adz_scheduler *s)
{
    if (s->moving[BAD_EPOCHS] > s->numbers[PATIENCE]) {
        s->moving[BAD_EPOCHS] = 0;
    }
    if (is_better(s)) {
        s->moving[BEST] = s->numbers[METRIC];
        s->moving[BAD_EPOCHS] = 0;
    } else {
        s->moving[BAD_EPOCHS] += 1;
    }
    if (s->moving[COOLING] > 0) {
        s->moving[COOLING] -= 1;
        s->moving[BAD_EPOCHS] = 0;
    }
    if (s->moving[BAD_EPOCHS] > s->numbers[PATIENCE]) {
        s->moving[COOLING] = s->numbers[COOLDOWN];
    }
}

static double rate(const adz_scheduler *s, int group, double lr)
{
    if (!(s->moving[BAD_EPOCHS] > s->numbers[PATIENCE])) {
        return lr;
    }
    double reduced = fmax(lr * s->numbers[FACTOR], s->list[group]);
    return lr - reduced > s->numbers[EPS] ? reduced : lr;
}

/* True if a loaded state can occur. */
static bool is_sound(const adz_scheduler *s, const double *moving)
{
    return !isnan(moving[BEST]) && moving[BAD_EPOCHS] >= 0 &&
           moving[BAD_EPOCHS] <= s->numbers[PATIENCE] + 1 && moving[COOLING] >= 0 &&
           moving[COOLING] <= s->numbers[COOLDOWN];
}

static const adzi_schedule_type plateau_type = {
    .name = "ReduceLROnPlateau",
    .n_moving = 3,
    .rate = rate,
    .advance = advance,
    .is_sound = is_sound,
    .takes_metric = true,
};

static const char *const modes[] = { "min", "max", NULL };
static const char *const threshold_modes[] = { "rel", "abs", NULL };

static const adz_field fields[] = {
    ADZ_FIELD_AS(adz_reduce_lr_on_plateau_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes),
    ADZ_FIELD(adz_reduce_lr_on_plateau_options, factor, .value = 0.1, ADZ_BELOW(0, 1)),
    ADZ_FIELD(adz_reduce_lr_on_plateau_options, patience, .value = 10, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_reduce_lr_on_plateau_options, threshold, .value = 1e-4, ADZ_FINITE),
    ADZ_FIELD_AS(adz_reduce_lr_on_plateau_options, threshold_mode, "threshold_mode", ADZ_FIELD_ENUM,
        .values = threshold_modes),
    ADZ_FIELD(adz_reduce_lr_on_plateau_options, cooldown, .value = 0, ADZ_AT_LEAST(0)),
    ADZ_FIELD(adz_reduce_lr_on_plateau_options, min_lr, .value = 0),
    ADZ_FIELD(adz_reduce_lr_on_plateau_options, eps, .value = 1e-8, ADZ_FINITE_FROM(0)),
};

ADZ_OPTIONS_TABLE(adz_reduce_lr_on_plateau_options, ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS, fields)

static adz_status check(
    const char *op, const adz_optimizer *optimizer, const adz_reduce_lr_on_plateau_options *o)
{
    if (o->n_min_lrs != (o->min_lrs != NULL ? optimizer->n_groups : 0)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "%zu numbers in min_lrs for %zu groups of parameters", o->n_min_lrs,
            optimizer->n_groups);
    }
    for (size_t g = 0; g < optimizer->n_groups; ++g) {
        double least = o->min_lrs != NULL ? o->min_lrs[g] : o->min_lr;
        if (adzi_check_not_negative(op, "min_lr", least) != ADZ_OK) {
            return ADZ_ERR_ARGUMENT;
        }
    }
    return ADZ_OK;
}

adz_scheduler *adz_reduce_lr_on_plateau_new(
    adz_optimizer *optimizer, const adz_reduce_lr_on_plateau_options *options)
{
    static const char op[] = "adz_reduce_lr_on_plateau_new";
    adz_reduce_lr_on_plateau_options o;
    if (!adz_options_take(op, &adz_reduce_lr_on_plateau_options_table, &o, options)) {
        return NULL;
    }
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    if (check(op, optimizer, &o) != ADZ_OK) {
        return NULL;
    }
    size_t n = optimizer->n_groups;
    double *least = adzi_alloc(n * sizeof *least);
    if (least == NULL) {
        return adzi_fail_memory(op, n * sizeof *least);
    }
    for (size_t g = 0; g < n; ++g) {
        least[g] = o.min_lrs != NULL ? o.min_lrs[g] : o.min_lr;
    }
    int kind = (o.mode == ADZ_PLATEAU_MODE_MAX ? 2 : 0) +
               (o.threshold_mode == ADZ_THRESHOLD_MODE_ABS ? 1 : 0);
    adz_scheduler plan = { .type = &plateau_type,
        .numbers = { 0, o.factor, (double)o.patience, o.threshold, kind, (double)o.cooldown,
            o.eps },
        .moving = { o.mode == ADZ_PLATEAU_MODE_MAX ? -INFINITY : INFINITY } };
    adz_scheduler *s = adzi_scheduler_new(op, optimizer, &plan, least, n);
    adzi_free(least, n * sizeof *least);
    return s;
}
