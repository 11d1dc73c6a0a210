/* CyclicLR: the rate rises and falls between two bounds, while the momentum falls and rises. */
#include <math.h>

#include "adze/optim/one_cycle.h"
#include "base/door.h"
#include "base/error.h"
#include "optim/schedules/momenta.h"
#include "tensor/kernel/real.h"

enum { TOTAL_SIZE, STEP_RATIO, MODE, GAMMA, BY_ITERATIONS };

/* The list has four numbers for each group: the bounds of the rate and of the momentum. */
enum { BASE_LR, MAX_LR, BASE_MOMENTUM, MAX_MOMENTUM, PER_GROUP };

static double of_group(const adz_scheduler *s, int group, int which)
{
    return s->list[group * PER_GROUP + which];
}

/* ---- the curve ------------------------------------------------------------------------------ */

static double cycle_of(const adz_scheduler *s)
{
    return floor(1 + (double)s->last_epoch / s->numbers[TOTAL_SIZE]);
}

typedef struct scale_call {
    const adz_scheduler *scheduler;
    double factor; /* NaN, which no rate can be, unless the door opens */
} scale_call;

static bool run_scale(void *state)
{
    scale_call *call = state;
    const adz_scheduler *s = call->scheduler;
    const bool by_iterations = s->numbers[BY_ITERATIONS] != 0;
    call->factor = s->scale(by_iterations ? (double)s->last_epoch : cycle_of(s), s->user);
    return true;
}

/* The factor of the height of the cycle. */
static double scale(const adz_scheduler *s)
{
    static const adzi_door door = { .op = "adz_cyclic_lr_new" };
    if (s->scale != NULL) {
        scale_call call = { s, NAN };
        adzi_through_door(&door, run_scale, &call);
        return call.factor;
    }
    switch ((adz_cyclic_mode)s->numbers[MODE]) {
    case ADZ_CYCLIC_MODE_TRIANGULAR2:
        return 1 / adzi_real_pow(2, cycle_of(s) - 1);
    case ADZ_CYCLIC_MODE_EXP_RANGE:
        return adzi_real_pow(s->numbers[GAMMA], (double)s->last_epoch);
    case ADZ_CYCLIC_MODE_TRIANGULAR:
        break;
    }
    return 1;
}

/* How far the way from one bound to the other has gone, times the scale. */
static double height(const adz_scheduler *s)
{
    const double ratio = s->numbers[STEP_RATIO];
    const double x = 1 + (double)s->last_epoch / s->numbers[TOTAL_SIZE] - cycle_of(s);
    return (x <= ratio ? x / ratio : (x - 1) / (ratio - 1)) * scale(s);
}

static double rate(const adz_scheduler *s, int group, double lr)
{
    (void)lr;
    const double low = of_group(s, group, BASE_LR), high = of_group(s, group, MAX_LR);
    return low + (high - low) * height(s);
}

static double momentum(const adz_scheduler *s, int group)
{
    const double low = of_group(s, group, BASE_MOMENTUM), high = of_group(s, group, MAX_MOMENTUM);
    return high - (high - low) * height(s);
}

static double base(const adz_scheduler *s, int group)
{
    return of_group(s, group, BASE_LR);
}

static const adzi_schedule_type cyclic_type = {
    .name = "CyclicLR",
    .rate = rate,
    .base = base,
    .momentum = momentum,
    .keeps_initial_lr = true,
};

/* ---- constructor ---------------------------------------------------------------------------- */

/* The arguments of the constructor. */
typedef struct {
    adz_cyclic_lr_options o;
    double base_lr, max_lr;
} arguments;

static const char *const modes[] = { "triangular", "triangular2", "exp_range", NULL };
static const char *const scale_modes[] = { "cycle", "iterations", NULL };

