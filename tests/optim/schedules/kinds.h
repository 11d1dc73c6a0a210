/* One scheduler of each kind. */
#ifndef ADZE_TESTS_OPTIM_SCHEDULES_KINDS_H
#define ADZE_TESTS_OPTIM_SCHEDULES_KINDS_H

#include "optim/optimizer.h"
#include "../../nn.h"

/* CHAINED and SEQUENTIAL are made of others. Further kinds go to the end: tests/bits hashes the
 * first ones together. */
enum { PLATEAU = 8, FIRST_KINDS, CHAINED = 14, SEQUENTIAL, KINDS };

static adz_lr_warmup warmup = { 4, 10 };

static inline double falling(int64_t epoch, int group, void *user)
{
    (void)user;
    return 1 - 0.05 * (double)(epoch % 5) - 0.1 * group;
}

static inline adz_scheduler *cyclic(adz_optimizer *o)
{
    adz_cyclic_lr_options options = ADZ_CYCLIC_LR_OPTIONS;
    options.mode = ADZ_CYCLIC_MODE_TRIANGULAR2;
    options.step_size_up = 2;
    options.step_size_down = 3;
    return adz_cyclic_lr_new(o, 0.1, 1, &options);
}

/* One schedule of three. Their references are given away. */
static inline adz_scheduler *composed(adz_optimizer *o, bool sequential)
{
    static const int64_t at[] = { 4, 7 };
    adz_scheduler *parts[] = { adz_linear_lr_new(o, 0.2, 1, 3), cyclic(o),
        adz_multiplicative_lr_new(o, falling, NULL) };
    adz_scheduler *s = NULL;
    if (parts[0] != NULL && parts[1] != NULL && parts[2] != NULL) {
        s = sequential ? adz_sequential_lr_new(o, parts, 3, at, 2)
                       : adz_chained_scheduler_new(parts, 3);
    }
    for (int i = 0; i < 3; ++i) {
        adz_scheduler_release(&parts[i]);
    }
    return s;
}

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
    case PLATEAU:
        return adz_reduce_lr_on_plateau_new(o, &options);
    case 9:
        return adz_constant_lr_new(o, 0.25, 4);
    case 10:
        return adz_polynomial_lr_new(o, 7, 1.5);
    case 11:
        return adz_multiplicative_lr_new(o, falling, NULL);
    case 12:
        return cyclic(o);
    case 13:
        return adz_swa_lr_new(o, 0.05, NULL);
    case CHAINED:
        return composed(o, false);
    default:
        return composed(o, true);
    }
}

static inline double metric_at(int t)
{
    return t < 3 ? 5 - t : 3.0 + 0.1 * (t % 2);
}

static inline adz_status go_on(adz_scheduler *s, int kind, int t)
{
    return kind == PLATEAU ? adz_scheduler_step_metric(s, metric_at(t)) : adz_scheduler_step(s);
}

#endif
