/* SWALR: the rate goes to a constant one along a straight line or half a cosine. */
#include <math.h>

#include "adze/optim/one_cycle.h"
#include "base/error.h"
#include "optim/schedules/momenta.h"
#include "tensor/kernel/real.h"

enum { ANNEAL_EPOCHS, LINEAR }; /* numbers; the list has the last rate of each group */

/* How far the way to the last rate has gone after some epochs, 0 to 1. */
static double part_after(const adz_scheduler *s, double epoch)
{
    const double pi = 3.14159265358979323846;
    const double t = fmax(0, fmin(1, epoch / fmax(1, s->numbers[ANNEAL_EPOCHS])));
    return s->numbers[LINEAR] != 0 ? t : (1 - adzi_real_cos(pi * t)) / 2;
}

/* Finds the rate at which the way began from the rate that is set, and goes on from there. */
static double rate(const adz_scheduler *s, int group, double lr)
{
    const double last = s->list[group], shortest = s->numbers[ANNEAL_EPOCHS] == 0 ? 1 : 0;
    const double epoch = fmax(shortest, (double)s->last_epoch);
    const double before = part_after(s, epoch - 1), now = part_after(s, epoch);
    const double first = before == 1 ? last : (lr - before * last) / (1 - before);
    return last * now + first * (1 - now);
}

/* At a milestone of a SequentialLR the way begins from the rate that is set, as in PyTorch. */
static const adzi_schedule_type swa_type = { .name = "SWALR", .rate = rate, .restart = rate };

/* The arguments of the constructor. */
typedef struct {
    adz_swa_lr_options o;
    double swa_lr;
} arguments;

static const char *const strategies[] = { "cos", "linear", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(arguments, swa_lr, ADZ_FINITE_FROM(0)),
    ADZ_FIELD(adz_swa_lr_options, anneal_epochs, .value = 10, ADZ_AT_LEAST(0)),
    ADZ_FIELD_AS(adz_swa_lr_options, anneal_strategy, "anneal_strategy", ADZ_FIELD_ENUM,
        .values = strategies),
};

ADZ_OPTIONS_TABLE(adz_swa_lr_options, ADZ_SWA_LR_OPTIONS, fields)

adz_scheduler *adz_swa_lr_new(
    adz_optimizer *optimizer, double swa_lr, const adz_swa_lr_options *options)
{
    static const char op[] = "adz_swa_lr_new";
    arguments a = { .swa_lr = swa_lr };
    if (!adz_options_take(op, &adz_swa_lr_options_table, &a, options)) {
        return NULL;
    }
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    const size_t n = optimizer->n_groups;
    double *list = adzi_alloc(n * sizeof *list);
    if (list == NULL) {
        return adzi_fail_memory(op, n * sizeof *list);
    }
    const adzi_group_numbers row = { "swa_lrs", a.o.swa_lrs, a.o.n_swa_lrs, swa_lr };
    adz_status status = adzi_fill_groups(op, optimizer, &row, 1, list);
    for (size_t g = 0; g < n && status == ADZ_OK; ++g) {
        status = adzi_check_not_negative(op, "swa_lr", list[g]);
    }
    adz_scheduler plan = { .type = &swa_type,
        .momentum_setting = -1,
        .numbers = {
            (double)a.o.anneal_epochs, a.o.anneal_strategy == ADZ_ANNEAL_STRATEGY_LINEAR } };
    adz_scheduler *s = status == ADZ_OK ? adzi_scheduler_new(op, optimizer, &plan, list, n) : NULL;
    adzi_free(list, n * sizeof *list);
    return s;
}
