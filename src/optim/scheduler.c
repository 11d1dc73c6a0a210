/* Learning-rate schedules. Each computes the next rate from the one that is set, as PyTorch's do,
 * so that schedules combine and a rate changed by hand is carried on. */
#include "adze/optim/scheduler.h"

#include <math.h>
#include <string.h>

#include "optim/optimizer.h"
#include "tensor/error.h"

typedef struct scheduler_type {
    const char *name;
    /* The rate of `group` at s->last_epoch, from the rate `lr` that is set. */
    double (*rate)(const adz_scheduler *s, int group, double lr);
} scheduler_type;

struct adz_scheduler {
    atomic_int refs;
    const scheduler_type *type;
    adz_optimizer *optimizer;
    int64_t last_epoch, period; /* period: step_size or t_max */
    double factor;              /* gamma or eta_min */
    adz_lr_lambda lambda;
    void *user;
    int n_groups;
    double *base_lrs, *last_lrs; /* one block, base_lrs first */
};

enum { LR = 0 }; /* every optimizer's first setting */

/* ---- ownership ------------------------------------------------------------------------------ */

adz_scheduler *adz_scheduler_keep(adz_scheduler *scheduler)
{
    if (scheduler == NULL) {
        return adzi_fail_null("adz_scheduler_keep", "scheduler");
    }
    atomic_fetch_add_explicit(&scheduler->refs, 1, memory_order_relaxed);
    return scheduler;
}

void adz_scheduler_free(adz_scheduler **scheduler)
{
    if (scheduler == NULL || *scheduler == NULL) {
        return;
    }
    adz_scheduler *gone = *scheduler;
    *scheduler = NULL;
    if (atomic_fetch_sub_explicit(&gone->refs, 1, memory_order_acq_rel) == 1) {
        adz_optimizer_free(&gone->optimizer);
        adzi_free(gone->base_lrs, 2 * (size_t)gone->n_groups * sizeof(double));
        adzi_free(gone, sizeof *gone);
    }
}

static void set_rates(adz_scheduler *s)
{
    for (int g = 0; g < s->n_groups; ++g) {
        double *lr = &s->optimizer->groups[g].settings[LR];
        *lr = s->type->rate(s, g, *lr);
        s->last_lrs[g] = *lr;
    }
}

/* `plan` has the type and the numbers; the rest is filled here. */
static adz_scheduler *scheduler_new(
    const char *op, adz_optimizer *optimizer, const adz_scheduler *plan)
{
    if (optimizer == NULL) {
        return adzi_fail_null(op, "optimizer");
    }
    adz_scheduler *s = adzi_alloc_zero(sizeof *s);
    double *rates = adzi_alloc(2 * optimizer->n_groups * sizeof *rates);
    if (s == NULL || rates == NULL) {
        adzi_free(s, sizeof *s);
        adzi_free(rates, 2 * optimizer->n_groups * sizeof *rates);
        return adzi_fail_memory(op, sizeof *s);
    }
    *s = *plan;
    atomic_init(&s->refs, 1);
    s->optimizer = adz_optimizer_keep(optimizer);
    s->n_groups = (int)optimizer->n_groups;
    s->base_lrs = rates;
    s->last_lrs = rates + s->n_groups;
    for (int g = 0; g < s->n_groups; ++g) {
        adzi_group *group = &optimizer->groups[g];
        if (isnan(group->initial_lr)) {
            group->initial_lr = group->settings[LR];
        }
        s->base_lrs[g] = group->initial_lr;
    }
    set_rates(s);
    return s;
}

/* ---- what all have -------------------------------------------------------------------------- */

const char *adz_scheduler_name(const adz_scheduler *scheduler)
{
    return scheduler != NULL ? scheduler->type->name
                             : adzi_fail_null("adz_scheduler_name", "scheduler");
}

adz_status adz_scheduler_step(adz_scheduler *scheduler)
{
    if (scheduler == NULL) {
        return adzi_error_null("adz_scheduler_step", "scheduler");
    }
    ++scheduler->last_epoch;
    set_rates(scheduler);
    return ADZ_OK;
}

int64_t adz_scheduler_last_epoch(const adz_scheduler *scheduler)
{
    if (scheduler == NULL) {
        adzi_error_null("adz_scheduler_last_epoch", "scheduler");
        return -1;
    }
    return scheduler->last_epoch;
}

double adz_scheduler_last_lr(const adz_scheduler *scheduler, int group)
{
    static const char op[] = "adz_scheduler_last_lr";
    if (scheduler == NULL) {
        adzi_error_null(op, "scheduler");
        return NAN;
    }
    if (group < 0 || group >= scheduler->n_groups) {
        adzi_error(op, ADZ_ERR_INDEX, "there is no group %d, only %d", group, scheduler->n_groups);
        return NAN;
    }
    return scheduler->last_lrs[group];
}