static const adz_field fields[] = {
    ADZ_FIELD(arguments, base_lr, ADZ_FINITE_FROM(0)),
    ADZ_FIELD(arguments, max_lr, ADZ_FINITE_FROM(0)),
    ADZ_FIELD(adz_cyclic_lr_options, step_size_up, .value = 2000, ADZ_AT_LEAST(1)),
    ADZ_FIELD(adz_cyclic_lr_options, step_size_down, .value = 0, ADZ_AT_LEAST(0)),
    ADZ_FIELD_AS(adz_cyclic_lr_options, mode, "mode", ADZ_FIELD_ENUM, .values = modes),
    ADZ_FIELD(adz_cyclic_lr_options, gamma, .value = 1, ADZ_FINITE),
    ADZ_FIELD_AS(
        adz_cyclic_lr_options, scale_mode, "scale_mode", ADZ_FIELD_ENUM, .values = scale_modes),
    ADZ_FIELD(adz_cyclic_lr_options, cycle_momentum, .value = true),
    ADZ_FIELD(adz_cyclic_lr_options, base_momentum, .value = 0.8),
    ADZ_FIELD(adz_cyclic_lr_options, max_momentum, .value = 0.9),
};

ADZ_OPTIONS_TABLE(adz_cyclic_lr_options, ADZ_CYCLIC_LR_OPTIONS, fields)

/* The four numbers of each group, as a list of the options or one number for all groups. */
static adz_status fill_list(
    const char *op, const adz_optimizer *optimizer, const arguments *a, double *list)
{
    const adz_cyclic_lr_options *o = &a->o;
    const adzi_group_numbers rows[PER_GROUP] = {
        { "base_lrs", o->base_lrs, o->n_base_lrs, a->base_lr },
        { "max_lrs", o->max_lrs, o->n_max_lrs, a->max_lr },
        { "base_momenta", o->base_momenta, o->n_base_momenta, o->base_momentum },
        { "max_momenta", o->max_momenta, o->n_max_momenta, o->max_momentum },
    };
    adz_status status = adzi_fill_groups(op, optimizer, rows, PER_GROUP, list);
    for (size_t g = 0; g < optimizer->n_groups && status == ADZ_OK; ++g) {
        const double *of_g = list + g * PER_GROUP;
        status = adzi_check_not_negative(op, "base_lr", of_g[BASE_LR]);
        if (status == ADZ_OK) {
            status = adzi_check_not_negative(op, "max_lr", of_g[MAX_LR]);
        }
    }
    return status;
}

adz_scheduler *adz_cyclic_lr_new(
    adz_optimizer *optimizer, double base_lr, double max_lr, const adz_cyclic_lr_options *options)
{
    static const char op[] = "adz_cyclic_lr_new";
    arguments a = { .base_lr = base_lr, .max_lr = max_lr };
    if (!adz_options_take(op, &adz_cyclic_lr_options_table, &a, options)) {
        return NULL;
    }
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    const double up = (double)a.o.step_size_up;
    const double down = a.o.step_size_down > 0 ? (double)a.o.step_size_down : up;
    adz_scheduler plan = { .type = &cyclic_type,
        .scale = a.o.scale_fn,
        .user = a.o.user,
        .numbers = { up + down, up / (up + down), a.o.mode, a.o.gamma,
            a.o.scale_mode == ADZ_SCALE_MODE_ITERATIONS } };
    if (!adzi_momentum_setting(op, optimizer, a.o.cycle_momentum, &plan.momentum_setting)) {
        return NULL;
    }
    const size_t n = optimizer->n_groups * PER_GROUP;
    double *list = adzi_alloc(n * sizeof *list);
    if (list == NULL) {
        return adzi_fail_memory(op, n * sizeof *list);
    }
    adz_status status = fill_list(op, optimizer, &a, list);
    if (status == ADZ_OK && a.o.cycle_momentum) {
        status = adzi_check_momenta(
            op, optimizer, list + BASE_MOMENTUM, PER_GROUP, plan.momentum_setting);
    }
    adz_scheduler *s = status == ADZ_OK ? adzi_scheduler_new(op, optimizer, &plan, list, n) : NULL;
    adzi_free(list, n * sizeof *list);
    return s;
}
