/* OneCycleLR: the rate rises to its maximum and falls to almost 0, while the momentum falls and
 * rises again. */
#include "adze/optim/one_cycle.h"

#include <math.h>

#include "optim/schedules/momenta.h"
#include "base/error.h"
#include "adze/options.h"
#include "tensor/kernel/real.h"

enum { TOTAL, PCT_START, DIV, FINAL_DIV, LINEAR, THREE };

/* The list has three numbers for each group: the largest rate, the smallest and the largest
 * momentum. */
enum { MAX_LR, BASE_MOMENTUM, MAX_MOMENTUM, PER_GROUP };

static double of_group(const adz_scheduler *s, int group, int which)
{
    return s->list[group * PER_GROUP + which];
}

/* ---- the curve ------------------------------------------------------------------------------ */

/* The position of an epoch: its phase, and the part of the phase that is over. */
typedef struct position {
    int phase;
    double part;
} position;

static position position_of(const adz_scheduler *s)
{
    double total = s->numbers[TOTAL], peak = s->numbers[PCT_START] * total;
    int phases = s->numbers[THREE] != 0 ? 3 : 2;
    double ends[3] = { peak - 1, phases == 3 ? 2 * peak - 2 : total - 1, total - 1 };
    double step = (double)s->last_epoch, start = 0;
    int phase = 0;
    while (phase < phases - 1 && step > ends[phase]) {
        start = ends[phase++];
    }
    double length = ends[phase] - start;
    return (position){ phase, length != 0 ? (step - start) / length : 1 };
}

/* The value between `from` and `to` at a part of a phase, along a straight line or half a cosine.
 */
static double anneal(const adz_scheduler *s, double from, double to, double part)
{
    const double pi = 3.14159265358979323846;
    return s->numbers[LINEAR] != 0 ? (to - from) * part + from
                                   : to + (from - to) / 2 * (adzi_real_cos(pi * part) + 1);
}

/* The rate, at least 0. PyTorch's straight line runs on below 0 in the call after the last step. */
static double rate(const adz_scheduler *s, int group, double lr)
{
    (void)lr;
    position at = position_of(s);
    double initial = s->base_lrs[group], top = of_group(s, group, MAX_LR);
    double least = initial / s->numbers[FINAL_DIV];
    bool three = s->numbers[THREE] != 0;
    double from = at.phase == 0 ? initial : at.phase == 1 ? top : initial;
    double to = at.phase == 0 ? top : at.phase == 1 && three ? initial : least;
    return fmax(0, anneal(s, from, to, at.part));
}

static double momentum(const adz_scheduler *s, int group)
{
    position at = position_of(s);
    double low = of_group(s, group, BASE_MOMENTUM), high = of_group(s, group, MAX_MOMENTUM);
    double value = at.phase == 0   ? anneal(s, high, low, at.part)
                   : at.phase == 1 ? anneal(s, low, high, at.part)
                                   : high;
    return fmin(fmax(low, high), fmax(fmin(low, high), value));
}

/* The rate to start from. */
static double base(const adz_scheduler *s, int group)
{
    return of_group(s, group, MAX_LR) / s->numbers[DIV];
}

static int64_t last(const adz_scheduler *s)
{
    return s->numbers[TOTAL] < 0x1p63 ? (int64_t)s->numbers[TOTAL] : INT64_MAX;
}

static const adzi_schedule_type one_cycle_type = {
    .name = "OneCycleLR",
    .rate = rate,
    .base = base,
    .momentum = momentum,
    .last = last,
};

/* ---- constructor ---------------------------------------------------------------------------- */

/* The arguments of the constructor. */
typedef struct {
    adz_one_cycle_lr_options o;
    double max_lr;
    int64_t total_steps;
} arguments;

static const char *const strategies[] = { "cos", "linear", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(arguments, max_lr, ADZ_FINITE_FROM(0)),
    ADZ_FIELD(arguments, total_steps, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_one_cycle_lr_options, pct_start, .value = 0.3, ADZ_CLOSED(0, 1)),
    ADZ_FIELD_AS(adz_one_cycle_lr_options, anneal_strategy, "anneal_strategy", ADZ_FIELD_ENUM,
        .values = strategies),
    ADZ_FIELD(adz_one_cycle_lr_options, cycle_momentum, .value = true),
    ADZ_FIELD(adz_one_cycle_lr_options, three_phase, .value = false),
    ADZ_FIELD(adz_one_cycle_lr_options, base_momentum, .value = 0.85),
    ADZ_FIELD(adz_one_cycle_lr_options, max_momentum, .value = 0.95),
    ADZ_FIELD(adz_one_cycle_lr_options, div_factor, .value = 25, ADZ_ABOVE(0)),
    ADZ_FIELD(adz_one_cycle_lr_options, final_div_factor, .value = 1e4, ADZ_ABOVE(0)),
};

ADZ_OPTIONS_TABLE(adz_one_cycle_lr_options, ADZ_ONE_CYCLE_LR_OPTIONS, fields)

/* Fills `list` with the three numbers of each group, from the options' lists or single numbers. */
static adz_status fill_list(const char *op, const adz_optimizer *optimizer, double max_lr,
    const adz_one_cycle_lr_options *o, double *list)
{
    const adzi_group_numbers rows[PER_GROUP] = {
        { "max_lrs", o->max_lrs, o->n_max_lrs, max_lr },
        { "base_momenta", o->base_momenta, o->n_base_momenta, o->base_momentum },
        { "max_momenta", o->max_momenta, o->n_max_momenta, o->max_momentum },
    };
    adz_status status = adzi_fill_groups(op, optimizer, rows, PER_GROUP, list);
    for (size_t g = 0; g < optimizer->n_groups && status == ADZ_OK; ++g) {
        status = adzi_check_not_negative(op, "max_lr", list[g * PER_GROUP + MAX_LR]);
    }
    return status;
}

adz_scheduler *adz_one_cycle_lr_new(adz_optimizer *optimizer, double max_lr, int64_t total_steps,
    const adz_one_cycle_lr_options *options)
{
    static const char op[] = "adz_one_cycle_lr_new";
    arguments a = { .max_lr = max_lr, .total_steps = total_steps };
    if (!adz_options_take(op, &adz_one_cycle_lr_options_table, &a, options)) {
        return NULL;
    }
    const adz_one_cycle_lr_options o = a.o;
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    adz_scheduler plan = { .type = &one_cycle_type,
        .numbers = { (double)total_steps, o.pct_start, o.div_factor, o.final_div_factor,
            o.anneal_strategy == ADZ_ANNEAL_STRATEGY_LINEAR, o.three_phase } };
    if (!adzi_momentum_setting(op, optimizer, o.cycle_momentum, &plan.momentum_setting)) {
        return NULL;
    }
    size_t n = optimizer->n_groups * PER_GROUP;
    double *list = adzi_alloc(n * sizeof *list);
    if (list == NULL) {
        return adzi_fail_memory(op, n * sizeof *list);
    }
    adz_status status = fill_list(op, optimizer, max_lr, &o, list);
    if (status == ADZ_OK && o.cycle_momentum) {
        status = adzi_check_momenta(
            op, optimizer, list + BASE_MOMENTUM, PER_GROUP, plan.momentum_setting);
    }
    adz_scheduler *s = status == ADZ_OK ? adzi_scheduler_new(op, optimizer, &plan, list, n) : NULL;
    adzi_free(list, n * sizeof *list);
    return s;
}