size_t adz_scheduler_get_state(const adz_scheduler *scheduler, double *values, size_t count)
{
    if (scheduler == NULL) {
        adzi_error_null("adz_scheduler_get_state", "scheduler");
        return 0;
    }
    size_t rates = 2 * (size_t)scheduler->n_groups;
    for (size_t i = 0; i < 1 + rates && i < count && values != NULL; ++i) {
        values[i] = i == 0 ? (double)scheduler->last_epoch : scheduler->base_lrs[i - 1];
    }
    return 1 + rates;
}

adz_status adz_scheduler_set_state(adz_scheduler *scheduler, const double *values, size_t count)
{
    static const char op[] = "adz_scheduler_set_state";
    if (scheduler == NULL || values == NULL) {
        return adzi_error_null(op, scheduler == NULL ? "scheduler" : "values");
    }
    size_t rates = 2 * (size_t)scheduler->n_groups;
    if (count != 1 + rates || !(values[0] >= 0 && values[0] < 0x1p53)) {
        return adzi_error(op, ADZ_ERR_ARGUMENT,
            "this is no state of a %s over %d groups, which has %zu numbers", scheduler->type->name,
            scheduler->n_groups, 1 + rates);
    }
    scheduler->last_epoch = (int64_t)values[0];
    memcpy(scheduler->base_lrs, values + 1, rates * sizeof *values);
    return ADZ_OK;
}

/* ---- the schedules -------------------------------------------------------------------------- */

static double step_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    return s->last_epoch == 0 || s->last_epoch % s->period != 0 ? lr : lr * s->factor;
}

static double exponential_rate(const adz_scheduler *s, int group, double lr)
{
    (void)group;
    return s->last_epoch == 0 ? lr : lr * s->factor;
}

/* The ratio of two neighbouring values of the cosine; where it would start from 0, the difference
 * instead. */
static double cosine_rate(const adz_scheduler *s, int group, double lr)
{
    const double pi = 3.14159265358979323846;
    double t_max = (double)s->period, eta_min = s->factor;
    if (s->last_epoch == 0) {
        return lr;
    }
    if ((s->last_epoch - 1 - s->period) % (2 * s->period) == 0) {
        return lr + (s->base_lrs[group] - eta_min) * (1 - cos(pi / t_max)) / 2;
    }
    double now = 1 + cos(pi * (double)s->last_epoch / t_max);
    double before = 1 + cos(pi * (double)(s->last_epoch - 1) / t_max);
    return now / before * (lr - eta_min) + eta_min;
}

static double lambda_rate(const adz_scheduler *s, int group, double lr)
{
    (void)lr;
    return s->base_lrs[group] * s->lambda(s->last_epoch, group, s->user);
}

static const scheduler_type step_type = { "StepLR", step_rate };
static const scheduler_type exponential_type = { "ExponentialLR", exponential_rate };
static const scheduler_type cosine_type = { "CosineAnnealingLR", cosine_rate };
static const scheduler_type lambda_type = { "LambdaLR", lambda_rate };

adz_scheduler *adz_step_lr_new(adz_optimizer *optimizer, int64_t step_size, double gamma)
{
    static const char op[] = "adz_step_lr_new";
    if (step_size < 1) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "step_size is %lld, but must be 1 or more", (long long)step_size);
    }
    adz_scheduler plan = { .type = &step_type, .period = step_size, .factor = gamma };
    return scheduler_new(op, optimizer, &plan);
}

adz_scheduler *adz_exponential_lr_new(adz_optimizer *optimizer, double gamma)
{
    adz_scheduler plan = { .type = &exponential_type, .factor = gamma };
    return scheduler_new("adz_exponential_lr_new", optimizer, &plan);
}

adz_scheduler *adz_cosine_annealing_lr_new(adz_optimizer *optimizer, int64_t t_max, double eta_min)
{
    static const char op[] = "adz_cosine_annealing_lr_new";
    if (t_max < 1) {
        return adzi_fail(
            op, ADZ_ERR_ARGUMENT, "t_max is %lld, but must be 1 or more", (long long)t_max);
    }
    adz_scheduler plan = { .type = &cosine_type, .period = t_max, .factor = eta_min };
    return scheduler_new(op, optimizer, &plan);
}

adz_scheduler *adz_lambda_lr_new(adz_optimizer *optimizer, adz_lr_lambda lambda, void *user)
{
    static const char op[] = "adz_lambda_lr_new";
    if (lambda == NULL) {
        return adzi_fail_null(op, "lambda");
    }
    adz_scheduler plan = { .type = &lambda_type, .lambda = lambda, .user = user };
    return scheduler_new(op, optimizer, &plan);
}
