/* One scheduler of each kind. */
#ifndef ADZE_TESTS_OPTIM_SCHEDULES_KINDS_H
#define ADZE_TESTS_OPTIM_SCHEDULES_KINDS_H

#include "optim/optimizer.h"
#include "../../nn.h"

enum { KINDS = 9 };

static adz_lr_warmup warmup = { 4, 10 };

static inline adz_scheduler *make(int kind, adz_optimizer *o)
{
    static const int64_t at[] = { 3, 6 };
    adz_reduce_lr_on_plateau_options options = ADZ_REDUCE_LR_ON_PLATEAU_OPTIONS;
    options.patience = 1;
    options.cooldown = 1;
    options.factor = 0.5;
    switch (kind) {
    case 0:
        return adz_step_lr_new(o, 3, 0.5);
    case 1:
        return adz_multi_step_lr_new(o, at, 2, 0.5);
    case 2:
        return adz_exponential_lr_new(o, 0.9);
    case 3:
        return adz_linear_lr_new(o, 0.2, 1, 6);
    case 4:
        return adz_cosine_annealing_lr_new(o, 5, 0.01);
    case 5:
        return adz_cosine_annealing_warm_restarts_new(o, 2, 2, 0.01);
    case 6:
        return adz_lambda_lr_new(o, adz_lr_warmup_linear, &warmup);
    case 7:
        return adz_one_cycle_lr_new(o, 1, 20, NULL);
    default:
        return adz_reduce_lr_on_plateau_new(o, &options);
    }
}

static inline double metric_at(int t)
{
    return t < 3 ? 5 - t : 3.0 + 0.1 * (t % 2);
}

static inline adz_status go_on(adz_scheduler *s, int kind, int t)
{
    return kind == KINDS - 1 ? adz_scheduler_step_metric(s, metric_at(t)) : adz_scheduler_step(s);
}

#endif
